/*
 * coord_private - what the parts of the coordinator share.  For nobody else.
 *
 * A part calls only parts that stand above it in this list:
 *
 *	report		lines of results, totals, warnings
 *	journal		records of the journal, and notes of what ended
 *	ending		whether the run goes on, and what it ends with
 *	members		workers, evaluators and relays: which are there
 *	relays		which relay the workers of a site have
 *	data		the samplers: splits, streams, epochs
 *	rerun		steps that servers lack
 *	watermarks	below which step all have ended: MARK to servers
 *	lease		what workers have
 *	async, sync	the schedulers (coord/scheduler.h), by their table
 *	cancel		steps that are given up
 *	evaluate	evaluations by workers
 *	cut		checkpoints, and cuts for evaluators
 *	background	evaluations while steps go on
 *	standby		hot standbys of servers
 *	watch		who hangs, and that nothing stands still
 *	recover		a new term, when a server has lost something
 *	steps		gives out steps, takes their results and errors
 *	submit		takes requests of submitters, sends them results
 *	end		the end of the run
 *	receive		messages of workers, evaluators and relays
 *	records		journal records of the whole run
 *	coord.c		events, and which parts act on them
 *	status, replay	figures; reading a journal
 *
 * A part that finds out something that a part below it must act on returns it,
 * or keeps it until coord.c asks; coord.c then calls the other part.
 */
#ifndef PS_COORD_PRIVATE_H
#define PS_COORD_PRIVATE_H

#include "coord/coord.h"
#include "coord/fleet.h"
#include "coord/queue.h"
#include "coord/samplers.h"

/*
 *	GREET --greeted()--> PLAN --recover_ask_load()--> LOAD
 *	PLAN, LOAD --resume()--> RUN
 *	PLAN, LOAD, RUN --recover_begin()--> GREET
 *	GREET, PLAN, LOAD, RUN --ending_stop(), ending_over()--> END
 */
enum phase {
	PHASE_GREET,		/* servers connect and answer WELCOME */
	PHASE_PLAN,		/* servers take the plan */
	PHASE_LOAD,		/* servers read a checkpoint */
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
	bool resumed;		/* a coordinator before this one began the run:
				   it was read from the journal */
	bool started;		/* min_workers were there once */
	uint64_t replicas;	/* of a round; 0: there are no rounds, or it is
				   not known before workers have come */
	uint64_t replicas_told;	/* what servers were told, and have answered */

	struct member *member;	/* the first one; see coord_members.h */

	struct report *report;
	struct journal_state *journal_state;	/* coord_journal.c's */
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
	bool queue_full;		/* no requests are taken, until half of
					   those in the queue are done */
	bool told_to_stop;		/* by a stop request */
};

/* ---- coord.c, for coord_replay.c ---- */

/* Makes the queue of a run whose first step this is. */
void coord_begin_queue(struct coord *, uint64_t first);
void coord_advance(struct coord *, uint64_t now_ms);

#endif
