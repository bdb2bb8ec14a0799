/*
 * run - the run that a worker, an evaluator or a relay takes part in: its model
 * and plan, as the coordinator has sent them, and a client of its servers.
 */
#ifndef PS_RUN_H
#define PS_RUN_H

#include "client/client.h"

struct run {
	struct model_source source;
	struct model *model;	/* NULL: no PLAN has come */
	struct plan plan;
	struct client *client;	/* NULL: the servers were not dialled */
};

/* Frees a run: with its client, which says BYE to the servers; or one that has
   no client. */
void run_release(struct run *);
void run_forget(struct run *);

/*
 * Takes a PLAN and returns:
 *
 *	RUN_BEGUN	it is the first one: dial the servers
 *	RUN_RENEWED	its term is newer: renew the client
 *	RUN_KNOWN	its term is that of the plan: nothing is new
 *	RUN_OLDER	its term is over: nothing has changed
 *	RUN_REFUSED	it is malformed, or of another run (FAIL_AGAIN); the
 *			failure says why
 */
enum run_news { RUN_REFUSED, RUN_BEGUN, RUN_RENEWED, RUN_KNOWN, RUN_OLDER };
enum run_news run_take_plan(struct run *, const struct message *,
			    struct fail *);

/* Dials the servers.  -1: see client_new(). */
int run_dial(struct run *, enum role, uint64_t life, struct outbox *,
	     uint64_t now_ms, struct fail *);

#endif
