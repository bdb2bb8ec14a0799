/* An update of a float gives the same bits alone, in a block, in a long row, in
   place or copied, and on every processor. */
#include "tensor/apply.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"

#include "tap.h"

#include <stdlib.h>
#include <string.h>

#define FLOATS	2500		/* more than two blocks, and some */
#define UPDATES	4

/* The optimizers, and the hash of the floats after UPDATES updates. */
static const struct {
	const char *name, *settings;
	uint64_t digest;
} kinds[] = {
	{ "adadelta", "learning_rate=0.5", 0xefc79ea815e25510 },
	{ "adagrad", "learning_rate=0.1", 0xca84cff96b2ec6d3 },
	{ "adam", "", 0xa295e00952fbac9e },
	{ "adam", "amsgrad=true", 0x728319c313670e6f },
	{ "adamax", "", 0x5d2249ffea0f2536 },
	{ "adamw", "", 0x4a41b7680fa3e9d0 },
	{ "ftrl", "learning_rate=0.1 l1=0.01 l2=0.1", 0x3eb02352b38a9328 },
	{ "lion", "", 0x6af8a4ce36c55d30 },
	{ "rmsprop", "", 0xbf6ed32b8156478c },
	{ "rmsprop", "momentum=0.9", 0xbbff29782a022179 },
	{ "rmsprop", "centered=true", 0x622d97a8357e9390 },
	{ "rmsprop", "centered=true momentum=0.9", 0xf8c1363828b92f44 },
	{ "sgd", "", 0x619749e2e5a31b42 },
	{ "sgd", "momentum=0.9 weight_decay=0.01", 0xe81d487c7cdb4c8e },
	{ "sgd", "momentum=0.9 nesterov=true", 0xd60c3905fa2f4abf },
	{ "nadam", "", 0x53d184b5d734af00 },
};

struct floats {
	float *value;		/* FLOATS, and of each slot */
	size_t size;
};

static void
parse(struct optimizer *o, const char *name, const char *settings)
{
	char text[128];
	struct settings s = { .where = "test" };
	struct fail f;

	snprintf(text, sizeof(text), "%s", settings);
	for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
		settings_add(&s, word, &f);
	if (optimizer_parse(o, name, &s, &f) < 0) {
		printf("Bail out! %s\n", f.text);
		exit(1);
	}
	settings_release(&s);
}

static struct floats
begin(const struct optimizer *o)
{
	struct rng rng = { .seed = 5 };
	struct floats x = { .size = FLOATS * (1 + o->slots) };

	x.value = mem_alloc(x.size, sizeof(float));
	for (size_t i = 0; i < FLOATS; i++)
		x.value[i] = (float)rng_unit(rng_next(&rng)) - .5f;
	for (size_t i = FLOATS; i < x.size; i++)
		x.value[i] = o->slot_start[i / FLOATS - 1];
	return x;
}

static struct apply
how(const struct optimizer *o, uint64_t t)
{
	static const float examples[] = { 32, 1, 7 };	/* in turn */

	return (struct apply){ .optimizer = o, .learning_rate = .01f,
			       .t = t, .examples = examples[t % 3] };
}

/* Updates one float at a time, so that no loop is vectorized. */
static void
alone(const struct optimizer *o, struct floats x, const float *g, uint64_t t)
{
	const struct apply a = how(o, t);

	for (size_t i = 0; i < FLOATS; i++) {
		const float mean = g[i] / a.examples;
		struct update u = { .w = &x.value[i], .n = 1,
				    .sum = &mean, .examples = 1,
				    .learning_rate = a.learning_rate,
				    .t = t };

		for (size_t s = 0; s < o->slots; s++)
			u.slot[s] = &x.value[(1 + s) * FLOATS + i];
		optimizer_apply(o, &u);
	}
}

/* Updates all floats at once: in place, then from one array to another, at any
   address. */
static void
together(const struct optimizer *o, struct floats *x, const float *g,
	 uint64_t t)
{
	const struct apply a = how(o, t);
	char *odd = mem_alloc(FLOATS + 1, sizeof(*g));
	float *to = x->value;

	memcpy(odd + 1, g, FLOATS * sizeof(*g));
	if (t % 2)
		to = mem_alloc(x->size, sizeof(*to));
	apply_all(&a, x->value, to, odd + 1, FLOATS);
	if (to != x->value)
		free(x->value);
	x->value = to;
	free(odd);
}

/* Updates rows by pointers, the last row first. */
static void
as_pointers(const struct apply *a, struct floats x, const float *g,
	    size_t width)
{
	const size_t rows = FLOATS / width;
	float **row = mem_alloc(rows, sizeof(*row));
	float *turned = mem_alloc(FLOATS, sizeof(*g));

	for (size_t i = 0; i < rows; i++) {
		const size_t at = (rows - 1 - i) * width;

		row[i] = x.value + at;
		apply_fetch(row[i], width);	/* only a prefetch */
		memcpy(turned + i * width, g + at, width * sizeof(*g));
	}
	apply_rows(a, (struct row_set){ rows, width, .row = row }, FLOATS,
		   turned);
	free(turned);
	free(row);
}

/* Updates rows by numbers: neighbours, then every second one of the others. */
static void
as_numbers(const struct apply *a, struct floats x, const float *g,
	   size_t width)
{
	const size_t rows = FLOATS / width;
	uint64_t *number = mem_alloc(rows, sizeof(*number));
	float *own = mem_alloc(FLOATS, sizeof(*g));

	for (size_t turn = 0; turn < 3; turn++) {
		size_t n = 0;

		for (size_t i = 0; i < rows; i++) {
			if (turn != (i < rows / 3 ? 0 : 1 + i % 2))
				continue;
			memcpy(own + n * width, g + i * width,
			       width * sizeof(*g));
			number[n++] = 70000 + i;
		}
		apply_rows(a, (struct row_set){ n, width, .number = number,
			   .first = x.value, .base = 70000 }, FLOATS, own);
	}
	free(own);
	free(number);
}

/* Updates rows of this width; the rest of the floats is a row of its own. */
static void
as_rows(const struct optimizer *o, struct floats x, const float *g,
	size_t width, uint64_t t)
{
	const struct apply a = how(o, t);
	const size_t rest = FLOATS % width;
	float *last = x.value + FLOATS - rest;

	(t % 2 ? as_pointers : as_numbers)(&a, x, g, width);
	if (rest > 0)
		apply_rows(&a, (struct row_set){ 1, rest, .row = &last },
			   FLOATS, g + FLOATS - rest);
}

static void
one_kind(size_t k)
{
	static const size_t width[] = { 1, 2, 3, 4, 5, 6, 7, 8, 16, 20, 500,
					1250, 2500 };
	const size_t widths = sizeof(width) / sizeof(*width);
	struct optimizer o;
	struct floats one, all, rows[sizeof(width) / sizeof(*width)];
	struct rng rng = { .seed = 6 + k };
	float g[FLOATS];
	bool blocks = true, wide = true;

	parse(&o, kinds[k].name, kinds[k].settings);
	one = begin(&o);
	all = begin(&o);
	for (size_t i = 0; i < widths; i++)
		rows[i] = begin(&o);
	for (uint64_t t = 1; t <= UPDATES; t++) {
		for (size_t i = 0; i < FLOATS; i++)
			g[i] = 8 * (float)rng_unit(rng_next(&rng)) - 4;
		alone(&o, one, g, t);
		together(&o, &all, g, t);
		for (size_t i = 0; i < widths; i++)
			as_rows(&o, rows[i], g, width[i], t);
	}

	const size_t bytes = one.size * sizeof(float);
	const uint64_t digest = hash64(one.value, bytes);

	blocks = memcmp(one.value, all.value, bytes) == 0;
	for (size_t i = 0; i < widths; i++) {
		wide = wide && memcmp(one.value, rows[i].value, bytes) == 0;
		free(rows[i].value);
	}
	printf("# %s %s: %#llx\n", kinds[k].name, kinds[k].settings,
	       (unsigned long long)digest);
	named(blocks,
	      "a block of floats gets the same bits as each float alone");
	named(wide, "a long row gets the same bits as each float alone");
	named_equals(digest, kinds[k].digest,
		     "the bits equal the recorded ones, on any processor");
	free(one.value);
	free(all.value);
}

/* Copies more rows than a block has. */
static void
copied(void)
{
	const size_t n = 20001, floats = 3 * n;
	struct optimizer o;
	float *x = mem_alloc(floats, sizeof(*x));
	float *y = mem_alloc(floats, sizeof(*y));
	float *g = mem_alloc(n, sizeof(*g));
	struct rng rng = { .seed = 7 };

	parse(&o, "adam", "");

	const struct apply a = how(&o, 2);

	for (size_t i = 0; i < floats; i++)
		x[i] = (float)rng_unit(rng_next(&rng));
	for (size_t i = 0; i < n; i++)
		g[i] = 8 * (float)rng_unit(rng_next(&rng)) - 4;
	apply_all(&a, x, y, g, n);
	apply_all(&a, x, x, g, n);
	named(same_floats(x, y, floats),
	      "an update into a copy gives the same bits as one in place");
	free(x);
	free(y);
	free(g);
}

int
main(void)
{
	copied();
	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++)
		one_kind(k);
	return tap_done();
}
