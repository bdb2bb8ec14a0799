/*
 * The coordinator's watch: who hangs, which step takes too long, and that
 * nothing stands still.  A program whose main thread hangs keeps its
 * connections, since libzmq has a thread of its own: only answers count.
 */
#include "coord/coord_watch.h"

#include "base/mem.h"
#include "coord/coord_cancel.h"
#include "coord/coord_data.h"
#include "coord/coord_ending.h"
#include "coord/coord_journal.h"
#include "coord/coord_lease.h"
#include "coord/coord_members.h"
#include "coord/coord_report.h"
#include "coord/coord_rerun.h"
#include "coord/coord_sync.h"
#include "coord/scheduler.h"

#include <stdlib.h>
#include <string.h>

#define LATE		100	/* a step is late after so many medians, */
#define LATE_MS		1000	/* and no sooner than this */
#define KNOWN		5	/* steps that a median needs */
#define MEDIAN_MS	1000	/* until the median is computed anew */
#define EXHAUSTED_MS	1000	/* for late workers to come, or a quarter of a
				   lease */

#define WATCHED	101	/* steps whose time is known */

/* The state of the watch of a member. */
struct watched {
	uint64_t asked;		/* when the oldest message that is not answered
				   was sent */
	bool awaited;		/* there is one */
	uint64_t late_told;	/* the lease that was reported to be late */
};

/* The state of the watch, which reports a run that stands still. */
struct watch {
	struct watched *of;	/* of each member, by its seat */
	size_t room;
	uint64_t took[WATCHED], count;	/* microseconds of the newest steps, a
					   ring; all steps so far */
	uint64_t median, median_ms;	/* of these; when it was computed */
	uint64_t whole_ms;		/* until when a server was missing */
	uint64_t idle_ms;		/* since when nothing is leased, though
					   something could be; 0: that is not
					   so */
	bool idle_told, any;	/* any: a free worker may get any step */
	uint64_t asked_told;		/* the ask that was reported to be
					   late */
	uint64_t helped_ms;	/* when a worker last could do the work */
	bool forsaken;			/* no more workers will come, */
	struct fail why_forsaken;	/* as they ended with this error */
};

void
watch_init(struct coord *c)
{
	c->watch = mem_alloc(1, sizeof(*c->watch));
	c->watch->helped_ms = c->now_ms;
}

void
watch_release(struct coord *c)
{
	free(c->watch->of);
	free(c->watch);
}

static struct watched *
watched(const struct coord *c, const struct member *m)
{
	return &c->watch->of[m->at];
}

void
watch_join(struct coord *c, const struct member *m)
{
	struct watch *w = c->watch;

	w->of = members_room(w->of, &w->room, m, sizeof(*w->of));
}

void
watch_answered(struct coord *c, const struct member *m)
{
	watched(c, m)->awaited = false;
}

void
watch_asks(struct coord *c, const struct member *m, bool awaits, uint64_t now)
{
	struct watched *w = watched(c, m);

	if (!w->awaited)
		w->asked = now;
	w->awaited = awaits || w->awaited;
}

/* ---- who hangs ---- */

struct member *
watch_silent(struct coord *c, uint64_t now)
{
	const uint64_t lease = c->o.lease_ms;

	for (struct member *m = c->member; m; m = m->next) {
		/* Nothing waits for an evaluator, so it gets more time. */
		const uint64_t most = m->role == ROLE_EVALUATOR ?
			lease + c->o.patience_ms : lease;

		const uint64_t asked = watched(c, m)->asked;

		if (m->gone || m->silent || !watched(c, m)->awaited ||
		    now - asked < most)
			continue;
		m->silent = true;
		report_peer(c, "%s hangs: it has not answered for %.1f s",
			    m->name, (double)(now - asked) / 1000);
		return m;
	}
	return NULL;
}

void
watch_hears(struct coord *c, struct member *m, uint64_t now)
{
	if (m->silent)
		report_peer(c, "%s answers again, after %.1f s", m->name,
			    (double)(now - watched(c, m)->asked) / 1000);
	m->silent = watched(c, m)->awaited = false;
}

void
watch_skip_pause(struct coord *c, uint64_t now)
{
	for (struct member *m = c->member; m; m = m->next)
		if (!m->silent)
			watched(c, m)->asked = now;
}

/* ---- steps that take too long ---- */

void
watch_note(struct coord *c, uint64_t microseconds)
{
	c->watch->took[c->watch->count++ % WATCHED] = microseconds;
}

static int
by_size(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void
find_median(struct watch *w, uint64_t now)
{
	uint64_t took[WATCHED];
	const size_t count = w->count < WATCHED ? w->count : WATCHED;

	if (count == 0 || (w->median_ms && now - w->median_ms < MEDIAN_MS))
		return;
	memcpy(took, w->took, sizeof(took));
	qsort(took, count, sizeof(*took), by_size);
	w->median = took[count / 2];
	w->median_ms = now;
}

/* The lease that a worker is at, or NULL.  A worker waits with a lease that was
   given out ahead, in sync: it is not at that one. */
static const struct leased *
first_lease(const struct coord *c, const struct member *w)
{
	const struct leased *first = NULL;

	for (size_t i = 0; i < c->o.in_flight; i++) {
		const struct leased *l = &lease_of(c, w)[i];

		if (l->id == 0 || l->called_off || c->scheduler->waits(c, l))
			continue;
		if (!first || l->id < first->id)
			first = l;
	}
	return first;
}

uint64_t
watch_step(const struct coord *c, const struct member *w, uint64_t now,
	   uint64_t *step, bool *late)
{
	const struct leased *l = first_lease(c, w);
	const uint64_t whole = c->watch->whole_ms;
	const uint64_t at = lease_begun(c, w), begun = at > whole ? at : whole;
	uint64_t most = LATE * c->watch->median / 1000;

	*late = false;
	if (w->role != ROLE_WORKER || w->gone || !l || c->phase != PHASE_RUN ||
	    now < begun)
		return 0;
	*step = l->first + (l->count - l->unfinished);
	if (most < LATE_MS)
		most = LATE_MS;
	*late = c->watch->count >= KNOWN &&
		(now - begun) / l->unfinished >= most;
	return now - begun;
}

struct member *
watch_late(struct coord *c, uint64_t now)
{
	const uint64_t most = c->o.step_timeout_ms;

	for (struct member *w = c->member; w; w = w->next) {
		uint64_t step;
		bool late;
		const uint64_t ms = watch_step(c, w, now, &step, &late);
		const struct leased *l = first_lease(c, w);
		const bool too_late = most > 0 && ms > 0 &&
			ms / l->unfinished >= most;

		if (too_late && l->server == WIRE_NONE) {
			report_warning(c, "step %llu has taken %s %.1f s: "
				       "another worker gets it",
				       (unsigned long long)step, w->name,
				       (double)ms / 1000);
			return w;
		}
		if (late && watched(c, w)->late_told != l->id) {
			watched(c, w)->late_told = l->id;
			report_warning(c, "step %llu has taken %s %.1f s, "
				       "others take %.3f s",
				       (unsigned long long)step, w->name,
				       (double)ms / 1000,
				       (double)c->watch->median / 1e6);
		}
	}
	return NULL;
}

/* ---- nothing is to stand still ---- */

/* Warn, once, of an ask that servers have been at for longer than a lease;
   true: there is one. */
static bool
notify_late_ask(struct coord *c, uint64_t now)
{
	uint64_t since;
	size_t server;
	const struct ask *ask = fleet_late(c->fleet, &server, &since);

	if (!ask || now - since < c->o.lease_ms)
		return false;
	if (c->watch->asked_told != ask->number)
		report_warning(c, "server %zu (%s) has been at %s for %.1f s",
			       server, fleet_endpoint(c->fleet, server),
			       message_name(ask->kind),
			       (double)(now - since) / 1000);
	c->watch->asked_told = ask->number;
	return true;
}

/* Are there steps that wait for nothing but a worker? */
static bool
steps_wait(const struct coord *c)
{
	if (c->phase != PHASE_RUN || !c->started || !data_ready(c) ||
	    journal_waits(c))
		return false;
	if (!rerun_idle(c))
		return true;
	return !cancel_under_way(c) && !ending_begun(c) &&
		!cancel_is_quarantining(c) && queue_waiting(c->queue) > 0 &&
		!report_is_full(c);
}

/* Is a worker at a step?  Only if both the leases and the scheduler say so: if
   they differ, that is the error that watch_idle() looks for. */
static bool
steps_run(const struct coord *c)
{
	bool had = false;

	for (const struct member *w = c->member; w && !had; w = w->next)
		had = lease_has_any(c, w);
	if (c->scheduler->rounds(c))
		return had || c->scheduler->busy(c);
	return had && c->scheduler->busy(c);
}

/* Returns a worker that could be given a step. */
static const struct member *
free_worker(const struct coord *c)
{
	const struct member *w = c->member;

	while (w && (!worker_leasable(w) || sync_waits_for_holders(c, w)))
		w = w->next;
	return w;
}

/*
 * When somebody is free, something waits, and nothing is leased, there is
 * always a step that may be: so this does not last.
 */
bool
watch_idle(struct coord *c, uint64_t limit, uint64_t now)
{
	struct watch *w = c->watch;
	const struct member *free_one = free_worker(c);

	w->any = false;
	if (!free_one || !steps_wait(c) || steps_run(c)) {
		w->idle_ms = 0;
		w->idle_told = false;
		return false;
	}
	if (w->idle_ms == 0)
		w->idle_ms = now;
	if (now - w->idle_ms < c->o.lease_ms || notify_late_ask(c, now) ||
	    (rerun_idle(c) && limit <= queue_watermark(c->queue)))
		return false;
	if (!w->idle_told)
		report_warning(c, "nothing has been leased for %.1f s, though "
			       "steps wait and %s is free, which is an error "
			       "of ps-coord: leasing begins anew",
			       (double)(now - w->idle_ms) / 1000,
			       free_one->name);
	w->idle_told = true;
	w->idle_ms = now;
	w->any = true;
	return true;
}

void
watch_servers(struct coord *c, uint64_t now)
{
	if (!fleet_welcome(c->fleet))
		c->watch->whole_ms = now;
	if (c->phase == PHASE_PLAN || c->phase == PHASE_LOAD)
		notify_late_ask(c, now);
	find_median(c->watch, now);
}

/* ---- nobody to do it ---- */

/* The kind of request that waits for workers: REQUEST_TRAIN needs one with
   data, REQUEST_EVAL any one; REQUEST_NONE: none waits. */
static enum request_op
work_waiting(const struct coord *c)
{
	const struct request *r = queue_barrier(c->queue);

	if (!rerun_idle(c))
		return REQUEST_TRAIN;
	if (queue_idle(c->queue) || cancel_under_way(c))
		return REQUEST_NONE;
	if (!data_ready(c))
		return REQUEST_EVAL;	/* whoever can read */
	if (!r && queue_waiting(c->queue) == 0)
		return REQUEST_EVAL;	/* in the background */
	if (!r || r->op == REQUEST_EPOCH)
		return REQUEST_TRAIN;
	return r->op == REQUEST_EVAL ? REQUEST_EVAL : REQUEST_NONE;
}

void
coord_forsaken(struct coord *c, const struct fail *why)
{
	c->watch->forsaken = true;
	c->watch->why_forsaken = *why;
}
/* Does every step line read inputs?  A step program with data of its own can
   begin them anew by itself. */
static bool
reads_all(const struct coord *c)
{
	const char *where;
	size_t i = 0;

	while (model_step(c->model, i, &where) && model_reads(c->model, i))
		i++;
	return !model_step(c->model, i, &where);
}

void
watch_workers(struct coord *c, uint64_t now)
{
	const enum request_op op = work_waiting(c);
	const struct member *silent = workers_hanging(c);
	const size_t present = workers_present(c);
	const double seconds = (double)c->o.timeout_ms / 1000;
	struct fail why;

	/* While a server is missing no worker can be ready: that time does not
	   count. */
	if (op == REQUEST_NONE || !fleet_welcome(c->fleet) ||
	    (c->started && workers_can(c, op))) {
		c->watch->helped_ms = now;
	} else if (c->started && silent) {
		if (now - c->watch->helped_ms < c->o.patience_ms)
			return;
		fail(&why, FAIL_PEER, "%s hangs, last heard %.1f s ago: "
		     "%llu steps were done", silent->name,
		     (double)(now - silent->heard) / 1000,
		     (unsigned long long)report_steps(c));
		ending_fail(c, &why);
	} else if (c->started && present > 0) {
		if (now - c->watch->helped_ms < EXHAUSTED_MS ||
		    now - c->watch->helped_ms < c->o.lease_ms / 4)
			return;
		fail(&why, FAIL_NOINPUT, "no worker %s: %llu steps were done, "
		     "%llu were not%s", workers_at_end(c) ? "has data left" :
		     "can read on after errors in its data",
		     (unsigned long long)report_steps(c),
		     (unsigned long long)queue_waiting(c->queue),
		     workers_at_end(c) && reads_all(c) ?
		     " (ps-work --repeat reads again)" : "");
		report_error(c, NULL, "train", WIRE_NONE, NULL, why.text);
		if (rerun_idle(c))
			ending_wind_up(c, &why);
		else	/* no worker can run the steps that a server lacks */
			ending_fail(c, &why);
	} else if (present == 0 && c->watch->forsaken) {
		fail(&why, c->watch->why_forsaken.kind, "no worker is left, "
		     "%llu steps were done; %s",
		     (unsigned long long)report_steps(c),
		     c->watch->why_forsaken.text);
		ending_fail(c, &why);
	} else if (now - c->watch->helped_ms >= c->o.timeout_ms) {
		if (present == 0)
			fail(&why, FAIL_PEER, "no worker within %g s at %s, "
			     "%llu steps were done", seconds, c->o.endpoint,
			     (unsigned long long)report_steps(c));
		else
			fail(&why, FAIL_PEER, "%zu of %llu workers within "
			     "%g s at %s", workers_ready(c),
			     (unsigned long long)c->o.min_workers, seconds,
			     c->o.endpoint);
		ending_fail(c, &why);
	}
}

bool
watch_forsaken(const struct coord *c)
{
	return c->watch->forsaken && workers_present(c) == 0;
}

void
watch_helped(struct coord *c)
{
	c->watch->helped_ms = c->now_ms;
}

bool
watch_any(const struct coord *c)
{
	return c->watch->any;
}

/* A run that watch_idle() has reported must lease again within a lease. */
const char *
watch_check(const struct coord *c, uint64_t now)
{
	const struct watch *w = c->watch;

	return c->phase != PHASE_RUN || w->idle_ms == 0 || !w->idle_told ||
		now - w->idle_ms <= c->o.lease_ms ? NULL :
		"coord 36: nothing that can go on stands still for longer than "
		"a lease";
}
