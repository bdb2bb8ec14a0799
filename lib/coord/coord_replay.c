/*
 * Reading the journal: a coordinator that is started again restores the state
 * of the one before it.  See coord_journal.c for what is in the records.
 */
#include "base/mem.h"
#include "coord/coord_cancel.h"
#include "coord/coord_cut.h"
#include "coord/coord_data.h"
#include "coord/coord_ending.h"
#include "coord/coord_journal.h"
#include "coord/coord_private.h"
#include "coord/coord_records.h"
#include "coord/coord_recover.h"
#include "coord/coord_report.h"
#include "coord/coord_rerun.h"
#include "coord/coord_standby.h"
#include "coord/coord_submit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int
coord_check_journal(uint32_t kind, const void *bytes, size_t size,
		    struct fail *f)
{
	struct unpack u = unpack_from(bytes, size), run = u;
	uint64_t version;

	if (kind == JOURNAL_FOLD) {
		kind = (uint32_t)unpack_uint(&u);
		bytes = unpack_blob(&u, &size);
		run = unpack_from(bytes, u.bad ? 0 : size);
	}
	version = unpack_uint(&run);
	if (kind != JOURNAL_RUN || run.bad)
		return fail(f, FAIL_DATA, "not the journal of a coordinator");
	return version == JOURNAL_VERSION ? 0 :
		fail(f, FAIL_CONFIG, "a journal of version %llu, not %d: "
		     "resume the run with programs of the release that began "
		     "it, or remove the journal to begin anew",
		     (unsigned long long)version,
		     JOURNAL_VERSION);
}

/* Check what a journal has in common with the run that resumes it. */
static int
check_facts(const struct coord *c, struct unpack *u, struct fail *f)
{
	static const char *const other[RUN_FACTS] = {
		[RUN_MODEL] = "another model",
		[RUN_SEED] = "another seed (--seed)",
		[RUN_SERVERS] = "another number of servers",
		[RUN_BATCHES] = "another number of batches of a step "
				"(--accumulate, or local steps)",
		[RUN_SYNC] = "another mode (only one of the two has "
			     "--mode=sync)",
		[RUN_DATA] = "other data (-d, --input)",
		[RUN_QUEUE] = "another queue (only one of the two has "
			      "--queue=ENDPOINT)",
		[RUN_PLAN] = "shards elsewhere (--partition, --place, "
			     "--beside)"
	};
	const uint64_t version = unpack_uint(u);
	uint64_t ours[RUN_FACTS];
	const char *why = NULL;

	records_facts(c, ours);
	for (size_t i = 0; i < RUN_FACTS; i++)
		if (unpack_uint(u) != ours[i] && !why)
			why = other[i];
	if (u->bad || version != JOURNAL_VERSION)
		return -1;
	return !why ? 0 :
		fail(f, FAIL_CONFIG, "it is the journal of a run with %s: give "
		     "the options of that run, or remove the journal to begin "
		     "anew", why);
}

static int
replay_run(struct coord *c, struct unpack *u, struct fail *f)
{
	char name[CHECKPOINT_NAME];
	const void *blob;
	size_t length;

	if (check_facts(c, u, f) < 0)
		return -1;
	blob = unpack_blob(u, &length);
	if (u->bad || length != PLAN_RUN)
		return -1;
	memcpy(c->plan.run, blob, PLAN_RUN);
	blob = unpack_blob(u, &length);
	if (u->bad || length >= sizeof(name))
		return -1;
	memcpy(name, blob, length);
	name[length] = '\0';
	cut_begin_with(c, name, unpack_uint(u), false);
	c->o.restored.examples = unpack_uint(u);
	c->o.restored.seconds = message_double(unpack_uint(u));
	coord_begin_queue(c, cut_base(c)->step);
	c->resumed = true;
	return 0;
}

static int
replay_lines(struct coord *c, struct unpack *u)
{
	const uint64_t last = unpack_uint(u), hash = unpack_uint(u);
	size_t size;
	const char *lines = unpack_blob(u, &size);
	uint64_t number = last + 1;
	char *copy, *line, *end, *behind;

	if (u->bad)
		return -1;
	copy = mem_text_n(lines, size);
	behind = copy + size;
	for (size_t i = 0; i < size; i++)
		number -= copy[i] == '\n';
	for (line = copy; (end = memchr(line, '\n', (size_t)(behind - line)));
	     line = end + 1) {
		*end = '\0';
		coord_request(c, line, (size_t)(end - line), number++,
			      c->now_ms);
	}
	free(copy);
	journal_last_line(c, last, hash);
	return 0;
}

static int
replay_note(struct coord *c, uint64_t what, uint64_t first, uint64_t count)
{
	const struct request *r;
	uint64_t left;

	for (uint64_t i = 0; what <= NOTE_VOID && i < count; i++) {
		if (cancel_number_up_to(c, first + i) < 0)
			return -1;
		if (what == NOTE_VOID)
			rerun_void(c, first + i);
		queue_end(c->queue, first + i);
		cancel_read_ended(c, first + i);
	}
	if (what == NOTE_PASSED || what == NOTE_CLOSED)
		queue_pass_background(c->queue, true);
	if (what == NOTE_BACKGROUND && !queue_background(c->queue, first))
		return -1;
	if (what == NOTE_BACKGROUND)
		queue_background_end(c->queue, first, count > 0);
	if (what == NOTE_PASSED && !(r = queue_barrier(c->queue)))
		return -1;
	if (what == NOTE_PASSED) {
		if (r->op == REQUEST_JOIN)
			cancel_error_notified(c);
		queue_pass(c->queue);
	}
	if (what == NOTE_CLOSED) {
		if (!data_ready(c) || !queue_begun(c->queue, &left) ||
		    !(r = queue_barrier(c->queue)))
			return -1;
		data_begin_epoch(c, r, c->now_ms);
	}
	if (what == NOTE_DROPPED) {
		if (first > 0 && cancel_number_up_to(c, first - 1) < 0)
			return -1;
		for (uint64_t s = queue_watermark(c->queue); s < first; s++)
			if (queue_step(c->queue, s))
				rerun_void(c, s);
		queue_replay_end(c->queue, count);
		cancel_read_dropped(c);
	}
	if (what == NOTE_DROPPED_OF) {
		for (uint64_t s = queue_watermark(c->queue); s < first; s++)
			if (queue_step(c->queue, s))
				rerun_void(c, s);
		queue_cancel_of(c->queue, (size_t)count);
		cancel_read_dropped(c);
	}
	/* The run was ending: what was not given up by then is now. */
	if (what == NOTE_ENDING)
		ending_read_drain(c);
	submit_replayed(c);
	return 0;
}

static int
replay_ends(struct coord *c, struct unpack *u)
{
	struct unpack notes;
	const void *bytes;
	size_t size;

	journal_resume(c, unpack_uint(u));
	ending_read(c, u);
	report_read(c, u);
	bytes = unpack_blob(u, &size);
	if (u->bad)
		return -1;
	notes = unpack_from(bytes, size);
	while (unpack_left(&notes) > 0 && !notes.bad) {
		const uint64_t what = unpack_uint(&notes);
		const uint64_t first = unpack_uint(&notes);
		const uint64_t count = unpack_uint(&notes);

		if (notes.bad || (what >= NOTE_CALLED ?
		    submit_replay_note(c, (enum journal_note)what,
				       (size_t)first, count, &notes) :
		    replay_note(c, what, first, count)) < 0)
			return -1;
	}
	submit_answered(c);
	return submit_replay(c, u) < 0 ? -1 : data_read_epoch(c, u);
}

/* All steps of HISTORY have ended: the queue begins behind them. */
static int
replay_history(struct coord *c, struct unpack *u)
{
	const uint64_t below = unpack_uint(u);

	if (u->bad || below < queue_next(c->queue))
		return -1;
	coord_begin_queue(c, below);
	return rerun_read_history(c, below, u);
}

static int replay(struct coord *, enum journal_kind, struct unpack *,
		  struct fail *);

/* The journal begins with this FOLD.  The program dropped what was before it
   when the ends of its steps had been written behind it, and CUT or FOLDED
   behind those; until one of these is read, the FOLD knows better what has
   ended than which results were written. */
static int
replay_fold(struct coord *c, struct unpack *u, struct fail *f)
{
	journal_owes_end(c, true);
	while (unpack_left(u) > 0) {
		const uint64_t kind = unpack_uint(u);
		size_t size;
		const void *bytes = unpack_blob(u, &size);
		struct unpack inner = unpack_from(bytes, size);

		if (u->bad || kind == JOURNAL_FOLD ||
		    replay(c, (enum journal_kind)kind, &inner, f) < 0)
			return -1;
	}
	return 0;
}

static int
replay(struct coord *c, enum journal_kind kind, struct unpack *u,
       struct fail *f)
{
	int r = 0;

	switch (kind) {
	case JOURNAL_RUN:	r = replay_run(c, u, f); break;
	case JOURNAL_TERM:	c->plan.term = unpack_uint(u); break;
	case JOURNAL_LINES:	r = replay_lines(c, u); break;
	case JOURNAL_ENDS:	r = replay_ends(c, u); break;
	case JOURNAL_VOID:	r = cancel_read(c, u); break;
	case JOURNAL_SERVERS:	r = recover_read_servers(c, u, f); break;
	case JOURNAL_CUT:	r = cut_read(c, u);
				journal_owes_end(c, false);
				break;
	case JOURNAL_FOLDED:	journal_owes_end(c, false); break;
	case JOURNAL_COUNTS:	r = data_read_counts(c, u, f); break;
	case JOURNAL_STREAMS:	r = data_read_streams(c, u); break;
	case JOURNAL_FOLD:	r = c->resumed ? 0 : replay_fold(c, u, f);
				break;
	case JOURNAL_ERROR:	r = cancel_read_error(c, u); break;
	case JOURNAL_HISTORY:	r = replay_history(c, u); break;
	default:		break;
	}
	return r < 0 || u->bad ? -1 : 0;
}

int
coord_replay(struct coord *c, uint32_t kind, const void *bytes, size_t size,
	     struct fail *f)
{
	struct unpack u = unpack_from(bytes, size);
	int r = 0;

	fail(f, FAIL_DATA, "a malformed record");
	journal_grow(c, size);
	if (journal_numbers((enum journal_kind)kind)) {
		journal_count(c, unpack_uint(&u));
		bytes = unpack_blob(&u, &size);
		r = unpack_ok(&u) ? 0 : -1;
		u = unpack_from(bytes, size);
	}
	journal_replay(c, true);
	if (r == 0)
		r = replay(c, (enum journal_kind)kind, &u, f);
	journal_replay(c, false);
	return r;
}

/*
 * Take the newest checkpoint on disk, which may be newer than the one that the
 * journal names.  The end of its steps and their results were safe in the
 * journal before the checkpoint was written; -1: the journal lacks them, so
 * that it is an older copy, or was cut short.
 */
static int
use_newest_checkpoint(struct coord *c)
{
	char run[33];

	for (size_t i = 0; i < PLAN_RUN; i++)
		snprintf(run + 2 * i, 3, "%02x", c->plan.run[i]);
	if (!*c->o.restore || strcmp(run, c->o.restored.run) != 0 ||
	    c->o.restored.step < cut_base(c)->step)
		return 0;
	cut_begin_with(c, c->o.restore, c->o.restored.step, true);
	return queue_watermark(c->queue) < cut_base(c)->step ? -1 : 0;
}

int
coord_start(struct coord *c, struct coord_progress *progress, struct fail *f)
{
	*progress = journal_progress(c);
	if (!c->o.journal)
		return 0;
	if (!c->resumed) {
		records_begin(c);
		return 0;
	}
	if (journal_lacks_end(c))
		return fail(f, FAIL_DATA, "the journal was cut short: the ends "
			    "of the first steps that it has are missing. Put "
			    "the right one in its place, or remove it to begin "
			    "anew");
	if (use_newest_checkpoint(c) < 0)
		return fail(f, FAIL_DATA, "%s holds steps that have not ended "
			    "by the journal: the journal was cut short, or is "
			    "an older one. Put the right one in its place, or "
			    "remove it to begin anew",
			    c->o.restore);
	cut_resume(c, *cut_base(c)->name ? cut_base(c)->step : WIRE_NONE);
	submit_resume(c);
	/* The new term is written only when servers have shown that this
	   journal is the newest: see recover_resume(). */
	fleet_kept(c->fleet, journal_records(c));
	recover_resume(c);
	standby_resume(c);
	report_warning(c, "resuming a run that was interrupted: %llu steps "
		       "have ended, term %llu begins",
		       (unsigned long long)queue_watermark(c->queue),
		       (unsigned long long)c->plan.term);
	return 1;
}
