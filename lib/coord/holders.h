/*
 * holders - which worker has the residual of each replica, and which one it is.
 *
 * A residual is what the codec has lost of a replica's gradients; the worker
 * that pushed them has it (see worker/residuals.h).  It is named by the step
 * and attempt of the push that left it.  Workers are pointers that are compared
 * and never followed here.
 */
#ifndef PS_HOLDERS_H
#define PS_HOLDERS_H

#include "wire/message.h"

struct holders;

/* The push that left a residual; attempt 0: the residual is 0. */
struct residual {
	uint64_t step, attempt;
};

struct holders *holders_new(size_t replicas);
void holders_free(struct holders *);

/* Does another worker have a residual of the replica, other than 0? */
bool holders_other(const struct holders *, size_t replica, const void *worker);
/* Returns the residual that this worker has. */
struct residual holders_residual(const struct holders *, size_t replica,
				 const void *worker);

/* Notes that a push counts, of this worker (NULL: of one that is lost).
   Returns how many residuals are lost by that, 0 or 1. */
size_t holders_note(struct holders *, size_t replica, void *worker,
		    enum push_how, struct residual);

/* A worker is lost, or all residuals that pushes of steps below this one have
   left: returns how many residuals that are not 0 are lost. */
size_t holders_lose(struct holders *, const void *worker);
size_t holders_drop(struct holders *, uint64_t below);

/* All residuals are 0: servers have gone back to a checkpoint. */
void holders_reset(struct holders *);

/* For tests: NULL, or the words of what does not hold. */
const char *holders_check(const struct holders *);

#endif
