/*
 * server - answer what is said to one server of a run.
 *
 * It holds no socket, clock or file: it is told of messages and the time,
 * puts answers into an outbox, and hands jobs on files to its program.
 *
 * What a step is applied to is a part (see wire/plan).  Each step counts once
 * for each part: steps below the low watermark have ended, of those above it a
 * server remembers which were applied and which were given up.
 */
#ifndef PS_SERVER_H
#define PS_SERVER_H

#include "server/commit_log.h"
#include "shard/shard.h"
#include "wire/outbox.h"

struct server;

/*
 * The life is a random number, new for every start of the program; lease_ms
 * is how long a coordinator may be silent before another run may take over.
 */
struct server *server_new(uint64_t life, uint64_t lease_ms,
			  struct outbox *);
void server_free(struct server *);

/*
 * A plan whose variables need more than so many bytes is refused; 0: any is
 * tried.  Once stopped() says so, variables are not made and loaded any more,
 * and those who asked for it get no answer: the program is to end.
 */
void server_limit(struct server *, uint64_t memory, bool (*stopped)(void));

/* For a test of tests: a push that was applied is applied again, though it is
   known, if forgets() says so then. */
void server_forgets(struct server *, bool (*forgets)(void));

/* Who says why there cannot be checkpoints of a run: 0; -1.  Which server it
   is is told for what one of them should say for all. */
typedef int server_can_save(void *self, enum saves, uint64_t server,
			    struct fail *);

/* It is asked before a plan is taken. */
void server_saves(struct server *, server_can_save *, void *self);

void server_receive(struct server *, uint64_t peer, const struct message *,
		    uint64_t now_ms);

/* Somebody told it to stop. */
bool server_stopping(const struct server *);

/* It is in a run, whose coordinator is there, or has just left. */
bool server_has_run(struct server *, uint64_t now_ms);

/*
 * How long has nobody had a use for it: no coordinator that is there and
 * answers, nor, of a standby, a server that has one.  It counts from when it
 * began, and not while a coordinator that has left it has said that others
 * may come.  The program looks every SERVER_LOOK_MS or more often, and asks
 * whether that is longer than a limit (0: there is none): 0; -1 and why.  The
 * name of the coordinator is NULL if it is not known.
 */
#define SERVER_LOOK_MS	250
void server_look(struct server *, uint64_t now_ms);
int server_check_idle(const struct server *, uint64_t limit_ms,
		      const char *coordinator, struct fail *);

/* Its standby was told to stop, too, and has not left yet. */
bool server_awaits(const struct server *);

/* It cannot go on: why. */
bool server_over(const struct server *, struct fail *);

/* For people: "step 300, 2 variables ..."; good until the next call. */
const char *server_state(struct server *);

/* Work on files, asked for by the coordinator: save a snapshot, or load one. */
struct server_job {
	enum { JOB_SAVE = 1, JOB_LOAD } kind;
	char name[CHECKPOINT_NAME];	/* of the checkpoint */
	size_t part, parts;		/* SAVE: which one this server writes */
	const struct shard_snapshot *snapshot;	/* of this snapshot */
	const struct checkpoint_array *array;
	size_t arrays;
	uint64_t peer;			/* for the answer */
	struct message request;
};

/* The next job, if there is one. */
bool server_job(struct server *, struct server_job *);

/* How a save ended: part, or NULL and why not. */
void server_saved(struct server *, const struct server_job *,
		  const struct checkpoint_part *, const struct fail *);

/* How a load went: the checkpoint, and who reads its files, or NULL and why
   not.  -1: it was not loaded, why is what was answered. */
int server_load(struct server *, const struct server_job *,
		struct checkpoint *, const struct checkpoint_reader *,
		struct fail *);

/*
 * A hot standby: follow the server that listens at primary, for those who
 * will look for us at endpoint, until the coordinator has us take over.
 */
int server_follow(struct server *, const char *primary, const char *endpoint,
		  struct fail *);
void server_up(struct server *, uint64_t peer);
/* Standbys learn that we are there; one that has left is noticed. */
void server_ping_standbys(struct server *);
/* All that has come was heard: a standby says so, and acts on it. */
void server_flush(struct server *);

/*
 * The log.  After server_log() nothing that alters the state is acted on, or
 * answered, before it is durable.  The program takes each change, numbered
 * from 1, makes it safe and says so.
 */
void server_log(struct server *);
/* NULL: there is no such change yet, or no longer; good until the next call
   that is not const. */
const struct change *server_change(const struct server *, uint64_t number);
void server_durable(struct server *, uint64_t number);
uint64_t server_acted(const struct server *);	/* on changes up to this */

/* A PLAN: 1: the server will begin anew; 0: it is ours; -1: it is refused. */
int server_begins(const struct server *, const struct message *);
/* Has every step from this one on still to be pushed? */
bool server_ended(const struct server *, uint64_t step);
/*
 * Who has begun with the checkpoint of this step has applied steps of a run
 * that has not ended: up to which one, and the run in 32 digits.
 */
bool server_unsaved(const struct server *, uint64_t step, uint64_t *last,
		    char run[33]);
/* The coordinator of its run has said that it is over. */
bool server_run_over(const struct server *);
/* A PLAN that leads to this server's plan, at a step; of these bytes. */
struct message server_plan(const struct server *, uint64_t step,
			   struct pack *model, struct pack *plan);
/* Before server_log(): a change out of the log.  Do the jobs in between. */
void server_replay(struct server *, const struct message *);

/*
 * For tests, when it has taken an event: NULL, or the words of what does not
 * hold, though it always should.
 */
const char *server_check(const struct server *);

#endif
