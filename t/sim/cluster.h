/*
 * cluster - one run of a scenario: the processes, the supervisor that restarts
 * them, the faults, and the invariants.
 *
 * After every event:
 *
 *	C1  the run makes progress: while no fault is in effect, there is a new
 *	    result or a new checkpoint within a time that depends on the
 *	    scenario (patience() in cluster.c)
 *	C2  the rules of accounts.h hold
 *	C3  no message is malformed
 *	C4  no worker ends unless the coordinator sent it STOP
 *	C10 an evaluator scores the step that it reports: all of it, and no
 *	    other step
 *	C11 no step is leased further ahead than the mode allows
 *	C12 a step that a server, or its standby, had acknowledged is not run
 *	    again
 *	C13 a submitter, however often it dies, ends when all its requests are
 *	    answered
 *	C14 no relay ends of its own accord, unless another relay has its site
 *	C15 while a worker hangs, and no other fault is in effect, its backup
 *	    does the replica that the round waits for before the lease ends
 *	C16 if there are as many workers as replicas, no worker is leased a
 *	    replica while it has another one of the same round, or has not
 *	    answered a CANCEL
 *	C17 no residual is lost while its worker lives, unless steps were given
 *	    up
 *	C20 no coordinator, started later, waits for requests of a submitter
 *	    that has ended
 *
 * At the end:
 *
 *	C5  the run ends with status 0; if a fault is beyond the promise, it may
 *	    end with another status and a reason
 *	C6  every weight on every server is the number of steps that were
 *	    reported as done.  It may be more only by steps that were given up
 *	    by a coordinator that had lost the end of its journal, or that one
 *	    worker had begun and no other worker had data to do
 *	C7  each record of the coordinator's data was visited as often as any
 *	    other, except for the epoch that is not over
 *	C8  C6 holds of the last checkpoint, too, and that one is final
 *	C9  a checkpoint of step N, whenever it is published, holds exactly N
 *	    steps in each weight
 *	C18 servers have the values of those attempts at a round that were
 *	    chosen
 *	C19 with two step lines, the steps of both together are all steps
 */
#ifndef PS_SIM_CLUSTER_H
#define PS_SIM_CLUSTER_H

#include "scenario.h"

struct verdict {
	bool broken;
	char why[240];
	uint64_t events;
	size_t befell;		/* faults that happened */
	int status;		/* exit status of the coordinator */
};

/* Runs the scenario.  deaf: a control run, in which the simulator ignores the
   result of step 0, so that the run must be reported as broken. */
struct verdict cluster_run(struct scenario *, bool deaf);

#endif
