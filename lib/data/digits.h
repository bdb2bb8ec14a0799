/*
 * digits - eight characters of a number at once, in the bytes of a word.
 *
 * The first character is the lowest byte.  A word that is shifted up until
 * its last character is the highest byte is a number with leading zeros.
 */
#ifndef PS_DIGITS_H
#define PS_DIGITS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#ifdef __x86_64__
#include <emmintrin.h>
#endif

#define DIGITS_EACH	UINT64_C(0x0101010101010101)	/* times a byte */

/* Eight characters; a digit is its value, any other byte is 10 or more. */
static inline uint64_t
digits_load(const char *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof(word));
	return word ^ '0' * DIGITS_EACH;
}

/* The top bit of every byte that is no digit, and of no other. */
static inline uint64_t
digits_not(uint64_t word)
{
	const uint64_t low = word & 0x7f * DIGITS_EACH;

	return ((low + 0x76 * DIGITS_EACH) | word) & 0x80 * DIGITS_EACH;
}

/* The top bit of every byte that is 0, and of no other. */
static inline uint64_t
digits_zero(uint64_t word)
{
	const uint64_t low = 0x7f * DIGITS_EACH;

	return ~(((word & low) + low) | word | low);
}

/* How many of eight characters stand before the first that is marked. */
static inline unsigned
digits_before(uint64_t marks)
{
	return marks ? (unsigned)__builtin_ctzll(marks) / 8 : 8;
}

/* Are all bytes of both words digits? */
static inline bool
digits_all(uint64_t a, uint64_t b)
{
	const uint64_t six = 0x06 * DIGITS_EACH;

	/* Only a byte that is none itself can carry into its neighbour. */
	return ((a | (a + six) | b | (b + six)) & 0xf0 * DIGITS_EACH) == 0;
}

/* The number of eight digits: pairs of digits, then of pairs, of those. */
static inline uint64_t
digits_value(uint64_t word)
{
	const uint64_t mask = UINT64_C(0x000000ff000000ff);
	const uint64_t even = UINT64_C(0x000f424000000064);
	const uint64_t odd = UINT64_C(0x0000271000000001);

	word = word * 10 + (word >> 8);
	return ((word & mask) * even + (word >> 16 & mask) * odd) >> 32;
}

/* Two such words beside each other. */
#ifdef __x86_64__
typedef __m128i digits_pair;
#else
typedef struct { uint64_t a, b; } digits_pair;
#endif

static inline digits_pair
digits_both(uint64_t a, uint64_t b)
{
#ifdef __x86_64__
	return _mm_unpacklo_epi64(_mm_cvtsi64_si128((int64_t)a),
				  _mm_cvtsi64_si128((int64_t)b));
#else
	return (digits_pair){ a, b };
#endif
}

/* Are all bytes digits? */
static inline bool
digits_good(digits_pair x)
{
#ifdef __x86_64__
	return _mm_movemask_epi8(_mm_adds_epu8(x, _mm_set1_epi8(0x76))) == 0;
#else
	return digits_all(x.a, x.b);
#endif
}

/* The two numbers, the first one in the lower half. */
static inline uint64_t
digits_values(digits_pair x)
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
	return digits_value(x.a) | digits_value(x.b) << 32;
#endif
}

#endif
