/*
 * ended - a file that exists once all workers of ps-local have ended.
 *
 * Nobody else starts workers, so ps-coord need not wait for any.  It finds the
 * file by a variable of the environment.  The file has one line: the exit
 * status that ps-coord is to end with, and the reason.
 */
#ifndef PS_ENDED_H
#define PS_ENDED_H

#include "base/fail.h"

#include <stdbool.h>
#include <stdint.h>

#define ENDED_VARIABLE	"PS_WORKERS_ENDED"

/*
 * Make the file, at once and whole, with the kind and the text of why.  Return
 * 0, or -1 with the reason.
 */
int ended_notify(const char *path, const struct fail *why, struct fail *);

struct ended {
	const char *path;	/* NULL: there will be no file, or it was
				   read */
	uint64_t next_ms;	/* of the next look */
};

/*
 * Begin to look, if the workers of the environment's ps-local are those of the
 * coordinator at this endpoint.
 */
void ended_begin(struct ended *, const char *endpoint);
/*
 * Return true once, when all workers have ended, with the reason in *why.  The
 * file is looked for only every 200 ms.
 */
bool ended_look(struct ended *, uint64_t now_ms, struct fail *why);

#endif
