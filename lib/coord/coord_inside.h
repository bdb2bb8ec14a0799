/*
 * coord_inside - what the parts of the coordinator share: coord.c (the run,
 * its servers and requests), coord_cut.c (checkpoints), coord_void.c (steps
 * that are given up), coord_end.c (how it ends), coord_recover.c (what was
 * lost), coord_rerun.c (what is run again for that), coord_journal.c (what is
 * kept), coord_replay.c (reading that), coord_members.c (who is there),
 * coord_hear.c (what they say), coord_lease.c (steps and their results),
 * coord_evaluate.c, coord_sync.c (rounds), coord_data.c (the ledger),
 * coord_standby.c, coord_watch.c (who hangs), coord_report.c (lines),
 * coord_status.c (figures).  For nobody else.
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
#include "wire/result.h"

/*
 *	GREET --greeted()--> PLAN --recover_ask_load()--> LOAD
 *	PLAN, LOAD --go_on()--> RUN
 *	PLAN, LOAD, RUN --recover_begin()--> GREET
 *	GREET, PLAN, LOAD, RUN --stop_members()--> STOP
 *	GREET, PLAN, LOAD, RUN --leave()--> OVER
 *	STOP --end_check_over()--> OVER
 */
enum phase {
	PHASE_GREET,		/* servers say WELCOME */
	PHASE_PLAN,		/* they take the plan */
	PHASE_LOAD,		/* they read a checkpoint */
	PHASE_RUN,
	PHASE_STOP,		/* members are told to stop */
	PHASE_OVER
};

struct leased {
	uint64_t id;
	size_t left;		/* steps without a result */
	struct attempt at;	/* of a round */
	uint64_t first, count;
	uint64_t server;	/* run again for this one; or WIRE_NONE */
};

#define ROUND_TERMS	2	/* no more rounds are open at a time */

/* One that dialled us: a worker or an evaluator. */
struct member {
	enum role role;
	uint64_t peer, life, index, heard;
	char name[32];		/* "worker:2" */
	bool ready, exhausted, gone;
	bool joined;		/* was ready once */
	bool doubled;		/* another has come by its name */
	struct leased *lease;	/* in_flight of them; id 0: free */
	bool evaluating;	/* a worker: has a shard of an evaluation */
	uint64_t shard, request;
	uint64_t cut;		/* an evaluator: that it holds; or WIRE_NONE */
	bool wants_cut;
	uint64_t leased;	/* the number of its last lease */
	uint64_t stream;	/* of the ledger; WIRE_NONE: it has none */
	bool counting;		/* a split of the ledger: */
	size_t split;
	uint64_t count_request;
	bool behind;		/* all others had to wait for it */
	uint64_t asked;		/* when, of what is still to be answered */
	bool awaited, silent;	/* silent: for so long that it hangs */
	bool relieved;		/* others were given its steps: it gets none
				   until it has come to the end of them */
	uint64_t begun_ms;	/* when it began with the first of them */
	uint64_t late_told;	/* the lease that was said to be late */
	bool cancelling;	/* may be at a step that was cancelled */
	uint64_t steps;		/* or slots, whose result was its own */
	struct member *next;
};

/* Workers that died at each of these; how many of them are known of. */
struct deaths {
	uint64_t *died;
	size_t count;
};

/* Requests in a row, all alike, that were cancelled and are yet to be told. */
struct cancelled {
	enum request_op op;
	bool has_steps;
	uint64_t requests, steps;
};

#define STALENESS	256	/* told apart; the last one: or more */

struct scores {			/* for who watches the run */
	bool known;
	double loss, metric[RESULT_METRICS];	/* NAN: it is not known */
};

struct totals {
	uint64_t steps, examples, mixed, began_ms;
	double loss;
	struct metric_state state[RESULT_METRICS];
	struct noes noes;	/* of all workers' labels */
	bool unscored;		/* there were more scores than are kept */
	bool evaluates;		/* nothing was trained */
	uint64_t stale[STALENESS];	/* steps that met so many pushes */
};

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
	uint64_t began_ms, deadline_ms;
	uint64_t asked_ms;		/* to stop, by a signal; or 0 */
	bool no_more_requests, stopping, server_gone, servers_told;
	bool unheard;		/* nobody takes our results */
	bool suspending;	/* only what was begun is done */
	bool full;		/* of requests, until half are done */

	struct peers peers;
	struct member *member;
	uint64_t workers_named, leases, probed_ms, ticked_ms;
	uint64_t helped_ms;	/* when somebody could do what there is */
	bool started;			/* min_workers were there once */
	bool forsaken;			/* no more of them will come, */
	struct fail why_forsaken;	/* since they ended so */

	uint64_t mark_told;		/* all servers have it */
	uint64_t mark_ms;		/* when it was sent */

	/* an error of a step's own making */
	bool cancelling;	/* steps are being given up, */
	bool voiding;		/* and the servers told which */
	bool failing;		/* because of this one: */
	struct fail step_error;
	char *failed_id;
	uint64_t failed_step;
	char failed_worker[32];

	struct cut_plans *cut;	/* coord_cut.c's */

	struct shards *shards;	/* of an evaluation; coord_evaluate.c's */
	struct deaths count_deaths;	/* of each split that is counted */

	/* what was lost: see coord_recover.c */
	bool begun;		/* all servers were ready once */
	bool new_term;		/* wanted */
	struct cut_base {	/* what a server without variables loads */
		char name[CHECKPOINT_NAME];	/* "": initial values */
		uint64_t step;
		bool ours;			/* this run has made it */
	} base, back;		/* the newest; the one being loaded */
	struct rerun *rerun;	/* coord_rerun.c's */
	bool *lost;		/* of each server: it has no variables */
	bool all_back;		/* in rounds: all load what one has lost */
	bool *gone_told;

	struct standbys *standbys;	/* coord_standby.c's */
	bool term_unnoted;	/* this one, of a coordinator just started */
	struct watch *watch;		/* coord_watch.c's */
	/* what is kept: see coord_journal.c, coord_replay.c */
	bool replaying, resumed;
	bool journal_lost;	/* nothing more goes into it */
	bool ends_unsafe;	/* a power cut may take ENDS out of it */
	uint64_t records;	/* were added to it, by whomever */
	bool ending_noted;
	bool left;		/* for whoever starts it again, because: */
	struct fail why_left;
	struct text lines;	/* taken, and not in the journal yet */
	uint64_t line;		/* the number of the last one */
	struct pack notes;	/* what ended, not in the journal yet */
	uint64_t note_first, note_count;	/* done in a row */
	uint64_t written, noted_ms, now_ms;
	struct pack *fold;	/* where records go instead */
	bool told_to_stop;	/* by a request */
	bool unnoted;		/* a barrier was passed: nothing behind it is
				   leased before the journal has that */
	uint64_t epochs_kept;	/* that have begun, in the journal */

	/* a step that kills workers */
	bool setting_aside;	/* the servers are told: */
	uint64_t aside;			/* which, after how many deaths, */
	uint64_t aside_deaths;
	char aside_worker[32];		/* the last one of whom */

	struct totals join, all;	/* since the last join; of the run */
	struct totals epoch;		/* of one of the ledger: */
	uint64_t epoch_number;
	bool epoch_open;		/* steps of it were done */
	struct pack block, block_after;	/* of a lease */
	uint64_t counts;		/* requests to count a split */
	double trained_before;		/* seconds, by the checkpoint */
	struct text output, warnings;
	int status;
	struct fail failure;
	struct scores scores;		/* as of the last join */
	uint64_t given_up;		/* requests */
	struct cancelled cancelled;
	bool told_of_rates;		/* that one is for several optimizers */

	/* only to be told: since we were started */
	uint64_t retried;		/* attempts that were not the first */
	uint64_t failed_steps, aside_steps;
	uint64_t *server_bytes;		/* of each, by the plan */

	/* a synchronous run, once it has begun */
	struct rounds *rounds;
	struct lease_terms terms[ROUND_TERMS];	/* of the last ones opened */
	uint64_t opened;		/* rounds so far */
	bool committing;		/* the servers are told of a round: */
	struct pack attempts;
	struct text state;
};

/* ---- coord.c ---- */

/* The queue of a run whose first step this is. */
void coord_begin_queue(struct coord *, uint64_t first);
void coord_advance(struct coord *, uint64_t now_ms);

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
/* The journal was folded for a cut of which steps have not ended. */
bool cut_lacks(const struct coord *);
/* A checkpoint is to be made for the request at the front; or no more: false:
   it is under way. */
void cut_want(struct coord *);
bool cut_unwant(struct coord *);
/* The run is to be suspended: one more try; and is it still to be begun? */
void cut_want_last(struct coord *);
bool cut_last_due(const struct coord *);
/* Steps of it were void, and what they were to read others will. */
void cut_spoil(struct coord *);
/* Servers that held it were lost. */
void cut_give_up(struct coord *);
const char *cut_check(const struct coord *);

struct cut_figures {
	uint64_t published, failures;	/* checkpoints, since we began */
	uint64_t published_ms, saving_ms;	/* when the last one was; how
						   long that took */
};
struct cut_figures cut_figures(const struct coord *);

/* ---- coord_void.c ---- */

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
/* One step more that is not worth its workers; and when they refuse it. */
void void_set_aside(struct coord *, uint64_t step);
void void_aside_done(struct coord *);
/* Nothing more will be done: each request that waits is told. */
void void_give_up(struct coord *);

/* ---- coord_end.c ---- */

/* The run ends with this error, now. */
void end_fail(struct coord *, const struct fail *, uint64_t now_ms);
/* The run ends with this error, but what was trained is kept. */
void end_wind_up(struct coord *, const struct fail *);
/* A request's own error: it ends the run, or (keep_going) only its status. */
void end_error(struct coord *, const struct fail *);
/* Asked to stop; or its results cannot be written any more.  false: that has
   ended it at once. */
bool end_ask(struct coord *, uint64_t now_ms);
bool end_unheard(struct coord *, const struct fail *, bool again,
		 uint64_t now_ms);
/* Asked to stop: when what is under way has ended, the rest is given up. */
void end_drain(struct coord *);
/* It ends now, because it was asked to, whatever there is left to do. */
void end_asked(struct coord *, uint64_t now_ms);
/* Asked to suspend it: when what was begun has ended and is saved, it is left;
   and is a checkpoint to be made for that? */
void end_suspended(struct coord *);
bool end_save_due(const struct coord *);
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

/*
 * Something was lost: go through the whole procedure, from its beginning.
 * coord_advance() has it wait until all servers are there.
 */
void recover_begin(struct coord *);
/*
 * From now on this server is its standby, of this life at that endpoint;
 * recover_begin() follows by itself.
 */
void recover_server(struct coord *, size_t server, const char *endpoint,
		    uint64_t life, uint64_t now_ms);

/* Its steps: the plan; the checkpoint, unless nobody needs it; the end. */
void recover_ask_plan(struct coord *);
bool recover_ask_load(struct coord *);
void recover_end(struct coord *, uint64_t now_ms);

/*
 * A connection breaks, and is made again: that takes several trips there and
 * back.  Who has not returned by then is gone.
 */
uint64_t recover_mending(const struct coord *);

void recover_watch(struct coord *, uint64_t now_ms);

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
void rerun_ended(struct coord *, size_t server, uint64_t step);
void rerun_return(struct coord *, const void *worker);
/*
 * A step that went well once fails when it is run again.  Others may have
 * data that are better, but not for ever.
 */
void rerun_failed(struct coord *, uint64_t step, uint64_t server,
		  const struct fail *, uint64_t now_ms);
/* For invariants. */
const struct redo *rerun_of(const struct coord *, size_t server);
void rerun_write(const struct coord *, size_t server, struct pack *);
void rerun_read(struct coord *, size_t server, struct unpack *);

/* ---- coord_journal.c ---- */

void journal_begin(struct coord *);
void journal_term(struct coord *);
void journal_line(struct coord *, const char *line, size_t size,
		  uint64_t number);
void journal_lines(struct coord *);
void journal_done(struct coord *, uint64_t step);
void journal_void(struct coord *, uint64_t step);
/* The barrier at the front is behind us. */
void journal_pass(struct coord *);
void journal_closed(struct coord *);	/* an epoch; another one begins */
/* The first one begins: its steps have numbers when those in front of it have
   ended, in the journal, too. */
void journal_begun(struct coord *);
void journal_dropped(struct coord *, size_t requests);
/* Nothing more is begun, because of the failure, or because it was asked. */
void journal_ending(struct coord *);
/* All of these steps are given up: one, after so many deaths; or, with 0, for
   what happened.  folded: some are below a cut for which it was folded. */
void journal_voiding(struct coord *, uint64_t first, uint64_t count,
		     uint64_t deaths, bool folded);
void journal_servers(struct coord *, bool safe);
void journal_counts(struct coord *);
/* If an epoch has begun: into how many streams it was cut. */
void journal_streams(struct coord *);
void journal_cut(struct coord *);
void journal_finished(struct coord *);
/* All steps below this one have a number, and none above. */
void journal_fold(struct coord *, uint64_t step);
/*
 * The results of what ended have been written, so many bytes in all: it is
 * time to note that, if a checkpoint waits, which is whole, or a step behind a
 * barrier: true: what waited can go on.
 */
bool journal_ends(struct coord *, uint64_t written, bool now_or_never,
		  bool whole, uint64_t now_ms);
bool journal_noted(const struct coord *);
/*
 * A run that is resumed from a checkpoint does not run its steps again: that
 * they have ended, and their results, must be safe on disk before there can
 * be one.
 */
bool journal_safe(const struct coord *);

/* ---- for coord_replay.c ---- */

/* What a record of JOURNAL_ENDS says of steps and requests. */
enum journal_note {
	NOTE_DONE = 1, NOTE_VOID, NOTE_PASSED, NOTE_DROPPED, NOTE_CLOSED,
	NOTE_ENDING
};

/* Is a record of this kind numbered?  What begins, holds others or is the last
   is not. */
bool journal_numbers(enum journal_kind);

/* What a run that goes on with another one has in common with it. */
void journal_pack_run(struct pack *, const struct coord *);

/* ---- coord_members.c ---- */

/* By its life, or NULL. */
struct member *members_find(const struct coord *, uint64_t life);
/* One that has come for the first time; its name is its own. */
struct member *members_add(struct coord *, const struct message *hello);
void members_forget(struct coord *, struct member *);
void members_release(struct coord *);
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
/*
 * Work, and nobody to do it: none is here, or too few to begin, or all have
 * used up their data.  That is an error, in time.
 */
void workers_watch(struct coord *, uint64_t now_ms);
void workers_lost(struct coord *, struct member *);
/* It left without a word, as nobody does who was asked to stop. */
void workers_died(struct coord *, struct member *);

/* ---- coord_lease.c ---- */

/* Give out what there is, to each in turn. */
void lease_give_out(struct coord *);
/* No step at or over it is begun now. */
uint64_t lease_limit(const struct coord *);
/* That of this number, or NULL. */
struct leased *lease_find(const struct coord *, const struct member *,
			  uint64_t id);
/* It is told to leave that be, if it has it. */
void lease_call_off(struct coord *, const struct member *,
		    const struct leased *);
void lease_take_back(struct coord *, struct member *);
/* A worker runs its leases in order: the first step left is to blame. */
void lease_blame(struct coord *, const struct member *);
void lease_cancel(struct coord *, uint64_t first, uint64_t count);
/* Is any of them at a step that it had begun before that? */
bool lease_cancelling(const struct coord *);
/* Is anybody at steps? */
bool lease_held(const struct coord *);
int lease_done(struct coord *, struct member *, const struct message *,
	       uint64_t now_ms, struct fail *);
/* An error of the step's own making: it is given up, and all that waits. */
void lease_failed(struct coord *, struct member *, const struct message *,
		  uint64_t now_ms);
void lease_exhausted(struct coord *, struct member *,
		     const struct message *);

/* ---- coord_evaluate.c ---- */

void evaluate_init(struct coord *);
void evaluate_release(struct coord *);
/* It is at the front: give a shard to each who has none.  1: it is over. */
int evaluate_advance(struct coord *, const struct request *, uint64_t now_ms);
/* Nobody waits for it any more. */
void evaluate_give_up(struct coord *);
/* A worker died while it scored its shard: were they too many? */
bool evaluate_died(struct coord *, const struct member *);
const char *evaluate_check(const struct coord *);
void evaluate_take_back(struct coord *, struct member *);
int evaluate_done(struct coord *, struct member *, const struct message *,
		  struct fail *);
/* An evaluation that cannot be: bad data, no such file. */
void evaluate_refused(struct coord *, struct member *,
		      const struct message *);

/* ---- coord_sync.c: only in a synchronous run ---- */

void sync_begin(struct coord *);
/* Open rounds of steps below the limit, and give out slots. */
void sync_lease(struct coord *, uint64_t limit);
void sync_take(struct coord *, struct member *, uint64_t lease,
	       const struct result *, const float *scores,
	       const unsigned char *positive);
void sync_given_back(struct coord *, struct member *, uint64_t lease);
/* Does it matter what becomes of this lease?  If not, it is over. */
bool sync_counts(struct coord *, struct member *, uint64_t lease);
/* Have the servers commit the first round, if it is whole. */
void sync_commit(struct coord *);
void sync_committed(struct coord *, uint64_t now_ms);
bool sync_running(const struct coord *);
/*
 * A new term begins: rounds begin again, but for one whose commit is under
 * way.  Leases are to be taken back first.
 */
void sync_reset(struct coord *);
/* It has begun; true: that commit is asked for again, and is to end. */
bool sync_go_on(struct coord *);
/* Before that, if servers have gone back: there is nothing to commit. */
void sync_go_back(struct coord *);

/* ---- coord_data.c ---- */

/* Is everything known that is needed to give out steps? */
bool data_ready(const struct coord *);
/* Have splits counted by those who can. */
void data_count(struct coord *);
/* The worker is gone: somebody else is to count, and to read its stream. */
void data_take_back(struct coord *, struct member *);
/* It died while it counted a split: were they too many? */
bool data_died(struct coord *, const struct member *);
int data_counted(struct coord *, struct member *, const struct message *,
		 uint64_t now_ms, struct fail *);
void data_refused(struct coord *, struct member *, const struct message *,
		  uint64_t now_ms);
/* Steps that can be leased together, from this place on. */
size_t data_run(const struct coord *, uint64_t place);
/* What the ledger has for a worker; as queue_lease(). */
size_t data_lease(struct coord *, struct member *, uint64_t limit,
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
int data_check(const struct coord *, const struct request *, struct fail *);
/* ---- coord_standby.c ---- */

void standby_init(struct coord *);
void standby_release(struct coord *);
bool standby_knows(const struct coord *, uint64_t peer);
void standby_up(struct coord *, uint64_t peer, uint64_t now_ms);
void standby_down(struct coord *, uint64_t peer, uint64_t now_ms);
void standby_hear(struct coord *, uint64_t peer, const struct message *,
		  uint64_t now_ms);
/* A server says what has become of its standby. */
void standby_told(struct coord *, size_t server, const struct message *,
		  uint64_t now_ms);
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
void standby_watch(struct coord *, uint64_t now_ms);
/* We did not listen ourselves: nobody's silence counts until now. */
void standby_excuse(struct coord *, uint64_t now_ms);

/* ---- coord_watch.c ---- */

void watch_init(struct coord *);
void watch_release(struct coord *);
/* Has leasing to begin anew, so that a free worker may get any step? */
bool watch_any(const struct coord *);
const char *watch_check(const struct coord *, uint64_t now_ms);
/* Workers and evaluators that hang: others get what they had. */
void watch_members(struct coord *, uint64_t now_ms);
/* Nothing is to stand still, and no step to take for ever, without a word. */
void watch_run(struct coord *, uint64_t now_ms);
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

void report_step(struct coord *, const struct step *,
		 const struct result *, const char *worker,
		 const float *scores, const unsigned char *positive);
void report_error(struct coord *, const char *id, const char *op,
		  uint64_t step, const char *worker, const char *why);
/* Of those that were cancelled, a request that had begun or has steps, and a
   barrier.  All are told when report_given_up() returns. */
void report_cancelled(void *coord, const struct request *, uint64_t steps);
void report_passed_over(struct coord *, const struct request *);
void report_given_up(struct coord *);
void report_epoch(struct coord *, const char *id, uint64_t now_ms);
void report_totals(struct coord *, const char *id, const char *op,
		   const struct totals *, uint64_t now_ms,
		   const char *error);
void report_saved(struct coord *, const char *id, const char *name,
		  uint64_t step);
void report_warning(struct coord *, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void totals_reset(struct totals *, uint64_t now_ms);
/* So many of its counts of stale steps are told: the last ones are 0. */
size_t totals_stale(const struct totals *);
/* "[9,0,1]": how many steps met 0, 1, 2 pushes of others. */
void report_staleness(struct text *, const struct totals *);
void totals_release(struct totals *);
/* Put a result's labels to those of others: -1 if they are three classes. */
int totals_add_noes(struct totals *, const struct result *,
		    const char *worker, struct fail *);
void totals_add(struct totals *, const struct coord *,
		const struct result *, const float *scores,
		const unsigned char *positive);

/* ---- coord_status.c ---- */

void status_init(struct coord *, const struct place *, size_t places);
/* The totals since the last join are about to be reset. */
void status_keep_scores(struct coord *);

#endif
