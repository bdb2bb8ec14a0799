#include "data/number.h"

#include "data/form.h"

#include <float.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Every power of ten that a double holds exactly. */
static const double power[] = {
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12,
	1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22
};

/* What was read: digits x 10^exponent. */
struct decimal {
	uint64_t digits;
	int count;		/* of digits, without leading zeros */
	int exponent;
	bool negative;
};

static bool
is_digit(char c)
{
	return (unsigned char)(c - '0') < 10;
}

/* Past a run of digits, which join those of d. */
static const char *
add_digits(const char *p, struct decimal *d)
{
	for (; is_digit(*p); p++) {
		d->digits = d->digits * 10 + (uint64_t)(*p - '0');
		/* 19 digits fit; what comes of more is never used. */
		if (d->count < 20 && (d->count > 0 || d->digits > 0))
			d->count++;
	}
	return p;
}

/* Past an exponent; one without digits is none. */
static const char *
add_exponent(const char *p, struct decimal *d)
{
	const char *digit = p + 1 + (p[1] == '-' || p[1] == '+');
	int n = 0;

	if (!is_digit(*digit))
		return p;
	for (; is_digit(*digit); digit++)
		if (n < 100000)
			n = n * 10 + (*digit - '0');
	d->exponent += p[1] == '-' ? -n : n;
	return digit;
}

static const char *
scan(const char *text, struct decimal *d)
{
	const char *p = text, *start, *point;

	d->negative = *p == '-';
	if (*p == '-' || *p == '+')
		p++;
	start = p;
	p = add_digits(p, d);

	ptrdiff_t digits = p - start;

	if (*p == '.') {
		point = p + 1;
		p = add_digits(point, d);
		digits += p - point;
		/* A text of 2^31 digits is beyond the line limit. */
		d->exponent = -(int)(p - point);
	}
	if (digits == 0)
		return NULL;
	if (*p == 'e' || *p == 'E')
		p = add_exponent(p, d);
	return p;
}

/*
 * Clinger, "How to read floating point numbers accurately", his fast path: if
 * digits and power are both exact as doubles, their product or quotient is
 * rounded once.  Rounding it once more, to float, can only err if the first
 * rounding ended in the very middle between two floats.
 */
static bool
quick(const struct decimal *d, float *value)
{
	const int e = d->exponent;
	double x;
	uint64_t bits;

	if (d->count > 15 || e < -22 || e > 22)
		return false;
	x = (double)d->digits;
	x = e < 0 ? x / power[-e] : x * power[e];
	memcpy(&bits, &x, sizeof(bits));
	if ((bits & 0x1fffffff) == 0x10000000)
		return false;
	*value = (float)(d->negative ? -x : x);
	return true;
}

const char *
number_float(const char *text, float *value)
{
	struct decimal d = { 0 };
	const char *end = scan(text, &d);

	if (end && !quick(&d, value))
		*value = strtof(text, NULL);
	return end;
}

bool
number_short(const char *text, size_t size, float *value)
{
	const bool negative = size > 0 && *text == '-';
	uint64_t word, point, below;
	unsigned places = 0;

	text += negative;
	size -= negative;
	if (size == 0 || size > 8)
		return false;
	word = digits_load(text) << (64 - 8 * size);
	point = digits_not(word);
	if (point) {
		/* The one that is no digit must be a point; close the gap. */
		below = (point >> 7) - 1;
		if ((point & (point - 1)) != 0 || size == 1 ||
		    (word & point / 0x80 * 0xff) !=
		    point / 0x80 * ('.' ^ '0'))
			return false;
		places = (unsigned)__builtin_clzll(point) / 8;
		word = (word & below) << 8 |
		       (word & ~(below | point / 0x80 * 0xff));
	}
	/* Rounded once: with a point, there are 7 digits at most. */
	*value = (float)(int32_t)digits_value(word) / (float)power[places];
	if (negative)
		*value = -*value;
	return true;
}

/* Those that are written alike. */
static size_t
read_alike(const char **at, const struct form *form, char between,
	   float *restrict value, size_t most)
{
	const struct form f = *form;
	const char *p = *at;
	size_t n = 0;

	while (n < most) {
		const bool negative = *p == '-';
		const char *end = p + negative + f.size;
		const uint64_t word = form_word(&f, p + negative);

		if (!digits_all(word, word) || (*end && *end != between))
			break;
		value[n++] = form_value(&f, word, negative);
		*at = end;
		if (!*end)
			break;
		p = end + 1;
	}
	return n;
}

size_t
number_list(const char *text, char between, float *value, size_t most,
	    const char **end)
{
	struct form form;
	size_t n = 0, got = 1;

	*end = text;
	while (got > 0 && n < most && form_look(&form, text + (*text == '-'))) {
		got = read_alike(&text, &form, between, value + n, most - n);
		n += got;
		if (got > 0)
			*end = text;
		if (got > 0 && *text++ != between)
			break;
	}
	return n;
}

const char *
number_uint(const char *text, uint64_t *value)
{
	struct decimal d = { 0 };
	const char *p = add_digits(text, &d);

	if (p == text)
		return NULL;
	*value = d.digits;
	if (d.count < 20)
		return p;

	/* Again, with care. */
	uint64_t n = 0;

	for (const char *q = text; q < p; q++) {
		const uint64_t digit = (uint64_t)(*q - '0');

		if (n > (UINT64_MAX - digit) / 10) {
			n = UINT64_MAX;
			break;
		}
		n = n * 10 + digit;
	}
	*value = n;
	return p;
}
