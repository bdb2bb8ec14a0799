/*
 * number_format - what makes short numbers fast to read: their digits, eight at
 * once in the bytes of a word, and the form in which they are written.
 */
#ifndef PS_NUMBER_FORMAT_H
#define PS_NUMBER_FORMAT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#ifdef __x86_64__
#include <emmintrin.h>
#endif

/*
 * ---- digits ----
 *
 * The first character is the lowest byte.  A word that is shifted up until
 * its last character is the highest byte is a number with leading zeros.
 */

#define SWAR_EACH	UINT64_C(0x0101010101010101)	/* times a byte */

/* Eight characters; a digit is its value, any other byte is 10 or more. */
static inline uint64_t
swar_load(const char *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof(word));
	return word ^ '0' * SWAR_EACH;
}

/* The top bit of every byte that is no digit, and of no other. */
static inline uint64_t
swar_not(uint64_t word)
{
	const uint64_t low = word & 0x7f * SWAR_EACH;

	return ((low + 0x76 * SWAR_EACH) | word) & 0x80 * SWAR_EACH;
}

/* The top bit of every byte that is 0, and of no other. */
static inline uint64_t
swar_zero(uint64_t word)
{
	const uint64_t low = 0x7f * SWAR_EACH;

	return ~(((word & low) + low) | word | low);
}

/* How many of eight characters stand before the first that is marked. */
static inline unsigned
swar_before(uint64_t marks)
{
	return marks ? (unsigned)__builtin_ctzll(marks) / 8 : 8;
}

/* Are all bytes of both words digits? */
static inline bool
swar_all(uint64_t a, uint64_t b)
{
	const uint64_t six = 0x06 * SWAR_EACH;

	/* Only a byte that is none itself can carry into its neighbour. */
	return ((a | (a + six) | b | (b + six)) & 0xf0 * SWAR_EACH) == 0;
}

/* The number of eight digits: pairs of digits, then of pairs, of those. */
static inline uint64_t
swar_value(uint64_t word)
{
	const uint64_t mask = UINT64_C(0x000000ff000000ff);
	const uint64_t even = UINT64_C(0x000f424000000064);
	const uint64_t odd = UINT64_C(0x0000271000000001);

	word = word * 10 + (word >> 8);
	return ((word & mask) * even + (word >> 16 & mask) * odd) >> 32;
}

/* Two such words beside each other. */
#ifdef __x86_64__
typedef __m128i swar_pair;
#else
typedef struct { uint64_t a, b; } swar_pair;
#endif

static inline swar_pair
swar_both(uint64_t a, uint64_t b)
{
#ifdef __x86_64__
	return _mm_unpacklo_epi64(_mm_cvtsi64_si128((int64_t)a),
				  _mm_cvtsi64_si128((int64_t)b));
#else
	return (swar_pair){ a, b };
#endif
}

/* Are all bytes digits? */
static inline bool
swar_good(swar_pair x)
{
#ifdef __x86_64__
	return _mm_movemask_epi8(_mm_adds_epu8(x, _mm_set1_epi8(0x76))) == 0;
#else
	return swar_all(x.a, x.b);
#endif
}

/* The two numbers, the first one in the lower half. */
static inline uint64_t
swar_values(swar_pair x)
{
#ifdef __x86_64__
	/* The upper one of two bytes, and ten times the lower one. */
	x = _mm_srli_epi16(_mm_mullo_epi16(x, _mm_set1_epi16(10 * 256 + 1)),
			   8);
	x = _mm_madd_epi16(x, _mm_set1_epi32(1 << 16 | 100));
	x = _mm_packs_epi32(x, x);
	x = _mm_madd_epi16(x, _mm_set1_epi32(1 << 16 | 10000));
	return (uint64_t)_mm_cvtsi128_si64(x);
#else
	return swar_value(x.a) | swar_value(x.b) << 32;
#endif
}

/*
 * ---- forms ----
 *
 * Numbers beside or above each other are mostly written alike, with as many
 * digits before a point and behind it.  Where the next one begins is then known
 * before this one is looked at: nothing waits for the search of a separator.
 * Where each has a form of its own, it is found without a branch: none could be
 * foretold.
 */

struct number_format {
	unsigned size;		/* characters but for the "-" */
	unsigned skip;		/* of those: a 0 that is not among the digits */
	unsigned places;	/* digits behind the point */
	unsigned shift;		/* by so many bits the digits move up */
	/* In words of the eight characters from there on: */
	uint64_t before;	/* the digits before the point, behind skip */
	uint64_t fixed;		/* what is no digit ... */
	uint64_t expected;	/* ... and what it should be */
};

/* Of a number of one digit, to begin with. */
static const struct number_format form_digit = {
	.size = 1, .shift = 56, .before = 0xff
};

/*
 * 1 if it is a "-", else 0: neither by a branch nor by a byte register, which
 * some processors only have when all that was in it before is known, too.
 */
static inline unsigned
number_format_minus(char c)
{
	return ((unsigned)((unsigned char)c ^ '-') - 1) >> 31;
}

/* Which of sixteen characters are points?  Bit i is for p[i]. */
static inline unsigned
number_format_points(const char *p)
{
#ifdef __x86_64__
	const __m128i x = _mm_loadu_si128((const void *)p);

	return (unsigned)_mm_movemask_epi8(
		_mm_cmpeq_epi8(x, _mm_set1_epi8('.')));
#else
	unsigned marks = 0;

	for (unsigned i = 0; i < 16; i++)
		marks |= (unsigned)(p[i] == '.') << i;
	return marks;
#endif
}

/* And which are this one, or below it as a tab is below a blank? */
static inline unsigned
number_format_ends(const char *p, char end)
{
#ifdef __x86_64__
	const __m128i x = _mm_loadu_si128((const void *)p);

	return (unsigned)_mm_movemask_epi8(
		_mm_cmpeq_epi8(x, _mm_min_epu8(x, _mm_set1_epi8(end))));
#else
	unsigned marks = 0;

	for (unsigned i = 0; i < 16; i++)
		marks |= (unsigned)((unsigned char)p[i] <= end) << i;
	return marks;
#endif
}

/*
 * The form of the number at p, which begins with so many characters of a sign
 * and ends before the character or one below it; false: it is not plain.  What
 * is no digit among the digits is found by swar_good().
 */
static inline bool
number_format_look(struct number_format *f, const char *p, unsigned sign,
		   char end)
{
	static const uint64_t first[] = {
		0, UINT64_MAX >> 56, UINT64_MAX >> 48, UINT64_MAX >> 40,
		UINT64_MAX >> 32, UINT64_MAX >> 24, UINT64_MAX >> 16,
		UINT64_MAX >> 8, UINT64_MAX
	};
	const unsigned ends = number_format_ends(p, end) | 0x10000;
	const unsigned size = (unsigned)__builtin_ctz(ends);
	const unsigned at =
		(unsigned)__builtin_ctz(ends | number_format_points(p));
	const unsigned point = (at - size) >> 31;
	unsigned digits = size - sign - point, before = at - sign, skip = 0;

	if (digits == 9 && before == 1 && p[sign] == '0') {
		digits = 8;
		before = 0;
		skip = 1;
	}
	if (digits - 1 > 7 || before > 8 - point)
		return false;
	f->size = size - sign;
	f->skip = skip;
	f->places = digits - before;
	f->shift = 64 - 8 * digits;
	f->before = first[before];
	f->fixed = point ? (UINT64_C(0x100) << 8 * (before + skip)) -
			   (UINT64_C(1) << 8 * before) : 0;
	f->expected = skip ? '0' | '.' << 8 : f->fixed & '.' * SWAR_EACH;
	return true;
}

/* Are the point and a 0 that is passed over where they should be? */
static inline bool
number_format_fits(const struct number_format *f, const char *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof(word));
	return (word & f->fixed) == f->expected;
}

/* The digits of the number at p, which has no sign. */
static inline uint64_t
number_format_word(const struct number_format *f, const char *p)
{
	const uint64_t word = swar_load(p + f->skip);
	const uint64_t behind = swar_load(p + f->skip + 1);

	return (((word ^ behind) & f->before) ^ behind) << f->shift;
}

/*
 * Eight digits and 10^8 are exact as doubles, and their quotient is rounded
 * once.  That it is rounded once more, to float, could only err if the first
 * rounding ended in the middle between two floats, m * 2^e with m < 2^25.  It
 * cannot: a quotient beside that differs from it by 1 / (m * 10^8) of it at
 * least, which is more than the 2^-53 by which a double is rounded.
 */
static inline float
number_format_value(const struct number_format *f, uint64_t digits,
		    unsigned minus)
{
	static const double scale[2][9] = {
		{ 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8 },
		{ -1e0, -1e1, -1e2, -1e3, -1e4, -1e5, -1e6, -1e7, -1e8 }
	};

	return (float)((double)(int32_t)digits / scale[minus][f->places]);
}

#endif
