/*
 * coord_cut - checkpoints, and cuts for evaluators.
 */
#ifndef PS_COORD_CUT_H
#define PS_COORD_CUT_H

#include "coord/coord_private.h"

struct member;
struct result;

/* name, step: the newest checkpoint ("", WIRE_NONE: there is none); next: the
   step that the run begins with. */
void cut_init(struct coord *, const char *name, uint64_t step,
	      uint64_t next);
void cut_release(struct coord *);
void cut_begin_run(struct coord *, uint64_t now_ms);
/* The run is resumed: saved_step is that of the newest checkpoint, or
   WIRE_NONE. */
void cut_resume(struct coord *, uint64_t saved_step);
/* Numbers the cuts of this term above those of all earlier terms. */
void cut_begin_term(struct coord *);
/* Saves the cut under way, or sends it to the evaluator that it is for, if it
   is whole; and begins the next one, if one is wanted. */
void cut_advance(struct coord *, uint64_t now_ms);
/* Has the last step below the cut just been given a number?  Then it is known
   which records the cut has, and later steps can be leased. */
bool cut_come_to(struct coord *);
/* Is no cut under way?  One that lies ahead, and can be called off, does not
   count. */
bool cut_idle(const struct coord *);
/*
 * Can a cut be made at the next step?  false: servers have steps from there on,
 * of which an earlier coordinator knew and this one does not yet: a cut below
 * them would hold them, too.
 */
bool cut_possible(const struct coord *);
/* Have all steps of the cut ended?  It is saved when the journal says so. */
bool cut_whole(const struct coord *);
/* A step is done: adds its examples to those of the cut, if it lies below. */
void cut_count(struct coord *, const struct result *);
/* The servers have saved the cut, as the ask says: makes the job that publishes
   it.  NULL: it was published before, and is now marked as the final one. */
void cut_saved(struct coord *, const struct ask *, uint64_t now_ms);
/* The checkpoint was published, or, if the fail is not NULL, was not. */
void cut_published(struct coord *, const struct fail *, uint64_t now_ms);
/* A server could not freeze or not write: the cut fails, the run goes on. */
void cut_failed(struct coord *, const struct fail *, uint64_t now_ms);
/* Begins the final checkpoint; false: there is none to make. */
bool cut_final(struct coord *, uint64_t now_ms);
/* All servers know of the cut. */
void cut_frozen(struct coord *);
/* Is a checkpoint being published?  It may become the newest one. */
bool cut_publishing(const struct coord *);
/* Returns the step at which leasing stops because of cuts: no step at or above
   it is begun. */
uint64_t cut_limit(const struct coord *);
/* Is a checkpoint's cut under way, or planned, at a step above the first of
   these and not above the second? */
bool cut_between(const struct coord *, uint64_t step, uint64_t next);
/* Returns the step of the newest checkpoint of this run; WIRE_NONE: there is
   none. */
uint64_t cut_saved_step(const struct coord *);
/* Is the cut under way this evaluator's? */
bool cut_is_for(const struct coord *, const struct member *);
/* Has the last step below a checkpoint's cut (*step) been given a number since
   the last call?  The journal is folded then, before another step has one. */
bool cut_reached(struct coord *, uint64_t *step);
/*
 * Asks the servers for a cut of the steps below this one, for another part of
 * the coordinator, and returns the cut's number.  No step at or above it may be
 * leased before they have answered.  And: tells them to let the cut go.
 */
uint64_t cut_freeze(struct coord *, uint64_t step);
void cut_thaw(struct coord *, uint64_t number);
/* Is this the number of the cut under way, and not of cut_freeze()'s? */
bool cut_is(const struct coord *, uint64_t number);
/* The newest checkpoint, which a server without variables loads. */
struct cut_base {
	char name[CHECKPOINT_NAME];	/* "": initial values */
	uint64_t step;
	bool ours;			/* this run has made it */
};
const struct cut_base *cut_base(const struct coord *);
/* Sets it; ours stays true once it was. */
void cut_begin_with(struct coord *, const char *name, uint64_t step,
		    bool ours);
/* Reads it from a record of JOURNAL_CUT.  -1: that makes no sense. */
int cut_read(struct coord *, struct unpack *);
/* Has a checkpoint made for the save request at the front; or no more; false:
   it is under way. */
void cut_want(struct coord *);
bool cut_unwant(struct coord *);
/* The run is to be suspended: has one more checkpoint made; and: is that still
   to be begun? */
void cut_want_last(struct coord *);
bool cut_save_due(const struct coord *);
/* Steps below the cut were given up, and other steps will read their records:
   if its steps have numbers, the cut is made anew. */
void cut_spoil(struct coord *);
/* A new term has lost the cut, unless it is being published. */
void cut_give_up(struct coord *);

/* ---- evaluators ---- */

void cut_join(struct coord *, const struct member *);
/* The evaluator asks for a cut, and lets go of the one that it has. */
void cut_ask(struct coord *, const struct member *, uint64_t request);
/* Does the evaluator wait for a cut while a checkpoint is written?  *request:
   the number of its request. */
bool cut_awaits(const struct coord *, const struct member *,
		uint64_t *request);
/* The evaluator no longer waits for a cut; it has none, and servers are not
   told; it lets go of the one that it has. */
void cut_leave(struct coord *, const struct member *);
void cut_forget(struct coord *, const struct member *);
void cut_let_go(struct coord *, const struct member *);
const char *cut_check(const struct coord *);

/* Checkpoints since this coordinator began; when the last one was published,
   and how long that took from SAVE on. */
struct cut_figures {
	uint64_t published, failures;
	uint64_t published_ms, saving_ms;
};
struct cut_figures cut_figures(const struct coord *);

#endif
