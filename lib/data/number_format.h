/*
 * number_format - reads short numbers fast: all eight digits at once, in the
 * bytes of a word (SWAR, "SIMD within a register"), and by the form in which
 * the number before was written.
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
 * A word holds eight characters, the first in its lowest byte.  A shorter
 * number is shifted up until its last digit is the highest byte: the zeros that
 * come in below are its leading zeros.
 */

#define SWAR_EACH	UINT64_C(0x0101010101010101)	/* times a byte */

/* Load eight characters; a digit becomes its value, any other byte is 10 to
   255. */
static inline uint64_t
swar_load(const char *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof(word));
	return word ^ '0' * SWAR_EACH;
}

/* Mark the bytes that are not digits: set their top bits, and no other bit. */
static inline uint64_t
swar_not(uint64_t word)
{
	const uint64_t low = word & 0x7f * SWAR_EACH;

	return ((low + 0x76 * SWAR_EACH) | word) & 0x80 * SWAR_EACH;
}

/* Mark the bytes that are 0, in the same way. */
static inline uint64_t
swar_zero(uint64_t word)
{
	const uint64_t low = 0x7f * SWAR_EACH;

	return ~(((word & low) + low) | word | low);
}

/* Return how many of eight characters stand before the first marked one. */
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

	/* A digit plus 6 is below 16.  Only a byte that is not a digit can
	   carry into its neighbour, and its own high bits show already. */
	return ((a | (a + six) | b | (b + six)) & 0xf0 * SWAR_EACH) == 0;
}

/* Return the number of eight digits, by sums of 2, then of 4, then of 8. */
static inline uint64_t
swar_value(uint64_t word)
{
	const uint64_t mask = UINT64_C(0x000000ff000000ff);
	const uint64_t even = UINT64_C(0x000f424000000064);
	const uint64_t odd = UINT64_C(0x0000271000000001);

	word = word * 10 + (word >> 8);
	return ((word & mask) * even + (word >> 16 & mask) * odd) >> 32;
}

/* Two words, which are computed with side by side. */
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
	/* Of two bytes, ten times the lower one and the upper one. */
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
 * Numbers that stand beside or below each other are mostly written alike, with
 * the same number of digits before the point and after it.  The processor then
 * knows where the next number begins before it has looked at this one, and does
 * not wait for the search of a separator.  If each number has another form, the
 * form is found without a branch, since none could be predicted.
 */

struct number_format {
	unsigned size;		/* characters, without the "-" */
	unsigned skip;		/* 1: the number begins with a 0 that is not
				   among its 8 digits, as in 0.12345678 */
	unsigned places;	/* digits after the point */
	unsigned shift;		/* bits by which the digits are shifted up */
	/* Masks of words of eight characters, the first at the low end: */
	uint64_t before;	/* from skip on: the digits before the point */
	uint64_t fixed;		/* the point and the skipped 0 ... */
	uint64_t expected;	/* ... and the characters expected there */
};

/* The form of a number of one digit: a first guess. */
static const struct number_format form_digit = {
	.size = 1, .shift = 56, .before = 0xff
};

/*
 * Return 1 for a "-", else 0.  Arithmetic, rather than a comparison: compilers
 * make a branch of that, or write a byte register, which makes some processors
 * wait for the register's earlier contents.
 */
static inline unsigned
number_format_minus(char c)
{
	return ((unsigned)((unsigned char)c ^ '-') - 1) >> 31;
}

/* Which of sixteen characters are points?  Bit i stands for p[i]. */
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

/* Which of them are the character end, or below it, as a tab is below a blank?
   */
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
 * Find the form of the number at p.  sign is 1 if it begins with a "-", else 0;
 * it ends before the character end or any below it.  false: it has more than 8
 * digits, or none.  The digits are not checked here: swar_good() does that.
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

/* Are the point and the skipped 0 of this form at their places?  p is after
   the sign. */
static inline bool
number_format_fits(const struct number_format *f, const char *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof(word));
	return (word & f->fixed) == f->expected;
}

/* Return the digits of the number at p, after its sign, as a word; the point
   between them is left out. */
static inline uint64_t
number_format_word(const struct number_format *f, const char *p)
{
	const uint64_t word = swar_load(p + f->skip);
	const uint64_t behind = swar_load(p + f->skip + 1);

	return (((word ^ behind) & f->before) ^ behind) << f->shift;
}

/*
 * Return digits / 10^places, or its negative, as the nearest float.
 *
 * Eight digits and 10^8 are exact as doubles, so the quotient is rounded once.
 * The second rounding, to float, could only err if the first one ended in the
 * middle between two floats, m * 2^e with m < 2^25.  It cannot: any other
 * quotient differs from the middle by at least 1 / (m * 10^8) of its value,
 * which is more than 2^-53, by which a double is rounded.
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
