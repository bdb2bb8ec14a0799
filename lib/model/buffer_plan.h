/*
 * buffer_plan - in which node's memory the numbers of a node lie while a batch
 * is computed.
 *
 * Most nodes have memory of their own.  The fewer do, the more of a batch stays
 * in the processor's cache, and the less is copied:
 *  - the numbers of a view are its input's;
 *  - an activation overwrites its input, if no other node reads that and its
 *    derivative can be computed from the output;
 *  - rows of a table that only a concat reads are looked up into the concat's
 *    memory.
 */
#ifndef PS_BUFFER_PLAN_H
#define PS_BUFFER_PLAN_H

#include "model/graph.h"

/*
 * Decide it for a model that is complete: sets node->in_place, home, home_at
 * and room.
 */
void buffer_plan_find(struct model *);

/* Return the node in whose memory the numbers lie. */
const struct node *buffer_plan_room(const struct node *);

/* Return the number of floats from one example's numbers to the next one's. */
size_t buffer_plan_stride(const struct node *);

#endif
