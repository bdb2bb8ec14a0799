/*
 * The records of the whole run: what it is (RUN), what ended (ENDS), and all
 * of it as of a checkpoint (FOLD), to which each part adds its own.
 */
#include "coord/coord_records.h"

#include "base/hash.h"
#include "coord/coord_cancel.h"
#include "coord/coord_cut.h"
#include "coord/coord_data.h"
#include "coord/coord_ending.h"
#include "coord/coord_journal.h"
#include "coord/coord_recover.h"
#include "coord/coord_report.h"
#include "coord/coord_rerun.h"
#include "coord/coord_submit.h"

#define MAX_FOLD	((size_t)16 << 20)

/* A hash of the plan without the endpoints, which may change between starts. */
static uint64_t
plan_hash(const struct coord *c)
{
	const struct plan *p = &c->plan;
	struct pack out = { 0 };
	uint64_t hash;

	for (size_t i = 0; i < p->pieces; i++) {
		pack_uint(&out, p->piece[i].variable);
		pack_uint(&out, p->piece[i].first);
		pack_uint(&out, p->piece[i].count);
		if (coding_delta(p->codings, p->piece[i].variable))
			pack_uint(&out, WIRE_NONE);
	}
	for (size_t i = 0; i < p->parts; i++) {
		pack_uint(&out, p->part[i].server);
		pack_uint(&out, p->part[i].count);
	}
	hash = hash64(out.data, out.size);
	pack_release(&out);
	return hash;
}

void
records_facts(const struct coord *c, uint64_t fact[RUN_FACTS])
{
	fact[RUN_MODEL] = hash64(c->model_frame.data, c->model_frame.size);
	fact[RUN_SEED] = c->plan.seed;
	fact[RUN_SERVERS] = c->o.servers;
	fact[RUN_BATCHES] = c->plan.batches;
	/* Servers count rounds otherwise than steps of their own. */
	fact[RUN_SYNC] = c->o.mode == MODE_SYNC;
	fact[RUN_DATA] =
		c->o.samplers ? samplers_datasets(c->o.samplers) : 0;
	fact[RUN_QUEUE] = c->o.queue;
	fact[RUN_PLAN] = plan_hash(c);
}

static void
add_run(struct coord *c, const char *name, uint64_t step)
{
	struct pack out = { 0 };
	uint64_t fact[RUN_FACTS];

	records_facts(c, fact);
	pack_uint(&out, JOURNAL_VERSION);
	for (size_t i = 0; i < RUN_FACTS; i++)
		pack_uint(&out, fact[i]);
	pack_blob(&out, c->plan.run, PLAN_RUN);
	pack_text(&out, name);
	pack_uint(&out, step);
	pack_uint(&out, c->o.restored.examples);
	pack_uint(&out, message_double_bits(c->o.restored.seconds));
	journal_add(c, JOURNAL_RUN, &out, true);
	pack_release(&out);
}

void
records_begin(struct coord *c)
{
	add_run(c, cut_base(c)->name, cut_base(c)->step);
}

/* Write ENDS.  whole: with all that submitters have, not only what is new. */
static void
add_ends(struct coord *c, const struct pack *notes, bool safe, bool whole,
	 uint64_t now)
{
	struct pack out = { 0 };

	pack_uint(&out, journal_written(c));
	ending_write(c, &out);
	report_write(c, &out, now);
	pack_blob(&out, notes->data, notes->size);
	submit_write(c, whole, &out, now);
	data_write_epoch(c, &out, now);
	journal_add(c, JOURNAL_ENDS, &out, safe);
	pack_release(&out);
}

/* Write FOLDED, if the steps of the last fold have ended: from this record on
   the file may begin with that fold. */
static void
settle_fold(struct coord *c)
{
	const struct pack none = { 0 };

	if (journal_settled(c))
		journal_add(c, JOURNAL_FOLDED, &none, true);
}

bool
records_ends(struct coord *c, uint64_t written, bool now_or_never,
	     bool whole, uint64_t now)
{
	bool waited;

	if (!journal_due(c, now_or_never, whole, now))
		return false;
	c->now_ms = now;
	journal_lines(c);	/* what ended was asked for before */
	add_ends(c, journal_notes(c, written, now),
		 whole || journal_waits_for_disk(c), false, now);
	waited = journal_has_notes(c);
	settle_fold(c);
	return waited || whole;
}

bool
records_commit(struct coord *c, uint64_t now)
{
	if (!submit_is_awaited(c, now))
		return false;
	add_ends(c, journal_notes(c, submit_printed(c), now), true, false,
		 now);
	if (!journal_lost(c)) {
		journal_has_notes(c);
		submit_kept(c);
		settle_fold(c);
	}
	return true;
}

/*
 * Can records describe the state of the run?  They have no form for a run that
 * drains, for steps that are being given up or are quarantined, and for a
 * barrier whose note is not written.  Steps below the cut that end later are
 * noted behind the fold; those notes then do nothing.
 */
static bool
can_fold(const struct coord *c)
{
	return data_ready(c) && ending_state(c) != ENDING_DRAIN &&
		!cancel_is_quarantining(c) && !cancel_under_way(c) &&
		!journal_waits(c);
}

/* Write the FOLD of the run at this step, whose newest checkpoint is name, of
   step base.  can: false writes an empty one. */
static void
write_fold(struct coord *c, const char *name, uint64_t base, uint64_t step,
	   bool stops, bool can)
{
	struct text left = { 0 };
	struct pack fold = { 0 }, notes = { 0 };

	if (can && (c->o.queue ? submit_fold(c, &notes) :
		    queue_write(c->queue, &left))) {
		if (stops && !c->o.queue)
			text_add(&left, "%s\n", request_name(REQUEST_STOP));
		journal_fold(c, &fold, step);
		add_run(c, name, base);
		if (base < step)
			rerun_write_history(c, step);
		recover_write_term(c);
		recover_write_servers(c, false);
		data_write_counts(c, base < step);
		journal_add_lines(c, &left);
		if (c->o.queue)
			journal_resume(c, submit_printed(c));
		add_ends(c, &notes, false, true, c->now_ms);
		cancel_write_error(c);
	}
	journal_fold(c, NULL, step);
	/* A FOLD of a checkpoint is written often, so that a large one costs
	   too much; one with a HISTORY is rare. */
	if (base == step && fold.size > MAX_FOLD)
		pack_reset(&fold);
	journal_add(c, JOURNAL_FOLD, &fold, false);
	pack_release(&fold);
	pack_release(&notes);
	text_release(&left);
}

void
records_fold(struct coord *c, uint64_t step, bool stops)
{
	char name[CHECKPOINT_NAME];

	if (!c->o.journal || journal_lost(c))
		return;
	journal_lines(c);
	records_commit(c, c->now_ms);
	checkpoint_name(step, name);
	write_fold(c, name, step, step, stops, can_fold(c));
}

void
records_shorten(struct coord *c, bool stops)
{
	const struct cut_base *base = cut_base(c);

	journal_lines(c);
	records_commit(c, c->now_ms);
	if (!journal_lost(c))
		write_fold(c, base->name, base->step, queue_next(c->queue),
			   stops, can_fold(c) && rerun_idle(c));
}

void
records_finished(struct coord *c)
{
	struct pack out = { 0 };

	pack_uint(&out, (uint64_t)ending_status(c));
	journal_add(c, JOURNAL_FINISHED, &out, true);
	pack_release(&out);
}
