/*
 * The coordinator's journal: how its records are written, and when.  Each part
 * of the coordinator knows the contents of its own records; those of the whole
 * run are in coord_records.c, and coord_replay.c reads them all.
 */
#include "coord/coord_journal.h"

#include "base/hash.h"
#include "base/mem.h"
#include "coord/coord_report.h"

#include <stdlib.h>

#define NOTE_MS		100	/* notes are written at most this often, unless
				   something waits for them */
#define MOST_HOLD_MS	20	/* the longest hold_ms */
#define FOLD_BYTES	((uint64_t)1 << 20)	/* no journal is folded that is
						   smaller, */
#define RECORD_BYTES	32	/* with these for the frame of each record, */
#define FOLD_TIMES	4	/* nor one that is smaller than this many times
				   what the last fold has left */

struct journal_state {
	bool lost;		/* nothing more is written to the journal */
	bool failed;		/* a write has failed, and coord.c is yet to
				   ask for the reason: */
	struct fail why;
	bool replaying;		/* what is done now is in the journal */
	uint64_t records;	/* in the journal, with those of earlier
				   coordinators */
	bool ends_unsafe;	/* there are ENDS that are not on disk yet: a
				   power cut would lose them */
	struct pack *fold;	/* records go here; NULL: to the journal */
	uint64_t folded;	/* the last fold was for the steps below */
	uint64_t bytes;		/* of all records in the file */
	uint64_t fold_at;	/* the bytes at which it is folded */
	uint64_t before;	/* bytes in front of the last fold, which */
	bool settles;		/* waits for its steps to end */
	bool owes_end;		/* records that must follow were not read */
	struct text lines;	/* requests that are not in the journal yet */
	struct coord_progress progress;
	struct pack notes;	/* that are not in the journal yet; and */
	uint64_t first, count;	/* steps done in a row, behind these */
	uint64_t noted_ms;	/* when notes were last written */
	bool waits;		/* a barrier was passed: nothing behind it is
				   leased before the journal has that, */
	bool waits_for_disk;	/* safe on disk */
	bool has_ending;	/* the journal says that the run drains */
	bool is_open;		/* see journal_open() */
	bool committed;		/* notes were written since the last tick */
	uint64_t hold_ms;	/* from noted_ms to the next time that the
				   journal opens */
};

static uint64_t
fold_least(const struct coord *c)
{
	return c->o.fold_bytes > 0 ? c->o.fold_bytes : FOLD_BYTES;
}

void
journal_init(struct coord *c)
{
	c->journal_state = mem_alloc(1, sizeof(*c->journal_state));
	c->journal_state->fold_at = fold_least(c);
}

void
journal_release(struct coord *c)
{
	text_release(&c->journal_state->lines);
	pack_release(&c->journal_state->notes);
	free(c->journal_state);
}

/* ---- records ---- */

bool
journal_numbers(enum journal_kind kind)
{
	return kind != JOURNAL_RUN && kind != JOURNAL_FOLD &&
		kind != JOURNAL_FINISHED;
}

static int
write_record(struct coord *c, enum journal_kind kind, const struct pack *p,
	     bool safe, struct fail *f)
{
	const struct journal *j = c->o.journal;
	struct pack out = { 0 };
	int r;

	if (journal_numbers(kind)) {
		pack_uint(&out, ++c->journal_state->records);
		pack_blob(&out, p->data, p->size);
		p = &out;
	}
	r = j->add(j->to, kind, p->data, p->size, safe, f);
	journal_grow(c, p->size);
	pack_release(&out);
	if (r == 0 && safe)	/* so are all records before it */
		fleet_kept(c->fleet, c->journal_state->records);
	return r;
}

/* Keeps account of folds.  An empty fold (any: false) stands for none, and one
   is tried again when the journal has grown.  The records in front of a fold
   are dropped when all of its steps have ended (FOLDED). */
static void
note_fold(struct coord *c, enum journal_kind kind, uint64_t before, bool any)
{
	struct journal_state *k = c->journal_state;

	if (kind == JOURNAL_FOLD) {
		k->settles = any;
		k->before = before;
		k->fold_at = k->bytes + fold_least(c);
	} else if (kind == JOURNAL_FOLDED) {
		k->settles = false;
		k->bytes -= k->before;
		k->fold_at = FOLD_TIMES * k->bytes;
		if (k->fold_at < fold_least(c))
			k->fold_at = fold_least(c);
	}
}

void
journal_add(struct coord *c, enum journal_kind kind, const struct pack *p,
	    bool safe)
{
	struct journal_state *k = c->journal_state;
	const uint64_t before = k->bytes;

	if (k->fold) {
		pack_uint(k->fold, kind);
		pack_blob(k->fold, p->data, p->size);
		return;
	}
	if (!c->o.journal || k->lost || k->replaying)
		return;
	if (write_record(c, kind, p, safe, &k->why) == 0) {
		k->ends_unsafe = !safe && (k->ends_unsafe ||
					   kind == JOURNAL_ENDS);
		note_fold(c, kind, before, p->size > 0);
		return;
	}
	k->lost = true;
	k->failed = c->phase != PHASE_END;
	if (c->phase == PHASE_END)	/* the run is over: nothing is lost */
		report_warning(c, "the run is over, but its journal could not "
			       "be removed: %s", k->why.text);
}

bool
journal_failed(const struct coord *c)
{
	return c->journal_state->failed;
}

bool
journal_failure(struct coord *c, struct fail *why)
{
	const bool failed = c->journal_state->failed;

	if (failed)
		*why = c->journal_state->why;
	c->journal_state->failed = false;
	return failed;
}

void
journal_lose(struct coord *c)
{
	c->journal_state->lost = true;
}

bool
journal_lost(const struct coord *c)
{
	return c->journal_state->lost;
}

uint64_t
journal_records(const struct coord *c)
{
	return c->journal_state->records;
}

void
journal_fold(struct coord *c, struct pack *into, uint64_t below)
{
	c->journal_state->fold = into;
	c->journal_state->folded = below;
}

uint64_t
journal_folded(const struct coord *c)
{
	return c->journal_state->folded;
}

bool
journal_is_long(const struct coord *c)
{
	const struct journal_state *k = c->journal_state;

	return c->o.journal && !c->o.checkpoint && !k->lost &&
		!k->replaying && !k->settles && k->bytes >= k->fold_at;
}

/* ---- read again ---- */

void
journal_replay(struct coord *c, bool begin)
{
	c->journal_state->replaying = begin;
	report_again(c, begin);
}

bool
journal_replays(const struct coord *c)
{
	return c->journal_state->replaying;
}

void
journal_count(struct coord *c, uint64_t records)
{
	c->journal_state->records = records;
}

void
journal_grow(struct coord *c, size_t bytes)
{
	c->journal_state->bytes += RECORD_BYTES + bytes;
}

struct coord_progress
journal_progress(const struct coord *c)
{
	return c->journal_state->progress;
}

void
journal_owes_end(struct coord *c, bool owes)
{
	c->journal_state->owes_end = owes;
}

bool
journal_lacks_end(const struct coord *c)
{
	return c->journal_state->owes_end;
}

/* ---- requests ---- */

void
journal_count_line(struct coord *c, const char *line, size_t size,
		   uint64_t number)
{
	struct coord_progress *p = &c->journal_state->progress;

	if (number > p->line)
		p->lines_hash = hash_chain(p->lines_hash, line, size);
	p->line = number;
}

void
journal_line(struct coord *c, const char *line, size_t size, uint64_t number)
{
	struct journal_state *k = c->journal_state;

	if (!c->o.journal || k->replaying)
		return;
	text_add_bytes(&k->lines, line, size);
	text_add_bytes(&k->lines, "\n", 1);
	journal_count_line(c, line, size, number);
}

void
journal_add_lines(struct coord *c, const struct text *lines)
{
	struct pack out = { 0 };

	pack_uint(&out, c->journal_state->progress.line);
	pack_uint(&out, c->journal_state->progress.lines_hash);
	pack_blob(&out, lines->data, lines->size);
	journal_add(c, JOURNAL_LINES, &out, true);
	pack_release(&out);
}

void
journal_lines(struct coord *c)
{
	struct text *lines = &c->journal_state->lines;

	if (lines->size == 0)
		return;
	journal_add_lines(c, lines);
	text_reset(lines);
}

size_t
journal_line_bytes(const struct coord *c)
{
	return c->journal_state->lines.size;
}

void
journal_last_line(struct coord *c, uint64_t number, uint64_t hash)
{
	c->journal_state->progress.line = number;
	c->journal_state->progress.lines_hash = hash;
}

/* ---- what ended ---- */

static void
add_note(struct coord *c, enum journal_note what, uint64_t first,
	 uint64_t count)
{
	struct journal_state *k = c->journal_state;
	struct pack *out = &k->notes;

	if (!c->o.journal || k->replaying)
		return;
	if (what == NOTE_DONE && k->count > 0 && k->first + k->count == first) {
		k->count += count;
		return;
	}
	if (k->count > 0) {
		pack_uint(out, NOTE_DONE);
		pack_uint(out, k->first);
		pack_uint(out, k->count);
		k->count = 0;
	}
	if (what == NOTE_DONE) {
		k->first = first;
		k->count = count;
	} else if (what) {
		pack_uint(out, what);
		pack_uint(out, first);
		pack_uint(out, count);
	}
}

void
journal_done(struct coord *c, uint64_t step)
{
	add_note(c, NOTE_DONE, step, 1);
}

void
journal_void(struct coord *c, uint64_t step)
{
	add_note(c, NOTE_VOID, step, 1);
}

/* The note is of no steps: there need only be one. */
void
journal_answered(struct coord *c)
{
	add_note(c, NOTE_VOID, 0, 0);
}

/*
 * Adds a note that steps wait for.  A replay numbers the steps in front of a
 * barrier as they were, even without the notes that are lost; but to number
 * those behind it, it has to know that the barrier was passed.
 */
static void
note_barrier(struct coord *c, enum journal_note what, uint64_t first,
	     uint64_t count)
{
	add_note(c, what, first, count);
	c->journal_state->waits = c->o.journal && !c->journal_state->replaying;
}

void
journal_pass(struct coord *c)
{
	note_barrier(c, NOTE_PASSED, 0, 1);
	queue_pass(c->queue);
}

/* An evaluation that began again after a power cut would need a cut below the
   steps behind it, which servers may have: it would fail. */
void
journal_background(struct coord *c, size_t i, bool given_up)
{
	note_barrier(c, NOTE_BACKGROUND, i, given_up);
	c->journal_state->waits_for_disk = c->journal_state->waits;
}

void
journal_submitter(struct coord *c, enum journal_note what, size_t owner,
		  uint64_t number, const struct pack *more)
{
	if (!c->o.journal || c->journal_state->replaying)
		return;
	add_note(c, what, owner, number);
	if (more)
		pack_append(&c->journal_state->notes, more);
}

size_t
journal_note_bytes(const struct coord *c)
{
	return c->journal_state->notes.size;
}

/* After a write the next one waits four times as long as that took, so that the
   disk takes a fifth of the time; but COORD_HOLD_MS to MOST_HOLD_MS. */
void
journal_measure_write(struct coord *c, uint64_t now)
{
	struct journal_state *k = c->journal_state;
	const uint64_t took = now - k->noted_ms;

	if (!k->committed)
		return;
	k->committed = false;
	k->hold_ms = took > MOST_HOLD_MS / 4 ? MOST_HOLD_MS :
		took > 1 ? 4 * took : COORD_HOLD_MS;
	k->noted_ms = now;
}

void
journal_open(struct coord *c, bool begin)
{
	c->journal_state->is_open = begin;
}

bool
journal_is_open(const struct coord *c)
{
	return !c->o.journal ||
		(c->journal_state->is_open && !c->journal_state->lost);
}

bool
journal_can_open(const struct coord *c, uint64_t now)
{
	return c->journal_state->waits ||
		now - c->journal_state->noted_ms >= c->journal_state->hold_ms;
}

static bool
notes_are_written(const struct coord *c)
{
	const struct journal_state *k = c->journal_state;

	return !c->o.journal || k->lost ||
		(k->notes.size == 0 && k->count == 0);
}

bool
journal_settled(const struct coord *c)
{
	const struct journal_state *k = c->journal_state;

	return !c->o.checkpoint && k->settles && !k->lost &&
		notes_are_written(c) && queue_watermark(c->queue) >= k->folded;
}

void
journal_begun(struct coord *c)
{
	struct journal_state *k = c->journal_state;

	k->waits = k->waits || (!k->replaying && !notes_are_written(c));
}

void
journal_closed(struct coord *c)
{
	note_barrier(c, NOTE_CLOSED, 0, 1);
}

void
journal_dropped(struct coord *c, size_t requests)
{
	note_barrier(c, NOTE_DROPPED, queue_next(c->queue), requests);
}

void
journal_dropped_of(struct coord *c, size_t owner)
{
	note_barrier(c, NOTE_DROPPED_OF, queue_next(c->queue), owner);
}

void
journal_ending(struct coord *c)
{
	if (c->journal_state->has_ending || !c->o.journal ||
	    c->journal_state->replaying)
		return;
	c->journal_state->has_ending = true;
	add_note(c, NOTE_ENDING, 0, 1);
}

void
journal_has_ending(struct coord *c)
{
	c->journal_state->has_ending = true;
}

bool
journal_safe(const struct coord *c)
{
	return notes_are_written(c) &&
		(c->journal_state->lost || !c->journal_state->ends_unsafe);
}

bool
journal_waits(const struct coord *c)
{
	return c->journal_state->waits;
}

bool
journal_waits_for_disk(const struct coord *c)
{
	return c->journal_state->waits_for_disk;
}

bool
journal_await(struct coord *c)
{
	c->journal_state->waits = !notes_are_written(c);
	return !c->journal_state->waits;
}

bool
journal_due(const struct coord *c, bool now_or_never, bool whole,
	    uint64_t now)
{
	const struct journal_state *k = c->journal_state;

	if ((whole ? journal_safe(c) : notes_are_written(c)) || k->replaying)
		return false;
	return now_or_never || whole || k->waits ||
		now - k->noted_ms >= NOTE_MS;
}

bool
journal_is_awaited(const struct coord *c, bool lines, bool changed,
		   uint64_t now)
{
	const struct journal_state *k = c->journal_state;

	if (!c->o.journal || k->lost || k->replaying)
		return false;
	return !notes_are_written(c) || lines ||
		(changed && now - k->noted_ms >= NOTE_MS);
}

const struct pack *
journal_notes(struct coord *c, uint64_t written, uint64_t now)
{
	c->journal_state->noted_ms = now;
	c->journal_state->progress.written = written;
	add_note(c, 0, 0, 0);
	return &c->journal_state->notes;
}

uint64_t
journal_written(const struct coord *c)
{
	return c->journal_state->progress.written;
}

bool
journal_has_notes(struct coord *c)
{
	const bool waited = c->journal_state->waits;

	pack_reset(&c->journal_state->notes);
	c->journal_state->waits = false;
	c->journal_state->waits_for_disk = false;
	c->journal_state->committed = true;
	return waited;
}

void
journal_resume(struct coord *c, uint64_t written)
{
	c->journal_state->progress.written = written;
}

/* ---- what always holds ---- */

const char *
journal_check(const struct coord *c)
{
	const struct journal_state *k = c->journal_state;

	if (k->waits && !k->lost && notes_are_written(c))
		return "coord 38: a write waits only for records that are not "
			"in the journal yet";
	if (k->failed && !k->lost)
		return "coord 39: no record is written to a journal that has "
			"failed";
	return NULL;
}
