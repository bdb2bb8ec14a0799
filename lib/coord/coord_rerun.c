/*
 * The steps that servers lack, and that are run again for them alone: which
 * ones they are, and what each of them was when it had its number.
 */
#include "coord/coord_rerun.h"

#include "base/mem.h"
#include "coord/coord_data.h"
#include "coord/coord_ending.h"
#include "coord/coord_journal.h"
#include "coord/rerun_set.h"
#include "coord/step_history.h"

#include <stdlib.h>

#define MAX_RERUN_ERRORS	5

struct rerun {
	struct step_history history;	/* the terms of the steps since the
					   checkpoint */
	struct rerun_set *set;	/* of each server; in sync only set[0], which
				   is for all servers */
	uint64_t steps, errors;	/* counts: steps to be run again; failures of
				   such steps */
};

void
rerun_init(struct coord *c)
{
	c->rerun = mem_alloc(1, sizeof(*c->rerun));
	c->rerun->set = mem_alloc(c->o.servers, sizeof(*c->rerun->set));
}

void
rerun_release(struct coord *c)
{
	for (size_t i = 0; i < c->o.servers; i++)
		rerun_set_release(&c->rerun->set[i]);
	free(c->rerun->set);
	step_history_release(&c->rerun->history);
	free(c->rerun);
}

/* ---- what they were ---- */

bool
rerun_record(struct coord *c, uint64_t first)
{
	struct lease_terms l;

	if (!data_knows_epochs(c, first))
		return false;
	for (; first < queue_next(c->queue); first++) {
		queue_asked(c->queue, first, &l);
		step_history_add(&c->rerun->history, &(struct asked_of){
			first, l.batch, l.learning_rate, l.call, l.places });
	}
	data_write_streams(c);
	return !journal_failed(c);
}

void
rerun_void(struct coord *c, uint64_t step)
{
	step_history_void(&c->rerun->history, step, 1);
}

void
rerun_forget(struct coord *c, uint64_t step)
{
	if (rerun_idle(c))
		step_history_forget(&c->rerun->history, step);
}

/* ---- what a server lacks ---- */

/* The steps that a server lacks; in sync, those that all servers do again. */
static struct rerun_set *
rerun_set_of(const struct coord *c, size_t server)
{
	return &c->rerun->set[c->o.mode == MODE_SYNC ? 0 : server];
}

static void
add_ended(const struct coord *c, uint64_t from, struct ranges *to)
{
	const struct ranges *voided = &c->rerun->history.voided;
	const uint64_t low = queue_watermark(c->queue);

	if (low > from)
		ranges_add(to, from, low - from);
	for (uint64_t s = low > from ? low : from;
	     s < queue_next(c->queue); s++)
		if (!queue_step(c->queue, s))
			ranges_add(to, s, 1);
	for (size_t i = 0; i < voided->count; i++)
		ranges_remove(to, voided->range[i].first,
			      voided->range[i].end - voided->range[i].first);
}

/* Find the steps that have ended and that a server lacks: by the standing that
   it reported, or if it goes back to the checkpoint, all from back on. */
static void
find_lacking(const struct coord *c, size_t server, uint64_t back,
	     struct ranges *to)
{
	const struct standing *s = fleet_standing(c->fleet, server);
	const bool holds = fleet_holds(c->fleet, server);
	const uint64_t from = holds ? s->low : back;
	uint64_t first = from, end;

	/* A server without variables, by the plan, is pushed nothing, and so
	   lacks nothing.  In sync set[0] is for all servers. */
	if (c->o.mode != MODE_SYNC && !plan_uses(&c->plan, server))
		return;
	add_ended(c, from, to);
	while (holds && first < from + 8 * s->bytes) {
		for (end = first; standing_has(s, end); end++)
			;
		if (end > first)
			ranges_remove(to, first, end - first);
		first = end + 1;
	}
}

bool
rerun_lacks_rounds(const struct coord *c, size_t server)
{
	const struct ranges *todo = &c->rerun->set[0].todo;
	struct ranges lacking = { 0 };
	bool any;

	add_ended(c, fleet_standing(c->fleet, server)->round, &lacking);
	for (size_t i = 0; i < todo->count; i++)
		ranges_remove(&lacking, todo->range[i].first,
			      todo->range[i].end - todo->range[i].first);
	any = lacking.count > 0;
	ranges_release(&lacking);
	return any;
}

uint64_t
rerun_fill(struct coord *c, size_t server, uint64_t back)
{
	struct rerun_set *r = rerun_set_of(c, server);
	struct ranges more = { 0 }, before = r->todo;
	const struct ranges *todo = &r->todo;
	uint64_t again;

	if (c->o.mode == MODE_SYNC &&
	    (server > 0 || fleet_holds(c->fleet, server)))
		return ranges_total(&r->todo);
	r->todo = (struct ranges){ 0 };
	rerun_set_release(r);
	find_lacking(c, server, back, &r->todo);
	for (size_t i = 0; i < todo->count; i++)
		ranges_add(&more, todo->range[i].first, todo->range[i].end -
			   todo->range[i].first);
	for (size_t i = 0; fleet_holds(c->fleet, server) && i < before.count;
	     i++)
		ranges_remove(&more, before.range[i].first,
			      before.range[i].end - before.range[i].first);
	again = ranges_total(&more);
	c->rerun->steps += again;
	ranges_release(&more);
	ranges_release(&before);
	return again;
}

uint64_t
rerun_watermark(const struct coord *c, size_t server)
{
	const uint64_t low = queue_watermark(c->queue);
	const uint64_t rerun = rerun_set_watermark(rerun_set_of(c, server));

	return rerun < low ? rerun : low;
}

bool
rerun_idle(const struct coord *c)
{
	for (size_t i = 0; i < c->o.servers; i++)
		if (!rerun_set_idle(&c->rerun->set[i]))
			return false;
	return true;
}

bool
rerun_lease(struct coord *c, void *worker, struct lease_terms *l,
	      uint64_t *server)
{
	for (size_t i = 0; i < c->o.servers; i++) {
		const struct ranges *todo = &c->rerun->set[i].todo;
		uint64_t limit = fleet_acked_watermark(c->fleet, i) + WINDOW,
			until;
		struct asked_of asked;

		if (todo->count == 0)
			continue;
		asked = step_history_of(&c->rerun->history,
					todo->range[0].first, &until);
		if (until < limit)
			limit = until;
		*l = (struct lease_terms){ .batch = asked.batch,
			.learning_rate = asked.learning_rate,
			.call = asked.call,
			.places = places_behind(&asked.places,
				todo->range[0].first - asked.first) };
		l->count = rerun_set_lease(&c->rerun->set[i], worker,
					   data_run(c, &l->places), limit,
					   &l->first);
		*server = i;
		if (l->count > 0)
			return true;
	}
	return false;
}

bool
rerun_ended(struct coord *c, size_t server, uint64_t step)
{
	rerun_set_end(&c->rerun->set[server], step);
	return rerun_set_idle(&c->rerun->set[server]);
}

void
rerun_return(struct coord *c, const void *worker)
{
	for (size_t i = 0; i < c->o.servers; i++)
		rerun_set_return(&c->rerun->set[i], worker);
}

void
rerun_failed(struct coord *c, uint64_t step, uint64_t server,
	     const struct fail *why)
{
	struct fail f = *why;

	if (++c->rerun->errors < MAX_RERUN_ERRORS)
		return;
	if (server == WIRE_NONE)
		fail_at(&f, "step %llu, run again", (unsigned long long)step);
	else
		fail_at(&f, "step %llu, run again for server %llu",
			(unsigned long long)step, (unsigned long long)server);
	ending_fail(c, &f);
}

const struct rerun_set *
rerun_of(const struct coord *c, size_t server)
{
	return &c->rerun->set[server];
}

uint64_t
rerun_steps(const struct coord *c)
{
	return c->rerun->steps;
}

bool
rerun_running(const struct coord *c)
{
	for (size_t i = 0; i < c->o.servers; i++)
		if (c->rerun->set[i].outs > 0)
			return true;
	return false;
}

/* ---- in the journal ---- */

void
rerun_write(const struct coord *c, size_t server, struct pack *out)
{
	const struct rerun_set *r = &c->rerun->set[server];

	pack_uint(out, r->todo.count + r->outs);
	for (size_t k = 0; k < r->todo.count; k++) {
		pack_uint(out, r->todo.range[k].first);
		pack_uint(out, r->todo.range[k].end);
	}
	for (size_t k = 0; k < r->outs; k++) {
		pack_uint(out, r->out[k].step);
		pack_uint(out, r->out[k].step + 1);
	}
}

void
rerun_read(struct coord *c, size_t server, struct unpack *in)
{
	struct rerun_set *r = &c->rerun->set[server];
	uint64_t ranges = unpack_uint(in);

	rerun_set_release(r);
	for (; ranges > 0 && !in->bad; ranges--) {
		const uint64_t first = unpack_uint(in);

		ranges_add(&r->todo, first, unpack_uint(in) - first);
	}
}

void
rerun_write_history(struct coord *c, uint64_t below)
{
	struct pack out = { 0 };

	pack_uint(&out, below);
	step_history_write(&c->rerun->history, &out);
	journal_add(c, JOURNAL_HISTORY, &out, false);
	pack_release(&out);
}

int
rerun_read_history(struct coord *c, uint64_t below, struct unpack *in)
{
	return step_history_read(&c->rerun->history, in, below);
}

/* ---- what always holds ---- */

const char *
rerun_check(const struct coord *c)
{
	for (size_t i = 0; i < c->o.servers; i++) {
		const struct rerun_set *r = &c->rerun->set[i];
		const char *violation = rerun_set_check(r);

		if (violation)
			return violation;
		for (size_t k = 0; k < r->todo.count; k++)
			if (c->phase == PHASE_RUN &&
			    r->todo.range[k].end > queue_next(c->queue))
				return "coord 11: a step to be run again has "
					"had a number";
		for (size_t k = 0; k < r->outs; k++)
			if (queue_step(c->queue, r->out[k].step))
				return "coord 12: a step is run again when it "
					"has ended";
	}
	return NULL;
}
