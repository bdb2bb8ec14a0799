/*
 * cluster - a run of a scenario: processes, their supervisor, what befalls
 * them, and what must hold.
 *
 * After every event:
 *
 *	C1  nothing that can go on stands still: while nothing befalls the
 *	    cluster, there is a new result, or a new checkpoint, at least every
 *	    so often
 *	C2  the rules of accounts.h hold
 *	C3  no message is malformed
 *	C4  no worker ends of its own accord but by the coordinator's word
 *	C10 an evaluator scores its step, all of it and no other
 *	C11 no step is leased further ahead than was asked
 *	C12 what a server, or its standby, had acknowledged is not run again
 *	C13 a submitter, however often it dies, ends when all that it asked is
 *	    answered
 *	C14 no relay ends of its own accord, unless another one has its site
 *
 * At the end:
 *
 *	C5  the run ends, with status 0; beyond the promise with a reason
 *	C6  every weight on every server is the number of the steps that were
 *	    told as done; more only if steps were given up by a coordinator
 *	    that had lost what it was told of them last, or that somebody had
 *	    begun, and nobody had data to do
 *	C7  of the coordinator's data each record was visited as often as any
 *	    other, but for the epoch that is not over
 *	C8  so it is in the last checkpoint, which is final
 *	C9  a checkpoint of step N, whenever it is published, holds N of each
 */
#ifndef PS_SIM_CLUSTER_H
#define PS_SIM_CLUSTER_H

#include "scenario.h"

struct verdict {
	bool broken;
	char why[240];
	uint64_t events;
	size_t befell;		/* faults that came to happen */
	int status;		/* of the coordinator, in the end */
};

/* deaf: a control, which does not hear one of the results: that is broken. */
struct verdict cluster_run(struct scenario *, bool deaf);

#endif
