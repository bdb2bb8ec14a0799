/*
 * call - which of a model's steps a request asks for, and with what arguments.
 *
 * A request, the leases of its steps and their history hold one and the same.
 * NULL is a step without a word about it.
 */
#ifndef PS_CALL_H
#define PS_CALL_H

#include "base/refcount.h"
#include "wire/message.h"

#include <stdbool.h>

#define CALL_ARGS	((size_t)1 << 20)	/* bytes, at most */

struct call {
	struct refcount hold;
	char *step, *args;	/* args: JSON of an object; NULL: it says
				   nothing of that */
	struct pack packed;	/* as LEASE has it */
};

/* Copies; held once. */
struct call *call_new(const char *step, const char *args);
struct call *call_hold(struct call *);
void call_drop(struct call *);		/* the last one frees it */

/* Put it behind the frames of a LEASE; NULL is none. */
void call_describe(const struct call *, struct message *);

size_t call_size(const struct call *);		/* bytes, as in a LEASE */
bool call_equal(const struct call *, const struct call *);

#endif
