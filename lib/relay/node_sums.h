/*
 * node_sums - adds up pushes of a round on their way to the servers.
 *
 * A push may say that it is a leaf of a node of the tree over replicas, and
 * that the node's other leaves come by the same relay (see message_node()).  If
 * all leaves came in the last round in which this node was pushed, they wait
 * for each other in this round, and leave as one push: the node's sum as
 * servers compute it, in floats.  They leave each by itself, in the order of
 * their replicas, if
 *
 *	- the sum has no fewer bytes than they have together;
 *	- one of them is malformed, of another attempt, or there already; or
 *	- one of them does not come, as node_sums_expire() finds out.
 */
#ifndef PS_NODE_SUMS_H
#define PS_NODE_SUMS_H

#include "relay/letter.h"
#include "wire/plan.h"

struct node_sums;

/* The plan is borrowed. */
struct node_sums *node_sums_new(const struct plan *);
void node_sums_free(struct node_sums *);	/* with all letters */

/* Takes a PUSH of a level over 0 to a part that waits for rounds, and the
   ownership of the letter. */
void node_sums_add(struct node_sums *, struct letter *);

/* Lets all letters leave, each by itself: no sum waits for others any more. */
void node_sums_disband(struct node_sums *);
/* Lets letters leave that have waited since the last call. */
void node_sums_expire(struct node_sums *);

/* Letters that leave together; they are the caller's. */
struct departure {
	struct letter *sum;		/* NULL: each leaves by itself */
	struct letter *member;		/* a list, by next */
};
/* Puts the next letters that leave, in the order in which they left; false:
   there are none. */
bool node_sums_next(struct node_sums *, struct departure *);

size_t node_sums_waiting(const struct node_sums *);	/* letters */

/* For tests: NULL, or what does not hold. */
const char *node_sums_check(const struct node_sums *);

#endif
