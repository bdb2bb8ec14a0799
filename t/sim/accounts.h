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
 *	R5  an evaluation scores every record
 *	R6  an epoch misses no record
 *	R7  at the end each request is answered: its steps are done, failed or
 *	    cancelled, a barrier has one line
 */
#ifndef PS_SIM_ACCOUNTS_H
#define PS_SIM_ACCOUNTS_H

#include "scenario.h"

#define EVALUATED	23	/* records of an evaluation */

struct accounts;

struct accounts *accounts_new(const struct scenario *);
void accounts_free(struct accounts *);

/* The file of results was cut: all of its lines are told again. */
void accounts_reset(struct accounts *);
void accounts_line(struct accounts *, const char *line);

uint64_t accounts_done(const struct accounts *);	/* steps */
/* Was a step given up, so that some servers may have applied it? */
bool accounts_given_up(const struct accounts *);
/* Which rule is broken, or NULL. */
const char *accounts_wrong(const struct accounts *);
/* R7, of the first so many requests. */
const char *accounts_unanswered(const struct accounts *, size_t asked);

#endif
