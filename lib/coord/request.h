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
	REQUEST_BAD		/* none of these: its turn is an error */
};

struct request {
	enum request_op op;
	char *id;		/* as JSON ("\"7\""), or NULL: it has none */
	uint64_t steps;		/* TRAIN */
	uint64_t epochs;	/* EPOCH */
	uint64_t batch;		/* examples of a step; 0: the usual */
	float learning_rate;	/* above 0: the learning rate of all that is
				   not frozen; below 0: what each schedule
				   gives, times -rate; 0: what that gives */
	struct call *call;	/* TRAIN, EPOCH: held; or NULL */
	char *data;		/* EPOCH: the data set that it is counted by;
				   or NULL */
	char **file;		/* EVAL: files of them */
	size_t files;
	bool background;	/* EVAL: nothing waits for it */
	char *target;		/* CANCEL: an id, as JSON */
	uint64_t priority;	/* of all whose turn it is */
	char *why;		/* BAD: what is wrong with it */
	size_t owner;		/* whose it is: see submitters.h */
	uint64_t number;	/* of the owner's, from 1 */
};

/* A line of so many bytes, with a NUL behind them.  Free with
   request_release(), also after a failure (FAIL_DATA). */
int request_read(struct request *, const char *line, size_t size,
		 struct fail *);
void request_release(struct request *);

const char *request_name(enum request_op);
/* Are these one id?  One that is a word may be the digits of a number. */
bool request_is_id(const char *, const char *);

/* The line of a request, all but one that is BAD, without its newline. */
void request_write(struct text *, const struct request *);

#endif
