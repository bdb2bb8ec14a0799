/*
 * local_child - a server, a worker or a relay as a child of ours.
 */
#ifndef PS_LOCAL_CHILD_H
#define PS_LOCAL_CHILD_H

#include "base/fail.h"
#include "sys/log_mux.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CHILD_SERVER	"ps-serve"
#define CHILD_WORKER	"ps-work"
#define CHILD_RELAY	"ps-relay"

struct local_child {
	pid_t group;		/* its pid, or what that was; -1 */
	bool ended;
	int status;		/* then; as a shell has it */
	uint64_t restarts;	/* it was started again, so often */
	bool ready;		/* it is a server that has said so, */
	int out;		/* and this is where; -1: no more */
	struct log_mux_source said;	/* its standard error */
};

/*
 * By its words, the first one of which is one of those above.  CPU as in
 * struct spawn.  -1: it has ended.
 */
int local_child_start(struct local_child *, size_t index, char *const *word,
		      int cpu, struct fail *);
void local_child_release(struct local_child *);

/* A server said something on standard output: a line when it is ready. */
void local_child_read_ready(struct local_child *);

#endif
