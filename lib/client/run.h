/*
 * run - the run that a worker, an evaluator or a relay takes part in, as the
 * coordinator has told of it: its model, its plan, and a client of its servers.
 */
#ifndef PS_RUN_H
#define PS_RUN_H

#include "client/client.h"

struct run {
	struct model_source source;
	struct model *model;	/* NULL: nothing was told */
	struct plan plan;
	struct client *client;	/* NULL: the servers were not dialled */
};

void run_release(struct run *);		/* says BYE to the servers */
void run_forget(struct run *);		/* of one without a client */

/*
 * Take a PLAN.  RUN_BEGUN: it is the first one, and the servers are to be
 * dialled; RUN_RENEWED: it is of a newer term, and the client to be renewed;
 * RUN_KNOWN: it says nothing new; RUN_OLDER: it is of a term that is over.
 * RUN_REFUSED, and the failure says why: it is malformed, or of another run.
 */
enum run_news { RUN_REFUSED, RUN_BEGUN, RUN_RENEWED, RUN_KNOWN, RUN_OLDER };
enum run_news run_take_plan(struct run *, const struct message *,
			    struct fail *);

/* Dial the servers: -1, see client_new(). */
int run_dial(struct run *, enum role, uint64_t life, struct outbox *,
	     uint64_t now_ms, struct fail *);

#endif
