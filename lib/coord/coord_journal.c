/*
 * The coordinator's journal: how its records are written, and when.  Each part
 * of the coordinator knows the contents of its own records; those of the whole
 * run are in coord_records.c, and coord_replay.c reads them all.
 */
#include "coord/coord_journal.h"

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

struct kept {
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
	struct text lines;	/* requests that are not in the journal yet */
	uint64_t line;		/* the number of the last one */
	struct pack notes;	/* that are not in the journal yet; and */
	uint64_t first, count;	/* steps done in a row, behind these */
	uint64_t noted_ms;	/* when notes were last written */
	uint64_t written;	/* bytes of results that are written */
	bool waits;		/* a barrier was passed: nothing behind it is
				   leased before the journal has that */
	bool has_ending;	/* the journal says that the run drains */
	bool open;		/* see journal_open() */
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
	c->kept = mem_alloc(1, sizeof(*c->kept));
	c->kept->fold_at = fold_least(c);
}

void
journal_release(struct coord *c)
{
	text_release(&c->kept->lines);
	pack_release(&c->kept->notes);
	free(c->kept);
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
		pack_uint(&out, ++c->kept->records);
		pack_blob(&out, p->data, p->size);
		p = &out;
	}
	r = j->add(j->to, kind, p->data, p->size, safe, f);
	journal_grow(c, p->size);
	pack_release(&out);
	if (r == 0 && safe)	/* so are all records before it */
		fleet_kept(c->fleet, c->kept->records);
	return r;
}

/* Keeps account of folds.  An empty fold (any: false) stands for none, and one
   is tried again when the journal has grown.  The records in front of a fold
   are dropped when all of its steps have ended (FOLDED). */
static void
note_fold(struct coord *c, enum journal_kind kind, uint64_t before, bool any)
{
	struct kept *k = c->kept;

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
	struct kept *k = c->kept;
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
		report_warning(c, "the journal of this run, which is over, is "
			       "left behind: %s", k->why.text);
}

bool
journal_failed(const struct coord *c)
{
	return c->kept->failed;
}

bool
journal_failure(struct coord *c, struct fail *why)
{
	const bool failed = c->kept->failed;

	if (failed)
		*why = c->kept->why;
	c->kept->failed = false;
	return failed;
}

void
journal_lose(struct coord *c)
{
	c->kept->lost = true;
}

bool
journal_lost(const struct coord *c)
{
	return c->kept->lost;
}

uint64_t
journal_records(const struct coord *c)
{
	return c->kept->records;
}

void
journal_fold(struct coord *c, struct pack *into, uint64_t below)
{
	c->kept->fold = into;
	c->kept->folded = below;
}

uint64_t
journal_folded(const struct coord *c)
{
	return c->kept->folded;
}

bool
journal_is_long(const struct coord *c)
{
	const struct kept *k = c->kept;

	return c->o.journal && !c->o.checkpoint && !k->lost &&
		!k->replaying && !k->settles && k->bytes >= k->fold_at;
}

/* ---- read again ---- */

void
journal_replay(struct coord *c, bool begin)
{
	c->kept->replaying = begin;
	report_again(c, begin);
}

bool
journal_replays(const struct coord *c)
{
	return c->kept->replaying;
}

void
journal_count(struct coord *c, uint64_t records)
{
	c->kept->records = records;
}

void
journal_grow(struct coord *c, size_t bytes)
{
	c->kept->bytes += RECORD_BYTES + bytes;
}

void
journal_go_on(struct coord *c, uint64_t *line, uint64_t *written)
{
	*line = c->kept->line;
	*written = c->kept->written;
}

/* ---- requests ---- */

void
journal_line(struct coord *c, const char *line, size_t size, uint64_t number)
{
	struct kept *k = c->kept;

	if (!c->o.journal || k->replaying)
		return;
	text_add_bytes(&k->lines, line, size);
	text_add_bytes(&k->lines, "\n", 1);
	k->line = number;
}

void
journal_add_lines(struct coord *c, const struct text *lines)
{
	struct pack out = { 0 };

	pack_uint(&out, c->kept->line);
	pack_blob(&out, lines->data, lines->size);
	journal_add(c, JOURNAL_LINES, &out, true);
	pack_release(&out);
}

void
journal_lines(struct coord *c)
{
	struct text *lines = &c->kept->lines;

	if (lines->size == 0)
		return;
	journal_add_lines(c, lines);
	text_reset(lines);
}

size_t
journal_line_bytes(const struct coord *c)
{
	return c->kept->lines.size;
}

void
journal_last_line(struct coord *c, uint64_t number)
{
	c->kept->line = number;
}

/* ---- what ended ---- */

static void
note(struct coord *c, enum journal_note what, uint64_t first, uint64_t count)
{
	struct kept *k = c->kept;
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
	note(c, NOTE_DONE, step, 1);
}

void
journal_void(struct coord *c, uint64_t step)
{
	note(c, NOTE_VOID, step, 1);
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
	note(c, what, first, count);
	c->kept->waits = c->o.journal && !c->kept->replaying;
}

void
journal_pass(struct coord *c)
{
	note_barrier(c, NOTE_PASSED, 0, 1);
	queue_pass(c->queue);
}

void
journal_background(struct coord *c, size_t i, bool given_up)
{
	note_barrier(c, NOTE_BACKGROUND, i, given_up);
}

void
journal_submitter(struct coord *c, enum journal_note what, size_t owner,
		  uint64_t number, const struct pack *more)
{
	if (!c->o.journal || c->kept->replaying)
		return;
	note(c, what, owner, number);
	if (more)
		pack_append(&c->kept->notes, more);
}

size_t
journal_note_bytes(const struct coord *c)
{
	return c->kept->notes.size;
}

/* After a write the next one waits four times as long as that took, so that the
   disk takes a fifth of the time; but COORD_HOLD_MS to MOST_HOLD_MS. */
void
journal_took(struct coord *c, uint64_t now)
{
	struct kept *k = c->kept;
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
	c->kept->open = begin;
}

bool
journal_is_open(const struct coord *c)
{
	return !c->o.journal || (c->kept->open && !c->kept->lost);
}

bool
journal_can_open(const struct coord *c, uint64_t now)
{
	return c->kept->waits || now - c->kept->noted_ms >= c->kept->hold_ms;
}

static bool
noted(const struct coord *c)
{
	const struct kept *k = c->kept;

	return !c->o.journal || k->lost ||
		(k->notes.size == 0 && k->count == 0);
}

bool
journal_settled(const struct coord *c)
{
	const struct kept *k = c->kept;

	return !c->o.checkpoint && k->settles && !k->lost && noted(c) &&
		queue_watermark(c->queue) >= k->folded;
}

void
journal_begun(struct coord *c)
{
	struct kept *k = c->kept;

	k->waits = k->waits || (!k->replaying && !noted(c));
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
	if (c->kept->has_ending || !c->o.journal || c->kept->replaying)
		return;
	c->kept->has_ending = true;
	note(c, NOTE_ENDING, 0, 1);
}

void
journal_has_ending(struct coord *c)
{
	c->kept->has_ending = true;
}

bool
journal_safe(const struct coord *c)
{
	return noted(c) && (c->kept->lost || !c->kept->ends_unsafe);
}

bool
journal_waits(const struct coord *c)
{
	return c->kept->waits;
}

bool
journal_await(struct coord *c)
{
	c->kept->waits = !noted(c);
	return !c->kept->waits;
}

bool
journal_due(const struct coord *c, bool now_or_never, bool whole,
	    uint64_t now)
{
	const struct kept *k = c->kept;

	if ((whole ? journal_safe(c) : noted(c)) || k->replaying)
		return false;
	return now_or_never || whole || k->waits ||
		now - k->noted_ms >= NOTE_MS;
}

bool
journal_is_awaited(const struct coord *c, bool lines, bool changed,
		   uint64_t now)
{
	const struct kept *k = c->kept;

	if (!c->o.journal || k->lost || k->replaying)
		return false;
	return !noted(c) || lines ||
		(changed && now - k->noted_ms >= NOTE_MS);
}

const struct pack *
journal_notes(struct coord *c, uint64_t written, uint64_t now)
{
	c->kept->noted_ms = now;
	c->kept->written = written;
	note(c, 0, 0, 0);
	return &c->kept->notes;
}

uint64_t
journal_written(const struct coord *c)
{
	return c->kept->written;
}

bool
journal_has_notes(struct coord *c)
{
	const bool waited = c->kept->waits;

	pack_reset(&c->kept->notes);
	c->kept->waits = false;
	c->kept->committed = true;
	return waited;
}

void
journal_resume(struct coord *c, uint64_t written)
{
	c->kept->written = written;
}

/* ---- what always holds ---- */

const char *
journal_check(const struct coord *c)
{
	const struct kept *k = c->kept;

	if (k->waits && !k->lost && noted(c))
		return "coord 38: what is waited for is not in the journal yet";
	if (k->failed && !k->lost)
		return "coord 39: nothing goes into a journal that has failed";
	return NULL;
}
