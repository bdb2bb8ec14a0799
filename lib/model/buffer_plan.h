/*
 * buffer_plan - whose room the numbers of a node lie in while a batch is
 * computed.
 *
 * Most have room of their own.  The fewer there are, the more of a batch stays
 * in the processor's cache, and the less is copied:
 *  - a view's numbers are its input's;
 *  - an activation's take the place of its input's, if nobody else looks at
 *    these, and its slope can be told by what came out of it;
 *  - rows of a table that only a concat takes are looked up into its room.
 */
#ifndef PS_BUFFER_PLAN_H
#define PS_BUFFER_PLAN_H

#include "model/graph.h"

/* Decide it, of a model that is complete. */
void buffer_plan_find(struct model *);

/* The node whose room it is. */
const struct node *buffer_plan_room(const struct node *);

/* Floats from an example's numbers to the next one's. */
size_t buffer_plan_stride(const struct node *);

#endif
