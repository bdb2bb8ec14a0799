/*
 * coord_inside - what the parts of the coordinator share.  For nobody else.
 *
 * From the ground up; a part calls those above it in this list alone:
 *
 *	report		lines of results, totals, warnings
 *	journal		how records are kept, and what ended
 *	ending		whether the run goes on, and what it ends with
 *	members		workers and evaluators: who is there
 *	data		the ledger: splits, streams, epochs
 *	rerun		steps that servers lack
 *	lease		what workers have
 *	async, sync	the schedulers (coord/scheduler.h), by their table
 *	void		steps that are given up
 *	evaluate	evaluations by workers
 *	cut		checkpoints, and cuts for evaluators
 *	standby		hot standbys of servers
 *	watch		who hangs, and that nothing stands still
 *	recover		what is done when a server has lost something
 *	steps		giving out, and what comes of it
 *	end		how it ends
 *	hear		what workers and evaluators say
 *	records		those of the whole run
 *	coord.c		what happens, and what follows from it
 *	status, replay	figures; a journal that is read again
 *
 * What a part finds out that is the business of one below it in this list it
 * returns, or keeps until it is asked: coord.c passes it on.
 */
#ifndef PS_COORD_INSIDE_H
#define PS_COORD_INSIDE_H

#include "base/peers.h"
#include "coord/coord.h"
#include "coord/fleet.h"
#include "coord/history.h"
#include "coord/ledger.h"
#include "coord/queue.h"
#include "coord/redo.h"
#include "coord/round.h"
#include "coord/scheduler.h"
#include "wire/result.h"

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

struct leased {
	uint64_t id;
	size_t left;		/* steps without a result */
	struct attempt at;	/* of a round */
	uint64_t first, count;
	uint64_t server;	/* run again for this one; or WIRE_NONE */
};

/*
 * One that dialled us: a worker or an evaluator.  What a part knows of it
 * beyond that it keeps by its index.
 */
struct member {
	enum role role;
	uint64_t peer, life, index, heard;
	size_t at;		/* no other one has this */
	char name[32];		/* "worker:2" */
	bool ready, exhausted, gone;
	bool unreachable;	/* something could not be sent to it: coord.c
				   is yet to hear that it is gone */
	bool joined;		/* was ready once */
	bool doubled;		/* another has come by its name */
	bool silent;		/* for so long that it hangs */
	bool relieved;		/* others were given its steps: it gets none
				   until it has come to the end of them */
	struct member *next;
};

/* Workers that died at each of these; how many of them are known of. */
struct deaths {
	uint64_t *died;
	size_t count;
};

#define STALENESS	256	/* told apart; the last one: or more */

struct totals {
	uint64_t steps, examples, mixed, began_ms;
	double loss;
	struct metric_state state[RESULT_METRICS];
	struct noes noes;	/* of all workers' labels */
	bool unscored;		/* there were more scores than are kept */
	bool evaluates;		/* nothing was trained */
	uint64_t stale[STALENESS];	/* steps that met so many pushes */
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
	struct text output, warnings;
	uint64_t began_ms, now_ms;
	bool begun;		/* all servers were ready once */
	bool resumed;		/* another one had begun this run */
	bool started;		/* min_workers were there once */

	struct peers peers;
	struct member *member, **seat;	/* by their indices */
	size_t seats;
	uint64_t workers_named;

	struct report *report;
	struct kept *kept;		/* coord_journal.c's */
	struct ending *ending;
	struct dataset *data;
	struct rerun *rerun;
	const struct scheduler *scheduler;
	struct leases *leases;
	struct sync *sync;
	struct cancel *cancel;		/* coord_void.c's */
	struct shards *shards;		/* coord_evaluate.c's */
	struct cut_plans *cut;
	struct standbys *standbys;
	struct watch *watch;
	struct recovery *recovery;
	struct figures *figures;	/* coord_status.c's */

	/* coord.c */
	uint64_t probed_ms, ticked_ms;
	bool full;			/* of requests, until half are done */
	bool told_to_stop;		/* by a request */
	bool told_of_rates;		/* that one is for several optimizers */
	uint64_t mark_told;		/* all servers have it */
	uint64_t mark_ms;		/* when it was sent */

	/* coord_end.c */
	uint64_t asked_ms;		/* to stop, by a signal; or 0 */
	uint64_t deadline_ms;
	bool server_gone, servers_told;
};

/* ---- coord.c ---- */

/* The queue of a run whose first step this is. */
void coord_begin_queue(struct coord *, uint64_t first);
void coord_advance(struct coord *, uint64_t now_ms);
/* Has the run ended, by what its parts have found out? */
bool coord_settle(struct coord *, uint64_t now_ms);

/* ---- coord_cut.c ---- */

/* The newest checkpoint, by name and step ("", WIRE_NONE: none yet), and the
   step that the run begins with. */
void cut_init(struct coord *, const char *name, uint64_t step,
	      uint64_t next);
void cut_release(struct coord *);
void cut_begin_run(struct coord *, uint64_t now_ms);
/* What a journal says of the newest one. */
void cut_resume(struct coord *, uint64_t saved_step);
/* No number comes twice. */
void cut_begin_term(struct coord *);
void cut_advance(struct coord *, uint64_t now_ms);
/* Has the last step below it been given out just now?  Now it is known what
   the cut has, and steps behind it can be. */
bool cut_come_to(struct coord *);
/* None is under way, but perhaps one lies ahead that can be called off. */
bool cut_idle(const struct coord *);
/* A checkpoint is being written: until then there is no other cut. */
bool cut_saving(const struct coord *);
/*
 * The coordinator before us may have given out steps of which we do not know,
 * and servers have them: a cut below them would hold what is not its own.
 */
bool cut_possible(const struct coord *);
/* The cut has all of its steps: it can be saved when that is noted. */
bool cut_whole(const struct coord *);
/* A step is done: perhaps one of the cut. */
void cut_count(struct coord *, const struct step *, const struct result *);
/* The servers have saved it (NULL: long since): it is to be published. */
void cut_saved(struct coord *, const struct ask *, uint64_t now_ms);
/* It is on disk, or not. */
void cut_published(struct coord *, const struct fail *, uint64_t now_ms);
/* A server cannot freeze, or not write: that cut fails, the run goes on. */
void cut_failed(struct coord *, const struct fail *, uint64_t now_ms);
/* Begin the last checkpoint; false: there is none to make any more. */
bool cut_final(struct coord *, uint64_t now_ms);
/* All servers know of it. */
void cut_frozen(struct coord *);
/* Whether it becomes the newest checkpoint is about to be known. */
bool cut_publishing(const struct coord *);
/* No step at or over this one is begun, for the sake of cuts. */
uint64_t cut_limit(const struct coord *);
/* The step of the newest checkpoint of this run; WIRE_NONE: none yet. */
uint64_t cut_saved_step(const struct coord *);
bool cut_is_for(const struct coord *, const struct member *);
/* Has the last step below a checkpoint's cut had its number, since this was
   last asked?  The journal is folded then, before any other has one. */
bool cut_reached(struct coord *, uint64_t *step);
/* The newest checkpoint: what a server without variables loads. */
struct cut_base {
	char name[CHECKPOINT_NAME];	/* "": initial values */
	uint64_t step;
	bool ours;			/* this run has made it */
};
const struct cut_base *cut_base(const struct coord *);
void cut_begin_with(struct coord *, const char *name, uint64_t step,
		    bool ours);
int cut_read(struct coord *, struct unpack *);
/* A checkpoint is to be made for the request at the front; or no more: false:
   it is under way. */
void cut_want(struct coord *);
bool cut_unwant(struct coord *);
/* The run is to be suspended: one more try; and is it still to be begun? */
void cut_want_last(struct coord *);
bool cut_last_due(const struct coord *);
bool cut_save_due(const struct coord *);
/* Steps of it were void, and what they were to read others will. */
void cut_spoil(struct coord *);
/* Servers that held it were lost. */
void cut_give_up(struct coord *);
/* An evaluator wants one; does it wait while a checkpoint is written?  It wants
   none; it has none; and it no longer needs the one that it has. */
void cut_join(struct coord *, const struct member *);
void cut_ask(struct coord *, const struct member *, uint64_t request);
bool cut_awaits(const struct coord *, const struct member *,
		uint64_t *request);
void cut_leave(struct coord *, const struct member *);
void cut_forget(struct coord *, const struct member *);
void cut_let_go(struct coord *, const struct member *);
const char *cut_check(const struct coord *);

struct cut_figures {
	uint64_t published, failures;	/* checkpoints, since we began */
	uint64_t published_ms, saving_ms;	/* when the last one was; how
						   long that took */
};
struct cut_figures cut_figures(const struct coord *);

/* ---- coord_void.c ---- */

void void_init(struct coord *);
void void_release(struct coord *);
bool void_under_way(const struct coord *);	/* steps are given up */
bool void_is_aside(const struct coord *);	/* one is being set aside */
/* Is that the step for which all others are given up? */
bool void_is_of(const struct coord *, uint64_t step);
/* A step has an error of its own making; and what the next join tells of it,
   or NULL. */
void void_fail(struct coord *, uint64_t step, const char *worker,
	       const struct fail *);
const char *void_error(const struct coord *);
void void_error_told(struct coord *);
/* Give up every step under way: the servers first, then the queue. */
void void_begin(struct coord *);
/* Give the next number to the step whose turn it is; false: there is none. */
bool void_give_number(struct coord *);
/* Are there steps to be done before the rest is void? */
bool void_finishes(const struct coord *);
/* Tell the servers, if it is time to. */
void void_tell(struct coord *);
/* They refuse those steps from now on: say it. */
void void_done(struct coord *);
/* One step more that is not worth its workers; and when they refuse it, which
   is what they were asked. */
void void_set_aside(struct coord *, uint64_t step);
bool void_is_answer(const struct coord *, const struct message *asked);
void void_aside_done(struct coord *);
/* Nothing more will be done: each request that waits is told. */
void void_give_up(struct coord *);
struct void_figures {
	uint64_t failed, aside;		/* steps, since we began */
};
struct void_figures void_figures(const struct coord *);
/* In the journal.  -1: it makes no sense. */
int void_read(struct coord *, struct unpack *);
void void_read_ended(struct coord *, uint64_t step);
void void_read_dropped(struct coord *);
/* All steps up to this one have a number. */
int void_number_up_to(struct coord *, uint64_t step);
void void_write_error(struct coord *);
int void_read_error(struct coord *, struct unpack *);
const char *void_check(const struct coord *);

/* ---- coord_ending.c ---- */

enum ending_state {
	ENDING_RUN,
	ENDING_DRAIN,		/* what was begun ends, the rest is given up */
	ENDING_SUSPEND,		/* only what was begun is done */
	ENDING_STOP,		/* members are told to stop */
	ENDING_OVER
};

void ending_init(struct coord *);
void ending_release(struct coord *);
enum ending_state ending_state(const struct coord *);
bool ending_begun(const struct coord *);	/* nothing new is begun */
/* The run ends with this error when coord.c hears of it; and: has it, since
   this was last asked? */
void ending_fail(struct coord *, const struct fail *);
bool ending_failed(struct coord *, struct fail *);
/* What it ends with is this; or, if there was nothing before. */
void ending_set(struct coord *, const struct fail *);
void ending_note(struct coord *, const struct fail *);
/* A request's own error: it ends the run, or (keep_going) only its status. */
void ending_error(struct coord *, const struct fail *);
/* The run ends with this error, but what was trained is kept. */
void ending_wind_up(struct coord *, const struct fail *);
const struct fail *ending_failure(const struct coord *);
int ending_status(const struct coord *);
/* No request will come any more. */
void ending_last_request(struct coord *);
bool ending_had_last_request(const struct coord *);
void ending_drain(struct coord *);
void ending_suspend(struct coord *);
void ending_stop(struct coord *);
void ending_over(struct coord *);
/* It is over, but has not ended: whoever starts it again goes on with it. */
void ending_leave(struct coord *, const struct fail *);
bool ending_is_left(const struct coord *);
/* Nobody takes our results. */
void ending_unheard(struct coord *);
bool ending_is_heard(const struct coord *);
void ending_write(const struct coord *, struct pack *);
void ending_read(struct coord *, struct unpack *);
/* It was ending: what it had not given up is given up now. */
void ending_read_drain(struct coord *);
const char *ending_check(const struct coord *);

/* ---- coord_end.c ---- */

/* The run ends with this error, now. */
void end_fail(struct coord *, const struct fail *, uint64_t now_ms);
/* Asked to stop; or its results cannot be written any more.  false: that has
   ended it at once. */
bool end_ask(struct coord *, uint64_t now_ms);
bool end_unheard(struct coord *, const struct fail *, bool again,
		 uint64_t now_ms);
/* Asked to stop: when what is under way has ended, the rest is given up. */
void end_drain(struct coord *);
/* It ends now, because it was asked to, whatever there is left to do. */
void end_asked(struct coord *, uint64_t now_ms);
/* Asked to suspend it: when what was begun has ended and is saved, it is
   left. */
void end_suspended(struct coord *);
/* Peers may be away or stopped: whoever asked us to stop will not wait. */
void end_check_drain(struct coord *, uint64_t now_ms);
/* The last checkpoint, then everybody may go. */
void end_run(struct coord *, uint64_t now_ms);
/*
 * Who broke off had nothing left to do but to tell everybody to stop: servers
 * that are not there any more were told, and new ones in their places are
 * not ours.
 */
bool end_nothing_left(const struct coord *);
/* How long servers are waited for who are to be waited for so long. */
uint64_t end_patience(const struct coord *, uint64_t ms);
void end_check_over(struct coord *, uint64_t now_ms);

/* ---- coord_recover.c ---- */

void recover_init(struct coord *);
void recover_release(struct coord *);
/* This one goes on with a run: a new term, which is noted when the servers
   have shown that this is the journal of it. */
void recover_resume(struct coord *);

/*
 * Something was lost: go through the whole procedure, from its beginning.
 * coord_advance() has it wait until all servers are there.
 */
void recover_begin(struct coord *);
/* Its steps: the plan; the checkpoint, unless nobody needs it; the end. */
void recover_ask_plan(struct coord *);
bool recover_ask_load(struct coord *);
void recover_end(struct coord *, uint64_t now_ms);

void recover_watch(struct coord *, uint64_t now_ms);
/* In the journal.  -1: it makes no sense. */
void recover_write_term(struct coord *);
void recover_write_servers(struct coord *, bool safe);
int recover_read_servers(struct coord *, struct unpack *, struct fail *);
const char *recover_check(const struct coord *);

/* ---- coord_rerun.c ---- */

void rerun_init(struct coord *);
void rerun_release(struct coord *);
/* The steps from this one on have just been numbered: what they are. */
void rerun_record(struct coord *, uint64_t first);
/* It is run again for nobody; nor is any below this one, by a checkpoint,
   unless a server lacks some. */
void rerun_void(struct coord *, uint64_t step);
void rerun_forget(struct coord *, uint64_t step);
/*
 * What a server lacks is run again for it, if it goes back to this step
 * without its variables.  How many steps are that, besides those that were to
 * be anyway?
 */
uint64_t rerun_fill(struct coord *, size_t server, uint64_t back);
/* Of rounds that have ended, and are not to be run again anyway. */
bool rerun_lacks_rounds(const struct coord *, size_t server);
bool rerun_idle(const struct coord *);		/* no server lacks a step */
bool rerun_running(const struct coord *);	/* one is being run again */
uint64_t rerun_steps(const struct coord *);	/* so many in all were to be */
/* All steps below this one are with that server, or void. */
uint64_t rerun_mark(const struct coord *, size_t server);
/* A step to run again, and for whom: in rounds it is for all of them. */
bool rerun_lease(struct coord *, void *worker, struct lease_terms *,
		 uint64_t *server);
/* true: that server lacks nothing more. */
bool rerun_ended(struct coord *, size_t server, uint64_t step);
void rerun_return(struct coord *, const void *worker);
/*
 * A step that went well once fails when it is run again.  Others may have
 * data that are better, but not for ever.
 */
void rerun_failed(struct coord *, uint64_t step, uint64_t server,
		  const struct fail *);
/* For invariants. */
const struct redo *rerun_of(const struct coord *, size_t server);
void rerun_write(const struct coord *, size_t server, struct pack *);
void rerun_read(struct coord *, size_t server, struct unpack *);

/* ---- coord_journal.c ---- */

void journal_init(struct coord *);
void journal_release(struct coord *);
/* A record.  safe: with all before it, or coord.c hears that it failed. */
void journal_add(struct coord *, enum journal_kind, const struct pack *,
		 bool safe);
/* A record could not be kept: nobody is to be told what it was about.  And:
   why, if that is so since this was last asked. */
bool journal_failed(const struct coord *);
bool journal_failure(struct coord *, struct fail *why);
/* Nothing more goes into it. */
void journal_lose(struct coord *);
bool journal_lost(const struct coord *);
uint64_t journal_records(const struct coord *);
/* Records go there, until it is NULL: to a fold for the cut of steps below;
   and which steps the last one was for. */
void journal_fold(struct coord *, struct pack *into, uint64_t below);
uint64_t journal_folded(const struct coord *);
/* Is a record of this kind numbered?  What begins, holds others or is the last
   is not. */
bool journal_numbers(enum journal_kind);

/* What is done from now on is in it, or no more; so many records were. */
void journal_replay(struct coord *, bool begin);
bool journal_replays(const struct coord *);
void journal_count(struct coord *, uint64_t records);
void journal_last_line(struct coord *, uint64_t number);
void journal_resume(struct coord *, uint64_t written);
void journal_go_on(struct coord *, uint64_t *line, uint64_t *written);

void journal_line(struct coord *, const char *line, size_t size,
		  uint64_t number);
void journal_lines(struct coord *);
void journal_add_lines(struct coord *, const struct text *);
size_t journal_line_bytes(const struct coord *);	/* not in it yet */

/* What a record of JOURNAL_ENDS says of steps and requests. */
enum journal_note {
	NOTE_DONE = 1, NOTE_VOID, NOTE_PASSED, NOTE_DROPPED, NOTE_CLOSED,
	NOTE_ENDING
};
void journal_done(struct coord *, uint64_t step);
void journal_void(struct coord *, uint64_t step);
/* The barrier at the front is behind us. */
void journal_pass(struct coord *);
void journal_closed(struct coord *);	/* an epoch; another one begins */
/* The first one begins: its steps have numbers when those in front of it have
   ended, in the journal, too. */
void journal_begun(struct coord *);
void journal_dropped(struct coord *, size_t requests);
/* Nothing more is begun, because of the failure, or because it was asked; and:
   that is in it. */
void journal_ending(struct coord *);
void journal_has_ending(struct coord *);
bool journal_noted(const struct coord *);
/*
 * A run that is resumed from a checkpoint does not run its steps again: that
 * they have ended, and their results, must be safe on disk before there can
 * be one.
 */
bool journal_safe(const struct coord *);
/* A barrier was passed: nothing behind it is leased before that is noted. */
bool journal_waits(const struct coord *);
/* true: all is noted; or nothing is leased before it is. */
bool journal_await(struct coord *);
/* Is it time to note what has ended?  Then that is the notes, when so many
   bytes of results are written; and: they are in it, and something waited. */
bool journal_due(const struct coord *, bool now_or_never, bool whole,
		 uint64_t now_ms);
const struct pack *journal_notes(struct coord *, uint64_t written,
				 uint64_t now_ms);
bool journal_has_notes(struct coord *);
uint64_t journal_written(const struct coord *);

/* ---- coord_records.c ---- */

/* What a run that goes on with another one has in common with it. */
void records_pack_run(struct pack *, const struct coord *);
void records_begin(struct coord *);
/*
 * The results of what ended have been written, so many bytes in all: it is
 * time to note that, if a checkpoint waits, which is whole, or a step behind a
 * barrier: true: what waited can go on.
 */
bool records_ends(struct coord *, uint64_t written, bool now_or_never,
		  bool whole, uint64_t now_ms);
/* All steps below this one have a number, and none above. */
void records_fold(struct coord *, uint64_t step);
void records_finished(struct coord *);

/* ---- coord_members.c ---- */

/* By its life, or NULL. */
struct member *members_find(const struct coord *, uint64_t life);
/* One that has come for the first time; its name is its own. */
struct member *members_add(struct coord *, const struct message *hello);
void members_forget(struct coord *, struct member *);
void members_release(struct coord *);
/* Room for a member in an array by index, in which it is 0. */
void *members_room(void *of, size_t *room, const struct member *, size_t size);
const char *members_check(const struct coord *);
bool worker_leasable(const struct member *);
/* It is there, and at nothing that others have been given. */
bool worker_answers(const struct member *);
size_t workers_ready(const struct coord *);	/* can be leased to */
size_t workers_present(const struct coord *);
/* Could they do it, or will they when they are ready? */
bool workers_can(const struct coord *, enum request_op);
void workers_stop(struct coord *);
/* One more died at this one: are they too many? */
bool deaths_add(struct deaths *, size_t i);

/* ---- coord_hear.c ---- */

void hear_member(struct coord *, uint64_t peer, const struct message *,
		 uint64_t now_ms);
void hear_probe(struct coord *, uint64_t now_ms);
void hear_say_plan(struct coord *);
void hear_lost(struct coord *, struct member *);
/* It left without a word, as nobody does who was asked to stop. */
void hear_died(struct coord *, struct member *);
/* Those to whom something could not be sent are gone: were there any? */
bool hear_unreachable(struct coord *);
/* Others get what those had who hang, or are at a step for too long. */
void hear_silence(struct coord *, uint64_t now_ms);
void hear_late(struct coord *, uint64_t now_ms);
/* Nobody has anything: so whatever is noted of that is void. */
void hear_anew(struct coord *);

/* ---- coord_lease.c ---- */

void lease_init(struct coord *);
void lease_release(struct coord *);
void lease_join(struct coord *, const struct member *);
const char *lease_check(const struct coord *);
/* in_flight of them; id 0: free. */
struct leased *lease_of(const struct coord *, const struct member *);
bool lease_has_any(const struct coord *, const struct member *);
/* Another one, with a number; begins: it is what the worker is at. */
struct leased *lease_add(struct coord *, struct member *, bool begins);
/* It is done with that one; a result was its own; it is not what others wait
   for; and it has left what was cancelled. */
void lease_over(struct coord *, struct member *, struct leased *);
void lease_count(struct coord *, struct member *);
void lease_keeps_up(struct coord *, struct member *);
void lease_answered(struct coord *, struct member *);
void lease_falls_behind(struct coord *, struct member *);
void lease_retry(struct coord *, uint64_t attempts);
/* A new term: it has nothing. */
void lease_forget(struct coord *, const struct member *);
uint64_t lease_begun(const struct coord *, const struct member *);
uint64_t lease_results(const struct coord *, const struct member *);
uint64_t lease_retried(const struct coord *);	/* not the first attempts */
/*
 * The one with the fewest leases, of these who has waited longest, or NULL.
 * Who is behind gets none ahead: that one would hold everybody up again.
 */
struct member *lease_turn(const struct coord *);
/* That of this number, or NULL. */
struct leased *lease_find(const struct coord *, const struct member *,
			  uint64_t id);
/* It is told to leave that be, if it has it. */
void lease_call_off(struct coord *, const struct member *,
		    const struct leased *);
void lease_take_back(struct coord *, struct member *);
/* A worker runs its leases in order: the first step left is to blame.  One
   that is to be set aside for that, or WIRE_NONE. */
uint64_t lease_blame(struct coord *, const struct member *);
/* One step less. */
void lease_progress(struct coord *, struct member *, uint64_t id);
void lease_cancel(struct coord *, uint64_t first, uint64_t count);
/* Is any of them at a step that it had begun before that? */
bool lease_cancelling(const struct coord *);
/* Is anybody at steps? */
bool lease_held(const struct coord *);
void lease_exhausted(struct coord *, struct member *,
		     const struct message *);

/* ---- coord_steps.c ---- */

/* Give out what there is. */
void steps_give_out(struct coord *);
/* No step at or over it is begun now. */
uint64_t steps_limit(const struct coord *);
void steps_take_back(struct coord *, struct member *);
int steps_done(struct coord *, struct member *, const struct message *,
	       uint64_t now_ms, struct fail *);
/* The servers have committed a round. */
void steps_committed(struct coord *, uint64_t now_ms);
/* An error of the step's own making: it is given up, and all that waits. */
void steps_failed(struct coord *, struct member *, const struct message *);

/* ---- coord_evaluate.c ---- */

void evaluate_init(struct coord *);
void evaluate_release(struct coord *);
/* It is at the front: give a shard to each who has none.  1: it is over. */
int evaluate_advance(struct coord *, const struct request *, uint64_t now_ms);
/* Nobody waits for it any more. */
void evaluate_give_up(struct coord *);
/* It died, perhaps while it scored a shard: if too many have, nobody can. */
void evaluate_died(struct coord *, const struct member *);
void evaluate_join(struct coord *, const struct member *);
const char *evaluate_check(const struct coord *);
void evaluate_take_back(struct coord *, struct member *);
int evaluate_done(struct coord *, struct member *, const struct message *,
		  struct fail *);
/* An evaluation that cannot be: bad data, no such file. */
void evaluate_refused(struct coord *, struct member *,
		      const struct message *);

/* ---- coord_sync.c: only in a synchronous run ---- */

void sync_init(struct coord *);
void sync_release(struct coord *);
bool sync_begun(const struct coord *);
/* The round that is being committed: which step that is, what came of it; and
   servers have committed it. */
uint64_t sync_step(const struct coord *);
void sync_result(const struct coord *, struct result *, const float **scores,
		 const unsigned char **positive);
void sync_committed(struct coord *);
size_t sync_slots(const struct coord *);
bool sync_is(const struct coord *, const void *worker);
const char *sync_check(const struct coord *);

/* ---- coord_data.c ---- */

void data_init(struct coord *);
void data_release(struct coord *);
/* Is everything known that is needed to give out steps? */
bool data_ready(const struct coord *);
/* Have splits counted by those who can. */
void data_count(struct coord *);
/* The worker is gone: somebody else is to count, and to read its stream. */
void data_take_back(struct coord *, struct member *);
/* It died, perhaps while it counted a split: if too many have, nobody can. */
void data_died(struct coord *, const struct member *);
int data_counted(struct coord *, struct member *, const struct message *,
		 struct fail *);
void data_refused(struct coord *, struct member *, const struct message *);
/* Steps that can be leased together, from this place on. */
size_t data_run(const struct coord *, uint64_t place);
/* What the ledger has for a worker; as queue_lease(). */
size_t data_lease(struct coord *, struct member *, uint64_t limit, bool any,
		  struct lease_terms *);
/* Its frames for a slot, which are good until the next lease. */
void data_describe(struct coord *, const struct lease_terms *, uint64_t slot,
		   struct message *);
/* A step of the ledger is done. */
void data_done(struct coord *, const struct step *, const struct result *,
	       const float *scores, const unsigned char *positive,
	       uint64_t now_ms);
/* Go on where the checkpoint that was loaded had come to, if it is so. */
void data_restore(struct coord *);
/* The epoch at the front has steps from now on. */
void data_begin_epoch(struct coord *, uint64_t now_ms);
/* An epoch is at the front of the queue: 1: it is behind us. */
int data_epoch(struct coord *, const struct request *, uint64_t now_ms);
/* Where the ledger is, and for a checkpoint: where it was when that was
   noted, in hexadecimal, to free(); NULL: without data. */
void data_note(const struct coord *, struct pack *place,
	       struct ledger_visits *);
char *data_position(const struct coord *, const struct pack *place,
		    const struct ledger_visits *);
/* Can the ledger do that? */
int data_can(const struct coord *, const struct request *, struct fail *);
void data_join(struct coord *, const struct member *);
const char *data_check(const struct coord *);
/* In the journal.  -1: it makes no sense. */
void data_write_counts(struct coord *);
int data_read_counts(struct coord *, struct unpack *, struct fail *);
/* If an epoch has begun: into how many streams it was cut. */
void data_write_streams(struct coord *);
int data_read_streams(struct coord *, struct unpack *);
void data_write_epoch(const struct coord *, struct pack *, uint64_t now_ms);
int data_read_epoch(struct coord *, struct unpack *);

/* ---- coord_standby.c ---- */

/* What has become of one, or of several. */
enum standby_news {
	STANDBY_NONE = 0,
	STANDBY_COUNTED = 1,	/* it can take over */
	STANDBY_TOOK_OVER = 2,
	STANDBY_NEW_TERM = 4	/* none can, and its server must know */
};

void standby_init(struct coord *);
void standby_release(struct coord *);
bool standby_knows(const struct coord *, uint64_t peer);
void standby_up(struct coord *, uint64_t peer, uint64_t now_ms);
void standby_down(struct coord *, uint64_t peer, uint64_t now_ms);
enum standby_news standby_hear(struct coord *, uint64_t peer,
			       const struct message *, uint64_t now_ms);
/* A server says what has become of its standby. */
enum standby_news standby_told(struct coord *, size_t server,
			       const struct message *, uint64_t now_ms);
/* Have a standby take over for each server that came back with nothing. */
bool standby_step_in(struct coord *, uint64_t now_ms);
/* One that took over counts as such when the next step is done. */
void standby_tell(struct coord *, uint64_t now_ms);
/*
 * In the journal: of a server the life of the one that is counted on (0: there
 * is none) and where it is.  And those that it knows of are dialled, when the
 * coordinator is started again.
 */
void standby_write(const struct coord *, size_t server, struct pack *);
void standby_read(struct coord *, size_t server, uint64_t of,
		  struct unpack *);
void standby_resume(struct coord *);
/* It is counted on; it can take over; it has, and no step was done since. */
bool standby_counted(const struct coord *, size_t server);
bool standby_ready(const struct coord *, size_t server);
bool standby_took_over(const struct coord *, size_t server);
/* Until it answered HELLO; WIRE_NONE: it is not there. */
uint64_t standby_trip(const struct coord *, size_t server);
const char *standby_check(const struct coord *);
/* The coordinator has just been started: some may still answer. */
bool standby_awaited(const struct coord *, uint64_t now_ms);
/* Before a new term: which ones are counted on in it; and when all servers
   have taken its plan: which ones are in sync with them. */
void standby_begin_term(struct coord *);
void standby_compare(struct coord *);
/* Servers and standbys that are gone, or hang. */
enum standby_news standby_watch(struct coord *, uint64_t now_ms);
/*
 * A connection breaks, and is made again: that takes several trips there and
 * back.  Who has not returned by then is gone.
 */
uint64_t standby_mending(const struct coord *);
/* We did not listen ourselves: nobody's silence counts until now. */
void standby_excuse(struct coord *, uint64_t now_ms);

/* ---- coord_watch.c ---- */

void watch_init(struct coord *);
void watch_release(struct coord *);
/* Has leasing to begin anew, so that a free worker may get any step? */
bool watch_any(const struct coord *);
const char *watch_check(const struct coord *, uint64_t now_ms);
/* One that has just been found to hang; or a worker whose step takes so long
   that another gets it; or NULL: nobody else. */
struct member *watch_silent(struct coord *, uint64_t now_ms);
struct member *watch_late(struct coord *, uint64_t now_ms);
/* What servers were asked is not to take long without a word. */
void watch_servers(struct coord *, uint64_t now_ms);
/* Nothing is to stand still: true: leasing has to begin anew. */
bool watch_idle(struct coord *, uint64_t limit, uint64_t now_ms);
/*
 * Work, and nobody to do it: none is here, or too few to begin, or all have
 * used up their data.  That is an error, in time.
 */
void watch_workers(struct coord *, uint64_t now_ms);
void watch_helped(struct coord *);		/* or it is too early to tell */
bool watch_forsaken(const struct coord *);	/* by all workers there are */
void watch_join(struct coord *, const struct member *);
/* It was asked, for an answer or not; and it has just come. */
void watch_asks(struct coord *, const struct member *, bool awaits,
		uint64_t now_ms);
void watch_answered(struct coord *, const struct member *);
/* A member has said something. */
void watch_hears(struct coord *, struct member *, uint64_t now_ms);
void watch_excuse(struct coord *, uint64_t now_ms);
/* A step took so long. */
void watch_note(struct coord *, uint64_t microseconds);
/*
 * The step that a worker is at, and for how long it has been; 0: none.  late:
 * it takes a hundred times as long as others.
 */
uint64_t watch_step(const struct coord *, const struct member *,
		    uint64_t now_ms, uint64_t *step, bool *late);

/* ---- coord_report.c ---- */

void report_init(struct coord *, uint64_t now_ms);
void report_release(struct coord *);
void report_begin(struct coord *, uint64_t now_ms);
/* A step, by a worker or in so many slots. */
void report_step(struct coord *, const struct step *,
		 const struct result *, const char *worker, size_t slots,
		 const float *scores, const unsigned char *positive);
/* A result is one of the run, and of those until the next join.  -1: its
   labels and those of others are three classes. */
void report_count(struct coord *, const struct result *, const float *scores,
		  const unsigned char *positive);
int report_classes(struct coord *, const struct result *, const char *worker,
		   struct fail *);
const struct totals *report_all(const struct coord *);
const struct totals *report_since_join(const struct coord *);
uint64_t report_steps(const struct coord *);	/* done, of the run */
void report_error(struct coord *, const char *id, const char *op,
		  uint64_t step, const char *worker, const char *why);
/* Of those that were cancelled, a request that had begun or has steps, and a
   barrier.  All are told when report_given_up() returns. */
void report_cancelled(void *coord, const struct request *, uint64_t steps);
void report_passed_over(struct coord *, const struct request *);
void report_given_up(struct coord *);
uint64_t report_cancelled_requests(const struct coord *);
void report_epoch(struct coord *, const char *id, uint64_t epoch,
		  const struct totals *, uint64_t now_ms);
void report_totals(struct coord *, const char *id, const char *op,
		   const struct totals *, uint64_t now_ms,
		   const char *error);
void report_join(struct coord *, const char *id, const char *error,
		 uint64_t now_ms);
void report_saved(struct coord *, const char *id, const char *name,
		  uint64_t step);
void report_warning(struct coord *, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* "[9,0,1]": how many steps met 0, 1, 2 pushes of others. */
void report_staleness(struct text *, const struct totals *);
void report_write(const struct coord *, struct pack *, uint64_t now_ms);
void report_read(struct coord *, struct unpack *);

void totals_reset(struct totals *, uint64_t now_ms);
void totals_release(struct totals *);
/* So many of its counts of stale steps are told: the last ones are 0. */
size_t totals_stale(const struct totals *);
/* Put a result's labels to those of others: -1 if they are three classes. */
int totals_add_noes(struct totals *, const struct result *,
		    const char *worker, struct fail *);
void totals_add(struct totals *, const struct coord *,
		const struct result *, const float *scores,
		const unsigned char *positive);
void totals_write(struct pack *, const struct coord *, const struct totals *,
		  uint64_t now_ms);
void totals_read(struct unpack *, const struct coord *, struct totals *);

/* ---- coord_status.c ---- */

void status_init(struct coord *, const struct place *, size_t places);
void status_release(struct coord *);
/* The totals since the last join are about to be reset. */
void status_keep_scores(struct coord *);

#endif
