/*
 * program - a program as a user would write one, in the same process, for runs
 * whose model has a step line (scenario->program).
 *
 * It computes the loss that the other model's layers would, and gives back the
 * arguments that it got.  Its variables:
 *
 *	U, V	with two step lines: the first line has both, the second V
 *		alone.  They count the steps of each line, and make half of the
 *		loss of an evaluation.
 *	G, H	in rounds: each attempt adds a number of its own to H and
 *		takes it from G.  So all replicas of a round get the same H,
 *		unless one of them computes with values that did not count;
 *		and G + H is 0, unless servers counted different attempts.
 *		Both lines are sent H: pulled as a difference it may change in
 *		any round.
 *	W	in some runs with rounds: more numbers than a block of a
 *		codec has, each of which counts steps as the other weights do.
 *		Its changes are pulled in few bits, which are enough for that,
 *		or, by topk, half of them in each round.  Its gradients may be
 *		pushed in few bits, too: what codecs lose of them is pushed
 *		later, before each checkpoint.
 *
 * Without a step line, a program computes one layer, which has the values of
 * its input (scenario->layer).
 *
 * With data of its own (scenario->own) it has no layers but only variables, and
 * a second step line that scores them.
 */
#ifndef PS_SIM_PROGRAM_H
#define PS_SIM_PROGRAM_H

#include "model/external.h"

struct program;

/* uneven: every second number of W counts each step twice, so that what codecs
   lose of its gradients is not 0. */
struct program *program_new(bool uneven);
void program_free(struct program *);

/* Returns the functions that roles call; borrowed. */
const struct externals *program_externals(struct program *);

/* Sets the worker and the term of the next call. */
void program_begin_ask(struct program *, uint64_t term, size_t worker);

/* Notes that the coordinator lost its records of all leases from this step on:
   other requests may get these steps in later terms. */
void program_forget(struct program *, uint64_t from);

/* Returns NULL, or the rule that a call has broken. */
const char *program_check(const struct program *);

#endif
