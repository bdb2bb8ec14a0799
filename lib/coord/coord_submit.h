/*
 * coord_submit - whose requests are taken, and who gets the results.
 */
#ifndef PS_COORD_SUBMIT_H
#define PS_COORD_SUBMIT_H

#include "coord/coord_journal.h"

void submit_init(struct coord *);
void submit_release(struct coord *);

/* A line: what cannot be done is REQUEST_BAD, which says why. */
void submit_read(struct coord *, struct request *, const char *line,
		 size_t size, uint64_t number);
/* The same, of our own input; and take it. */
void submit_own(struct coord *, const char *line, size_t size,
		uint64_t number);
/* Is there room for another line of our own? */
bool submit_wants(const struct coord *);

/* From one who submits, or wants to? */
bool submit_is_for(const struct coord *, uint64_t peer,
		   const struct message *);
void submit_receive(struct coord *, uint64_t peer, const struct message *,
		    uint64_t now_ms);
void submit_probe(struct coord *, uint64_t now_ms);

/* Put into the queue whatever has its turn; is there anything? */
bool submit_turns(struct coord *);
/* What has ended is no more pending, and what cannot be done is given up. */
void submit_settle(struct coord *);
/* Everybody gets what there is for it, and is in the journal. */
void submit_notify(struct coord *);
/* Has everybody who is there all of it, when the run ends? */
bool submit_have_all(const struct coord *);

/*
 * What is theirs of a record of JOURNAL_ENDS: is it time for one, as nothing is
 * left to be given out or the last one was long ago; and for what?  It is
 * written, whole or what is new, and is kept; and is read.  Bytes of our own
 * results that are printed.
 */
bool submit_can_commit(const struct coord *, uint64_t now_ms);
bool submit_is_awaited(const struct coord *, uint64_t now_ms);
void submit_write(struct coord *, bool whole, struct pack *, uint64_t now_ms);
void submit_kept(struct coord *);
int submit_replay(struct coord *, struct unpack *);
uint64_t submit_printed(const struct coord *);
/* Notes by which all that is pending comes to be so, when all steps that have a
   number have ended: false, no notes say that. */
bool submit_fold(struct coord *, struct pack *notes);
/* A note; what ended by another one; and the last one was read. */
int submit_replay_note(struct coord *, enum journal_note, size_t owner,
		       uint64_t number, struct unpack *);
void submit_replayed(struct coord *);
void submit_resume(struct coord *);

#endif
