/*
 * kernels - each optimizer against a loop over the same floats that adds.
 *
 * The loop reads and writes as many arrays as the optimizer does.  "In cache"
 * means 4,000 floats, "in memory" 16 million; figures are the GB/s that are
 * read and written.
 */
#include "tensor/apply.h"

#include "base/flush_denormals.h"
#include "base/mem.h"
#include "tensor/target_clones.h"

#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *label, *name, *settings;
} kinds[] = {
	{ "sgd", "sgd", "" },
	{ "sgd momentum", "sgd", "momentum=0.9" },
	{ "adagrad", "adagrad", "" },
	{ "rmsprop", "rmsprop", "" },
	{ "adadelta", "adadelta", "" },
	{ "adam", "adam", "" },
	{ "adamw", "adamw", "" },
	{ "adamax", "adamax", "" },
	{ "nadam", "nadam", "" },
	{ "amsgrad", "adam", "amsgrad=true" },
	{ "ftrl", "ftrl", "" },
	{ "lion", "lion", "" },
};

/* Does as many loads and stores as an optimizer with this number of slots. */
static TARGET_CLONES void
add(float *w, const float *g, size_t n, size_t slots)
{
	for (size_t s = 0; s <= slots; s++, w += n)
		for (size_t i = 0; i < n; i++)
			w[i] += g[i];
}

/* Walks through all arrays together, as an optimizer does. */
static void
limit(float *w, const float *g, size_t n, size_t slots)
{
	const size_t block = 1024;

	for (size_t at = 0; at < n; at += block) {
		const size_t some = n - at < block ? n - at : block;

		for (size_t s = 0; s <= slots; s++)
			add(w + s * n + at, g + at, some, 0);
	}
}

static void
one(const struct optimizer *o, const char *label, size_t n, size_t times,
    float *w, const float *g)
{
	const struct apply a = { .optimizer = o, .learning_rate = 1e-6f,
				 .t = 1000, .examples = 32 };
	const struct claim claim = { "kernels", label, "GB/s", "add",
				     n > 100000 ? .85 : 0 };
	const double gb = (double)(n * times) * sizeof(float) *
		(double)(3 + 2 * o->slots) / 1e9;
	struct series ours = { 0 }, bare = { 0 };

	for (size_t i = 0; i < n * (1 + o->slots); i++)
		w[i] = .5f;
	for (size_t run = 0; run < bench_runs(); run++) {
		struct watch begin = watch_read(0);

		for (size_t k = 0; k < times; k++)
			limit(w, g, n, o->slots);
		series_add(&bare, gb, begin, 0);
		begin = watch_read(0);
		for (size_t k = 0; k < times; k++)
			apply_all(&a, w, w, g, n);
		series_add(&ours, gb, begin, 0);
	}
	bench_print(&claim, &ours, &bare);
}

int
main(void)
{
	flush_denormals();	/* as ps-serve does */

	const size_t cached = 4000;
	const size_t large = bench_scale(1 << 14, 16 << 20, 16 << 20);
	float *w = mem_alloc((large + cached) * 4, sizeof(*w));
	float *g = mem_alloc(large + cached, sizeof(*g));

	for (size_t i = 0; i < large + cached; i++)
		g[i] = 1e-3f * (float)(i % 100);
	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
		struct settings s = { 0 };
		struct optimizer o;
		struct fail f;
		char label[64];

		if (*kinds[k].settings)
			settings_add(&s, kinds[k].settings, &f);
		optimizer_parse(&o, kinds[k].name, &s, &f);
		snprintf(label, sizeof(label), "%s, in cache",
			 kinds[k].label);
		one(&o, label, cached, bench_scale(10, 20000, 20000), w, g);
		snprintf(label, sizeof(label), "%s, in memory",
			 kinds[k].label);
		one(&o, label, large, 1, w, g);
		settings_release(&s);
	}
	free(w);
	free(g);
	return 0;
}
