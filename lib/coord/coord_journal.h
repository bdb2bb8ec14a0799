/*
 * coord_journal - how and when records are written to the journal, and the
 * notes of what has ended since the last one.
 */
#ifndef PS_COORD_JOURNAL_H
#define PS_COORD_JOURNAL_H

#include "coord/coord_private.h"

void journal_init(struct coord *);
void journal_release(struct coord *);

/* ---- records ---- */

/*
 * Writes a record; does nothing without a journal, when it is lost, or while it
 * is read.  safe: the record is on disk when the call returns, with all before
 * it.
 *
 * A write that fails has one consequence: the journal is lost, and coord.c ends
 * the run, before the next event and before it leases.  So nobody asks whether
 * a write has failed, but who sends, in the same function, what relies on a
 * safe record: that asks journal_failed(), which is true until
 * journal_failure() returns the reason.
 */
void journal_add(struct coord *, enum journal_kind, const struct pack *,
		 bool safe);
/* Could a record not be written, for a reason that nobody has asked for yet?
   Then no message may go out that relies on it.  And: asks for the reason. */
bool journal_failed(const struct coord *);
bool journal_failure(struct coord *, struct fail *why);
/* Nothing more is written to the journal; and: is that so? */
void journal_lose(struct coord *);
bool journal_lost(const struct coord *);
/* Returns the number of the last record. */
uint64_t journal_records(const struct coord *);
/* Directs records into the contents of a fold, for the steps below; NULL: to
   the journal again.  And: returns the steps that the last fold was for. */
void journal_fold(struct coord *, struct pack *into, uint64_t below);
uint64_t journal_folded(const struct coord *);
/*
 * Is it time to fold the journal of a run that makes no checkpoints?  Nothing
 * else would make that shorter.  And: have all steps below its last fold ended,
 * and does the journal say so?
 */
bool journal_is_long(const struct coord *);
bool journal_settled(const struct coord *);
/* Are records of this kind numbered?  RUN, FOLD and FINISHED are not. */
bool journal_numbers(enum journal_kind);

/* ---- read again ---- */

/* begin: what is done from now on is in the journal already; else that is
   over. */
void journal_replay(struct coord *, bool begin);
bool journal_replays(const struct coord *);
/* What was read: the number of the last record; the bytes of one more record;
   the number of the last request line and the hash of all; the bytes of
   results written. */
void journal_count(struct coord *, uint64_t records);
void journal_grow(struct coord *, size_t bytes);
void journal_last_line(struct coord *, uint64_t number, uint64_t hash);
void journal_resume(struct coord *, uint64_t written);
/* Returns the last three of these, as coord_start() does. */
struct coord_progress journal_progress(const struct coord *);
/* Note that a FOLD was read that the ends of its steps must follow; that they
   were read.  Is the journal without them? */
void journal_owes_end(struct coord *, bool owes);
bool journal_lacks_end(const struct coord *);

/* ---- request lines ---- */

/* Counts a line of that number, unless it is not of the input that lines are
   counted of and has the number of the line before it. */
void journal_count_line(struct coord *, const char *line, size_t size,
			uint64_t number);
/* Takes and counts a line, which journal_lines() writes with all others taken
   since; journal_add_lines() writes these at once. */
void journal_line(struct coord *, const char *line, size_t size,
		  uint64_t number);
void journal_lines(struct coord *);
void journal_add_lines(struct coord *, const struct text *);
/* Returns the bytes of the lines that are not in the journal yet. */
size_t journal_line_bytes(const struct coord *);

/* ---- notes ---- */

/*
 * What a record of JOURNAL_ENDS says about steps and requests: a list of notes,
 * each of which is one of these numbers and two more.  From NOTE_CALLED on the
 * first of the two is a submitter's number, and coord_submit.c says what
 * follows them.
 */
enum journal_note {
	NOTE_DONE = 1, NOTE_VOID, NOTE_PASSED, NOTE_DROPPED, NOTE_CLOSED,
	NOTE_ENDING, NOTE_DROPPED_OF, NOTE_BACKGROUND,
	NOTE_CALLED, NOTE_ASKED, NOTE_LATE, NOTE_TURN, NOTE_CANCELLED,
	NOTE_FORGOTTEN, NOTE_LEFT, NOTE_QUEUED
};
void journal_done(struct coord *, uint64_t step);
void journal_void(struct coord *, uint64_t step);
/* A request was answered that nothing waits for: when the answer is written,
   ENDS is. */
void journal_answered(struct coord *);
/* Passes the barrier at the front of the queue, and notes it. */
void journal_pass(struct coord *);
/* The i-th request in the background has ended, or was given up.  Nothing
   behind a barrier is leased before that is safe on disk. */
void journal_background(struct coord *, size_t i, bool given_up);
/* An epoch of the request at the front has ended, and another one begins. */
void journal_closed(struct coord *);
/* An epoch begins: none of its steps is leased before the journal has the ends
   of the steps in front of it, so that a replay gives the same numbers. */
void journal_begun(struct coord *);
/* Requests at the front were given up, with all steps that have numbers. */
void journal_dropped(struct coord *, size_t requests);
/* One submitter's requests were given up; the steps that others had under way
   begin again, under other numbers. */
void journal_dropped_of(struct coord *, size_t owner);
/* A note about a submitter.  more: the bytes behind it; NULL: none. */
void journal_submitter(struct coord *, enum journal_note, size_t owner,
		       uint64_t number, const struct pack *more);
/* The run drains: notes it once.  And: the journal that was read said so. */
void journal_ending(struct coord *);
void journal_has_ending(struct coord *);
/*
 * Is every end that was noted safe on disk?  No checkpoint may be written
 * before that: a run that is resumed from it does not run its steps again, and
 * would lack their results.
 */
bool journal_safe(const struct coord *);
/* Was a barrier passed that is not in the journal yet?  Then nothing behind it
   is leased. */
bool journal_waits(const struct coord *);
/* Must the notes that are not in the journal yet be safe on disk? */
bool journal_waits_for_disk(const struct coord *);
/* Is everything noted in the journal?  If not, it is waited for. */
bool journal_await(struct coord *);
/* Returns the bytes of the notes that are not in the journal yet. */
size_t journal_note_bytes(const struct coord *);
/*
 * With many submitters their requests, turns and results are written together,
 * for each write may take the disk milliseconds.  The journal is open for that
 * from journal_open(true) to journal_open(false), in a tick: only then turns
 * may begin.
 */
void journal_open(struct coord *, bool begin);
/* A tick begins: measures how long the last such write took, and derives from
   it when the next one may come. */
void journal_measure_write(struct coord *, uint64_t now_ms);
bool journal_is_open(const struct coord *);
/* Was the last write long enough ago, or is one waited for? */
bool journal_can_open(const struct coord *, uint64_t now_ms);
/* Is there anything to write?  lines: there are results; changed: there is what
   nobody waits for, which is written after NOTE_MS. */
bool journal_is_awaited(const struct coord *, bool lines, bool changed,
			uint64_t now_ms);
/* Is it time to write the notes?  whole: a checkpoint waits for them to be
   safe. */
bool journal_due(const struct coord *, bool now_or_never, bool whole,
		 uint64_t now_ms);
/* Returns the notes to write, and keeps the bytes of results that are written;
   good until journal_has_notes(), which says that the journal has them, and
   returns whether anything behind a barrier waited for that. */
const struct pack *journal_notes(struct coord *, uint64_t written,
				 uint64_t now_ms);
bool journal_has_notes(struct coord *);
uint64_t journal_written(const struct coord *);
const char *journal_check(const struct coord *);

#endif
