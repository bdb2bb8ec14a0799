/*
 * round_buffer - one server's side of rounds: pushes that wait to be committed.
 *
 * In a synchronous run a step is a round of replicas.  A push says which
 * replica and which attempt at it; it is kept here, and when the coordinator
 * says which attempt of each replica counts, they are added up in a tree over
 * the replicas' numbers and applied as one.  Parts of variables that wait for
 * no round (mode async) are applied as they come, once for each replica.
 *
 * A push may be the sum of one attempt of all replicas of a node of that tree,
 * which a relay has added up.  It is kept beside those of replicas, and counts
 * in their place if all of them are chosen in this attempt; the sum of a round
 * is made of as few pushes as there can be, each replica in one of them.
 *
 * Only one round is open on a server at a time: the values for the next do not
 * count before this one has been applied.  But when all replicas of a part are
 * here, what they will come to can be worked out beside the part, and be sent
 * ahead: whoever has it is told by a few bytes that the round was committed as
 * was assumed, or else is given what it came to.  Of each replica the two
 * newest attempts are kept, which are those that the coordinator may choose
 * from, and of each node.  So the memory is bounded by four times the gradients
 * of all replicas.
 */
#ifndef PS_ROUND_BUFFER_H
#define PS_ROUND_BUFFER_H

#include "base/window.h"
#include "shard/shard.h"

struct round_buffer;

/* Standing at this step.  All is borrowed. */
struct round_buffer *round_buffer_new(const struct plan *, const struct model *,
				      size_t server, struct shard *,
				      uint64_t step);
void round_buffer_free(struct round_buffer *);

/* The round that it stands at: those below are committed or given up. */
uint64_t round_buffer_step(const struct round_buffer *);

/* Is nothing kept for the round? */
bool round_buffer_empty(const struct round_buffer *);

/*
 * Pass over rounds below the low watermark and those that were given up; true:
 * it stands at another one now, and what was staged is gone.
 */
bool round_buffer_advance(struct round_buffer *, uint64_t low,
			  const struct window *voided);

/* Forget all of it and stand at this step: the variables have gone back. */
void round_buffer_reset(struct round_buffer *, uint64_t step);

/*
 * A push of the slot of the round (see message_node()), and what became of it:
 * STAGED, or APPLIED if its part does not wait; DUP if its round is over or
 * it has been applied; VOID if newer attempts are there; LATER if it is not yet
 * its round's turn.  A repeat is answered the same.  -1 as shard_push(); of a
 * sum to a part that does not wait (FAIL_PROTOCOL), too.
 */
int round_buffer_push(struct round_buffer *, size_t part, uint64_t step,
		      uint64_t slot, uint64_t attempt,
		      const struct shard_push *, enum outcome *, struct fail *);

/*
 * What the newest attempts will come to, if every replica's is here: its
 * number, which no other has; 0: it cannot be known yet, as in the first round
 * of all, for which it is not known how many replicas there are.
 */
uint64_t round_buffer_run_ahead(struct round_buffer *, size_t part);

/* A pull of it, as shard_ahead_pull(). */
void round_buffer_pull_ahead(struct round_buffer *, size_t part,
			     struct encoding, uint64_t have,
			     struct shard_news *);

/* Did the last round that has ended come to this one? */
bool round_buffer_came_to(const struct round_buffer *, size_t part,
			  uint64_t ahead);

/*
 * Could this round be committed?  The attempts are as COMMIT carries them;
 * slots whose attempt is not here, or only in a sum with others, are written,
 * as an array.  -1: FAIL_PROTOCOL.
 */
int round_buffer_check(const struct round_buffer *, uint64_t step,
		       const struct frame *attempts, struct pack *missing,
		       struct fail *);

/*
 * The attempts of each replica, as COMMIT carries them, 0 if it had nothing to
 * do: apply them to all parts
 * that wait, and stand at the next step.  A round that is over is not
 * committed again.  FAIL_PROTOCOL, and nothing has changed, if one of them is
 * not here; FAIL_DATA if they add up to what is not finite.
 */
int round_buffer_commit(struct round_buffer *, uint64_t step,
			const struct frame *attempts, struct fail *);

#endif
