/*
 * The worker's leases: what the coordinator gave, took back, and is told of
 * it.
 */
#include "worker/worker_inside.h"

#include <string.h>

#define MAX_PACK	65536	/* steps of a lease */

struct lease *
worker_lease_at(const struct worker *w, size_t i)
{
	struct worker *of = (struct worker *)(uintptr_t)w;

	return &of->lease[(w->lease_first + i) % MAX_LEASES];
}

/*
 * The first lease with a step that has not been begun, or NULL.  Of slots the
 * one of the lowest step: the rounds behind it wait for it.
 */
struct lease *
worker_next_lease(const struct worker *w)
{
	struct lease *first = NULL;

	for (size_t i = 0; i < w->leases; i++) {
		struct lease *l = worker_lease_at(w, i);

		if (l->next == l->end || l->cancelled)
			continue;
		if (!first || (l->slots > 0 && l->next < first->next))
			first = l;
	}
	return first;
}

void
worker_keep_frame(struct text *to, const struct message *m, size_t i)
{
	text_reset(to);
	if (i < m->frames)
		text_add_bytes(to, m->frame[i].data, m->frame[i].size);
}

static bool
in_the_making(const struct worker *w, const struct lease *l)
{
	for (size_t i = 0; i < WORKS; i++)
		if (w->work[i].lease == l)
			return true;
	return false;
}

/* Leases that are over leave the ring from its front. */
void
worker_drop_leases(struct worker *w)
{
	while (w->leases > 0) {
		struct lease *l = worker_lease_at(w, 0);

		if (in_the_making(w, l) || (l->next < l->end && !l->cancelled))
			return;
		w->lease_first = (w->lease_first + 1) % MAX_LEASES;
		w->leases--;
	}
}

static void
say_done(struct worker *w, struct lease *l)
{
	struct message m = { .kind = MESSAGE_DONE, .request = l->id };

	m.done.term = w->plan.term;
	m.done.count = l->count;
	m.frame[m.frames++] = (struct frame){ l->results.data,
					      l->results.size, NULL };
	if (l->scores.count > 0) {
		m.frame[m.frames++] = (struct frame){
			l->scores.score, l->scores.count * sizeof(float),
			NULL };
		m.frame[m.frames++] = (struct frame){ l->scores.positive,
						      l->scores.count, NULL };
	}
	worker_say(w, &m);
	l->count = 0;
	pack_reset(&l->results);
	metric_reset(&l->scores);
}

int
worker_take_lease(struct worker *w, const struct message *m, struct fail *f)
{
	struct lease *l = worker_lease_at(w, w->leases);

	if (!w->welcome || m->lease.term != w->plan.term)
		return 0;	/* of the connection or term before this one */
	if (!w->client || w->leases == MAX_LEASES || m->lease.count == 0 ||
	    m->lease.count > MAX_PACK || m->lease.batch == 0 ||
	    m->lease.first > UINT64_MAX - m->lease.count ||
	    (m->frames > 0) != w->leased_data)
		return fail(f, FAIL_PROTOCOL, "a lease that cannot be");
	l->id = m->request;
	l->first = l->next = m->lease.first;
	l->end = m->lease.first + m->lease.count;
	l->attempt = m->lease.attempt;
	l->batch = m->lease.batch;
	l->learning_rate = message_float(m->lease.rate);
	l->pass = w->more_pass = m->lease.pass;
	w->more = m->lease.more != 0;
	w->more_size = l->batch;
	l->slot = m->lease.slot;
	l->slots = m->lease.slots;
	l->server = m->lease.server;
	l->count = 0;
	l->cancelled = w->exhausted;	/* it will come back */
	l->from = m->lease.from;
	worker_keep_frame(&l->block, m, 0);
	worker_keep_frame(&l->after, m, 1);
	pack_reset(&l->results);
	metric_reset(&l->scores);
	w->leases++;
	if (w->exhausted && l->slots > 0)
		say_done(w, l);		/* a round waits for it */
	return 0;
}

/* It is over, if nothing of it is in the making: a slot is given back. */
void
worker_end_lease(struct worker *w, struct lease *l)
{
	if (!in_the_making(w, l) && (l->count > 0 || l->slots > 0))
		say_done(w, l);
}

/*
 * Give up what has not been computed of leases with one of these steps, or of
 * that one lease (id not 0).  What is done is reported.
 */
void
worker_cancel(struct worker *w, uint64_t first, uint64_t count, uint64_t id)
{
	for (size_t i = 0; i < w->leases; i++) {
		struct lease *l = worker_lease_at(w, i);

		if (l->end <= first || (l->first > first &&
					l->first - first >= count) ||
		    (id != 0 && l->id != id) || l->cancelled)
			continue;
		l->cancelled = true;
		worker_end_lease(w, l);
	}
	worker_forget_records(w);
	worker_drop_leases(w);
}

/* Those that were begun have come to an end, and what that was has been said:
   now the coordinator knows which steps nobody will push any more. */
void
worker_say_cancelled(struct worker *w)
{
	const struct message ok = { .kind = MESSAGE_OK };

	if (!w->cancelled)
		return;
	for (size_t i = 0; i < WORKS; i++)
		if (w->work[i].lease && w->work[i].lease->cancelled)
			return;
	w->cancelled = false;
	worker_say(w, &ok);
}

void
worker_say_failed(struct worker *w, struct lease *l, uint64_t step,
		  const struct fail *why)
{
	struct message m = { .kind = MESSAGE_FAILED, .request = l->id };

	if (l->count > 0)
		say_done(w, l);	/* what came before it has been done */
	m.failed.term = w->plan.term;
	m.failed.step = step;
	m.failed.status = why->kind;
	m.blob = (struct frame){ why->text, strlen(why->text), NULL };
	worker_say(w, &m);
	l->cancelled = true;	/* what is left of it is the coordinator's */
}

/* A step that has been computed goes into its lease's results. */
void
worker_note_result(struct worker *w, struct work *work, uint64_t now_us)
{
	const struct exchanged *e = client_exchanged(w->client);
	struct lease *l = work->lease;
	struct result *r = &work->result;

	r->step = work->step;
	r->attempt = l->attempt;
	r->staleness = e->staleness;
	r->voided = e->voided + e->refused > 0;
	r->mixed = e->applied > 0 && e->repeated > 0;
	r->microseconds = now_us - work->began_us;
	/* Those of one step that no frame holds are left out, */
	if (r->voided || r->scores > RESULT_SCORES)
		r->scores = 0;
	/* and of several steps none is to hold too many. */
	if (l->scores.count + r->scores > RESULT_SCORES)
		say_done(w, l);
	result_write(&l->results, r);
	if (r->scores > 0)
		for (size_t i = 0; i < w->metrics; i++)
			if (work->state[i].count > 0) {
				metric_merge(&w->metric[i], &l->scores,
					     &work->state[i]);
				break;
			}
	l->count++;
	w->steps++;
	w->examples += r->examples;
	work_drop(work);
	if (l->cancelled || (l->next == l->end && !in_the_making(w, l)))
		say_done(w, l);
}
