/*
 * node_sums - pushes of a round that are added up on their way.
 *
 * A push may say that it is a leaf of a node of the tree over replicas whose
 * other leaves come by the same relay, too (see message_node()).  If they all
 * came in the last round that this node was pushed in, they wait for each other
 * in this one, and leave as one: the sum of the node as servers make it, in
 * floats.  They leave each by itself, in their order, if the sum is not smaller
 * than they are together; if one is malformed, of another attempt or there
 * already; or if one does not come, as node_sums_expire() finds out.
 */
#ifndef PS_NODE_SUMS_H
#define PS_NODE_SUMS_H

#include "relay/letter.h"
#include "wire/plan.h"

struct node_sums;

/* The plan is borrowed. */
struct node_sums *node_sums_new(const struct plan *);
void node_sums_free(struct node_sums *);	/* with all letters */

/* A PUSH of a level over 0 to a part that waits for rounds.  The letter is
   given away. */
void node_sums_add(struct node_sums *, struct letter *);

/* Nobody is waited for any more: all letters leave. */
void node_sums_disband(struct node_sums *);
/* Those that have waited since this was called last leave. */
void node_sums_expire(struct node_sums *);

/* What leaves together; the letters are the caller's. */
struct departure {
	struct letter *sum;		/* NULL: each leaves by itself */
	struct letter *member;		/* by next */
};
/* The next that leaves, in order; false: there is none. */
bool node_sums_next(struct node_sums *, struct departure *);

size_t node_sums_waiting(const struct node_sums *);	/* letters */

/* For tests: NULL, or what does not hold. */
const char *node_sums_check(const struct node_sums *);

#endif
