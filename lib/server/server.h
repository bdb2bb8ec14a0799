/*
 * server - one server of a run: takes messages, changes its state, and answers.
 *
 * It has no socket, clock or file: its program hands it messages and the time,
 * sends what it puts into an outbox, and does its jobs on files.
 *
 * The unit that a step is applied to is a part (see wire/plan.h).  Each step
 * counts once for each part; see server/dedup.h.
 */
#ifndef PS_SERVER_H
#define PS_SERVER_H

#include "server/commit_log.h"
#include "shard/shard.h"
#include "wire/outbox.h"

struct server;

/*
 * life: a random number, new for every start of the program.  lease_ms: how
 * long a coordinator may be silent before a coordinator of another run may take
 * the server.  The outbox is borrowed.
 */
struct server *server_new(uint64_t life, uint64_t lease_ms,
			  struct outbox *);
void server_free(struct server *);

/*
 * Refuse a plan whose variables need more than `memory` bytes; 0: refuse none.
 * When stopped() returns true the program is to end: the making and loading of
 * variables stops, and the PLAN or LOAD that asked for them gets no answer.
 */
void server_limit(struct server *, uint64_t memory, bool (*stopped)(void));

/* For a test of the tests: whenever forgets() returns true, a push that was
   applied is applied again. */
void server_forgets(struct server *, bool (*forgets)(void));

/* Can this program write the checkpoints of a run?  0; -1 and why not.  server:
   the index of this server; a message that concerns all servers need come from
   one of them only. */
typedef int server_can_save(void *self, enum saves, uint64_t server,
			    struct fail *);

/* Have can_save(self, ...) asked before a plan is taken. */
void server_saves(struct server *, server_can_save *, void *self);

/* Take a message of a peer: change the state, and put answers into the
   outbox. */
void server_receive(struct server *, uint64_t peer, const struct message *,
		    uint64_t now_ms);

/* Has a STOP come? */
bool server_stopping(const struct server *);

/* Is the server in a run whose coordinator can be reached and was heard in the
   last lease_ms? */
bool server_has_run(struct server *, uint64_t now_ms);

/*
 * How long has nobody used the server?  It is used by a coordinator that is
 * there and answers; a standby, by a primary that has one.  The time counts
 * from the server's start, but not after a coordinator of its run has left it
 * to a later one.  The program calls server_look() every SERVER_LOOK_MS or more
 * often.  server_check_idle(): 0; -1 (FAIL_PEER) if the time is limit_ms or
 * more; a limit of 0 is none.  coordinator: the name of the coordinator for the
 * message, NULL if it is not known.
 */
#define SERVER_LOOK_MS	250
void server_look(struct server *, uint64_t now_ms);
int server_check_idle(const struct server *, uint64_t limit_ms,
		      const char *coordinator, struct fail *);

/* Is the server stopping, and has its standby, which was sent STOP as well, not
   left yet? */
bool server_awaits(const struct server *);

/* Is the server unable to continue?  Then *fail says why, and the program is to
   end. */
bool server_over(const struct server *, struct fail *);

/* For people: "step 300, 2 variables ..."; good until the next call. */
const char *server_state(struct server *);

/* A job on files for the program: save a snapshot, or load a checkpoint. */
struct server_job {
	enum { JOB_SAVE = 1, JOB_LOAD } kind;
	char name[CHECKPOINT_NAME];	/* of the checkpoint */
	size_t part, parts;		/* SAVE: number of the part that this
					   server writes, and of all */
	const struct shard_snapshot *snapshot;	/* SAVE: what is written: */
	const struct checkpoint_array *array;
	size_t arrays;
	uint64_t peer;			/* who is to be answered */
	struct message request;
};

/* Copy the next job to *job.  false: there is none. */
bool server_job(struct server *, struct server_job *);

/* A save has ended: part describes the file that was written; or it is NULL,
   and *fail says why. */
void server_saved(struct server *, const struct server_job *,
		  const struct checkpoint_part *, const struct fail *);

/* A load may proceed: the checkpoint was opened, and its files are read by the
   reader; or the checkpoint is NULL, and *why says why not.  -1: it was not
   loaded; *why is what was answered. */
int server_load(struct server *, const struct server_job *,
		struct checkpoint *, const struct checkpoint_reader *,
		struct fail *);

/*
 * Make this server a hot standby of the server that listens at primary, until
 * the coordinator promotes it.  endpoint: where others reach this one.  -1: the
 * dial failed.
 */
int server_follow(struct server *, const char *primary, const char *endpoint,
		  struct fail *);
/* The connection to a peer that was dialled is there. */
void server_up(struct server *, uint64_t peer);
/* Ping the standbys: they learn that this server is there, and the server
   learns which of them has left. */
void server_ping_standbys(struct server *);
/* The program has handed over all messages that have come: a standby
   acknowledges the changes among them, and acts on them. */
void server_flush(struct server *);

/*
 * The log.  After server_log() the server does not act on a change, and does
 * not answer it, before it is durable.  The program takes each change (numbered
 * from 1) with server_change(), writes it to the log, and reports it with
 * server_durable().
 */
void server_log(struct server *);
/* NULL: this change is not there yet, or no longer.  Good until the next call
   that takes a server that is not const. */
const struct change *server_change(const struct server *, uint64_t number);
void server_durable(struct server *, uint64_t number);
uint64_t server_acted(const struct server *);	/* the last change that was
						   acted on */

/* What does a PLAN do?  1: the server begins anew with it; 0: the server has
   this plan; -1: it is refused. */
int server_begins(const struct server *, const struct message *);
/* Is there a plan, and was no step at or above this one applied? */
bool server_ended(const struct server *, uint64_t step);
/*
 * The server began with the checkpoint of this step: has it applied steps
 * since, so that they would be lost?  If so: *last is the highest of them, and
 * run has the run's id in 32 hexadecimal digits.
 */
bool server_unsaved(const struct server *, uint64_t step, uint64_t *last,
		    char run[33]);
/* Has the coordinator of its run said that the run is over? */
bool server_run_over(const struct server *);
/* Returns a PLAN with which another server would get this server's plan, to
   begin at a step.  Its frames point into the two packs, which are the
   caller's. */
struct message server_plan(const struct server *, uint64_t step,
			   struct pack *model, struct pack *plan);
/* Before server_log(): replay a change from the log.  The caller does the jobs
   that come of it before it replays the next change. */
void server_replay(struct server *, const struct message *);

/* For tests, between events: NULL, or the invariant that is broken. */
const char *server_check(const struct server *);

#endif
