#include "data/number.h"

#include "data/number_format.h"

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

/* A number as it was written: digits x 10^exponent. */
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

/* Append a run of digits to those of d, and return where it ends. */
static const char *
add_digits(const char *p, struct decimal *d)
{
	static const uint32_t ten[] = { 1, 10, 100, 1000, 10000, 100000,
					1000000, 10000000, 100000000 };
	unsigned n = 8;

	for (; n == 8; p += n) {
		uint64_t word = swar_load(p);

		n = swar_before(swar_not(word));
		if (n == 0)
			break;
		word <<= 64 - 8 * n;
		if (d->count > 0)
			d->count += (int)n;
		else if (word > 0)
			d->count = 8 - __builtin_ctzll(word) / 8;
		/* 19 digits fit; with more, d->digits is never used. */
		d->digits = d->digits * ten[n] + swar_value(word);
	}
	return p;
}

/* Read an exponent and return where it ends; an "e" without digits is not a
   part of the number. */
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
		/* The line limit, 64 MiB, keeps this below 2^31. */
		d->exponent = -(int)(p - point);
	}
	if (digits == 0)
		return NULL;
	if (*p == 'e' || *p == 'E')
		p = add_exponent(p, d);
	return p;
}

/*
 * The fast path of Clinger, "How to read floating point numbers accurately",
 * 1990: if digits and power are both exact as doubles, their product or
 * quotient is rounded once.  The second rounding, to float, can only err if the
 * first one ended exactly in the middle between two floats.
 *
 * More than 15 digits are rounded as a double, too.  The double is then off by
 * less than 4 units in its last place, and must not be nearer to the middle
 * than that.  The low 29 bits of a double are those that a float does not have;
 * in the middle they are 0x10000000.
 */
static bool
quick(const struct decimal *d, float *value)
{
	const int e = d->exponent;
	const uint64_t off = d->count > 15 ? 4 : 0;
	double x;
	uint64_t bits;

	if (d->count > 19 || e < -22 || e > 22)
		return false;
	x = (double)d->digits;
	x = e < 0 ? x / power[-e] : x * power[e];
	memcpy(&bits, &x, sizeof(bits));
	if ((bits & 0x1fffffff) - (0x10000000 - off) <= 2 * off)
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

/*
 * Read the short number at p, which ends before the character end or any
 * character below it, and its form.  Return where it ends, or NULL if it is not
 * one.
 */
static inline const char *
read_short(const char *p, char end, struct number_format *form, float *value)
{
	const unsigned minus = number_format_minus(*p);
	uint64_t word;

	if (!number_format_look(form, p, minus, end))
		return NULL;
	word = number_format_word(form, p + minus);
	if (!swar_all(word, word))
		return NULL;
	*value = number_format_value(form, swar_value(word), minus);
	return p + minus + form->size;
}

bool
number_short(const char *text, size_t size, float *value)
{
	struct number_format form;
	float x;

	if (read_short(text, '\0', &form, &x) != text + size)
		return false;
	*value = x;
	return true;
}

/*
 * Read numbers, two at a time, up to the first that does not have its form; the
 * last of the list is left over, since it ends with a NUL.  Return how many,
 * and move *at to the next.
 */
static inline size_t
read_alike(const char **at, char between, float *restrict value,
	   const struct number_format *form, size_t count, bool with_signs)
{
	const char *p = *at;
	size_t n = 0;

	for (; n + 2 < count; n += 2) {
		const struct number_format *a = &form[n], *b = a + 1;
		const unsigned a_minus = with_signs ? number_format_minus(*p) :
			0;
		const char *q = p + a_minus + a->size + 1;
		const unsigned b_minus = with_signs ? number_format_minus(*q) :
			0;
		const char *end = q + b_minus + b->size;
		swar_pair x;
		uint64_t both;

		if (q[-1] != between || *end != between ||
		    !number_format_fits(a, p + a_minus) ||
		    !number_format_fits(b, q + b_minus))
			break;
		x = swar_both(number_format_word(a, p + a_minus),
			      number_format_word(b, q + b_minus));
		if (!swar_good(x))
			break;
		both = swar_values(x);
		value[n] = number_format_value(a, (uint32_t)both, a_minus);
		value[n + 1] = number_format_value(b, both >> 32, b_minus);
		p = end + 1;
	}
	*at = p;
	return n;
}

const char *
number_list(const char *p, char between, float *value,
	    struct number_format *form, size_t count)
{
	size_t n = read_alike(&p, between, value, form, count, false);

	n += read_alike(&p, between, value + n, form + n, count - n, true);
	for (; n < count; n++, p++) {
		struct number_format f;

		p = read_short(p, between, &f, &value[n]);
		if (!p || *p != (n + 1 < count ? between : '\0'))
			return NULL;
		form[n] = f;
	}
	return p - 1;
}

const char *
number_uint(const char *text, uint64_t *value, bool *fits)
{
	struct decimal d = { 0 };
	const char *p = add_digits(text, &d);

	if (p == text)
		return NULL;
	*value = d.digits;
	*fits = true;
	if (d.count < 20)
		return p;

	/* 20 digits may overflow: read them again, and check each. */
	*value = 0;
	for (const char *q = text; q < p && *fits; q++) {
		const uint64_t digit = (uint64_t)(*q - '0');

		*fits = *value <= (UINT64_MAX - digit) / 10;
		*value = *value * 10 + digit;
	}
	return p;
}

/* ---- pairs ---- */

/* The arguments of number_sparse_pairs(); p, id and value move ahead. */
struct sparse_pairs {
	const char *p;
	uint64_t first, next, rows;
	uint32_t *id;
	float *value;
};

/* How the values are written. */
enum manner {
	ALIKE,			/* all in one form */
	SIGNED,			/* the same, but some with a "-" */
	FREELY			/* each in its own form */
};

/* Return the number of digits before a colon; 0: none, or more than 8. */
static inline unsigned
id_size(const char *p)
{
	const unsigned size = swar_before(swar_not(swar_load(p)));

	return p[size] == ':' ? size : 0;
}

/* Read pairs whose values are written in that manner, up to the first other. */
static inline void
take(struct sparse_pairs *from, struct number_format form, enum manner manner)
{
	uint32_t *restrict id = from->id;
	const uint64_t first = from->first, rows = from->rows;
	uint64_t next = from->next;
	float *restrict value = from->value;
	const char *p = from->p;
	unsigned size = id_size(p);

	while (size > 0) {
		const char *v = p + size + 1;
		const unsigned minus = manner == ALIKE ? 0 :
			number_format_minus(*v);
		swar_pair x;
		uint64_t both, row;

		if (manner == FREELY ?
		    !number_format_look(&form, v, minus, ' ') :
				       !number_format_fits(&form, v + minus))
			break;
		x = swar_both(swar_load(p) << (64 - 8 * size),
			      number_format_word(&form, v + minus));
		v += form.size + minus;
		if (!swar_good(x) || (unsigned char)*v > ' ')
			break;
		both = swar_values(x);
		row = (uint32_t)both - first;
		if (row < next || row >= rows)
			break;
		*value++ = number_format_value(&form, both >> 32, minus);
		*id++ = (uint32_t)row;
		next = row + 1;
		p = v;
		if (*p != ' ')
			break;
		/* Ids ascend, so most have as many digits as the last. */
		p++;
		if (p[size] != ':')
			size = id_size(p);
	}
	*from = (struct sparse_pairs){ p, first, next, rows, id, value };
}

const char *
number_sparse_pairs(const char *p, uint64_t first, uint64_t next, uint64_t rows,
		    uint32_t *id, float *value, size_t *count)
{
	struct sparse_pairs from = { p, first, next, rows, id, value };
	struct number_format form = { 0 };
	const char *v = p + id_size(p) + 1;

	if (number_format_look(&form, v, number_format_minus(*v), ' ')) {
		take(&from, form, ALIKE);
		take(&from, form, SIGNED);
	}
	take(&from, form, FREELY);
	*count = (size_t)(from.id - id);
	return from.p;
}
