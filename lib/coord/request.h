/*
 * request - one line of what ps-coord is asked for; see ps-request(5).
 */
#ifndef PS_REQUEST_H
#define PS_REQUEST_H

#include "base/fail.h"
#include "base/text.h"
#include "coord/call.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum request_op {
	REQUEST_NONE,		/* a blank line, or a comment */
	REQUEST_TRAIN, REQUEST_EPOCH, REQUEST_EVAL, REQUEST_JOIN,
	REQUEST_SAVE, REQUEST_STATUS, REQUEST_CANCEL, REQUEST_STOP,
	REQUEST_BAD		/* a bad line: an error when its turn comes */
};

struct request {
	enum request_op op;
	char *id;		/* as JSON ("\"7\""), or NULL: it has none */
	uint64_t steps;		/* TRAIN */
	uint64_t epochs;	/* EPOCH */
	uint64_t batch;		/* examples of a step; 0: the usual */
	float learning_rate;	/* above 0: the rate of all optimizers that are
				   not frozen; below 0: each schedule's rate,
				   times -learning_rate; 0: each schedule's */
	const char *slip;	/* TRAIN: the request that its id, a bare one,
				   may be a slip for; or NULL */
	struct call *call;	/* TRAIN, EPOCH: held; or NULL */
	char *data;		/* EPOCH: the data set that it is counted by;
				   or NULL */
	char **file;		/* EVAL: the names of its files */
	size_t files;
	bool background;	/* EVAL: nothing waits for it */
	char *target;		/* CANCEL: an id, as JSON */
	uint64_t priority;	/* the highest has its turn first */
	char *why;		/* BAD: what is wrong with it */
	size_t owner;		/* its submitter: see submitters.h */
	uint64_t number;	/* among the requests of its owner, from 1 */
};

/* Reads a line of size bytes, with a NUL behind them.  -1 (FAIL_DATA): it is
   not a request.  Free with request_release(), also after a failure. */
int request_read(struct request *, const char *line, size_t size,
		 struct fail *);
void request_release(struct request *);

const char *request_name(enum request_op);
/* Are these two ids (as JSON) the same?  Quotes do not count: "7" is 7. */
bool request_is_id(const char *, const char *);

/* Writes a request, which must not be BAD, as a line without its newline. */
void request_write(struct text *, const struct request *);

#endif
