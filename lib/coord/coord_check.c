/*
 * The invariants of a coordinator between two events.  Each has a number, which
 * is never used again: when a part of the coordinator becomes a component of
 * its own, its invariants move there with their numbers.
 */
#include "coord/coord_background.h"
#include "coord/coord_cancel.h"
#include "coord/coord_cut.h"
#include "coord/coord_data.h"
#include "coord/coord_ending.h"
#include "coord/coord_evaluate.h"
#include "coord/coord_journal.h"
#include "coord/coord_lease.h"
#include "coord/coord_members.h"
#include "coord/coord_private.h"
#include "coord/coord_recover.h"
#include "coord/coord_relays.h"
#include "coord/coord_rerun.h"
#include "coord/coord_standby.h"
#include "coord/coord_sync.h"
#include "coord/coord_watch.h"
#include "coord/coord_watermarks.h"
#include "coord/rerun_set.h"
#include "coord/submitters.h"

static const struct member *
member_of(const struct coord *c, const void *worker)
{
	const struct member *m = c->member;

	while (m && m != worker)
		m = m->next;
	return m;
}

/* Has the worker this step in a lease, to run it again for that server
   (WIRE_NONE: for none)? */
static bool
has_step(const struct coord *c, const struct member *w, uint64_t step,
	 uint64_t server)
{
	for (size_t i = 0; w && i < c->o.in_flight; i++) {
		const struct leased *l = &lease_of(c, w)[i];

		if (l->id != 0 && l->server == server && step >= l->first &&
		    step - l->first < l->count)
			return true;
	}
	return false;
}

/* ---- steps ---- */

/*
 * A step that is leased is in a lease of a worker, which will report its result
 * or be found dead: else the step would wait for ever.  While steps are being
 * given up, those that are leased wait for nobody.
 */
static const char *
check_leased(const struct coord *c)
{
	if (cancel_under_way(c) || c->phase != PHASE_RUN)
		return NULL;
	for (uint64_t s = queue_watermark(c->queue); s < queue_next(c->queue);
	     s++) {
		const struct step *step = queue_step(c->queue, s);

		if (!step || step->state != STEP_LEASED)
			continue;
		if (sync_begun(c) ? !sync_is(c, step->worker) :
		    !has_step(c, member_of(c, step->worker), s, WIRE_NONE))
			return "coord 10: a leased step is in a lease of its "
				"worker";
	}
	return NULL;
}

static const char *
check_again(const struct coord *c)
{
	for (size_t i = 0; i < c->o.servers; i++) {
		const struct rerun_set *r = rerun_of(c, i);

		for (size_t k = 0; k < r->outs; k++) {
			const struct rerun_set_out *out = &r->out[k];

			if (c->o.mode == MODE_SYNC ? !sync_is(c, out->worker) :
			    !has_step(c, member_of(c, out->worker), out->step,
				      i))
				return "coord 13: a step that is run again is "
					"in a lease of its worker";
		}
	}
	return NULL;
}

/* A phase that waits for answers of the servers has asked them. */
static const char *
check_asks(const struct coord *c)
{
	if ((c->phase == PHASE_PLAN &&
	     !fleet_asking(c->fleet, MESSAGE_PLAN)) ||
	    (c->phase == PHASE_LOAD && !fleet_asking(c->fleet, MESSAGE_LOAD)))
		return "coord 26: servers have been asked in a phase that "
			"waits for them";
	return NULL;
}

const char *
coord_check(const struct coord *c, uint64_t now)
{
	const char *violation = queue_check(c->queue);

	violation = violation ? violation : fleet_check(c->fleet);
	violation = violation ? violation : submitters_check(c->submitters);
	violation = violation ? violation : journal_check(c);
	violation = violation ? violation : sync_check(c);
	violation = violation ? violation : members_check(c);
	violation = violation ? violation : relays_check(c);
	violation = violation ? violation : data_check(c);
	violation = violation ? violation : lease_check(c);
	violation = violation ? violation : check_leased(c);
	violation = violation ? violation : rerun_check(c);
	violation = violation ? violation : check_again(c);
	violation = violation ? violation : watermarks_check(c);
	violation = violation ? violation : cut_check(c);
	violation = violation ? violation : background_check(c);
	violation = violation ? violation : recover_check(c);
	violation = violation ? violation : cancel_check(c);
	violation = violation ? violation : check_asks(c);
	violation = violation ? violation : evaluate_check(c);
	violation = violation ? violation : ending_check(c);
	violation = violation ? violation : standby_check(c);
	return violation ? violation : watch_check(c, now);
}
