/*
 * round_buffer - one server's side of rounds: pushes that wait to be committed.
 *
 * In a synchronous run a step is a round of replicas.  A push names its replica
 * and the attempt at it, and is kept here (STAGED).  When the coordinator says
 * which attempt of each replica counts (COMMIT), the chosen pushes are added up
 * in a tree over the replicas' numbers and applied as one update.  A part whose
 * variables have the mode async waits for no round: each push to it is applied
 * as it comes, once for each replica.
 *
 * A push may be the sum that a relay has made of one attempt of all replicas of
 * a node of that tree.  It is kept beside the replicas' own pushes, and counts
 * in their place if the coordinator has chosen its attempt for all of them.
 * The sum of a round is made of the fewest pushes that have each replica once.
 *
 * Only one round is open on a server at a time, since the next one starts from
 * the values that this one makes.  But as soon as pushes of all replicas of a
 * part are here, the values that the round will probably make can be computed
 * beside the part and sent ahead.  After COMMIT, a puller that has them is told
 * in a few bytes that they were right (CONFIRMED), or is sent the values
 * otherwise.
 *
 * Of each replica, and of each node, the two newest attempts are kept: the
 * coordinator chooses only from these.  There are fewer than two nodes for a
 * replica, so the memory is at most four times the gradients of all replicas;
 * the caller refuses pushes of replicas that a round does not have.  A round
 * keeps the memory of the one before, as far as that one needed it.
 */
#ifndef PS_ROUND_BUFFER_H
#define PS_ROUND_BUFFER_H

#include "base/window.h"
#include "shard/shard.h"

struct round_buffer;

/* Returns a buffer without pushes whose open round is this step.  The plan,
   model and shard are borrowed until round_buffer_free(). */
struct round_buffer *round_buffer_new(const struct plan *, const struct model *,
				      size_t server, struct shard *,
				      uint64_t step);
void round_buffer_free(struct round_buffer *);

/* The open round: those below it were committed or given up. */
uint64_t round_buffer_step(const struct round_buffer *);

/* Was nothing pushed yet in the open round? */
bool round_buffer_empty(const struct round_buffer *);

/*
 * Pass over rounds below the low watermark, and over rounds that were given up.
 * true: another round is open now, and the pushes of the old one were dropped.
 */
bool round_buffer_advance(struct round_buffer *, uint64_t low,
			  const struct window *voided);

/* Drop all pushes, and open the round of this step: the variables were put
   back. */
void round_buffer_reset(struct round_buffer *, uint64_t step);

/*
 * Take a push of the slot (see message_node()) in the round of a step.  The
 * outcome is:
 * - STAGED: it is kept; or APPLIED, if its part waits for no round;
 * - DUP: its round has ended, or it was applied;
 * - VOID: two newer attempts at the slot are kept;
 * - LATER: its round is not open yet.
 * A push that comes again has the same outcome, but DUP in place of APPLIED.
 * -1: the failures of shard_push(); or FAIL_PROTOCOL for a sum of replicas to a
 * part that waits for no round.
 */
int round_buffer_push(struct round_buffer *, size_t part, uint64_t step,
		      uint64_t slot, uint64_t attempt,
		      const struct shard_push *, enum outcome *, struct fail *);

/*
 * Compute what the newest attempts make of a part, if a push of every replica
 * is here.  Returns the number of that result, which no other result has; 0:
 * there is no result, or not yet.  In the first round there never is: how many
 * replicas a round has is known only after a COMMIT.
 */
uint64_t round_buffer_run_ahead(struct round_buffer *, size_t part);

/* Pull that result, as shard_ahead_pull() does; round_buffer_run_ahead() must
   have returned a number. */
void round_buffer_pull_ahead(struct round_buffer *, size_t part,
			     struct encoding, uint64_t have,
			     struct shard_news *);

/* Did the last round that was committed make the result of this number of the
   part? */
bool round_buffer_came_to(const struct round_buffer *, size_t part,
			  uint64_t ahead);

/*
 * Can this round be committed?  attempts: the frame of CHECK, which is like
 * that of COMMIT.  Writes an array of the slots whose chosen attempt is not
 * here by itself, nor in a sum that can count; an empty one for a round that
 * has ended.  -1: FAIL_PROTOCOL.
 */
int round_buffer_check(const struct round_buffer *, uint64_t step,
		       const struct frame *attempts, struct pack *missing,
		       struct fail *);

/*
 * Commit a round: apply the chosen attempts to all parts that wait, and open
 * the next round.  attempts: the frame of COMMIT, an attempt for each replica,
 * 0 for one that had nothing to do.  A round that has ended is not committed
 * again (0).  FAIL_PROTOCOL, and nothing has changed, if a chosen attempt is
 * not here; FAIL_DATA if the sum of a part is not finite.
 */
int round_buffer_commit(struct round_buffer *, uint64_t step,
			const struct frame *attempts, struct fail *);

/* For tests: the bytes of memory for copies of pushes. */
size_t round_buffer_bytes(const struct round_buffer *);

#endif
