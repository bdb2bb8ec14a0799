/*
 * call - which of a model's steps a request asks for, and with what arguments.
 *
 * A request, the leases of its steps and their history share one call, which
 * is counted.  NULL: the request names neither a step line nor arguments.
 */
#ifndef PS_CALL_H
#define PS_CALL_H

#include "base/refcount.h"
#include "wire/message.h"

#include <stdbool.h>

#define CALL_ARGS	((size_t)1 << 20)	/* bytes, at most */

struct call {
	struct refcount hold;
	char *step, *args;	/* the step line's name; a JSON object; NULL:
				   the request does not say */
	struct pack packed;	/* both, as the frame of a LEASE */
};

/* Copies both texts, which may be NULL.  The caller owns one hold. */
struct call *call_new(const char *step, const char *args);
struct call *call_hold(struct call *);
void call_drop(struct call *);		/* frees it with the last hold */

/* Appends the call's frame to those of a LEASE, which borrows its bytes;
   NULL: none. */
void call_describe(const struct call *, struct message *);

size_t call_size(const struct call *);		/* bytes, as in a LEASE */
bool call_equal(const struct call *, const struct call *);

#endif
