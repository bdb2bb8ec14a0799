/*
 * shared_arrays - places of a request's arrays in memory that is shared with
 * the program that computes them.
 *
 * An array keeps its place, by name, while it fits, so content that has not
 * changed since the request before need not be written again.  There are
 * EXTERNAL_ASKED areas with a place each, so that one request can be written
 * while the program computes another.
 */
#ifndef PS_SHARED_ARRAYS_H
#define PS_SHARED_ARRAYS_H

#include "model/external.h"

struct shared_arrays;

/* The place of an array, as a request gives it. */
struct shared_place {
	size_t offset;
	bool unchanged;		/* since the last request with an array of this
				   name */
};

/*
 * Return an empty set of places, which the caller frees; NULL: the system has
 * no such memory.
 */
struct shared_arrays *shared_arrays_new(void);
void shared_arrays_free(struct shared_arrays *);

/*
 * Return the descriptor to give to the program; and the bytes that it is to
 * map.
 */
int shared_arrays_file(const struct shared_arrays *);
size_t shared_arrays_size(const struct shared_arrays *);

/*
 * Set places for all arrays of a call, in their order, and write those that are
 * sent.  The places are good until the next call with this area.  Return 0; or
 * -1 with FAIL_AGAIN if there is no memory.
 */
int shared_arrays_send(struct shared_arrays *, size_t area,
		       const struct external_call *,
		       const struct shared_place **sent,
		       const struct shared_place **wanted, struct fail *);

/* Copy the arrays that were wanted from the memory to the call. */
void shared_arrays_receive(struct shared_arrays *,
			   const struct external_call *,
			   const struct shared_place *wanted);

#endif
