/*
 * member - a server or a worker as a child of ours.
 */
#ifndef PS_MEMBER_H
#define PS_MEMBER_H

#include "base/fail.h"
#include "sys/relay.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MEMBER_SERVER	"ps-serve"
#define MEMBER_WORKER	"ps-work"

struct member {
	pid_t group;		/* its pid, or what that was; -1 */
	bool ended;
	int status;		/* then; as a shell has it */
	uint64_t restarts;	/* it was started again, so often */
	bool ready;		/* it is a server that has said so, */
	int out;		/* and this is where; -1: no more */
	struct relayed said;	/* its standard error */
};

/*
 * By its words, the first one of which is one of those above.  CPU as in
 * struct launch.  -1: it has ended.
 */
int member_start(struct member *, size_t index, char *const *word, int cpu,
		 struct fail *);
void member_release(struct member *);

/* A server said something on standard output: a line when it is ready. */
void member_hear(struct member *);

#endif
