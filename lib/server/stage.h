/*
 * stage - one server's side of rounds: pushes that wait to be committed.
 *
 * In a synchronous run a step is a round of slots.  A push says which slot
 * and which attempt at it; it is kept here, and when the coordinator says
 * which attempt of each slot counts, they are added up in the order of the
 * slots and applied as one.  Parts of variables that wait for no round
 * (mode async) are applied as they come, once for each slot.
 *
 * Only one round is open on a server at a time: the values for the next are
 * not given away before this one has been applied.  Of each slot the two
 * newest attempts are kept, which are those that the coordinator may choose
 * from.  So the memory is bounded by twice the gradients of all slots.
 */
#ifndef PS_STAGE_H
#define PS_STAGE_H

#include "base/window.h"
#include "shard/shard.h"

struct stage;

/* Standing at this step.  All is borrowed. */
struct stage *stage_new(const struct plan *, const struct model *,
			size_t server, struct shard *, uint64_t step);
void stage_free(struct stage *);

/* The round that it stands at: those below are committed or given up. */
uint64_t stage_step(const struct stage *);

/* Is nothing kept for the round? */
bool stage_empty(const struct stage *);

/*
 * Pass over rounds below the mark and those that were given up; true: it
 * stands at another one now, and what was staged is gone.
 */
bool stage_advance(struct stage *, uint64_t mark, const struct window *voided);

/* Forget all of it and stand at this step: the variables have gone back. */
void stage_reset(struct stage *, uint64_t step);

/*
 * A push of a slot of the round (below WIRE_SLOTS), and what became of it:
 * STAGED, or APPLIED if its part does not wait; DUP if its round is over or
 * it has been applied; VOID if newer attempts are there; LATER if it is not
 * yet its round's turn.  A repeat is answered the same.  -1 as shard_push().
 */
int stage_push(struct stage *, size_t part, uint64_t step, uint64_t slot,
	       uint64_t attempt, const struct shard_push *,
	       enum outcome *, struct fail *);

/*
 * The attempts of each slot, as COMMIT carries them, 0 if it had nothing to
 * do: apply them to all parts
 * that wait, and stand at the next step.  A round that is over is not
 * committed again.  FAIL_PROTOCOL, and nothing has changed, if one of them is
 * not here; FAIL_DATA if they add up to what is not finite.
 */
int stage_commit(struct stage *, uint64_t step, const struct frame *attempts,
		 struct fail *);

#endif
