/*
 * The worker's steps: each is pulled for, computed, pushed.  The push of one
 * and the pull of a later one are one exchange, which is under way while
 * another is computed.
 */
#include "worker/worker_inside.h"

/* The work at this stage, of several the one begun first; or NULL. */
static struct work *
at_stage(const struct worker *w, enum stage stage)
{
	const struct work *first = NULL;

	for (size_t i = 0; i < WORKS; i++)
		if (w->work[i].stage == stage &&
		    (!first || w->work[i].turn < first->turn))
			first = &w->work[i];
	return (struct work *)(uintptr_t)first;
}

struct early
worker_early(const struct worker *w)
{
	struct early e = { 0 };

	for (size_t i = 0; i < WORKS; i++) {
		const struct work *work = &w->work[i];

		if (work->stage == STAGE_NONE || work->lease)
			continue;
		e.count++;
		if (!e.first || work->turn < e.first->turn)
			e.first = (struct work *)(uintptr_t)work;
		if (!e.last || work->turn > e.last->turn)
			e.last = (struct work *)(uintptr_t)work;
	}
	return e;
}

void
work_drop(struct work *work)
{
	work->lease = NULL;
	work->stage = STAGE_NONE;
	work->turn = 0;		/* so that no more are used than must be */
}

/* Is a batch that was read for it of no use to any other? */
static bool
reads_its_own(const struct worker *w, const struct lease *l)
{
	return l->slots > 0 || w->leased_data;
}

/* Put the waiting batch to the next step of a lease, or to an early one. */
static struct work *
begin_work(struct worker *w, struct lease *l, uint64_t now_us)
{
	struct work *work = at_stage(w, STAGE_NONE);
	struct batch batch;

	if (!w->has_batch || w->unwanted || !work || (!l && !w->more) ||
	    (l && reads_its_own(w, l) && w->waiting_for != l->id))
		return NULL;
	if (w->waiting_size != (l ? l->batch : w->more_size)) {
		w->unwanted = true;
		return NULL;
	}
	batch = work->batch;
	work->batch = w->waiting;
	work->size = w->waiting_size;
	w->waiting = batch;
	w->has_batch = false;
	work->stage = STAGE_BEGUN;
	work->turn = ++w->turns;
	work->lease = l;
	work->pass = l ? l->pass : w->more_pass;
	if (l)
		work->step = l->next++;
	work->began_us = now_us;
	work->why.kind = 0;
	compute_begin(work->compute, &work->batch);
	return work;
}

/* Works whose leases were given up, but for what is under way. */
static void
put_down(struct worker *w)
{
	for (size_t i = 0; i < WORKS; i++) {
		struct work *work = &w->work[i];
		struct lease *l = work->lease;

		if (!l || !l->cancelled || work->stage == STAGE_PULLING ||
		    work->stage == STAGE_PUSHING)
			continue;
		work_drop(work);
		worker_end_lease(w, l);
	}
}

/* Whose the waiting batch is: a slot that has not been begun, or NULL. */
static struct lease *
batch_lease(struct worker *w)
{
	for (size_t i = 0; w->has_batch && i < w->leases; i++) {
		struct lease *l = worker_lease_at(w, i);

		if (l->id == w->waiting_for && l->next < l->end &&
		    !l->cancelled)
			return l;
	}
	return NULL;
}

/*
 * What waits for the round before its own gives way to a slot of that one,
 * as when another worker died, or is late: or they would wait for each other
 * for ever.
 */
static void
make_way(struct worker *w, uint64_t now_us)
{
	struct lease *next = worker_next_lease(w), *has = batch_lease(w);
	struct work *waits = at_stage(w, STAGE_PULLING);
	const bool aside = at_stage(w, STAGE_BEGUN) != NULL;

	if (next && reads_its_own(w, next) && w->has_batch && !has) {
		w->has_batch = !w->leased_data && !w->options.assigned;
		w->waiting_for = next->id;
	} else if (has && next && has->slots > 0 && has != next && !aside) {
		begin_work(w, has, now_us);
	}
	if (!waits || !waits->lease || waits->lease->slots == 0 ||
	    at_stage(w, STAGE_PUSHING))
		return;
	if (!waits->lease->cancelled &&
	    (!next || next->next >= waits->step || !w->has_batch ||
	     w->waiting_for != next->id || at_stage(w, STAGE_BEGUN)))
		return;
	waits->stage = STAGE_BEGUN;
	client_give_up(w->client);
}

/*
 * Is there to be a pull, while what has been pulled is not computed?  One for
 * a later round would wait for it, and it for the exchange.
 */
static bool
may_pull(const struct worker *w)
{
	const struct lease *next = worker_next_lease(w);
	const struct work *begun = at_stage(w, STAGE_BEGUN);
	const uint64_t step = begun ? begun->step : next ? next->next : 0;
	size_t pulled = 0;

	for (size_t i = 0; i < WORKS; i++) {
		const struct work *work = &w->work[i];

		if (work->stage != STAGE_PULLED)
			continue;
		if (work->lease && work->lease->slots > 0)
			return step <= work->step;
		pulled++;
	}
	return pulled <= w->options.prefetch;
}

/* What to pull for now. */
static struct work *
next_work(struct worker *w, uint64_t now_us)
{
	struct lease *next = worker_next_lease(w);
	struct work *work = at_stage(w, STAGE_BEGUN);

	if (!may_pull(w))
		return NULL;
	if (work && (!next || next->next > work->step || !w->has_batch ||
		     w->waiting_for != next->id))
		return work;
	return worker_misread(w) ? NULL : begin_work(w, next, now_us);
}

/* A float may be finite, and infinite as it travels. */
static int
check_pulled(const struct worker *w, struct work *work)
{
	const char *name = w->plan.codec->exact ? NULL :
		compute_infinite(work->compute);

	return !name ? 0 :
		fail(&work->why, FAIL_DATA, "%s has values that are infinite, "
		     "or too large for %s" COMPUTE_ADVICE, name,
		     w->plan.codec->name);
}

/*
 * A gradient is to be finite as it travels, and where those of the slots of a
 * round are added up: by then the step counts, and other servers have it.
 * Half of what there is room for is left for what is rounded.
 */
static int
check_clipped(const struct worker *w, struct work *work)
{
	const uint64_t slots = work->lease->slots;
	const float most = w->plan.codec->most;
	const char *name = compute_beyond(work->compute, most);

	if (name)
		return fail(&work->why, FAIL_DATA, "the gradient of %s is "
			    "too large for %s" COMPUTE_ADVICE, name,
			    w->plan.codec->name);
	name = slots < 2 ? NULL :
		compute_beyond(work->compute, most / (2 * (float)slots));
	return !name ? 0 :
		fail(&work->why, FAIL_DATA, "the gradient of %s is too large "
		     "for a sum over %llu replicas" COMPUTE_ADVICE, name,
		     (unsigned long long)slots);
}

/* -1: neither this step nor another can be computed. */
static int
run_step(struct worker *w, struct work *work)
{
	struct result *r = &work->result;

	if (check_pulled(w, work) < 0)
		return 0;
	for (size_t i = 0; i < w->metrics; i++)
		metric_reset(&work->state[i]);
	compute_train(work->compute, w->plan.seed ^ (work->step + 1) ^
		      work->lease->slot << 40, work->state);
	*r = (struct result){ .examples = work->batch.examples,
			      .loss = compute_loss(work->compute) };
	result_metrics(r, w->metric, w->metrics, work->state);
	noes_add_batch(&r->noes, &work->batch);
	if (compute_check(work->compute, &work->why) == 0) {
		compute_clip(work->compute);
		check_clipped(w, work);
	} else if (work->why.kind != FAIL_DATA) {
		w->broken = work->why;
		return -1;
	}
	return 0;
}

/* Begin the exchange that pushes one work and pulls for another. */
static void
exchange(struct worker *w, struct work *push, struct work *pull, uint64_t now)
{
	struct exchange x = { .cut = WIRE_NONE, .server = WIRE_NONE,
			      .codec = w->plan.codec };

	if (push) {
		x.push = push->compute;
		x.step = push->step;
		x.examples = push->batch.examples;
		x.learning_rate = push->lease->learning_rate;
		x.slot = push->lease->slot;
		x.attempt = push->lease->slots > 0 ? push->lease->attempt : 0;
		x.server = push->lease->server;
		x.version = push->version;
		push->stage = STAGE_PUSHING;
	}
	if (pull) {
		x.pull = pull->compute;
		x.pulled = pull->version;
		pull->stage = STAGE_PULLING;
		if (pull->lease)
			pull->pass = pull->lease->pass;
		if (pull->lease && pull->lease->slots > 0)
			x.after = pull->step;
	}
	client_exchange(w->client, &x, now);
}

/* The exchange, if there was one, has come to its end; was there one? */
static bool
take_answers(struct worker *w, uint64_t now_us)
{
	struct work *pushed = at_stage(w, STAGE_PUSHING);
	struct work *pulled = at_stage(w, STAGE_PULLING);

	if (pushed)
		worker_note_result(w, pushed, now_us);
	if (pulled)
		pulled->stage = STAGE_PULLED;
	return pushed || pulled;
}

/*
 * Early steps come to their leases, in the order in which they were read.  Is
 * this one for the batch that was read?  If not, it goes back, and what was
 * read behind it goes back first.  What was pulled before a barrier is pulled
 * again.
 */
static void
adopt(struct worker *w, uint64_t now_us)
{
	struct work *work;
	struct lease *l;

	while ((l = worker_next_lease(w)) && (work = worker_early(w).first)) {
		if (work->stage == STAGE_PULLING)
			return;
		if (worker_misread(w)) {
			if (w->has_batch)
				w->unwanted = true;
			else
				worker_unload(w);
			return;
		}
		work->lease = l;
		work->step = l->next++;
		work->began_us = now_us;
		if (work->pass != l->pass)
			work->stage = STAGE_BEGUN;
	}
}

/* Push what has been computed, pull for what comes. */
static void
next_exchange(struct worker *w, uint64_t now, uint64_t now_us)
{
	struct work *push = at_stage(w, STAGE_COMPUTED), *pull;

	if (!client_idle(w->client))
		return;
	if (push && push->why.kind) {
		worker_say_failed(w, push->lease, push->step, &push->why);
		work_drop(push);
		put_down(w);
		push = NULL;
	}
	/* A round waits for this push: nothing is to hold up its answer. */
	pull = push && push->lease->slots > 0 ? NULL : next_work(w, now_us);
	if (pull && client_check_pull(w->client, pull->compute,
				      &pull->why) < 0) {
		pull->stage = STAGE_PULLED;	/* it fails in its turn */
		pull = NULL;
	}
	if (push || pull)
		exchange(w, push, pull, now);
}

bool
step_can_compute(const struct worker *w)
{
	const struct work *work = at_stage(w, STAGE_PULLED);

	return work && work->lease && !work->lease->cancelled &&
		!at_stage(w, STAGE_COMPUTED) && !w->score.pulling;
}

void
step_compute(struct worker *w)
{
	struct work *work = at_stage(w, STAGE_PULLED);

	if (!work->why.kind)
		work->why = w->unfit;
	if (!work->why.kind && run_step(w, work) < 0)
		return;
	if (work->why.kind)
		fail_at(&work->why, "step %llu",
			(unsigned long long)work->step);
	work->stage = STAGE_COMPUTED;
	w->computed = true;
}

/*
 * Go on as far as there are leases, batches and answers.  An exchange that had
 * nothing to send, as to a server of which no layer uses a variable, is over
 * at once, and no answer will wake us.
 */
void
worker_advance(struct worker *w, uint64_t now, uint64_t now_us)
{
	if (!w->client || w->score.pulling || w->broken.kind)
		return;
	make_way(w, now_us);
	if (client_idle(w->client))
		take_answers(w, now_us);
	adopt(w, now_us);
	put_down(w);
	do
		next_exchange(w, now, now_us);
	while (client_idle(w->client) && take_answers(w, now_us));
	worker_drop_leases(w);
	worker_say_cancelled(w);
	worker_say_exhausted(w);
}
