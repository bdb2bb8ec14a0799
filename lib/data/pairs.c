#include "data/pairs.h"

#include "data/form.h"

#include <stdbool.h>

/* How a pair is written. */
struct layout {
	unsigned id;		/* digits of the id, 1 to 8 */
	struct form value;
};

/* How is the pair at p written?  false: not plainly. */
static bool
look(const char *p, struct layout *l)
{
	l->id = digits_before(digits_not(digits_load(p)));
	if (l->id == 0 || p[l->id] != ':')
		return false;
	p += l->id + 1;
	return form_look(&l->value, p + (*p == '-'));
}

/*
 * Pairs written alike; what stops it is for others to see.  Returns how many,
 * which *at is moved past.
 */
static size_t
run(const char **at, const struct layout *l, uint64_t last, uint64_t limit,
    uint64_t *restrict id, float *restrict value)
{
	const struct form form = l->value;
	const unsigned id_size = l->id, id_shift = 64 - 8 * id_size;
	const char *p = *at;
	size_t n = 0;

	for (;; n++) {
		const char *v = p + id_size + 1;
		const bool negative = *v == '-';
		uint64_t key, word;

		if (v[-1] != ':')
			break;
		v += negative;
		key = digits_load(p) << id_shift;
		word = form_word(&form, v);
		if (!digits_all(key, word))
			break;
		key = digits_value(key);
		v += form.size;
		if (key <= last || key > limit || (unsigned char)*v > ' ')
			break;
		value[n] = form_value(&form, word, negative);
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
