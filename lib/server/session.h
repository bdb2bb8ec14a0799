/*
 * session - who has called a server, as what, and which run has it.
 *
 * One coordinator at a time has a server: the one that greeted it last, if it
 * was let in.  A run keeps its server until its coordinator leaves, or has
 * been silent for longer than a lease and another one comes.
 *
 *	free -> ours		session_claim(): a PLAN was taken
 *	ours -> others'		session_greet(): a coordinator of another run
 *	any  -> free		session_leave(): the coordinator said BYE
 */
#ifndef PS_SESSION_H
#define PS_SESSION_H

#include "wire/outbox.h"

/* Who says a thing: a set of one. */
enum sender {
	SENDER_STRANGER = 1,	/* who has not said HELLO */
	SENDER_CLIENT = 2,	/* a worker, an evaluator */
	SENDER_STANDBY = 4,
	SENDER_COORDINATOR = 8,	/* the one that has this server */
	SENDER_OUSTED = 16,	/* one that had it before */
	SENDER_PRIMARY = 32,	/* the server that this one follows */
	SENDER_RELAY = 64	/* of a site's workers */
};

struct session;

/* lease_ms: how long may a coordinator be silent? */
struct session *session_new(struct outbox *, uint64_t lease_ms);
void session_free(struct session *);

/* Never SENDER_PRIMARY, of which it does not know. */
enum sender session_sender(const struct session *, uint64_t peer);

/* To peer 0: nowhere.  One to whom nothing can be said has left. */
void session_send(struct session *, uint64_t peer, const struct message *);
void session_refuse(struct session *, uint64_t peer,
		    const struct message *to, const struct fail *why);

/* -1: more was sent to it than anybody need have unread.  What a relay's
   workers all have credit for it may. */
int session_check_unread(const struct session *, uint64_t peer,
			 struct fail *);

/* Is one more welcome?  -1, and why not: there are too many. */
int session_make_room(struct session *, struct fail *);
void session_add(struct session *, uint64_t peer, enum role);
void session_remove(struct session *, uint64_t peer);
/* Is this one here still, as far as can be known? */
bool session_has(struct session *, uint64_t peer);

/* ---- the coordinator ---- */

uint64_t session_coordinator(const struct session *);	/* 0: none yet */
void session_received(struct session *, uint64_t now_ms);	/* from it */

/* One of our run (or not) and of this term has us from now on.  -1: it may
   not, since another one has. */
int session_greet(struct session *, uint64_t peer, bool ours, uint64_t term,
		  uint64_t now_ms, struct fail *);

/* The newest term heard of, of the run that has or had us. */
uint64_t session_term(const struct session *);
/* -1: this term is older. */
int session_check_term(const struct session *, uint64_t term, struct fail *);

/* Its run has us, in this term. */
void session_claim(struct session *, uint64_t term);
/* Has a run us?  One that was replayed from a log has not: its coordinator may
   count on more than the log held. */
bool session_is_claimed(const struct session *);
/* Any run may have us. */
void session_release(struct session *);

/*
 * The coordinator, whose run has this term, leaves us to others.  One that
 * ends before it has begun, be it of another run or started again, leaves our
 * run as it is.
 */
void session_leave(struct session *, uint64_t term);
void session_end_run(struct session *);		/* it is over, if it is ours */
bool session_run_over(const struct session *);

/* A run has us, whose coordinator is there, or has just left. */
bool session_has_run(struct session *, uint64_t now_ms);

/* ---- how long nobody has had a use for it ---- */

void session_need(struct session *);		/* somebody has */
/* See server_look().  Had somebody a use for it since the last look? */
bool session_look(struct session *, uint64_t every_ms, uint64_t now_ms);
bool session_idle(const struct session *, uint64_t limit_ms);

#endif
