/*
 * coord_journal - how records are kept, and what has ended since.
 */
#ifndef PS_COORD_JOURNAL_H
#define PS_COORD_JOURNAL_H

#include "coord/coord_private.h"

void journal_init(struct coord *);
void journal_release(struct coord *);
/* A record.  safe: with all before it, or coord.c hears that it failed. */
void journal_add(struct coord *, enum journal_kind, const struct pack *,
		 bool safe);
/* A record could not be kept: nobody is to be told what it was about.  And:
   why, if that is so since this was last asked. */
bool journal_failed(const struct coord *);
bool journal_failure(struct coord *, struct fail *why);
/* Nothing more goes into it. */
void journal_lose(struct coord *);
bool journal_lost(const struct coord *);
uint64_t journal_records(const struct coord *);
/* Records go there, until it is NULL: to a fold for the cut of steps below;
   and which steps the last one was for. */
void journal_fold(struct coord *, struct pack *into, uint64_t below);
uint64_t journal_folded(const struct coord *);
/*
 * Without checkpoints nothing else makes it shorter: is it time to fold it?
 * And: all steps below the last fold have ended, and it says so.
 */
bool journal_is_long(const struct coord *);
bool journal_settled(const struct coord *);
/* Is a record of this kind numbered?  What begins, holds others or is the last
   is not. */
bool journal_numbers(enum journal_kind);

/* What is done from now on is in it, or no more; so many records were. */
void journal_replay(struct coord *, bool begin);
bool journal_replays(const struct coord *);
void journal_count(struct coord *, uint64_t records);
void journal_grow(struct coord *, size_t bytes);
void journal_last_line(struct coord *, uint64_t number);
void journal_resume(struct coord *, uint64_t written);
void journal_go_on(struct coord *, uint64_t *line, uint64_t *written);

void journal_line(struct coord *, const char *line, size_t size,
		  uint64_t number);
void journal_lines(struct coord *);
void journal_add_lines(struct coord *, const struct text *);
size_t journal_line_bytes(const struct coord *);	/* not in it yet */

/*
 * What a record of JOURNAL_ENDS says of steps and requests: a number and two
 * more.  Of those from NOTE_CALLED on the first one is a submitter's number;
 * coord_submit.c says what follows.
 */
enum journal_note {
	NOTE_DONE = 1, NOTE_VOID, NOTE_PASSED, NOTE_DROPPED, NOTE_CLOSED,
	NOTE_ENDING, NOTE_DROPPED_OF, NOTE_BACKGROUND,
	NOTE_CALLED, NOTE_ASKED, NOTE_LATE, NOTE_TURN, NOTE_CANCELLED,
	NOTE_FORGOTTEN, NOTE_LEFT, NOTE_QUEUED
};
void journal_done(struct coord *, uint64_t step);
void journal_void(struct coord *, uint64_t step);
/* The barrier at the front is behind us. */
void journal_pass(struct coord *);
/* Of those in the background the i-th has ended, or was given up. */
void journal_background(struct coord *, size_t i, bool given_up);
void journal_closed(struct coord *);	/* an epoch; another one begins */
/* The first one begins: its steps have numbers when those in front of it have
   ended, in the journal, too. */
void journal_begun(struct coord *);
void journal_dropped(struct coord *, size_t requests);
/* Of many submitters what one has; others begin again what they had. */
void journal_dropped_of(struct coord *, size_t owner);
/* One of many submitters; more: what follows, or NULL. */
void journal_submitter(struct coord *, enum journal_note, size_t owner,
		       uint64_t number, const struct pack *more);
/* Nothing more is begun, because of the failure, or because it was asked; and:
   that is in it. */
void journal_ending(struct coord *);
void journal_has_ending(struct coord *);
/*
 * A run that is resumed from a checkpoint does not run its steps again: that
 * they have ended, and their results, must be safe on disk before there can
 * be one.
 */
bool journal_safe(const struct coord *);
/* A barrier was passed: nothing behind it is leased before that is noted. */
bool journal_waits(const struct coord *);
/* true: all is noted; or nothing is leased before it is. */
bool journal_await(struct coord *);
/* Bytes of notes that are not in it yet. */
size_t journal_note_bytes(const struct coord *);
/*
 * Of many submitters: what they ask, whose turn it is and their results go into
 * it together, now and then, as each time may take a disk milliseconds.  It is
 * time now, until this is said to be over: turns may begin, and what is to be
 * kept is.  Is it so long since the last time, or does anybody wait?
 */
void journal_open(struct coord *, bool begin);
/* The next tick comes: what was written before it was has taken so long. */
void journal_took(struct coord *, uint64_t now_ms);
bool journal_is_open(const struct coord *);
bool journal_can_open(const struct coord *, uint64_t now_ms);
/* Is there anything to be kept?  lines: results; changed: what nobody waits
   for. */
bool journal_is_awaited(const struct coord *, bool lines, bool changed,
			uint64_t now_ms);
/* Is it time to note what has ended?  Then that is the notes, when so many
   bytes of results are written; and: they are in it, and something waited. */
bool journal_due(const struct coord *, bool now_or_never, bool whole,
		 uint64_t now_ms);
const struct pack *journal_notes(struct coord *, uint64_t written,
				 uint64_t now_ms);
bool journal_has_notes(struct coord *);
uint64_t journal_written(const struct coord *);
const char *journal_check(const struct coord *);

#endif
