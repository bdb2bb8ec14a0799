/*
 * shared_arrays - where the arrays of requests lie in memory that is shared
 * with the program that computes them.
 *
 * An array of a name has its place as long as it fits, so what is there from
 * the request before need not be written again if it is the same.  It has
 * another place in each area, so that one request is written while the program
 * is at another.
 */
#ifndef PS_SHARED_ARRAYS_H
#define PS_SHARED_ARRAYS_H

#include "model/external.h"

struct shared_arrays;

/* What stands in a request for each array. */
struct shared_place {
	size_t offset;
	bool unchanged;		/* since the last request of its name */
};

/* NULL: the system has no such memory. */
struct shared_arrays *shared_arrays_new(void);
void shared_arrays_free(struct shared_arrays *);

/* For the program; and bytes that it is to map. */
int shared_arrays_file(const struct shared_arrays *);
size_t shared_arrays_size(const struct shared_arrays *);

/*
 * Places for all arrays of a call, in its order, and what is sent is written
 * there.  They are good until the next call of the area.  FAIL_AGAIN: there is
 * no memory.
 */
int shared_arrays_send(struct shared_arrays *, size_t area,
		       const struct external_call *,
		       const struct shared_place **sent,
		       const struct shared_place **wanted, struct fail *);

/* What was wanted, as it now lies there. */
void shared_arrays_receive(struct shared_arrays *,
			   const struct external_call *,
			   const struct shared_place *wanted);

#endif
