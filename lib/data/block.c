#include "data/block.h"

#include "base/mem.h"
#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

#define MAX_NAME	65536

void
block_release(struct block *b)
{
	for (size_t i = 0; i < b->spans; i++)
		record_range_release(&b->span[i]);
	free(b->span);
	*b = (struct block){ 0 };
}

void
block_add(struct block *b, const struct record_range *s)
{
	struct record_range *to;

	b->span = mem_resize(b->span, b->spans + 1, sizeof(*b->span));
	to = &b->span[b->spans++];
	*to = *s;
	to->file = mem_text(s->file);
	to->label = s->label ? mem_text(s->label) : NULL;
}

void
block_write_span(struct pack *p, const struct record_range *s)
{
	pack_array(p, 10);
	pack_text(p, s->file);
	pack_text(p, s->label ? s->label : "");
	pack_uint(p, s->begin);
	pack_uint(p, s->end);
	pack_uint(p, s->skip);
	pack_uint(p, s->count);
	pack_uint(p, s->number);
	pack_uint(p, s->at.origin);
	pack_uint(p, s->at.inside);
	pack_uint(p, s->segment);
}

/* Read a file name, which the caller frees; NULL if it is empty or bad. */
static char *
read_name(struct unpack *u)
{
	size_t size;
	const char *name = unpack_blob(u, &size);

	if (u->bad || size > MAX_NAME || memchr(name, '\0', size)) {
		u->bad = true;
		return NULL;
	}
	return size > 0 ? mem_text_n(name, size) : NULL;
}

static void
read_span(struct unpack *u, struct record_range *s)
{
	*s = (struct record_range){ 0 };
	u->bad = unpack_array(u) != 10 || u->bad;
	s->file = read_name(u);
	s->label = read_name(u);
	s->begin = unpack_uint(u);
	s->end = unpack_uint(u);
	s->skip = unpack_uint(u);
	s->count = unpack_uint(u);
	s->number = unpack_uint(u);
	s->at.origin = unpack_uint(u);
	s->at.inside = unpack_uint(u);
	s->segment = unpack_uint(u);
	u->bad = u->bad || !s->file;
}

int
block_read_span(struct record_range *s, const void *data, size_t size,
		struct fail *f)
{
	struct unpack u = unpack_from(data, size);

	read_span(&u, s);
	if (unpack_ok(&u))
		return 0;
	record_range_release(s);
	return fail(f, FAIL_PROTOCOL, "a malformed span");
}

void
block_write(struct pack *p, const struct block *b)
{
	pack_array(p, 1 + b->spans);
	pack_uint(p, b->seed);
	for (size_t i = 0; i < b->spans; i++)
		block_write_span(p, &b->span[i]);
}

int
block_read(struct block *b, const void *data, size_t size, struct fail *f)
{
	struct unpack u = unpack_from(data, size);
	const uint32_t count = unpack_array(&u);

	*b = (struct block){ .seed = unpack_uint(&u) };
	if (!u.bad && count > 1 && count <= unpack_left(&u)) {
		b->span = mem_alloc(count - 1, sizeof(*b->span));
		while (b->spans < count - 1 && !u.bad)
			read_span(&u, &b->span[b->spans++]);
	}
	if (unpack_ok(&u) && b->spans > 0)
		return 0;
	block_release(b);
	return fail(f, FAIL_PROTOCOL, "a malformed block");
}

/* Durstenfeld, "Algorithm 235: random permutation", 1964. */
void
block_order(uint64_t seed, size_t *order, size_t n)
{
	struct rng rng = { .seed = seed };

	for (size_t i = 0; i < n; i++)
		order[i] = i;
	for (size_t i = n; i > 1 && seed != BLOCK_IN_ORDER; i--) {
		const size_t k = (size_t)rng_below(&rng, i);
		const size_t last = order[i - 1];

		order[i - 1] = order[k];
		order[k] = last;
	}
}

void
block_write_format(struct pack *p, const struct record_range_format *how,
		   uint64_t datasets)
{
	pack_array(p, 3);
	pack_text(p, how->name ? how->name : "");
	pack_uint(p, how->no_header);
	pack_uint(p, datasets);
}

int
block_read_format(struct record_range_format *how, uint64_t *datasets,
		  const void *data, size_t size, struct fail *f)
{
	struct unpack u = unpack_from(data, size);

	u.bad = unpack_array(&u) != 3 || u.bad;
	how->name = read_name(&u);
	how->no_header = unpack_below(&u, 2);
	*datasets = unpack_uint(&u);
	if (unpack_ok(&u))
		return 0;
	free(how->name);
	how->name = NULL;
	return fail(f, FAIL_PROTOCOL, "a malformed format");
}
