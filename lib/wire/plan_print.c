/*
 * What --plan prints: which server holds what, and what a step costs on the
 * wire.
 */
#include "wire/plan.h"

#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct load {
	size_t shards, bytes;
	size_t push, pull;	/* bytes of a step */
	size_t floats[WAYS][CODECS];	/* as floats, by codec */
	bool open;		/* there are further rows, which are not
				   counted */
};

static size_t
slots(const struct variable *v)
{
	return v->optimizer ? v->optimizer->slots : 0;
}

/* Does the model not determine how many rows of a table a step needs? */
static bool
is_open(const struct variable *v)
{
	return v->table && v->lookups == 0;
}

/*
 * The floats of a shard that a step pulls, and as many that it pushes.  Of a
 * table these are the most rows that a batch can need; its ids are assumed to
 * be spread evenly over the shards.
 */
static size_t
step_floats(const struct variable *v, struct rows rows, uint64_t batch)
{
	const size_t width = shape_width(v->shape);
	const size_t all = rows.count * width;

	if (is_open(v))
		return 0;
	/* Each id may be another row; how many rows the table has is not known
	   yet. */
	if (v->hashed)
		return width * (size_t)ceil((double)batch *
			(double)v->lookups * (double)rows.count /
			(double)HASHED_RANGES);

	const double met = ceil((double)batch * (double)v->lookups *
				(double)all / (double)shape_rows(v->shape));

	return v->table && met < (double)all ? (size_t)met : all;
}

/* The bytes of encoded floats.  The floats of a table may be a fraction of a
   row, which is then that fraction of a row's bytes. */
static size_t
bytes_of(const struct codec *codec, const struct variable *v, size_t floats,
	 struct codec_slice slice)
{
	const size_t width = v->table ? shape_width(v->shape) : 1;
	const size_t bytes = codec_most(codec, slice);

	return v->table ? (bytes * floats + width - 1) / width : bytes;
}

/* Add what a step pulls from a shard and pushes to it. */
static void
add_step(struct load *to, const struct plan *p, const struct variable *all,
	 size_t variable, struct rows rows, uint64_t batch)
{
	const struct encoding e = plan_encoding(p, UINT64_MAX);
	const struct variable *v = &all[variable];
	const size_t floats = step_floats(v, rows, batch);
	struct codec_slice slice = coding_slice(v, v->table ? 1 : floats);

	for (int way = 0; way < WAYS; way++) {
		const struct codec *c;

		slice.pulled = way == WAY_PULL;
		slice.keep = p->codings->of[variable][way].keep;
		slice.difference = slice.pulled &&
			coding_delta(p->codings, variable);
		c = slice.difference ? codec_for(p->codings->of[variable][way]
						 .codec, slice) :
			encoding_codec(e, variable, slice);
		*(way == WAY_PULL ? &to->pull : &to->push) +=
			bytes_of(c, v, floats, slice);
		to->floats[way][codec_number(p->codings->of[variable][way]
					     .codec)] +=
			floats * sizeof(float);
	}
	to->open |= is_open(v);
}

struct plan_load *
plan_loads(const struct plan *p, const struct model *model,
	   const struct place *place, size_t places, uint64_t examples)
{
	struct plan_load *list = mem_alloc(p->servers, sizeof(*list));
	size_t variables;
	const struct variable *v = model_variables(model, &variables);

	for (size_t i = 0; i < places; i++) {
		struct plan_load *to = &list[place[i].server];
		struct load one = { 0 };

		add_step(&one, p, v, place[i].variable, place[i].rows,
			 examples);
		to->push += one.push;
		to->pull += one.pull;
		to->open |= one.open;
	}
	return list;
}

/* Print which share of the floats each codec encodes in a direction, and from
   which step on. */
static void
print_shares(struct text *out, const struct plan *p, enum way way,
	     const size_t floats[CODECS])
{
	size_t all = 0;

	for (size_t i = 0; i < CODECS; i++)
		all += floats[i];
	for (size_t i = 0; i < CODECS; i++) {
		uint64_t from = 0;

		for (size_t v = 0; v < p->codings->variables; v++) {
			const struct coding *c = &p->codings->of[v][way];

			if (c->codec == codec_find(i) && c->from > from)
				from = c->from;
		}
		if (codec_find(i)->exact || floats[i] == 0)
			continue;
		text_add(out, "%s is for %.1f %% of the floats that are %s",
			 codec_find(i)->name,
			 100 * (double)floats[i] / (double)all,
			 way == WAY_PULL ? "pulled" : "pushed");
		if (from > 0)
			text_add(out, ", from step %llu on",
				 (unsigned long long)from);
		text_add(out, "\n");
	}
}

/* Print the bytes pulled and pushed, once if they are equal. */
static void
print_ways(struct text *out, size_t pull, size_t push, const char *most)
{
	if (pull == push)
		text_add(out, " pulls and pushes %s%zu bytes each way", most,
			 push);
	else
		text_add(out, " pulls %s%zu bytes and pushes %s%zu", most,
			 pull, most, push);
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
		add_step(&load[at->server], p, v, at->variable, at->rows,
			 batch);
	}
}

/* Print what a step moves, and the share of each batch; for tables whose rows
   the model does not determine, the bytes of a row. */
static void
print_step(struct text *out, const struct plan *p, const struct variable *v,
	   size_t variables, const struct load *all,
	   const struct plan_steps *s)
{
	text_add(out, "a step of %llu examples",
		 (unsigned long long)(s->batch * s->batches));
	if (s->batches > 1)
		text_add(out, " in %llu batches",
			 (unsigned long long)s->batches);
	print_ways(out, all->pull, all->push, all->open ? "" : "at most ");
	if (s->batches > 1)
		text_add(out, ", %llu in all for each batch",
			 (unsigned long long)((all->pull + all->push) /
					      s->batches));
	text_add(out, "%s\n", !all->open ? "" :
		 ", and the rows that it meets of these, which the model does "
		 "not tell:");
	for (size_t i = 0; i < variables; i++) {
		const struct encoding e = plan_encoding(p, UINT64_MAX);
		struct codec_slice row = coding_slice(&v[i], 1);
		const size_t push = encoding_most(e, i, row);
		size_t pull;

		if (!is_open(&v[i]))
			continue;
		row.pulled = true;
		pull = encoding_most(e, i, row);
		text_add(out, "%s:", v[i].name);
		if (pull != push)
			text_add(out, " %zu bytes a row pulled,", pull);
		text_add(out, " %zu bytes a row", push);
		if (!v[i].hashed)
			text_add(out, ", %zu if it meets all", push *
				 shape_rows(v[i].shape));
		text_add(out, "\n");
	}
}

/* Print what a round moves: the sum of its steps, and those that are computed
   twice. */
static void
print_round(struct text *out, const struct plan_steps *s,
	    const struct load *all)
{
	if (s->replicas == 0)
		return;
	text_add(out, "a round of %llu steps, %llu examples,",
		 (unsigned long long)s->replicas,
		 (unsigned long long)(s->replicas * s->batches * s->batch));
	print_ways(out, s->replicas * all->pull, s->replicas * all->push,
		   all->open ? "" : "at most ");
	text_add(out, "%s", all->open ? ", and rows" : "");
	if (s->backup > 0)
		text_add(out, ", and %llu more if %llu of them are computed "
			 "twice", (unsigned long long)(s->backup * all->push),
			 (unsigned long long)s->backup);
	text_add(out, "\n");
}

/*
 * Print what a machine sends and receives over its link.  A server sends all
 * that its clients pull, and receives all that they push.  What a worker and a
 * server on the same host move between them does not count.
 */
static void
print_link(struct text *out, const char *who, size_t sent, size_t received,
	   bool open)
{
	text_add(out, "%s sends %s%zu bytes and receives %zu%s\n", who,
		 open ? "" : "at most ", sent, received,
		 open ? ", and rows" : "");
}

/* The bytes of all dense pieces, encoded in this way. */
static size_t
dense_bytes(const struct plan *p, enum way way, struct encoding how)
{
	size_t bytes = 0;

	for (size_t i = 0; i < p->pieces; i++) {
		const struct piece *piece = &p->piece[i];
		struct codec_slice slice = plan_slice(piece, piece->count);

		slice.pulled = way == WAY_PULL;
		if (!piece->table)
			bytes += encoding_most(how, piece->variable, slice);
	}
	return bytes;
}

#define HOST	4	/* workers of the host in the example */

/*
 * Print what a relay saves in a round.  Values of dense variables come to the
 * host once, and only the sum of their gradients leaves it, if that is smaller.
 * Rows of tables count fully, as each worker may need other rows.
 */
static void
print_relay(struct text *out, const struct plan *p, const struct load *all)
{
	const struct encoding how = plan_encoding(p, UINT64_MAX);
	const size_t push = dense_bytes(p, WAY_PUSH, how);
	const size_t pull = dense_bytes(p, WAY_PULL, how);
	const size_t sum = dense_bytes(p, WAY_PUSH,
				       (struct encoding){ NULL, 0 });
	char host[40];

	snprintf(host, sizeof(host), "  a host of %d workers", HOST);
	print_link(out, host, HOST * all->push,
		   HOST * all->pull, all->open);
	print_link(out, "  the same with a relay", HOST * (all->push - push) +
		   (sum < HOST * push ? sum : HOST * push),
		   HOST * all->pull - (HOST - 1) * pull, all->open);
}

static void
print_links(struct text *out, const struct plan *p, const struct plan_steps *s,
	    const struct load *load, const struct load *all)
{
	const size_t workers = s->replicas > 0 ? s->replicas : s->beside;
	size_t sent = 0, received = 0, at = s->beside;

	if (workers == 0)
		return;
	for (size_t i = 0; i < s->beside; i++) {
		const size_t others = workers - 1;
		const size_t out_of = all->push - load[i].push +
			others * load[i].pull;
		const size_t into = all->pull - load[i].pull +
			others * load[i].push;

		sent = out_of > sent ? out_of : sent;
		received = into > received ? into : received;
	}
	for (size_t i = s->beside; i < p->servers; i++)
		if (load[i].push + load[i].pull >
		    load[at].push + load[at].pull)
			at = i;
	text_add(out, "over its link, when each of %zu workers takes a "
		 "step:\n", workers);
	if (s->beside > 0)
		print_link(out, "  a worker with the server beside it", sent,
			   received, all->open);
	else
		print_link(out, "  a worker", all->push, all->pull, all->open);
	if (s->beside < p->servers)
		print_link(out, s->beside > 0 ? "  a server alone" :
			   "  a server", workers * load[at].pull,
			   workers * load[at].push, load[at].open);
	if (s->beside == 0 && s->replicas >= HOST)
		print_relay(out, p, all);
}

static void
print_bags(struct text *out, const struct plan_bags *b)
{
	if (b->records > 0)
		text_add(out, "no example has more ids than one of %s %llu "
			 "records of the data\n", b->all ? "all the" :
			 "the first", (unsigned long long)b->records);
}

void
plan_print(struct text *out, const struct plan *p, const struct model *model,
	   const struct place *place, size_t places,
	   const struct plan_steps *s)
{
	struct load *load = mem_alloc(p->servers, sizeof(*load)), all = { 0 };
	const uint64_t examples = s->batch * s->batches;
	size_t variables, most = 0;
	const struct variable *v = model_variables(model, &variables);

	print_shards(out, p, v, place, places, load, examples);
	text_add(out, "\n%-7s %-32s %6s %12s %14s\n", "server", "endpoint",
		 "shards", "bytes", "bytes/step");
	for (size_t i = 0; i < p->servers; i++) {
		text_add(out, "%-7zu %-32s %6zu %12zu %14zu%s%s\n", i,
			 p->endpoint[i], load[i].shards, load[i].bytes,
			 load[i].push > load[i].pull ? load[i].push :
			 load[i].pull, load[i].open ? "+" : "",
			 i < s->beside ? " beside" : "");
		all.bytes += load[i].bytes;
		all.push += load[i].push;
		all.pull += load[i].pull;
		for (int way = 0; way < WAYS; way++)
			for (size_t k = 0; k < CODECS; k++)
				all.floats[way][k] += load[i].floats[way][k];
		all.open |= load[i].open;
		most = load[i].bytes > most ? load[i].bytes : most;
	}
	text_add(out, "\ntotal %zu bytes with slots, %zu parts; "
		 "skew %.3f (largest server over the mean)\n", all.bytes,
		 p->parts, all.bytes ? (double)most * (double)p->servers /
		 (double)all.bytes : 1.0);
	print_step(out, p, v, variables, &all, s);
	print_round(out, s, &all);
	print_links(out, p, s, load, &all);
	print_shares(out, p, WAY_PUSH, all.floats[WAY_PUSH]);
	print_shares(out, p, WAY_PULL, all.floats[WAY_PULL]);
	print_bags(out, &s->bags);
	free(load);
}
