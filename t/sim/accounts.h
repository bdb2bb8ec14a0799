/*
 * accounts - what was asked of a run, and what its result lines say of it.
 *
 * The rules that a user relies on, in words; each is checked as the lines
 * come, and all of them at the end.
 *
 *	R1  no step has two results
 *	R2  no line is about a request that was not made
 *	R3  a barrier's line comes behind all lines of what was asked before
 *	    it, and before all that was asked behind it
 *	R4  a join counts the steps that were done since the last one
 *	R5  an evaluation scores every record, by what the steps before it have
 *	    come to
 *	R11 an evaluation in the background scores every record, by what the
 *	    steps below its cut have come to, and no other
 *	R6  an epoch misses no record, or says how many: of what was given up
 *	R7  at the end each request is answered: its steps are done, failed or
 *	    cancelled, a barrier has one line
 *	R8  nothing of a step that was given up is applied once that was said
 *	R10 what a program gives back is of the request's own arguments
 *	R9  a round is computed with the values of all rounds before it
 */
#ifndef PS_SIM_ACCOUNTS_H
#define PS_SIM_ACCOUNTS_H

#include "scenario.h"

#define EVALUATED	23	/* records of an evaluation */
#define LABEL		1e6	/* of what is trained */
#define LOSS_OF_A_STEP	16	/* the weights, visits left out, each of which
				   is the number of steps: the loss is their sum
				   when the label is 0 */

struct accounts;

struct accounts *accounts_new(const struct scenario *);
void accounts_free(struct accounts *);

/* The coordinator has lost what it had noted last. */
void accounts_forget(struct accounts *);
/* The file of results was cut: all of its lines are told again. */
void accounts_reset(struct accounts *);
/* A result of the coordinator's own input (0), or of a submitter (from 1). */
void accounts_line(struct accounts *, size_t owner, const char *line);
/* Is it of something that does not wait for what was asked before? */
bool accounts_in_background(const struct accounts *, size_t owner,
			    const char *line);
/* An error of its own has ended it, or its status; and: what is not answered to
   it will never be. */
bool accounts_failed(const struct accounts *, size_t owner);
void accounts_lose(struct accounts *, size_t owner);

uint64_t accounts_done(const struct accounts *);	/* steps */
uint64_t accounts_done_of_other(const struct accounts *);	/* step line */
uint64_t accounts_mark(const struct accounts *);	/* all below are */
uint64_t accounts_given_up(const struct accounts *);	/* steps */
/* So many of them, at most, were applied by some server, or all. */
uint64_t accounts_may_have(const struct accounts *);
/* The sum of all weights, when so many steps are below; is it right? */
void accounts_scored(struct accounts *, double sum, uint64_t below,
		     const char *what);
/* What it is now, as nothing is under way. */
void accounts_rest(struct accounts *, double sum);
/* Which rule is broken, or NULL. */
const char *accounts_wrong(const struct accounts *);
/* R7, of the first so many requests of one. */
const char *accounts_unanswered(const struct accounts *, size_t owner,
				size_t asked);

#endif
