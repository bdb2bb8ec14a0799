/* local_child - a server, a worker or a relay that runs as our child. */
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
	pid_t group;		/* its process group, whose number is its pid;
				   -1: none */
	bool ended;
	int status;		/* if ended; as in a shell */
	uint64_t restarts;	/* times that it was started again */
	bool ready;		/* a server that has reported that it is
				   ready */
	int out;		/* its standard output; -1: closed */
	struct log_mux_source log_source;	/* its standard error */
};

/*
 * Start a child by its words, the first of which is one of the names above.
 * cpu is as in struct spawn.  Return 0; or -1 with the reason, and then it has
 * ended.
 */
int local_child_start(struct local_child *, size_t index, char *const *word,
		      int cpu, struct fail *);
void local_child_release(struct local_child *);

/* Read the standard output of a server, which has a line when it is ready. */
void local_child_read_ready(struct local_child *);

#endif
