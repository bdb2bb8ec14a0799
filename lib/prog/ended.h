/*
 * ended - a file that is there once all workers have ended.
 *
 * ps-local starts no others, and nobody else does: so ps-coord need not wait
 * for any.  It finds the file by a variable of the environment, and a line of
 * text in it, with the status that it is to end with before that.
 */
#ifndef PS_ENDED_H
#define PS_ENDED_H

#include "base/fail.h"

#include <stdbool.h>
#include <stdint.h>

#define ENDED_VARIABLE	"PS_WORKERS_ENDED"

/* In one go: nobody sees a part of it. */
int ended_notify(const char *path, const struct fail *why, struct fail *);

struct ended {
	const char *path;	/* NULL: nobody will tell, or has told */
	uint64_t next_ms;	/* of the next look */
};

/* The workers are those who call the coordinator at this endpoint. */
void ended_begin(struct ended *, const char *endpoint);
/* Have they, and it was not known before?  Looks only now and then. */
bool ended_look(struct ended *, uint64_t now_ms, struct fail *why);

#endif
