/*
 * The coordinator's one recovery procedure, whatever was lost:
 *
 *	1. all leases are taken back;
 *	2. the coordinator waits until all servers are there;
 *	3. a new term begins, and all servers are sent the plan;
 *	4. servers without their variables load the newest checkpoint;
 *	5. workers are sent the plan;
 *	6. the steps that a server lacks are run again for that server alone.
 */
#include "coord/coord_recover.h"

#include "base/mem.h"
#include "coord/coord_background.h"
#include "coord/coord_cut.h"
#include "coord/coord_data.h"
#include "coord/coord_evaluate.h"
#include "coord/coord_journal.h"
#include "coord/coord_lease.h"
#include "coord/coord_members.h"
#include "coord/coord_report.h"
#include "coord/coord_rerun.h"
#include "coord/coord_standby.h"
#include "coord/coord_watermarks.h"
#include "coord/scheduler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct recovery {
	bool new_term;		/* the next plan begins a new term */
	bool term_unwritten;	/* the journal lacks this term, which a resumed
				   coordinator began */
	struct cut_base back;	/* the checkpoint that servers load */
	bool *lost;		/* of each server: it has no variables */
	bool all_back;		/* in sync: all servers load it */
	bool *gone_told;	/* of each server: it was reported to be gone */
};

void
recover_init(struct coord *c)
{
	c->recovery = mem_alloc(1, sizeof(*c->recovery));
	c->recovery->lost = mem_alloc(c->o.servers,
				      sizeof(*c->recovery->lost));
	c->recovery->gone_told = mem_alloc(c->o.servers,
					   sizeof(*c->recovery->gone_told));
}

void
recover_release(struct coord *c)
{
	free(c->recovery->lost);
	free(c->recovery->gone_told);
	free(c->recovery);
}

void
recover_resume(struct coord *c)
{
	c->plan.term++;
	c->recovery->term_unwritten = true;
	fleet_begin_term(c->fleet, c->plan.run, c->plan.term);
}

/* Take back everything from all members: the next PLAN makes them drop it. */
static void
revoke_all_leases(struct coord *c)
{
	for (struct member *m = c->member; m; m = m->next) {
		lease_forget(c, m);
		evaluate_take_back(c, m);
		data_take_back(c, m);
		cut_forget(c, m);
		m->ready = false;
	}
	queue_return(c->queue, NULL);
	c->scheduler->reset(c);
	rerun_return(c, NULL);
}

void
recover_begin(struct coord *c)
{
	if (c->phase == PHASE_END)
		return;
	revoke_all_leases(c);
	cut_give_up(c);
	background_lose(c);
	fleet_forget(c->fleet);
	c->recovery->new_term = true;
	c->phase = PHASE_GREET;
}

void
recover_ask_plan(struct coord *c)
{
	struct recovery *r = c->recovery;
	struct message m = { .kind = MESSAGE_PLAN };

	if (r->new_term)
		c->plan.term++;
	if (r->new_term || r->term_unwritten)
		recover_write_term(c);
	r->new_term = r->term_unwritten = false;
	cut_begin_term(c);
	fleet_begin_term(c->fleet, c->plan.run, c->plan.term);
	standby_begin_term(c);
	/* Servers that register have endpoints only now that all are there. */
	for (size_t i = 0; i < c->plan.servers; i++) {
		free(c->plan.endpoint[i]);
		c->plan.endpoint[i] = mem_text(fleet_endpoint(c->fleet, i));
	}
	pack_reset(&c->plan_frame);
	plan_write(&c->plan_frame, &c->plan);
	m.plan.term = c->plan.term;
	m.plan.plan = c->plan.number;
	m.plan.seed = c->plan.seed;
	m.plan.step = cut_base(c)->step;
	m.plan.replicas = c->replicas;
	m.plan.saves = !c->o.checkpoint ? SAVES_NONE :
		c->o.beside_journal ? SAVES_BESIDE_JOURNAL : SAVES;
	m.blob = (struct frame){ c->plan.run, PLAN_RUN, NULL };
	m.frames = 2;
	m.frame[0] = (struct frame){ c->model_frame.data,
				     c->model_frame.size, NULL };
	m.frame[1] = (struct frame){ c->plan_frame.data, c->plan_frame.size,
				     NULL };
	r->back = *cut_base(c);
	/* The plan binds servers to standbys: a coordinator that is started
	   again must know to which. */
	if (c->begun || c->resumed)
		recover_write_servers(c, true);
	if (journal_failed(c))
		return;
	fleet_ask(c->fleet, &m);
	c->phase = PHASE_PLAN;
}

/* ---- what a server has, and what it lacks ---- */

/*
 * Can a server keep the state that it reported?  Not if it has initial values
 * though there is a checkpoint; nor if it lacks steps that the checkpoint has,
 * whose terms are forgotten, so that they cannot be run again.
 */
static bool
can_resume(const struct coord *c, size_t server)
{
	const struct recovery *r = c->recovery;
	const struct standing *s = fleet_standing(c->fleet, server);
	uint64_t step = s->low;

	if (s->initial && *r->back.name)
		return false;
	if (c->o.mode == MODE_SYNC)
		return s->round >= r->back.step &&
			!rerun_lacks_rounds(c, server);
	while (step < r->back.step && standing_has(s, step))
		step++;
	return step >= r->back.step;
}

/*
 * Only what a server reports now counts, not what the coordinator knew of it:
 * it may be back from a log that was cut short, or from an older one.
 */
static void
compare(struct coord *c)
{
	for (size_t i = 0; i < c->o.servers; i++)
		if (fleet_holds(c->fleet, i) && !can_resume(c, i))
			fleet_set_lost(c->fleet, i);
	standby_compare(c);
}

/* Note which servers have no variables; returns how many. */
static size_t
note_lost(struct coord *c)
{
	struct recovery *r = c->recovery;
	size_t count = 0;

	for (size_t i = 0; i < c->o.servers; i++) {
		r->lost[i] = !fleet_holds(c->fleet, i);
		count += r->lost[i];
	}
	return count;
}

/*
 * Must all servers go back to the checkpoint?  Only in a synchronous run: if
 * some servers have lost their variables, as rounds are run again on all of
 * them from one state; or if the coordinator was started again, as it does not
 * know which servers had committed the last round.
 */
static bool
must_all_go_back(const struct coord *c, size_t lost)
{
	return c->o.mode == MODE_SYNC &&
		((lost > 0 && lost < c->o.servers) ||
		 (lost == 0 && c->resumed && !c->begun));
}

/* Must a server be sent LOAD?  Without a checkpoint the plan has given it
   initial values, unless it had the plan, and applied steps, before. */
static bool
must_load(const struct coord *c)
{
	for (size_t i = 0; i < c->o.servers; i++)
		if (!fleet_holds(c->fleet, i) &&
		    (*c->recovery->back.name ||
		     !fleet_standing(c->fleet, i)->initial))
			return true;
	return false;
}

bool
recover_ask_load(struct coord *c)
{
	struct recovery *r = c->recovery;
	struct message m = { .kind = MESSAGE_LOAD };

	compare(c);
	if (must_all_go_back(c, note_lost(c)))
		r->all_back = true;
	for (size_t i = 0; r->all_back && i < c->o.servers; i++)
		fleet_set_lost(c->fleet, i);
	if (!r->all_back && !must_load(c))
		return false;
	m.cut.run = plan_run(&c->plan);
	m.cut.term = c->plan.term;
	m.cut.cut = WIRE_NONE;
	m.cut.step = r->back.step;
	m.cut.part = r->back.ours ? plan_run(&c->plan) : 0;
	m.cut.parts = c->o.servers;
	m.blob = (struct frame){ r->back.name, strlen(r->back.name), NULL };
	fleet_ask(c->fleet, &m);
	c->phase = PHASE_LOAD;
	return true;
}

static void
notify_back(struct coord *c, size_t i, uint64_t steps, uint64_t now)
{
	struct recovery *r = c->recovery;
	uint64_t heard;
	const uint64_t gone = fleet_gone(c->fleet, i, &heard);
	const double seconds = gone ? (double)(now - gone) / 1000 : 0;
	const char *at = fleet_endpoint(c->fleet, i);

	if (r->lost[i])
		report_warning(c, "server %zu (%s) is back after %.1f s "
			       "without its variables: %s%s; %llu steps are "
			       "run again", i, at, seconds, r->all_back ?
			       "all servers go back to " :
			       "it goes back to ", *r->back.name ?
			       r->back.name : "initial values",
			       (unsigned long long)steps);
	else if (steps > 0 && c->o.mode != MODE_SYNC)
		report_warning(c, "server %zu (%s) is back after %.1f s with "
			       "less than it had acknowledged: %llu steps are "
			       "run again", i, at, seconds,
			       (unsigned long long)steps);
	else if (r->gone_told[i])
		report_warning(c, "server %zu (%s) is back after %.1f s", i,
			       at, seconds);
	r->gone_told[i] = false;
}

void
recover_end(struct coord *c, uint64_t now)
{
	struct recovery *r = c->recovery;

	for (size_t i = 0; i < c->o.servers; i++) {
		const uint64_t again = rerun_fill(c, i, r->back.step);

		if (fleet_holds(c->fleet, i)) {
			fleet_stands(c->fleet, i);
		} else {
			c->scheduler->go_back(c);
			fleet_back(c->fleet, i, r->back.step);
			fleet_set_loaded(c->fleet, i);
		}
		if (c->begun || c->resumed || r->gone_told[i])
			notify_back(c, i, again, now);
		r->lost[i] = false;
	}
	r->all_back = false;
	recover_write_servers(c, true);	/* before a worker hears of them */
	fleet_returned(c->fleet);
	watermarks_notified(c);
	if (!journal_failed(c))		/* else the run ends */
		c->phase = PHASE_RUN;
}

/* A server that is gone is reported at once, however long it is waited for. */
void
recover_watch(struct coord *c, uint64_t now)
{
	struct recovery *r = c->recovery;

	for (size_t i = 0; i < c->o.servers; i++) {
		uint64_t heard;
		const uint64_t gone = fleet_gone(c->fleet, i, &heard);

		if (gone == 0)
			continue;
		if (fleet_present_at(c->fleet, i)) {
			/* The server kept its variables; recover_end() reports
			   any other one. */
			if (c->phase == PHASE_RUN) {
				notify_back(c, i, 0, now);
				fleet_returned(c->fleet);
			}
		} else if (!r->gone_told[i] && !standby_took_over(c, i) &&
			   now - gone >= standby_mending(c)) {
			r->gone_told[i] = true;
			report_warning(c, "server %zu (%s) %s: waiting %g s "
				       "for it", i,
				       fleet_endpoint(c->fleet, i),
				       fleet_hangs(c->fleet, i) ?
				       "hangs" : "is gone",
				       (double)c->o.patience_ms / 1000);
		}
	}
}

/* ---- in the journal ---- */

void
recover_write_term(struct coord *c)
{
	struct pack out = { 0 };

	pack_uint(&out, c->plan.term);
	journal_add(c, JOURNAL_TERM, &out, true);
	pack_release(&out);
}

void
recover_write_servers(struct coord *c, bool safe)
{
	struct pack out = { 0 };

	for (size_t i = 0; i < c->o.servers; i++) {
		pack_text(&out, c->o.server[i] ? c->o.server[i] : "");
		pack_text(&out, fleet_endpoint(c->fleet, i));
		pack_text(&out, fleet_elsewhere(c->fleet, i));
		pack_uint(&out, fleet_holds(c->fleet, i) ?
			  fleet_incarnation(c->fleet, i) : 0);
		pack_uint(&out, fleet_term(c->fleet, i));
		standby_write(c, i, &out);
		rerun_write(c, i, &out);
	}
	journal_add(c, JOURNAL_SERVERS, &out, safe);
	pack_release(&out);
}

/* Read where a server was; unless the option -s names another endpoint than it
   did when the record was written, as then the server has moved. */
static int
read_place(struct coord *c, struct unpack *u, size_t i, struct fail *f)
{
	const char *option = c->o.server[i] ? c->o.server[i] : "";
	char said[256], was[256], other[256];

	unpack_text(u, said, sizeof(said));
	unpack_text(u, was, sizeof(was));
	unpack_text(u, other, sizeof(other));
	if (u->bad || strcmp(said, option) != 0)
		return 0;
	if (*other)
		fleet_seek(c->fleet, i, other);
	else if (*option && strcmp(was, option) != 0)
		/* A standby took over elsewhere: the server that died at the
		   option's endpoint is perhaps started there again. */
		fleet_seek(c->fleet, i, option);
	return strcmp(was, fleet_endpoint(c->fleet, i)) == 0 ? 0 :
		fleet_place(c->fleet, i, was, f);
}

int
recover_read_servers(struct coord *c, struct unpack *u, struct fail *f)
{
	for (size_t i = 0; i < c->o.servers && !u->bad; i++) {
		uint64_t life, term;

		if (read_place(c, u, i, f) < 0)
			return -1;
		life = unpack_uint(u);
		term = unpack_uint(u);
		standby_read(c, i, life, u);
		rerun_read(c, i, u);
		fleet_resume(c->fleet, i, life, term);
		fleet_back(c->fleet, i, cut_base(c)->step);
	}
	return u->bad ? -1 : 0;
}

/* ---- what always holds ---- */

const char *
recover_check(const struct coord *c)
{
	const struct recovery *r = c->recovery;

	for (size_t i = 0; c->phase == PHASE_RUN && i < c->o.servers; i++)
		if (r->lost[i] || r->all_back || r->new_term)
			return "coord 14: no state of a recovery is left when "
				"the run continues";
	return NULL;
}
