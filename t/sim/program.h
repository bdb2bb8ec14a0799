/*
 * program - a step program, as a user would write one, in the same process: of
 * runs whose model has a step line (scenario->program).  It computes what the
 * loss of the others' model does, and gives back the arguments that it got.  Of
 * two step lines the first has the variables U and V, the other one V alone:
 * they count the steps of each, and an evaluation half scores that.
 *
 * In rounds it has two variables more, G and H: each attempt adds to the one
 * what no other attempt does, and takes it from the other one.  So all replicas
 * of a round get the same H, or one of them computes with what did not count;
 * and the sum of both is 0, or servers have counted different attempts.
 *
 * Or three, in some of these: of W, which has more than a block of a codec,
 * all numbers count what the other weights do.  Its changes are pulled in few
 * bits, which are enough for that, or, by topk, half of them in each round.
 *
 * With data of its own (scenario->own) it has no layers but variables alone,
 * and a second line that scores them.
 */
#ifndef PS_SIM_PROGRAM_H
#define PS_SIM_PROGRAM_H

#include "model/external.h"

struct program;

struct program *program_new(void);
void program_free(struct program *);

/* What roles want. */
const struct externals *program_externals(struct program *);

/* The next thing that is asked is by this worker, in this term. */
void program_begin_ask(struct program *, uint64_t term, size_t worker);

/* No record is left of steps from this one on that were given out: other
   requests may have them in later terms. */
void program_forget(struct program *, uint64_t from);

/* NULL; or what does not hold of the requests that it got. */
const char *program_check(const struct program *);

#endif
