/*
 * The coordinator's end, after a failure, an error or a signal, or when nothing
 * is left to do: the steps under way end and are saved, and all members are
 * told to stop.
 */
#include "coord/coord_end.h"

#include "base/mem.h"
#include "coord/coord_background.h"
#include "coord/coord_cancel.h"
#include "coord/coord_cut.h"
#include "coord/coord_ending.h"
#include "coord/coord_evaluate.h"
#include "coord/coord_journal.h"
#include "coord/coord_members.h"
#include "coord/coord_report.h"
#include "coord/coord_sync.h"
#include "coord/coord_rerun.h"
#include "coord/coord_standby.h"
#include "coord/coord_steps.h"
#include "coord/coord_submit.h"
#include "coord/coord_watch.h"
#include "coord/scheduler.h"
#include "coord/submitters.h"

#include <stdlib.h>

#define STOP_MS		5000		/* for members to leave */
#define LAST_MS		1000		/* ... after grace_ms, at most */
#define SUSPEND_MS	1000		/* for a lost server to return */

struct end {
	uint64_t asked_ms;	/* when a signal asked to stop; or 0 */
	uint64_t deadline_ms;	/* for members to leave */
	bool unread;		/* the signal came before the last request */
	bool server_gone;	/* the run ends for lack of a server */
	bool servers_notified;	/* all have acknowledged STOP or BYE */
};

static const struct fail suspended = { .kind = FAIL_AGAIN };

void
end_init(struct coord *c)
{
	c->end = mem_alloc(1, sizeof(*c->end));
}

void
end_release(struct coord *c)
{
	free(c->end);
}

/* Do the servers stay when the run ends?  They do, too, if another coordinator
   may have the run. */
static bool
keeps_servers(const struct coord *c)
{
	return c->o.keep_servers ||
		(!c->begun && ending_failure(c)->kind == FAIL_AGAIN);
}

static void
stop_members(struct coord *c, uint64_t now)
{
	struct message m = { .kind = keeps_servers(c) ? MESSAGE_BYE :
			     MESSAGE_STOP };
	const uint64_t last = c->end->asked_ms + c->o.grace_ms + LAST_MS;
	const uint64_t given_up = report_cancelled_requests(c);

	/* The exit status does not say it. */
	if (c->end->asked_ms && ending_output_is_open(c) && given_up > 0)
		report_warning(c, "requests given up: %llu%s",
			       (unsigned long long)given_up,
			       c->end->unread ? ", and those that were not "
			       "read yet" : "");
	if (m.kind == MESSAGE_STOP)
		sync_drop_residuals(c, WIRE_NONE);
	/* Another run may have a server that has none of this one. */
	if (!c->begun && c->resumed)
		fleet_spare(c->fleet);
	ending_stop(c);
	c->end->deadline_ms = now + STOP_MS;
	if (c->end->asked_ms && c->end->deadline_ms > last)
		c->end->deadline_ms = last;
	workers_stop(c);
	submitters_close_all(c->submitters);
	if (!c->end->server_gone || fleet_present(c->fleet) > 0)
		fleet_ask(c->fleet, &m);
}

bool
end_nothing_left(const struct coord *c)
{
	return c->resumed && !c->begun && !c->o.keep_servers &&
		ending_had_last_request(c) && queue_idle(c->queue) &&
		submitters_all_pending(c->submitters) == 0 &&
		!cancel_under_way(c) && !cancel_is_quarantining(c) &&
		(!c->o.checkpoint ||
		 cut_saved_step(c) == queue_watermark(c->queue));
}

uint64_t
end_patience(const struct coord *c, uint64_t ms)
{
	return end_nothing_left(c) && ms > STOP_MS ? STOP_MS : ms;
}

/* Is this a resumed run whose servers and min_workers have not all come back
   yet? */
static bool
is_resuming(const struct coord *c)
{
	return c->resumed && !c->started;
}

/*
 * Is the run left as it is, to be resumed, instead of ending with this error?
 * Then no member is told to stop, and nothing is given up.  It is
 *
 *  - if its journal cannot be written any more: what is in there suffices;
 *  - if it has lost its servers or workers; but not if its requests come
 *    through a pipe, whose writer waits for an answer;
 *  - if it was resumed, and does not find them; but not if data are damaged
 *    (FAIL_DATA), for they will not be better next time.
 */
static bool
is_suspended(const struct coord *c, const struct fail *why)
{
	/* Then why is the error of the workers, which says nothing about our
	   data. */
	const bool forsaken = watch_forsaken(c);

	if (journal_lost(c))
		return c->begun || c->resumed || c->o.queue;
	if (c->o.journal && (c->o.journal->whole || c->o.queue) &&
	    report_steps(c) > 0 &&
	    (why->kind == FAIL_PEER || forsaken))
		return true;
	return is_resuming(c) &&
		(why->kind != FAIL_DATA || forsaken);
}

/* Leaves the run.  The error is only this coordinator's: the one that resumes
   the run does not end with it. */
static void
leave(struct coord *c, const struct fail *why)
{
	report_warning(c, "the run has not ended: the same command resumes it");
	ending_leave(c, why);
}

static void
give_up(struct coord *c)
{
	background_give_up(c);
	evaluate_give_up(c);
	cancel_give_up(c);
}

void
end_fail(struct coord *c, const struct fail *why, uint64_t now)
{
	if (c->phase == PHASE_END)
		return;
	if (end_nothing_left(c) && !journal_lost(c)) {
		end_run(c, now);
		return;
	}
	if (is_suspended(c, why)) {
		leave(c, why);
		return;
	}
	if (why->kind)
		ending_set(c, why);
	if (c->begun && why->kind == FAIL_AGAIN)
		journal_lose(c);	/* it is now the coordinator's that
					   has taken over the run */
	give_up(c);
	stop_members(c, now);
}

static bool
suspend(struct coord *c)
{
	ending_suspend(c);
	cut_want_last(c);
	if (!c->begun && c->phase != PHASE_END) {
		leave(c, &suspended);
		return false;
	}
	return true;
}

bool
end_ask(struct coord *c, uint64_t now)
{
	struct fail none = { 0 };

	if (!c->end->asked_ms)
		c->end->unread = !ending_had_last_request(c) &&
			!(submitters_open(c->submitters) &&
			  submitters_closed(c->submitters, SUBMITTER_OWN));
	c->end->asked_ms = now;
	if (c->o.suspend && ending_output_is_open(c) &&
	    ending_state(c) != ENDING_DRAIN)
		return suspend(c);
	/* A run that has begun, here or under an earlier coordinator, is
	   recovered first. */
	if (c->phase < PHASE_RUN && !c->begun && !c->resumed) {
		end_fail(c, &none, now);
		return false;
	}
	ending_drain(c);
	return true;
}

bool
end_output_closed(struct coord *c, const struct fail *why, bool again,
		  uint64_t now)
{
	ending_output_closed(c);
	if (!again || !c->o.journal || (!c->begun && !c->resumed))
		return end_ask(c, now);
	journal_lose(c);	/* it must not have results that are not
				   written */
	end_fail(c, why, now);
	return false;
}

/* Is this a resumed run that still waits for its servers, and has something
   left to do with them? */
static bool
waits_to_resume(const struct coord *c)
{
	return is_resuming(c) && !end_nothing_left(c) && !journal_lost(c);
}

/* Ends the run now, because of the signal, even if something is left to do. */
static void
end_as_asked(struct coord *c, uint64_t now)
{
	const char *newest = *cut_base(c)->name ? cut_base(c)->name : "none";
	const bool saved = !c->o.checkpoint ||
		cut_saved_step(c) == queue_watermark(c->queue);
	struct fail why = { 0 };

	if (ending_state(c) == ENDING_SUSPEND || waits_to_resume(c)) {
		if (!saved)
			report_warning(c, "no checkpoint could be saved in "
				       "time: the newest is %s", newest);
		leave(c, &suspended);
		return;
	}
	if (!saved)
		fail(&why, FAIL_IO, "no last checkpoint could be saved: the "
		     "newest is %s", newest);
	/* A run that had an error before ends with that one. */
	if (!saved && ending_status(c) != 0) {
		report_warning(c, "%s", why.text);
		why.kind = 0;
	}
	end_fail(c, &why, now);
}

void
end_without(struct coord *c, const struct fail *why, uint64_t now)
{
	c->end->server_gone = true;
	if (c->end->asked_ms) {	/* servers may have got the signal, too */
		report_warning(c, "%s", why->text);
		end_as_asked(c, now);
	} else {
		end_fail(c, why, now);
	}
}

void
end_servers_notified(struct coord *c)
{
	c->end->servers_notified = true;
}

void
end_suspended(struct coord *c)
{
	if (ending_state(c) != ENDING_SUSPEND || cancel_under_way(c) ||
	    cancel_is_quarantining(c) || !rerun_idle(c) || !cut_idle(c) ||
	    cut_save_due(c) ||
	    queue_watermark(c->queue) < queue_next(c->queue))
		return;
	if (journal_await(c))
		leave(c, &suspended);
}

/* Has a server left for good, with no standby for it, as when a signal ends a
   whole job?  Steps that it had not saved are done again after the run is
   resumed. */
static bool
servers_end(const struct coord *c, uint64_t now)
{
	uint64_t gone, heard;

	for (size_t i = 0; i < c->o.servers; i++) {
		gone = fleet_gone(c->fleet, i, &heard);
		if (gone && now - gone >= SUSPEND_MS &&
		    now - gone >= standby_mending(c) &&
		    !standby_counted(c, i))
			return true;
	}
	return false;
}

void
end_check_drain(struct coord *c, uint64_t now)
{
	const uint64_t asked = c->end->asked_ms;
	const bool late = asked && now - asked >= c->o.grace_ms;
	const double grace = (double)c->o.grace_ms / 1000;
	const uint64_t left = queue_next(c->queue) - queue_watermark(c->queue);

	/* No step is left if those in flight are run again for a server. */
	if (late && (ending_state(c) == ENDING_SUSPEND || left == 0))
		report_warning(c, "not all steps in flight have ended within "
			       "%g s",
			       grace);
	else if (late)
		report_warning(c, "not all steps in flight have ended within "
			       "%g s: steps given up: %llu", grace,
			       (unsigned long long)left);
	if (late || (ending_state(c) == ENDING_SUSPEND && servers_end(c, now)))
		end_as_asked(c, now);
}

/* Warns of codecs that were to begin at a later step than the run's last. */
static void
warn_of_codings(struct coord *c)
{
	const struct coding_rule *rule[] = { &c->o.push, &c->o.pull };
	const uint64_t steps = queue_watermark(c->queue);

	for (size_t i = 0; i < 2; i++)
		for (const struct coding_rule *r = rule[i]; r; r = r->next) {
			if (r->from < steps || r->from == 0 ||
			    (i > 0 && r->both))
				continue;
			report_warning(c, "%s=%s: the run ended at step %llu, "
				       "so this never took effect",
				       r->option, r->text,
				       (unsigned long long)steps);
		}
}

void
end_run(struct coord *c, uint64_t now)
{
	if (cut_final(c, now))
		return;
	/* The journal first: members that were told to stop are not there for
	   a coordinator that resumes the run. */
	if (journal_await(c)) {
		warn_of_codings(c);
		stop_members(c, now);
	}
}

/*
 * The run is over only when all members have left: a message that is still
 * under way when its connection ends is dropped, and this may be our STOP.
 * Results of cancelled requests are written with the news for submitters, which
 * wait for the journal: even a run that is late has these.
 */
void
end_check_over(struct coord *c, uint64_t now)
{
	bool left = c->end->servers_notified || fleet_present(c->fleet) == 0;
	uint64_t workers = 0;

	for (const struct member *m = c->member; m; m = m->next) {
		left = left && m->gone;
		workers += m->role == ROLE_WORKER;
	}
	left = left && submit_have_all(c);
	/* A worker that has not connected yet would find nobody: all of the
	   cluster's are waited for, and of a resumed run at least one. */
	left = left && workers >= c->o.workers && (workers > 0 || !c->resumed);
	if (ending_state(c) == ENDING_STOP && submit_notified(c) &&
	    (left || now >= c->end->deadline_ms))
		ending_over(c);
}

void
end_drain(struct coord *c)
{
	if (ending_state(c) != ENDING_DRAIN || cancel_under_way(c) ||
	    cancel_is_quarantining(c) || !rerun_idle(c))
		return;
	if (c->scheduler->rounds(c))
		steps_give_out(c);	/* the rest of what was begun */
	if (c->scheduler->running(c))
		return;
	if (queue_watermark(c->queue) < queue_next(c->queue) ||
	    !cut_possible(c)) {
		/* Steps are leased: those that workers have begun are done
		   first, the rest is void. */
		cancel_begin(c);
		return;
	}
	if (!cut_unwant(c))
		return;
	give_up(c);
}
