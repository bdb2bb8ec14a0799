#include "worker/pipeline.h"

#include "base/fiber.h"
#include "base/mem.h"
#include "base/rng.h"
#include "model/accumulate.h"
#include "model/compute.h"
#include "worker/residuals.h"

#include <assert.h>
#include <stdlib.h>

#define IN_FLIGHT	3	/* one pulled for, one computed, one pushed */
#define STEP_STREAM	0x73746570u		/* "step" */

/*
 * The stages of a step.
 *
 *	NONE --begin()--> BEGUN --exchange()--> PULLING
 *	PULLING --take_answers()--> PULLED --pipeline_compute()--> COMPUTED
 *	PULLED --pipeline_compute()--> ASKED --pipeline_compute()--> COMPUTED
 *					(a program has still to answer)
 *	COMPUTED --exchange()--> PUSHING --take_answers()--> NONE
 *	PULLING --yield_to_replica()--> BEGUN	(its round waits for the one
 *					before, and that one for this worker)
 *	PULLED --assign_leases()--> BEGUN	(its lease has another pass or
 *					step line than it was pulled for)
 *	BEGUN --next_exchange()--> PULLED	(its pull is too large: it
 *						fails when it is computed)
 *	BEGUN, PULLED, COMPUTED --drop_cancelled()--> NONE
 *	COMPUTED --end_own_data()--> NONE	(its program had no more data)
 *	any without a lease --drop_prefetched()--> NONE	(likewise)
 *	PULLED --return_batch()--> NONE	(its batch is to be read again)
 *	ASKED --pipeline_begin_term()--> LEFT --discard_answer()--> NONE
 */
enum stage { STAGE_NONE, STAGE_BEGUN, STAGE_PULLING, STAGE_PULLED,
	     STAGE_LEFT, STAGE_ASKED, STAGE_COMPUTED, STAGE_PUSHING };

struct inflight {
	struct compute *compute;
	struct batch batch;
	enum stage stage;
	const struct lease *lease;	/* NULL: it is prefetched */
	uint64_t sequence;	/* in the order in which steps began; 0: none */
	uint64_t turn;		/* likewise, of steps that a program is asked
				   for */
	uint64_t asked;		/* examples; there may be fewer; 0: its program
				   has data of its own */
	uint64_t pass;		/* its pull is good for leases of this pass */
	uint64_t *version;	/* of each part, as it was pulled */
	uint64_t step, began_us;
	struct moved pulled;
	struct metric_state state[RESULT_METRICS];
	struct result result;
	float *const *left;	/* see residuals_add() */
	struct fail why;	/* if it has a kind, the step fails with it */
	bool ended;		/* its program had no more data for it */
	bool waits;		/* its computation waits in the fiber */
	int status;		/* of its computation */
};

struct pipeline {
	struct pipeline_options o;
	const struct metric *metric;	/* of the model */
	size_t metrics;
	struct inflight step[IN_FLIGHT];
	bool layers, programs;		/* programs compute layers; or layers
					   or steps */
	struct fiber *fiber;		/* computes the step that waits for a
					   program amid its computation, */
	struct inflight *computed;	/* this one */
	struct accumulator *accumulator;	/* NULL: a step is a batch */
	struct residuals *residuals;
	uint64_t begun, asked, steps, examples;
	uint64_t last_step;		/* the last one begun that had a
					   lease */
	size_t line;			/* the last lease's, of the model's
					   step lines */
	uint64_t taken;			/* examples that a program has read of
					   its own data, */
	bool ended;			/* which have come to their end */
};

struct pipeline *
pipeline_new(const struct pipeline_options *o)
{
	struct pipeline *p = mem_alloc(1, sizeof(*p));
	size_t inputs;
	const struct input *input = model_inputs(o->model, &inputs);
	const char *where;

	p->o = *o;
	p->metric = model_metrics(o->model, &p->metrics);
	if (o->plan->batches > 1 || model_local(o->model).steps > 0)
		p->accumulator = accumulator_new(o->model, o->externals,
						 o->crew);
	p->layers = model_external(o->model, 0, &where);
	p->programs = model_has_programs(o->model);
	p->fiber = fiber_new();
	p->residuals = residuals_new(o->plan, o->model);
	for (size_t i = 0; i < IN_FLIGHT; i++) {
		struct inflight *s = &p->step[i];

		s->compute = compute_new(o->model, o->externals);
		compute_share(s->compute, o->crew);
		s->version = mem_alloc(o->plan->parts, sizeof(uint64_t));
		batch_begin(&s->batch, input, inputs, model_label(o->model));
	}
	return p;
}

void
pipeline_free(struct pipeline *p)
{
	if (!p)
		return;
	fiber_free(p->fiber);
	for (size_t i = 0; i < IN_FLIGHT; i++) {
		struct inflight *s = &p->step[i];

		compute_free(s->compute);
		batch_release(&s->batch);
		free(s->version);
		for (size_t k = 0; k < RESULT_METRICS; k++)
			metric_release(&s->state[k]);
	}
	accumulator_free(p->accumulator);
	residuals_free(p->residuals);
	free(p);
}

/* ---- which steps there are ---- */

static struct inflight *
writable(const struct inflight *s)
{
	return (struct inflight *)(uintptr_t)s;
}

/* The step at this stage that began first; NULL: none is at it. */
static struct inflight *
at_stage(const struct pipeline *p, enum stage stage)
{
	const struct inflight *first = NULL;

	for (size_t i = 0; i < IN_FLIGHT; i++)
		if (p->step[i].stage == stage &&
		    (!first || p->step[i].sequence < first->sequence))
			first = &p->step[i];
	return writable(first);
}

/* The prefetched steps: their number, and those that began first and last. */
struct prefetched {
	size_t count;
	struct inflight *first, *last;
};

static struct prefetched
prefetched(const struct pipeline *p)
{
	struct prefetched e = { 0 };

	for (size_t i = 0; i < IN_FLIGHT; i++) {
		const struct inflight *s = &p->step[i];

		if (s->stage == STAGE_NONE || s->stage == STAGE_LEFT ||
		    s->lease)
			continue;
		e.count++;
		if (!e.first || s->sequence < e.first->sequence)
			e.first = writable(s);
		if (!e.last || s->sequence > e.last->sequence)
			e.last = writable(s);
	}
	return e;
}

size_t
pipeline_prefetched(const struct pipeline *p)
{
	return prefetched(p).count;
}

static void
clear(struct inflight *s)
{
	s->lease = NULL;
	s->stage = STAGE_NONE;
	s->sequence = 0;
}

/* A program has no more data of its own: no step begins after that. */
static void
end_data(struct pipeline *p)
{
	p->ended = true;
	batches_drop(p->o.batches);
	batches_end(p->o.batches, p->taken, NULL);
}

void
pipeline_begin_term(struct pipeline *p)
{
	for (size_t i = 0; i < IN_FLIGHT; i++) {
		struct inflight *s = &p->step[i];

		if (s->stage == STAGE_COMPUTED && s->ended)
			end_data(p);
		if (s->stage < STAGE_LEFT || s->stage > STAGE_ASKED)
			clear(s);
		else	/* its program has still to do with it */
			s->stage = STAGE_LEFT;
		s->lease = NULL;
	}
}

void
pipeline_expire(struct pipeline *p)
{
	for (size_t i = 0; i < IN_FLIGHT; i++)
		p->step[i].pass = WIRE_NONE;
}

/* A step of a round may wait for a replica that this worker still has to give
   back, so that another one does it: such a step must not be waited for. */
bool
pipeline_is_over(const struct pipeline *p)
{
	for (size_t i = 0; i < IN_FLIGHT; i++)
		if (p->step[i].stage != STAGE_NONE &&
		    p->step[i].stage != STAGE_LEFT &&
		    (!p->step[i].lease || p->step[i].lease->replicas == 0))
			return false;
	return true;
}

void
pipeline_count(const struct pipeline *p, uint64_t *steps, uint64_t *examples)
{
	*steps = p->steps;
	*examples = p->examples;
}

/* ---- their step lines ---- */

/* The name of the lease's step line; NULL: the model's first one. */
static const char *
line_name(const struct lease *l)
{
	return l->step.size > 0 ? l->step.data : NULL;
}

/* A prefetched step is taken for one of the last lease's line.  If the model
   does not have a lease's line, check_line() fails the step in its turn. */
static size_t
line_of(const struct pipeline *p, const struct lease *l)
{
	size_t line;

	if (!l)
		return p->line;
	return model_find_step(p->o.model, line_name(l), &line) ? line : 0;
}

static size_t
find_line(struct pipeline *p, const struct lease *l)
{
	return p->line = line_of(p, l);
}

uint64_t
pipeline_datasets(const struct pipeline *p, const struct lease *l)
{
	return model_reads(p->o.model, line_of(p, l));
}

/* The number of examples to read for a step of the lease, or (NULL) for one
   that was announced; 0: none. */
static uint64_t
batch_of(const struct pipeline *p, const struct lease *l)
{
	uint64_t batch, pass;

	if (pipeline_datasets(p, l) == 0)
		return 0;
	if (l)
		return l->batch;
	return leases_announced(p->o.leases, &batch, &pass) ? batch : 0;
}

/* ---- their batches ---- */

/* The lease of the next step without a batch; NULL: it has no lease yet. */
static const struct lease *
wanted_lease(const struct pipeline *p)
{
	const size_t before = prefetched(p).count;
	uint64_t step;

	return before == 0 ? leases_next(p->o.leases, &step) :
		leases_behind(p->o.leases, before);
}

uint64_t
pipeline_want(const struct pipeline *p)
{
	return batches_want(p->o.batches) ? batch_of(p, wanted_lease(p)) : 0;
}

size_t
pipeline_line(const struct pipeline *p)
{
	return line_of(p, wanted_lease(p));
}

void
pipeline_put(struct pipeline *p, struct batch *batch)
{
	uint64_t step;
	const struct lease *l = leases_next(p->o.leases, &step);

	batches_put(p->o.batches, batch, pipeline_want(p),
		    l ? l->id : BATCHES_NO_LEASE);
}

/* Does the first prefetched step not fit the next lease?  Its batch has another
   size or other data sets, or only one of the two has a batch. */
static bool
is_misread(const struct pipeline *p)
{
	const struct inflight *s = prefetched(p).first;
	uint64_t step;
	const struct lease *l = leases_next(p->o.leases, &step);

	return s && l && (batch_of(p, l) != s->asked ||
			  (s->asked > 0 && pipeline_datasets(p, l) !=
			   batch_datasets(&s->batch)));
}

/* Unload the last prefetched step, as the batch that was read last goes back
   first; but not while values for it are on their way.  True: the step had no
   batch, so that the one before it may be unloaded at once. */
static bool
return_batch(struct pipeline *p)
{
	struct inflight *s = prefetched(p).last;
	const bool empty = s->asked == 0;

	if (s->stage == STAGE_PULLING)
		return false;
	if (!empty)
		batches_return(p->o.batches, &s->batch);
	clear(s);
	return empty;
}

bool
pipeline_put_back(struct pipeline *p, struct batch *batch)
{
	if (!batches_put_back(p->o.batches, batch))
		return false;
	while (is_misread(p) && return_batch(p))
		;
	return true;
}

/* ---- a step begins ---- */

/* Is a batch that was read for this lease of no use to any other? */
static bool
reads_its_own(const struct pipeline *p, const struct lease *l)
{
	return l->replicas > 0 || p->o.leased_data;
}

static void
begin_line(struct inflight *s, size_t line)
{
	s->why.kind = 0;
	compute_choose(s->compute, line);
	compute_begin(s->compute, &s->batch);
}

/* Take the batch that the step needs.  False: it is not there. */
static bool
take_batch(struct pipeline *p, struct inflight *s, const struct lease *l)
{
	uint64_t lease;

	s->asked = batch_of(p, l);
	if (s->asked == 0) {
		batch_reset(&s->batch);
		return true;
	}
	if (l && reads_its_own(p, l) &&
	    (!batches_have(p->o.batches, &lease) || lease != l->id))
		return false;
	return batches_take(p->o.batches, &s->batch, s->asked,
			    pipeline_datasets(p, l)) == BATCH_TAKEN;
}

/* Make it the next step of this lease. */
static void
begin_step(struct pipeline *p, struct inflight *s, const struct lease *l)
{
	s->lease = l;
	s->step = leases_begin(p->o.leases, l);
	p->last_step = s->step;
}

/* Begin the lease's next step, or (NULL) a prefetched one, with the batch that
   was read.  NULL: it cannot begin now. */
static struct inflight *
begin(struct pipeline *p, const struct lease *l, uint64_t now_us)
{
	struct inflight *s = at_stage(p, STAGE_NONE);
	uint64_t batch, pass;

	if (!s || p->ended ||
	    (!leases_announced(p->o.leases, &batch, &pass) && !l) ||
	    !take_batch(p, s, l))
		return NULL;
	s->stage = STAGE_BEGUN;
	s->sequence = ++p->begun;
	s->pass = l ? l->pass : pass;
	if (l)
		begin_step(p, s, l);
	s->began_us = now_us;
	begin_line(s, find_line(p, l));
	return s;
}

static void
drop_prefetched(struct pipeline *p)
{
	for (size_t i = 0; i < IN_FLIGHT && p->ended; i++)
		if (!p->step[i].lease && p->step[i].stage != STAGE_PULLING &&
		    p->step[i].stage != STAGE_LEFT)
			clear(&p->step[i]);
}

/* A program has found at this step that its data have ended.  The step goes
   back: another worker may do it. */
static void
end_own_data(struct pipeline *p, struct inflight *s)
{
	const struct lease *l = s->lease;

	end_data(p);
	clear(s);
	if (l)
		leases_dropped(p->o.leases, l);
	drop_prefetched(p);
}

/* Drop steps of cancelled leases, except those that wait for an answer. */
static void
drop_cancelled(struct pipeline *p)
{
	for (size_t i = 0; i < IN_FLIGHT; i++) {
		struct inflight *s = &p->step[i];
		const struct lease *l = s->lease;

		if (!l || !lease_is_cancelled(l) ||
		    s->stage == STAGE_PULLING || s->stage == STAGE_ASKED ||
		    s->stage == STAGE_PUSHING)
			continue;
		if (s->stage == STAGE_COMPUTED && s->ended) {
			end_own_data(p, s);
			continue;
		}
		clear(s);
		leases_dropped(p->o.leases, l);
	}
}

/* The lease that the batch was read for, if it has steps to begin; or NULL. */
static const struct lease *
batch_lease(const struct pipeline *p)
{
	uint64_t id;
	const struct lease *l = batches_have(p->o.batches, &id) ?
		leases_find(p->o.leases, id) : NULL;

	return l && lease_has_more(l) ? l : NULL;
}

static bool
has_batch_of(const struct pipeline *p, const struct lease *l)
{
	uint64_t id;

	return batches_have(p->o.batches, &id) && id == l->id;
}

/* The batch's lease is gone: give the batch to this one, or drop it if it was
   for that lease alone. */
static void
pass_batch_on(struct pipeline *p, const struct lease *to)
{
	if (p->o.leased_data || p->o.assigned)
		batches_drop(p->o.batches);
	else
		batches_assign(p->o.batches, to->id);
}

/*
 * A pull that waits for the end of the round before gives way to a replica of
 * that round, which this worker got because another one died or is late:
 * otherwise both would wait for each other for ever.
 */
static void
yield_to_replica(struct pipeline *p, uint64_t now_us)
{
	uint64_t step, id;
	const struct lease *next = leases_next(p->o.leases, &step);
	const struct lease *has = batch_lease(p);
	struct inflight *waits = at_stage(p, STAGE_PULLING);
	const bool aside = at_stage(p, STAGE_BEGUN) != NULL;

	if (next && reads_its_own(p, next) && !has &&
	    batches_have(p->o.batches, &id))
		pass_batch_on(p, next);
	else if (has && next && has->replicas > 0 && has != next && !aside)
		begin(p, has, now_us);
	if (!waits || !waits->lease || waits->lease->replicas == 0 ||
	    at_stage(p, STAGE_PUSHING))
		return;
	if (!lease_is_cancelled(waits->lease) &&
	    (!next || step >= waits->step || !has_batch_of(p, next) ||
	     at_stage(p, STAGE_BEGUN)))
		return;
	waits->stage = STAGE_BEGUN;
	client_give_up(p->o.client);
}

/*
 * Give prefetched steps their leases, in the order in which they were read.  If
 * a batch does not fit its lease, it goes back to be read again, after all that
 * was read behind it.  Values that were pulled before a barrier, or for another
 * step line, are pulled again.
 */
static void
assign_leases(struct pipeline *p, uint64_t now_us)
{
	const struct lease *l;
	struct inflight *s;
	uint64_t step, id;

	while ((l = leases_next(p->o.leases, &step)) &&
	       (s = prefetched(p).first)) {
		if (s->stage == STAGE_PULLING)
			return;
		if (is_misread(p)) {
			if (prefetched(p).last->asked > 0 &&
			    batches_have(p->o.batches, &id))
				batches_reject(p->o.batches);
			else if (return_batch(p))
				continue;
			return;
		}
		begin_step(p, s, l);
		s->began_us = now_us;
		if (s->pass != l->pass)
			s->stage = STAGE_BEGUN;
		if (compute_line(s->compute) != find_line(p, l)) {
			s->stage = STAGE_BEGUN;
			begin_line(s, p->line);
		}
	}
}

/* ---- exchanges with the servers ---- */

/*
 * May another pull begin while steps that were pulled for are not computed?
 * Not for a later round: the pull would wait for such a step to be pushed, and
 * the push for the end of the exchange.
 */
static bool
may_pull(const struct pipeline *p)
{
	uint64_t step = 0;
	const struct inflight *begun = at_stage(p, STAGE_BEGUN);
	size_t pulled = 0;

	leases_next(p->o.leases, &step);
	if (begun)
		step = begun->step;
	for (size_t i = 0; i < IN_FLIGHT; i++) {
		const struct inflight *s = &p->step[i];

		if (s->stage != STAGE_PULLED && s->stage != STAGE_ASKED)
			continue;
		if (s->lease && s->lease->replicas > 0)
			return step <= s->step;
		pulled++;
	}
	return pulled <= p->o.prefetch;
}

/* What to pull for now: a step that has begun, or else the next one. */
struct candidate {
	struct inflight *begun;		/* NULL: the next step */
	const struct lease *next;	/* its lease; NULL: to be prefetched */
	uint64_t step;
};

static struct candidate
find_candidate(const struct pipeline *p)
{
	struct candidate c = { .begun = at_stage(p, STAGE_BEGUN) };

	c.next = leases_next(p->o.leases, &c.step);
	if (c.begun && (!c.next || c.step > c.begun->step ||
			!has_batch_of(p, c.next)))
		return (struct candidate){ c.begun, c.begun->lease,
					   c.begun->step };
	c.begun = NULL;
	return c;
}

/*
 * The step to pull for beside this push, which may be NULL.  A round waits for
 * its pushes, so nothing may delay their answers: the only pull beside the push
 * of a replica is the one that itself waits for the end of that round.
 */
static struct inflight *
next_pull(struct pipeline *p, const struct inflight *push, uint64_t now_us)
{
	const struct candidate c = find_candidate(p);

	if (!may_pull(p))
		return NULL;
	if (push && push->lease->replicas > 0 &&
	    !(p->o.overlap && c.next && c.next->replicas > 0 &&
	      c.step == push->step + 1))
		return NULL;
	if (c.begun)
		return c.begun;
	return is_misread(p) ? NULL : begin(p, c.next, now_us);
}

/* The codec with which a variable travels in a step. */
static const struct codec *
codec_of(const struct pipeline *p, enum way way, size_t variable,
	 uint64_t step)
{
	struct codec_slice slice;
	size_t variables;
	const struct variable *v = model_variables(p->o.model, &variables);

	slice = coding_slice(&v[variable], 1);
	slice.pulled = way == WAY_PULL;
	return encoding_codec(plan_encoding(p->o.plan, step), variable, slice);
}

/*
 * A gradient must be finite as it travels, and so must the sum of a round's
 * gradients on a server.  It is checked here, as it is too late there: other
 * servers may have applied the step.  Half of the codec's range is left for
 * rounding errors.
 */
static int
check_clipped(const struct pipeline *p, struct inflight *s)
{
	const uint64_t replicas = s->lease->replicas;
	size_t variables;
	const struct variable *v = model_variables(p->o.model, &variables);

	for (size_t i = 0; i < variables; i++) {
		const struct codec *codec = codec_of(p, WAY_PUSH, i, s->step);
		const float most = codec->most;

		if (compute_beyond(s->compute, i, most))
			return fail(&s->why, FAIL_DATA, "the gradient of %s "
				    "is too large for %s" COMPUTE_ADVICE,
				    v[i].name, codec->name);
		if (replicas > 1 &&
		    compute_beyond(s->compute, i,
				   most / (2 * (float)replicas)))
			return fail(&s->why, FAIL_DATA, "the gradient of %s "
				    "is too large for a sum over %llu "
				    "replicas" COMPUTE_ADVICE, v[i].name,
				    (unsigned long long)replicas);
	}
	return 0;
}

/* Does the step's push wait for RESIDUAL? */
static bool
has_residual(const struct pipeline *p, const struct inflight *s)
{
	return s->lease->replicas > 0 && codings_residual(p->o.plan->codings);
}

/* Add to the gradient what the codec has lost of those before. */
static void
add_residual(struct pipeline *p, struct inflight *s)
{
	if (residuals_add(p->residuals, s->lease, s->compute, &s->left,
			  &s->why) < 0)
		return;
	check_clipped(p, s);
}

/* Begin the exchange that pushes one step and pulls for another. */
static void
exchange(struct pipeline *p, struct inflight *push, struct inflight *pull,
	 uint64_t now)
{
	struct exchange x = { .cut = WIRE_NONE, .server = WIRE_NONE,
			      .push_coded = true, .pull_coded = true };

	if (push) {
		const struct lease *l = push->lease;

		x.push = push->compute;
		x.step = push->step;
		x.examples = push->result.examples;
		x.learning_rate = l->learning_rate;
		x.replica = l->replica;
		x.level = l->level;
		x.attempt = l->replicas > 0 ? l->attempt : 0;
		x.server = l->server;
		x.version = push->version;
		if (has_residual(p, push)) {
			x.push_coded = l->push.how == PUSH_CODED;
			x.left = push->left;
		}
		push->stage = STAGE_PUSHING;
	}
	if (pull) {
		x.pull = pull->compute;
		x.pulled = pull->version;
		x.pull_step = pull->lease ? pull->step : p->last_step;
		pull->stage = STAGE_PULLING;
		if (pull->lease)
			pull->pass = pull->lease->pass;
		if (pull->lease && pull->lease->replicas > 0)
			x.after = pull->step;
	}
	client_exchange(p->o.client, &x, now);
}

/* End a step that has been pushed: its result goes to its lease. */
static void
finish(struct pipeline *p, struct inflight *s, uint64_t now_us)
{
	const struct exchanged *e = client_exchanged(p->o.client);
	const struct lease *l = s->lease;
	struct result *r = &s->result;

	r->step = s->step;
	r->staleness = e->staleness;
	r->voided = e->voided + e->refused > 0;
	r->mixed = e->repeated > 0;
	r->traffic = e->traffic;
	r->traffic.pulled = s->pulled;
	r->kept = has_residual(p, s) ? residuals_squares(p->residuals, l) : 0;
	r->microseconds = now_us - s->began_us;
	p->steps++;
	p->examples += r->examples;
	clear(s);
	leases_done(p->o.leases, l, r, p->metric, s->state, p->metrics);
}

/* Move the steps of an exchange that has ended to their next stage.  True if
   there was one. */
static bool
take_answers(struct pipeline *p, uint64_t now_us)
{
	struct inflight *pushed = at_stage(p, STAGE_PUSHING);
	struct inflight *pulled = at_stage(p, STAGE_PULLING);

	if (pushed && client_pushed(p->o.client))
		finish(p, pushed, now_us);
	if (!client_idle(p->o.client))
		return false;
	if (pulled) {
		pulled->stage = STAGE_PULLED;
		pulled->pulled = client_exchanged(p->o.client)->traffic.pulled;
	}
	drop_prefetched(p);
	return pushed || pulled;
}

void
pipeline_take_answers(struct pipeline *p, uint64_t now_us)
{
	take_answers(p, now_us);
}

/* Is a step computed that cannot be pushed yet, as it is not known which
   residual counts?  The coordinator knows when the round before has ended, of
   which the step has the values; nothing else is sent until then, as it could
   wait for this step. */
static bool
waits_for_residual(const struct pipeline *p)
{
	const struct inflight *s = at_stage(p, STAGE_COMPUTED);

	return s && !s->ended && !s->why.kind && has_residual(p, s) &&
		!s->lease->push.known;
}

/* The step to push; a step that has failed is reported instead. */
static struct inflight *
next_push(struct pipeline *p)
{
	struct inflight *s = at_stage(p, STAGE_COMPUTED);

	if (s && s->ended) {
		end_own_data(p, s);
		return NULL;
	}
	if (s && !s->why.kind && has_residual(p, s))
		add_residual(p, s);
	if (!s || !s->why.kind)
		return s;
	leases_failed(p->o.leases, s->lease, s->step, &s->why);
	clear(s);
	drop_cancelled(p);
	return NULL;
}

/* Push the step that was computed, and pull for a next one. */
static void
next_exchange(struct pipeline *p, uint64_t now, uint64_t now_us)
{
	struct inflight *push, *pull;

	if (!client_idle(p->o.client) || waits_for_residual(p))
		return;
	push = next_push(p);
	pull = next_pull(p, push, now_us);
	if (pull && client_check_pull(p->o.client, pull->compute,
				      &pull->why) < 0) {
		pull->stage = STAGE_PULLED;	/* fails when computed */
		pull = NULL;
	}
	if (push || pull)
		exchange(p, push, pull, now);
}

/*
 * An exchange that has nothing to send, for example as no layer uses a variable
 * of the server, ends at once: no answer would call us again.
 */
void
pipeline_advance(struct pipeline *p, uint64_t now, uint64_t now_us)
{
	yield_to_replica(p, now_us);
	take_answers(p, now_us);
	assign_leases(p, now_us);
	drop_cancelled(p);
	do
		next_exchange(p, now, now_us);
	while (take_answers(p, now_us));
}

/* ---- computing ---- */

/* A finite float may become infinite when a codec narrows it. */
static int
check_pulled(const struct pipeline *p, struct inflight *s)
{
	size_t variables;
	const struct variable *v = model_variables(p->o.model, &variables);

	for (size_t i = 0; i < variables; i++) {
		const struct codec *codec = codec_of(p, WAY_PULL, i, s->step);

		if (!codec->exact && !compute_finite(s->compute, i))
			return fail(&s->why, FAIL_DATA, "%s has values that "
				    "are infinite, or too large for %s"
				    COMPUTE_ADVICE, v[i].name, codec->name);
	}
	return 0;
}

/* Return the seed of a step, before its replicas.  It is mixed: the steps of
   another run have other seeds, and not the same ones in another order. */
static uint64_t
step_seed(const struct pipeline *p, uint64_t step)
{
	return rng_at(p->o.plan->seed, STEP_STREAM, step);
}

/* Compute all batches of a step; their sum is clipped, and checked to be
   finite. */
static int
train_batches(struct pipeline *p, struct inflight *s)
{
	const uint64_t batches = p->o.plan->batches;
	const struct accumulation how = {
		.batch = &s->batch, .size = s->lease->batch / batches,
		.seed = step_seed(p, s->step),
		.first = s->lease->replica * batches, .step = s->step
	};

	return accumulate_train(p->accumulator, s->compute, &how, s->state,
				&s->why) < 0 ? -1 :
		compute_check(s->compute, &s->why);
}

/*
 * Does a program compute the step, and nothing else, so that it is asked now
 * and its answer is taken later?  It can be asked for the next step meanwhile.
 * Any other computation that calls programs waits amid itself, in the fiber.
 */
static bool
is_asked(const struct pipeline *p, const struct inflight *s)
{
	return !p->accumulator && !p->layers && compute_asks(s->compute);
}

static uint64_t
seed_of(const struct pipeline *p, const struct inflight *s)
{
	return step_seed(p, s->step) ^ s->lease->replica << 40;
}

static int
check_batch(struct inflight *s)
{
	if (compute_check(s->compute, &s->why) < 0)
		return -1;
	compute_clip(s->compute);
	return 0;
}

/* Compute a step.  Behind a wait for a program its lease may be gone. */
static void
train(void *pipeline)
{
	struct pipeline *p = pipeline;
	struct inflight *s = p->computed;

	if (p->accumulator) {
		s->status = train_batches(p, s);
		return;
	}
	compute_train(s->compute, seed_of(p, s), s->state);
	s->status = check_batch(s);
}

/* Begin to compute a step.  Whether it waits for a program is noted in it. */
static void
begin_training(struct pipeline *p, struct inflight *s)
{
	p->computed = s;
	if (p->programs)
		s->waits = !fiber_call(p->fiber, train, p);
	else
		train(p);
}

/* Does nobody wait for the step any more? */
static bool
is_left(const struct inflight *s)
{
	return s->stage == STAGE_LEFT || lease_is_cancelled(s->lease);
}

/*
 * Take the answer of a step's program, and go on with the computation that
 * waited for it.  A step that nobody waits for asks no other program.
 */
static void
go_on_training(struct pipeline *p, struct inflight *s)
{
	if (!s->waits) {
		compute_train_take(s->compute, s->stage == STAGE_LEFT ? NULL :
				   s->state);
		s->status = check_batch(s);
		return;
	}
	if (is_left(s))
		fiber_give_up(p->fiber);
	s->waits = !fiber_go_on(p->fiber);
	if (s->status < 0 && s->why.kind == FAIL_AGAIN)
		s->status = 0;	/* it was given up */
}

/* End the computation of a step.  -1: nothing can be computed here any more; an
   error of the data is the step's own (0). */
static int
end_training(struct pipeline *p, struct inflight *s, struct fail *f)
{
	struct result *r = &s->result;
	const struct text json = compute_result(s->compute);

	*r = (struct result){ .examples = compute_examples(s->compute),
			      .loss = compute_loss(s->compute) };
	r->json = (struct frame){ json.data, json.size, NULL };
	result_metrics(r, p->metric, p->metrics, s->state);
	negative_labels_add_batch(&r->negatives, &s->batch);
	s->ended = compute_ended(s->compute);
	p->taken += s->asked == 0 ? r->examples : 0;
	if (s->status == 0) {
		check_clipped(p, s);
	} else if (s->why.kind != FAIL_DATA) {
		*f = s->why;
		return -1;
	}
	return 0;
}

/* Ask the step's program for it, or compute it as far as programs have
   answered. */
static void
begin_computing(struct pipeline *p, struct inflight *s)
{
	const bool asked = is_asked(p, s);

	if (asked)
		compute_train_ask(s->compute, seed_of(p, s));
	else
		begin_training(p, s);
	if (!asked && !s->waits)
		return;
	s->turn = ++p->asked;
	s->stage = STAGE_ASKED;
}

/* line_of() took a line that the model does not have for the first. */
static void
check_line(const struct pipeline *p, struct inflight *s)
{
	const char *name = line_name(s->lease);
	size_t line;

	if (name && !model_find_step(p->o.model, name, &line))
		fail(&s->why, FAIL_DATA, "the model has no step line %.64s",
		     name);
}

/* The steps that a program was asked for: their number, and the first of
   them. */
struct asked {
	size_t count;
	struct inflight *first;
};

static struct asked
asked(const struct pipeline *p)
{
	struct asked a = { 0 };

	for (size_t i = 0; i < IN_FLIGHT; i++) {
		const struct inflight *s = &p->step[i];

		if (s->stage != STAGE_LEFT && s->stage != STAGE_ASKED)
			continue;
		a.count++;
		if (!a.first || s->turn < a.first->turn)
			a.first = writable(s);
	}
	return a;
}

bool
pipeline_asks(const struct pipeline *p)
{
	return asked(p).count > 0;
}

/* The step whose answer can be taken; NULL: none. */
static struct inflight *
next_answered(const struct pipeline *p)
{
	struct inflight *s = asked(p).first;

	return s && (s->waits ? fiber_can_go_on(p->fiber) :
		     compute_answered(s->compute)) &&
		(s->stage == STAGE_LEFT || !at_stage(p, STAGE_COMPUTED)) ?
		s : NULL;
}

/* The step that can be computed, or asked for while a program is at those
   before; NULL: none. */
static struct inflight *
next_computed(const struct pipeline *p)
{
	struct inflight *s = at_stage(p, STAGE_PULLED);
	const size_t before = asked(p).count;

	if (!s || !s->lease || lease_is_cancelled(s->lease))
		return NULL;
	/* A program with data of its own may find their end at that step. */
	if (before > 0)
		return is_asked(p, s) && s->asked > 0 && !s->why.kind &&
			before < EXTERNAL_ASKED ? s : NULL;
	return at_stage(p, STAGE_COMPUTED) ? NULL : s;
}

bool
pipeline_is_answered(const struct pipeline *p)
{
	return next_answered(p);
}

bool
pipeline_can_compute(const struct pipeline *p)
{
	return next_answered(p) || next_computed(p);
}

/* Drop a step that nobody waits for any more, when its program has answered. */
static int
discard_answer(struct pipeline *p, struct inflight *s, struct fail *f)
{
	go_on_training(p, s);
	if (s->waits)
		return 0;
	p->taken += s->asked == 0 ? compute_examples(s->compute) : 0;
	if (compute_ended(s->compute))
		end_own_data(p, s);
	clear(s);
	if (s->status == 0 || s->why.kind == FAIL_DATA)
		return 0;
	*f = s->why;
	return -1;
}

/* Compute a step, or ask its program for it. */
static int
compute(struct pipeline *p, struct inflight *s, struct fail *f)
{
	if (!s->why.kind)
		s->why = *p->o.failure;
	if (!s->why.kind)
		check_line(p, s);
	s->ended = p->ended && s->asked == 0;	/* its program said so before */
	if (s->why.kind || s->ended || check_pulled(p, s) < 0)
		return 0;
	for (size_t i = 0; i < p->metrics; i++)
		metric_reset(&s->state[i]);
	if (!p->accumulator)
		compute_step(s->compute, s->step, s->lease->batch,
			     s->lease->args.size > 0 ? s->lease->args.data :
			     NULL);
	begin_computing(p, s);
	return s->stage == STAGE_ASKED ? 0 : end_training(p, s, f);
}

int
pipeline_compute(struct pipeline *p, struct fail *f)
{
	struct inflight *s = next_answered(p);

	assert(pipeline_can_compute(p));
	if (s && s->stage == STAGE_LEFT)
		return discard_answer(p, s, f);
	if (s) {
		go_on_training(p, s);
		if (s->waits)
			return 0;
		if (end_training(p, s, f) < 0)
			return -1;
	} else {
		s = next_computed(p);
		if (compute(p, s, f) < 0)
			return -1;
		/* A step that fails waits for those before it. */
		if (s->stage == STAGE_ASKED || asked(p).count > 0)
			return 0;
	}
	if (s->why.kind)
		fail_at(&s->why, "step %llu", (unsigned long long)s->step);
	s->stage = STAGE_COMPUTED;
	return 0;
}

/* ---- what always holds ---- */

static const char *
check_step(const struct pipeline *p, const struct inflight *s)
{
	if (s->stage == STAGE_NONE && (s->lease || s->sequence != 0))
		return "worker 4: a step that has ended has no state left";
	if (s->lease && !leases_have(p->o.leases, s->lease))
		return "worker 5: the lease of a step in flight is there";
	if (s->lease && !lease_has_begun(s->lease, s->step))
		return "worker 6: a step in flight is one of its lease that "
			"was begun";
	if (s->stage >= STAGE_ASKED && !s->lease)
		return "worker 7: a step that is computed or pushed has a "
			"lease";
	return NULL;
}

const char *
pipeline_check(const struct pipeline *p)
{
	size_t at[STAGE_PUSHING + 1] = { 0 };

	for (size_t i = 0; i < IN_FLIGHT; i++) {
		const char *violation = check_step(p, &p->step[i]);

		if (violation)
			return violation;
		at[p->step[i].stage]++;
	}
	if (at[STAGE_PULLING] > 1 || at[STAGE_PUSHING] > 1 ||
	    at[STAGE_COMPUTED] > 1)
		return "worker 8: at most one step is pulled for, one waits "
			"for its push, one is pushed";
	for (size_t i = 0; i < IN_FLIGHT; i++)
		if (p->step[i].waits && (!fiber_is_busy(p->fiber) ||
					 &p->step[i] != p->computed))
			return "worker 12: the step that waits within its "
				"computation is the one in the fiber";
	if (asked(p).count > EXTERNAL_ASKED)
		return "worker 11: a program is asked for a bounded number of "
			"steps";
	if ((client_idle(p->o.client) && at[STAGE_PULLING] > 0) ||
	    (client_pushed(p->o.client) && at[STAGE_PUSHING] > 0))
		return "worker 9: a message in flight has not been answered";
	return NULL;
}
