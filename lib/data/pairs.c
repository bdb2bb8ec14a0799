#include "data/pairs.h"

#include "data/form.h"

#include <stdbool.h>

/* Where pairs are read from, and to. */
struct pairs {
	const char *p;
	uint64_t first, next, rows;
	uint32_t *id;
	float *value;
};

/* How their values are written. */
enum manner {
	ALIKE,			/* all as the form says */
	SIGNED,			/* the same, but for a "-" before some */
	FREELY
};

/* How many digits are there before a colon?  0: none, or more than 8. */
static inline unsigned
id_size(const char *p)
{
	const unsigned size = digits_before(digits_not(digits_load(p)));

	return p[size] == ':' ? size : 0;
}

/* As far as it goes: what stops it is for others to see. */
static inline void
take(struct pairs *from, struct form form, enum manner manner)
{
	uint32_t *restrict id = from->id;
	const uint64_t first = from->first, rows = from->rows;
	uint64_t next = from->next;
	float *restrict value = from->value;
	const char *p = from->p;
	unsigned size = id_size(p);

	while (size > 0) {
		const char *v = p + size + 1;
		const unsigned minus = manner == ALIKE ? 0 : form_minus(*v);
		digits_pair x;
		uint64_t both, row;

		if (manner == FREELY ? !form_look(&form, v, minus, ' ') :
				       !form_fits(&form, v + minus))
			break;
		x = digits_both(digits_load(p) << (64 - 8 * size),
				form_word(&form, v + minus));
		v += form.size + minus;
		if (!digits_good(x) || (unsigned char)*v > ' ')
			break;
		both = digits_values(x);
		row = (uint32_t)both - first;
		if (row < next || row >= rows)
			break;
		*value++ = form_value(&form, both >> 32, minus);
		*id++ = (uint32_t)row;
		next = row + 1;
		p = v;
		if (*p != ' ')
			break;
		/* Ids ascend, and get longer. */
		p++;
		if (p[size] != ':')
			size = id_size(p);
	}
	*from = (struct pairs){ p, first, next, rows, id, value };
}

const char *
pairs_read(const char *p, uint64_t first, uint64_t next, uint64_t rows,
	   uint32_t *id, float *value, size_t *count)
{
	struct pairs from = { p, first, next, rows, id, value };
	struct form form = { 0 };
	const char *v = p + id_size(p) + 1;

	if (form_look(&form, v, form_minus(*v), ' ')) {
		take(&from, form, ALIKE);
		take(&from, form, SIGNED);
	}
	take(&from, form, FREELY);
	*count = (size_t)(from.id - id);
	return from.p;
}
