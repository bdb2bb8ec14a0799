#include "data/pairs.h"

#include "data/digits.h"

#include <stdbool.h>

/*
 * How a pair is written.  Pairs beside each other are mostly written alike,
 * and then where the next one begins is known before this one is looked at:
 * nothing waits for the search of a separator.
 */
struct layout {
	unsigned id;		/* digits of the id, 1 to 8 */
	unsigned value;		/* characters of the value, 1 to 8, no sign */
	unsigned point;		/* digits before the point */
	unsigned places;	/* digits behind it; 0: there is no point */
};

/* How is the pair at p written?  false: not plainly. */
static bool
look(const char *p, struct layout *l)
{
	l->id = digits_before(digits_not(digits_load(p)));
	if (l->id == 0 || p[l->id] != ':')
		return false;
	p += l->id + 1;
	p += *p == '-';
	l->point = l->value = digits_before(digits_not(digits_load(p)));
	l->places = 0;
	if (p[l->value] == '.') {
		p += l->value + 1;
		l->places = digits_before(digits_not(digits_load(p)));
		l->value += 1 + l->places;
	}
	return l->value <= 8 && l->point + l->places > 0;
}

/*
 * What the digits are divided by, for the sake of the point.  Behind a point
 * there are 7 digits at most in all, so that they and the power of ten are
 * exact floats, and the quotient is rounded once; without one, making a float
 * of the digits is all the rounding there is.
 */
static const float scale[] = { 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7 };

/*
 * Pairs written alike; what stops it is for others to see.  Returns how many,
 * which *at is moved past.
 */
static size_t
run(const char **at, const struct layout *l, uint64_t last, uint64_t limit,
    uint64_t *restrict id, float *restrict value)
{
	const unsigned id_size = l->id, size = l->value;
	const unsigned id_shift = 64 - 8 * id_size, shift = 64 - 8 * size;
	const unsigned up_to = shift + 8 * l->point;	/* of the point */
	const bool whole = l->point == size;
	const uint64_t below = whole ? 0 : (UINT64_C(1) << up_to) - 1;
	const uint64_t point = whole ? 0 : UINT64_C(0xff) << up_to;
	const uint64_t expected = whole ? 0 : (uint64_t)('.' ^ '0') << up_to;
	const char *p = *at;
	const float divisor[] = { scale[l->places], -scale[l->places] };
	size_t n = 0;

	for (;; n++) {
		const char *v = p + id_size + 1;
		const bool negative = *v == '-';
		uint64_t key, word;
		int32_t number;

		if (v[-1] != ':')
			break;
		v += negative;
		key = digits_load(p) << id_shift;
		word = digits_load(v) << shift ^ expected;
		if (word & point)
			break;
		word += (word & below) * 255;	/* close the gap */
		if (!digits_all(key, word))
			break;
		key = digits_value(key);
		number = (int32_t)digits_value(word);
		v += size;
		if (key <= last || key > limit || (unsigned char)*v > ' ')
			break;
		value[n] = (float)number / divisor[negative];
		id[n] = key - 1;
		last = key;
		*at = v + (*v == ' ');
		p = v + 1;
		if (*v != ' ')
			return n + 1;
	}
	return n;
}

const char *
pairs_read(const char *p, uint64_t last, uint64_t limit, uint64_t *id,
	   float *value, size_t *count)
{
	struct layout l;
	size_t n = 0, got = 1;

	while (got > 0 && look(p, &l)) {
		got = run(&p, &l, last, limit, id + n, value + n);
		n += got;
		last = n > 0 ? id[n - 1] + 1 : last;
	}
	*count = n;
	return p;
}
