/*
 * server_inside - what the parts of a server share: server.c (who is there,
 * the plan, what is said), server_values.c (pulls and pushes), server_cuts.c
 * (what is held, saved, loaded), server_idle.c (how long nobody has had a use
 * for it) and server_changes.c (what must be durable first: its log, its
 * standby, or the server that it stands by for).  For nobody else.
 */
#ifndef PS_SERVER_INSIDE_H
#define PS_SERVER_INSIDE_H

#include "base/peers.h"
#include "base/window.h"
#include "server/changes.h"
#include "server/parked.h"
#include "server/primary.h"
#include "server/recall.h"
#include "server/server.h"
#include "server/stage.h"
#include "server/standby.h"

#define MAX_CUTS	64
#define MAX_JOBS	64

struct named_cut {
	uint64_t id;
	struct cut *cut;	/* NULL: free */
};

struct server {
	struct outbox *outbox;
	uint64_t life, lease_ms;
	uint64_t memory;	/* bytes; 0: not known */
	server_can_save *can_save;	/* NULL: always */
	void *saver;
	bool (*stopped)(void);
	struct peers peers;
	uint64_t coordinator, coordinator_heard;
	uint64_t probed;	/* when: is it there? */
	uint64_t term;		/* the newest heard of, of this run */
	bool busy;		/* a run has us */
	bool ours;		/* the coordinator is that of our run */
	bool stopping;
	bool run_over;		/* its coordinator has said so */
	uint64_t idle_ms;	/* nobody has had a use for us for so long */
	uint64_t looked_ms;	/* when that was looked at; 0: not yet */
	bool needed;		/* somebody had, since then */
	bool kept;		/* its coordinator has left us to another one,
				   which may come at any time */
	uint64_t journal;	/* of the coordinator's: records that were
				   safe when it told us what we did */

	struct model_source source;
	struct model *model;
	struct plan plan;
	size_t index;		/* which server of the plan we are */
	struct shard *shard;	/* NULL: no plan yet */
	struct shard_rows *rows;	/* to be pulled, of a PUSHPULL */

	bool initial;		/* the variables are as the plan made them */
	uint64_t mark;
	struct window *applied;	/* of each part */
	struct window voided;
	uint64_t pushes, repeats;
	struct stage *stage;	/* of rounds */
	struct parked parked;
	size_t parked_enough;	/* bytes, of those that are there */
	struct recall recall;	/* what pushes may refer to */
	bool round_ended;	/* and those that waited for it are to know */

	struct named_cut cut[MAX_CUTS];
	struct server_job job[MAX_JOBS];	/* a queue */
	size_t jobs;
	char state[160];

	/* what must be durable before it is acted on */
	struct changes changes;
	uint64_t acted;		/* on the changes up to this one */
	uint64_t logged;	/* those that are in the log; WIRE_NONE:
				   there is no log */
	uint64_t above;		/* no step from here on was pushed */
	uint64_t model_hash;	/* of the PLAN's model frame */
	struct standby standby, waiting;	/* ours; one that would be */
	uint64_t asked_term;	/* of the newest PLAN, acted on or not */
	struct primary primary;	/* or whose we are */
	struct fail over;	/* kind 0: it is not */
};

/* ---- server.c ---- */

void server_say(struct server *, uint64_t peer, const struct message *);
void server_refuse(struct server *, uint64_t peer, const struct message *to,
		   const struct fail *why);
bool server_same_run(const struct server *, const struct frame *run);
void server_forget_run(struct server *);
bool server_stopped(const struct server *);	/* by a signal */
bool server_has_plan(const struct server *, const struct message *);
int server_check_begin(const struct server *, const struct message *,
		       struct fail *);
/* 1: it is to end. */
int server_take_plan(struct server *, const struct message *, struct fail *);
/* Act on a change: see server_is_change().  1: it is answered later. */
int server_apply(struct server *, uint64_t peer, const struct message *,
		 struct fail *);

/* ---- server_values.c ---- */

/* The steps below this one have ended. */
void server_mark(struct server *, uint64_t step);
/* The steps from the mark on that are not to be pushed any more: every part
   that steps are pushed to has them, or they were given up. */
void server_settled(const struct server *, struct window *);
int server_void_steps(struct server *, const struct message *, struct fail *);
int server_commit(struct server *, const struct message *, struct fail *);
/* The variables are as they were at this step: so is what we know of them. */
void server_go_back(struct server *, uint64_t step);

/* It is answered, or parked until the round that it is for. */
int server_pull(struct server *, uint64_t peer, const struct message *,
		struct fail *);
/* Rounds have ended: answer who waited, but for those who wait for more. */
void server_answer_parked(struct server *);
/* A worker's, which may be of the rows of its pull, and is a change. */
int server_hear_push(struct server *, uint64_t peer, const struct message *,
		     struct fail *);
/* Act on it. */
int server_push(struct server *, uint64_t peer, const struct message *,
		struct fail *);

/* ---- server_cuts.c ---- */

/* There is to be a cut of the steps below this one. */
int server_freeze(struct server *, uint64_t id, uint64_t step, struct fail *);
int server_thaw(struct server *, uint64_t id, struct fail *);
struct named_cut *server_find_cut(struct server *, uint64_t id);
/* What the coordinator of an earlier term had us hold. */
void server_let_cuts_go(struct server *);
/* A SAVE or LOAD, to be answered when it is done. */
int server_add_job(struct server *, uint64_t peer, const struct message *,
		   struct fail *);
bool server_loading(const struct server *);	/* changes wait for a LOAD */

/* ---- server_changes.c ---- */

/* Does it alter what a log or a standby must know of? */
bool server_is_change(enum message_kind);
/* Act on a change as soon as it is durable. */
int server_do(struct server *, uint64_t peer, const struct message *,
	      struct fail *);
/* Act on what is durable. */
void server_settle(struct server *);

int server_hello_standby(struct server *, uint64_t peer,
			 const struct message *, struct fail *);
int server_hello_server(struct server *, const struct message *,
			struct fail *);
void server_begin_standby(struct server *);
void server_report_standby(struct server *);
/* It may begin anew. */
void server_drop_standby(struct server *);
void server_keep_standby(struct server *, uint64_t life);
/* They learn from it that we are there; that one is not is noticed. */
void server_ping_standbys(struct server *);
/* Waiting for one that the coordinator does not know of has an end. */
void server_watch_standby(struct server *, uint64_t now);
void server_hear_standby(struct server *, uint64_t peer,
			 const struct message *);
/* The coordinator counts on this standby from now on, or on none. */
void server_count_standby(struct server *, const struct message *);
/* The life of the one that it counts on, as we have acknowledged; or 0. */
uint64_t server_standby(const struct server *);
int server_promote(struct server *, const struct message *, struct fail *);
int server_hear_primary(struct server *, const struct message *,
			struct fail *);

#endif
