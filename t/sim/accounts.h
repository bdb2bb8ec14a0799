/*
 * accounts - the requests of a run, and a check of its result lines.
 *
 * These are the rules on which a user relies.  Each rule is checked as the
 * lines come, and all of them are checked at the end.
 *
 *	R1  no step has two results
 *	R2  no line is about a request that was not made
 *	R3  the line of a barrier comes after all lines of the requests before
 *	    it, and before all lines of the requests after it
 *	R4  a join counts the steps that were done since the last join
 *	R5  an evaluation scores every record, with the weights that the steps
 *	    before it give
 *	R6  an epoch misses no record, or reports how many it missed: those of
 *	    steps that were given up
 *	R7  at the end each request is answered: its steps are done, failed or
 *	    cancelled, and a barrier has one line
 *	R8  once a step is reported as given up, nothing of it is applied any
 *	    more
 *	R9  a round is computed with the values of all rounds before it
 *	R10 a program gives back the arguments of the request that it was run
 *	    for
 *	R11 an evaluation in the background scores every record, with exactly
 *	    the steps below its cut
 */
#ifndef PS_SIM_ACCOUNTS_H
#define PS_SIM_ACCOUNTS_H

#include "scenario.h"

#define EVALUATED	23	/* records of an evaluation */
#define LABEL		1e6	/* label of the records that are trained */
#define LOSS_OF_A_STEP	16	/* number of weights, without visits; each
				   weight is the number of steps, so the loss is
				   their sum when the label is 0 */

struct accounts;

struct accounts *accounts_new(const struct scenario *);
void accounts_free(struct accounts *);

/* The coordinator has lost the end of its journal. */
void accounts_forget(struct accounts *);
/* The file of results was cut: its lines will be passed to accounts_line()
   again from the first one on. */
void accounts_reset(struct accounts *);
/* Takes a line of the results of the coordinator's own input (owner 0), or of a
   submitter (owner from 1 on). */
void accounts_line(struct accounts *, size_t owner, const char *line);
/* Is the line the answer to a request that does not wait for earlier
   requests? */
bool accounts_in_background(const struct accounts *, size_t owner,
			    const char *line);
/*
 * accounts_failed() returns whether a request of this owner has failed.
 * accounts_lose() counts the steps that have no answer yet as given up, as the
 * owner will get no more answers.
 */
bool accounts_failed(const struct accounts *, size_t owner);
void accounts_lose(struct accounts *, size_t owner);

/* Returns the number of steps that are done. */
uint64_t accounts_done(const struct accounts *);
/* Returns the number of done steps of the second step line. */
uint64_t accounts_done_of_other(const struct accounts *);
/* Returns the lowest step that is not done. */
uint64_t accounts_mark(const struct accounts *);
/* Returns the number of steps that were given up. */
uint64_t accounts_given_up(const struct accounts *);
/* The number of steps that were given up and yet may have been applied, by some
   servers or by all. */
uint64_t accounts_may_have(const struct accounts *);
/* Checks R5 and R8: an evaluation has this loss, or would have it, where all
   steps below "below" are done. */
void accounts_scored(struct accounts *, double loss, uint64_t below,
		     const char *what);
/* Checks R8 when no step is in flight: loss is as above. */
void accounts_rest(struct accounts *, double loss);
/* Returns the first rule that was broken and the line that broke it, or
   NULL. */
const char *accounts_wrong(const struct accounts *);
/*
 * Checks R7 for the first "asked" requests of an owner.  Returns a text that
 * names the first request without an answer, good until the next call, or NULL.
 */
const char *accounts_unanswered(const struct accounts *, size_t owner,
				size_t asked);

#endif
