/*
 * form - how a short number is written, so that others are read quickly.
 *
 * Numbers beside each other are mostly written alike, with as many digits
 * before a point and behind it.  Where the next one begins is then known
 * before this one is looked at: nothing waits for the search of a separator.
 */
#ifndef PS_FORM_H
#define PS_FORM_H

#include "data/digits.h"

struct form {
	unsigned size;		/* characters but for the "-": 1 to 8 */
	unsigned shift;		/* by so many bits a word of them moves up */
	/* In that word: */
	uint64_t before;	/* the digits before the point */
	uint64_t point;
	uint64_t expected;	/* to be there */
	/* Of positive and of negative numbers, for the sake of the point. */
	float divisor[2];
};

/*
 * The form of the number at p, which has no sign; false: it is not plain.
 *
 * Behind a point there are 7 digits at most in all, so that they and the power
 * of ten are exact floats, and the quotient is rounded once; without one,
 * making a float of the digits is all the rounding there is.
 */
static inline bool
form_look(struct form *f, const char *p)
{
	static const float scale[] = { 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6,
				       1e7 };
	const unsigned digits = digits_before(digits_not(digits_load(p)));
	unsigned places = 0, up_to;

	*f = (struct form){ .size = digits };
	if (p[digits] == '.') {
		places = digits_before(digits_not(digits_load(p + digits +
							      1)));
		f->size += 1 + places;
	}
	if (f->size > 8 || digits + places == 0)
		return false;
	f->shift = 64 - 8 * f->size;
	f->divisor[0] = scale[places];
	f->divisor[1] = -scale[places];
	if (f->size == digits)
		return true;
	up_to = f->shift + 8 * digits;
	f->before = (UINT64_C(1) << up_to) - 1;
	f->point = UINT64_C(0xff) << up_to;
	f->expected = (uint64_t)('.' ^ '0') << up_to;
	return true;
}

/* The digits at p, a word for digits_all() and form_value(). */
static inline uint64_t
form_word(const struct form *f, const char *p)
{
	const uint64_t word = digits_load(p) << f->shift ^ f->expected;

	/* Close the gap, if it is where it should be. */
	return word & f->point ? UINT64_MAX : word + (word & f->before) * 255;
}

static inline float
form_value(const struct form *f, uint64_t word, bool negative)
{
	return (float)(int32_t)digits_value(word) / f->divisor[negative];
}

#endif
