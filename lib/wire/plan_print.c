/*
 * What --plan prints: who holds what, and what a step costs on the wire.
 */
#include "wire/plan.h"

#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>

struct load {
	size_t shards, bytes, step;
};

static size_t
slots(const struct variable *v)
{
	return v->optimizer ? v->optimizer->slots : 0;
}

/*
 * Floats of a shard that a step pulls, and pushes.  Of a table as many rows as
 * the batch can meet at most; ids are taken to be spread over its shards.
 */
static size_t
step_floats(const struct variable *v, struct rows rows, uint64_t batch)
{
	const size_t width = shape_width(v->shape);
	const size_t all = rows.count * width;

	/* Any of its rows may be met; which there are is not known yet. */
	if (v->hashed)
		return width * (size_t)ceil((double)batch *
			(double)v->lookups * (double)rows.count /
			(double)HASHED_RANGES);

	const double met = ceil((double)batch * (double)v->lookups *
				(double)all / (double)shape_rows(v->shape));

	return v->table && v->lookups > 0 && met < (double)all ?
		(size_t)met : all;
}

static void
print_shards(struct text *out, const struct plan *p, const struct variable *v,
	     const struct place *place, size_t places, struct load *load,
	     uint64_t batch)
{
	char shape[SHAPE_TEXT];

	text_add(out, "%-24s %-16s %6s %16s %7s %12s\n", "variable", "shape",
		 "shard", "rows", "server", "bytes");
	for (size_t i = 0; i < places; i++) {
		const struct place *at = &place[i];
		const struct variable *of = &v[at->variable];
		const size_t bytes = of->hashed ? 0 : at->rows.count *
			sizeof(float) * shape_width(of->shape) *
			(1 + slots(of));

		text_add(out, "%-24s %-16s %3u/%-2u %7zu..%-7zu %7u %12zu\n",
			 of->name, of->hashed ? "hashed" :
			 shape_text(of->shape, shape),
			 at->shard, at->shards, at->rows.first,
			 at->rows.first + at->rows.count, at->server, bytes);
		load[at->server].shards++;
		load[at->server].bytes += bytes;
		load[at->server].step += codec_size(p->codec) *
			step_floats(of, at->rows, batch);
	}
}

void
plan_print(struct text *out, const struct plan *p, const struct model *model,
	   const struct place *place, size_t places, uint64_t batch)
{
	struct load *load = mem_alloc(p->servers, sizeof(*load));
	size_t variables, total = 0, most = 0, step = 0;

	print_shards(out, p, model_variables(model, &variables), place, places,
		     load, batch);
	text_add(out, "\n%-7s %-32s %6s %12s %14s\n", "server", "endpoint",
		 "shards", "bytes", "bytes/step");
	for (size_t i = 0; i < p->servers; i++) {
		text_add(out, "%-7zu %-32s %6zu %12zu %14zu\n", i,
			 p->endpoint[i], load[i].shards, load[i].bytes,
			 load[i].step);
		total += load[i].bytes;
		step += load[i].step;
		most = load[i].bytes > most ? load[i].bytes : most;
	}
	text_add(out, "\ntotal %zu bytes with slots, %zu parts; "
		 "skew %.3f (largest server over the mean)\n", total,
		 p->parts, total ? (double)most * (double)p->servers /
		 (double)total : 1.0);
	text_add(out, "a step of %llu examples pulls and pushes at most "
		 "%zu bytes each way\n", (unsigned long long)batch, step);
	free(load);
}
