/*
 * coord_private - what the parts of the coordinator share.  For nobody else.
 *
 * From the ground up; a part calls those above it in this list alone:
 *
 *	report		lines of results, totals, warnings
 *	journal		how records are kept, and what ended
 *	ending		whether the run goes on, and what it ends with
 *	members		workers and evaluators: who is there
 *	relays		which relay the workers of a site have
 *	data		the samplers: splits, streams, epochs
 *	rerun		steps that servers lack
 *	watermarks	what servers are told to have ended
 *	lease		what workers have
 *	async, sync	the schedulers (coord/scheduler.h), by their table
 *	cancel		steps that are given up
 *	evaluate	evaluations by workers
 *	cut		checkpoints, and cuts for evaluators
 *	background	evaluations while steps go on
 *	standby		hot standbys of servers
 *	watch		who hangs, and that nothing stands still
 *	recover		what is done when a server has lost something
 *	steps		giving out, and what comes of it
 *	submit		whose requests are taken, and who gets results
 *	end		how it ends
 *	receive		what workers and evaluators say
 *	records		those of the whole run
 *	coord.c		what happens, and what follows from it
 *	status, replay	figures; a journal that is read again
 *
 * What a part finds out that is the business of one below it in this list it
 * returns, or keeps until it is asked: coord.c passes it on.
 */
#ifndef PS_COORD_PRIVATE_H
#define PS_COORD_PRIVATE_H

#include "coord/coord.h"
#include "coord/fleet.h"
#include "coord/queue.h"
#include "coord/samplers.h"

/*
 *	GREET --greeted()--> PLAN --recover_ask_load()--> LOAD
 *	PLAN, LOAD --go_on()--> RUN
 *	PLAN, LOAD, RUN --recover_begin()--> GREET
 *	GREET, PLAN, LOAD, RUN --ending_stop(), ending_over()--> END
 */
enum phase {
	PHASE_GREET,		/* servers say WELCOME */
	PHASE_PLAN,		/* they take the plan */
	PHASE_LOAD,		/* they read a checkpoint */
	PHASE_RUN,
	PHASE_END		/* see enum ending_state */
};

/* What all parts of the coordinator share; and, by name, the parts. */
struct coord {
	struct coord_options o;
	const struct model_source *source;
	const struct model *model;
	const struct metric *metric;
	size_t metrics;
	struct outbox *outbox;
	enum phase phase;
	struct plan plan;
	struct pack plan_frame, model_frame, format_frame;
	struct fleet *fleet;
	struct queue *queue;
	struct submitters *submitters;
	uint64_t began_ms, now_ms;
	bool begun;		/* all servers were ready once */
	bool resumed;		/* another one had begun this run */
	bool started;		/* min_workers were there once */

	struct member *member;	/* the first one; see coord_members.h */

	struct report *report;
	struct kept *kept;		/* coord_journal.c's */
	struct ending *ending;
	struct members *members;
	struct relays *relays;
	struct dataset *data;
	struct rerun *rerun;
	struct watermarks *watermarks;
	const struct scheduler *scheduler;
	struct leases *leases;
	struct sync *sync;
	struct cancel *cancel;		/* coord_cancel.c's */
	struct shards *shards;		/* coord_evaluate.c's */
	struct cut_plans *cut;
	struct background *background;	/* coord_background.c's */
	struct standbys *standbys;
	struct watch *watch;
	struct recovery *recovery;
	struct submit *submit;
	struct end *end;
	struct figures *figures;	/* coord_status.c's */

	/* coord.c */
	uint64_t probed_ms, ticked_ms;
	bool queue_full;		/* of requests, until half are done */
	bool told_to_stop;		/* by a request */
};

/* ---- coord.c, for coord_replay.c ---- */

/* The queue of a run whose first step this is. */
void coord_begin_queue(struct coord *, uint64_t first);
void coord_advance(struct coord *, uint64_t now_ms);

#endif
