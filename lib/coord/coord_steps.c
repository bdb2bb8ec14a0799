/*
 * Steps are given out, as the scheduler leases them; their results and errors
 * are passed to the parts that count, report or cancel them.
 */
#include "coord/coord_steps.h"

#include "base/mem.h"
#include "coord/coord_cancel.h"
#include "coord/coord_cut.h"
#include "coord/coord_data.h"
#include "coord/coord_ending.h"
#include "coord/coord_journal.h"
#include "coord/coord_lease.h"
#include "coord/coord_members.h"
#include "coord/coord_recover.h"
#include "coord/coord_report.h"
#include "coord/coord_rerun.h"
#include "coord/coord_sync.h"
#include "coord/coord_watch.h"
#include "coord/coord_watermarks.h"
#include "coord/scheduler.h"
#include "wire/result.h"

#include <stdlib.h>
#include <string.h>

/* ---- giving out ---- */

uint64_t
steps_limit(const struct coord *c)
{
	const uint64_t window = watermarks_lowest(c) + WINDOW;
	const uint64_t next = queue_next(c->queue);
	const uint64_t high = fleet_high_watermark(c->fleet);
	const uint64_t limit = cut_limit(c);

	if (ending_begun(c))
		return next > high ? next : high;
	if (report_is_full(c))
		return next;
	return window < limit ? window : limit;
}

static struct lease_room
lease_room_now(const struct coord *c)
{
	/* When the run is to end, a round that was begun still gets workers for
	   all its replicas. */
	const bool over = cancel_under_way(c) ||
		(ending_state(c) == ENDING_DRAIN && c->o.mode != MODE_SYNC);

	return (struct lease_room){
		.limit = steps_limit(c), .any = watch_any(c),
		.fresh = !over || cancel_finishes(c)
	};
}

/*
 * Will a step follow this one, of a round?  That may not be seen yet, as
 * servers are asked something first; but nothing that is only known later, such
 * as whether there will be other requests, is waited for.
 */
static bool
is_followed(const struct coord *c, uint64_t step)
{
	return !ending_begun(c) && !cancel_under_way(c) &&
		queue_is_followed(c->queue, step);
}

/* Decide whether what codecs lose of the first round's gradients is kept, and
   say so to its workers. */
static void
decide_residuals(struct coord *c)
{
	uint64_t step, next;

	if (sync_undecided(c, &step, &next)) {
		const bool followed = next != WIRE_NONE;

		if (cut_between(c, step, followed ? next :
				queue_next(c->queue)))
			sync_decide(c, true);
		else if (followed || !is_followed(c, step))
			sync_decide(c, !followed);
	}
	sync_send_residuals(c);
}

void
steps_give_out(struct coord *c)
{
	struct lease_room r = lease_room_now(c);

	/* A lease may be the last one that there is room for: ask anew. */
	while (c->scheduler->lease(c, &r))
		r = lease_room_now(c);
	decide_residuals(c);
}

/* ---- one is done ---- */

/* A step is done: by this worker, or (NULL) as a round. */
static void
step_done(struct coord *c, const struct result *r, const char *worker,
	  const float *scores, const unsigned char *positive, uint64_t now)
{
	report_step(c, data_epoch_of(c, r->step), r, worker, sync_replicas(c),
		    scores, positive);
	report_count(c, queue_request(c->queue, r->step), r, scores, positive);
	data_done(c, r, scores, positive, now);
	cut_count(c, r);
	journal_done(c, r->step);
	queue_end(c->queue, r->step);
}

/* The servers have committed a round. */
void
steps_committed(struct coord *c, uint64_t now)
{
	const uint64_t number = sync_step(c);
	const unsigned char *positive;
	const float *scores;
	struct result r;

	if (queue_step(c->queue, number)) {
		sync_result(c, &r, &scores, &positive);
		step_done(c, &r, NULL, scores, positive, now);
	} else if (rerun_ended(c, 0, number)) {
		recover_write_servers(c, false);
	}
	sync_committed(c);
	if (cancel_under_way(c))
		cancel_begin(c);	/* which waited for this */
	else
		c->scheduler->commit(c);
}

static void
take_result(struct coord *c, struct member *w, uint64_t lease,
	    const struct result *r, const float *scores,
	    const unsigned char *positive, uint64_t now)
{
	const enum accepted accepted =
		c->scheduler->accept(c, w, lease, r, scores, positive);
	const struct step *step = queue_step(c->queue, r->step);
	struct result own = *r;

	/* Servers had parts of this step before.  If there was no other
	   attempt, it was this one, sent twice: that mixes nothing. */
	own.mixed = r->mixed && step && step->attempts > 1;
	if (accepted != ACCEPTED_NOT && !cancel_is_of(c, r->step)) {
		if (accepted == ACCEPTED_STEP)
			step_done(c, &own, w->name, scores, positive, now);
		lease_count(c, w);
		watch_note(c, r->microseconds);
	}
	if (!cancel_under_way(c))
		c->scheduler->commit(c);
}

/* A step was run again for a server: its result was reported the first time. */
static void
take_rerun(struct coord *c, struct member *w, uint64_t lease, size_t server,
	   uint64_t step)
{
	if (rerun_ended(c, server, step))
		recover_write_servers(c, false);
	lease_progress(c, w, lease);
}

int
steps_done(struct coord *c, struct member *w, const struct message *m,
	   uint64_t now, struct fail *f)
{
	const struct leased *l = lease_find(c, w, m->request);
	const uint64_t server = l ? l->server : WIRE_NONE;

	struct unpack u = unpack_from(m->frame[0].data, m->frame[0].size);
	const unsigned char *positive;
	const void *bytes;
	struct result r;
	bool three_classes = false;
	struct fail why;
	size_t left;

	if (m->done.term != c->plan.term)
		return 0;	/* what a server may have lost since */
	if (result_scores(m, &bytes, &positive, &left, f) < 0)
		return -1;

	/* The frame may lie at any address. */
	float *scores = mem_alloc(left, sizeof(*scores));
	size_t at = 0;

	if (m->done.count == 0)
		c->scheduler->release(c, w, m->request);

	if (left > 0)
		memcpy(scores, bytes, left * sizeof(*scores));
	for (uint64_t i = 0; i < m->done.count; i++) {
		if (!result_read(&u, &r, c->metrics) || r.scores > left) {
			u.bad = true;
			break;
		}
		if (server == WIRE_NONE) {
			take_result(c, w, m->request, &r, scores + at,
				    positive ? positive + at : NULL, now);
			if (report_classes(c, &r, w->name, &why) < 0)
				three_classes = true;
		} else {
			take_rerun(c, w, m->request, server, r.step);
		}
		at += r.scores;
		left -= r.scores;
	}
	free(scores);
	if (!unpack_ok(&u))
		return fail(f, FAIL_PROTOCOL, "malformed results");
	if (three_classes) {
		report_error(c, NULL, "data", WIRE_NONE, w->name, why.text);
		ending_fail(c, &why);
	}
	return 0;
}

/* ---- taking back ---- */

void
steps_take_back(struct coord *c, struct member *w)
{
	lease_take_back(c, w);
	c->scheduler->lose(c, w);
}

/* ---- one has failed ---- */

/* Give a worker's leases to others and cancel them at the worker.  Otherwise it
   would resume them, and a round could wait for a lease behind them. */
static void
revoke_leases(struct coord *c, struct member *w)
{
	for (size_t i = 0; i < c->o.in_flight; i++)
		lease_call_off(c, w, &lease_of(c, w)[i]);
	steps_take_back(c, w);
}

void
steps_failed(struct coord *c, struct member *w, const struct message *m)
{
	const struct step *step = queue_step(c->queue, m->failed.step);
	struct leased *l = lease_find(c, w, m->request);
	char text[MESSAGE_BLOB + 1];
	struct fail why;

	message_text(m, text, sizeof(text));
	if (m->failed.term != c->plan.term)
		return;
	fail(&why, message_status(m->failed.status), "%s", text);
	if (l && (l->server != WIRE_NONE || (l->at.number > 0 && !step))) {
		rerun_failed(c, m->failed.step, l->server, &why);
		revoke_leases(c, w);
		return;
	}
	if (cancel_under_way(c)) {
		/* A server may have applied a part: the steps are done again,
		   but not this one, which could fail for ever. */
		queue_return(c->queue, w);
		if (!c->scheduler->rounds(c))
			queue_quarantine(c->queue, m->failed.step);
		if (l)
			l->id = 0;
	}
	if (!step || cancel_under_way(c) ||
	    !c->scheduler->counts(c, w, m->request))
		return;		/* of an attempt that no longer counts */
	cancel_fail(c, m->failed.step, w->name, &why);
	cancel_begin(c);
}
