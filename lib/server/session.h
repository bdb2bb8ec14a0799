/*
 * session - who has called a server, as what, and which run has it.
 *
 * One coordinator at a time has a server: the one that it let in last.  A run
 * keeps its server until its coordinator leaves, or until its coordinator has
 * been silent for longer than a lease and that of another run calls.
 *
 *	free -> ours		session_claim(): a PLAN was taken
 *	ours -> others'		session_greet(): a coordinator of another run
 *	any  -> free		session_leave(): the coordinator said BYE
 */
#ifndef PS_SESSION_H
#define PS_SESSION_H

#include "wire/outbox.h"

/* The sender of a message; a bit each, for sets of senders. */
enum sender {
	SENDER_STRANGER = 1,	/* a peer that has not said HELLO */
	SENDER_CLIENT = 2,	/* a worker, an evaluator */
	SENDER_STANDBY = 4,
	SENDER_COORDINATOR = 8,	/* the one that has this server */
	SENDER_OUSTED = 16,	/* a coordinator that had it before */
	SENDER_PRIMARY = 32,	/* the server that this one follows */
	SENDER_RELAY = 64	/* of a site's workers */
};

struct session;

/* The outbox is borrowed.  lease_ms: how long a coordinator may be silent
   before that of another run may take the server. */
struct session *session_new(struct outbox *, uint64_t lease_ms);
void session_free(struct session *);

/* Returns who a peer is; never SENDER_PRIMARY, which a session does not
   know. */
enum sender session_sender(const struct session *, uint64_t peer);

/* Send a message; to peer 0 nothing is sent.  A peer that cannot be sent it has
   left, and is removed. */
void session_send(struct session *, uint64_t peer, const struct message *);
/* Answer a message with REFUSED, and why. */
void session_refuse(struct session *, uint64_t peer,
		    const struct message *to, const struct fail *why);

/* May a peer be sent more?  FAIL_PROTOCOL if it has left more than MAX_UNREAD
   bytes unread.  A relay may: all workers behind it together have that much
   credit. */
int session_check_unread(const struct session *, uint64_t peer,
			 struct fail *);

/* May one more peer be added?  FAIL_AGAIN: there are MAX_PEERS. */
int session_make_room(struct session *, struct fail *);
/* session_add(): a peer of this role was let in.  session_remove(): it left. */
void session_add(struct session *, uint64_t peer, enum role);
void session_remove(struct session *, uint64_t peer);
/* Is a peer still here?  It is sent a PING to find out. */
bool session_has(struct session *, uint64_t peer);

/* ---- the coordinator ---- */

uint64_t session_coordinator(const struct session *);	/* 0: none yet */
void session_received(struct session *, uint64_t now_ms);	/* from it */

/* A coordinator of our run (ours) or another one, in this term, has the server
   from now on.  FAIL_AGAIN: it may not, since a newer one of our run, or one of
   another run, has it. */
int session_greet(struct session *, uint64_t peer, bool ours, uint64_t term,
		  uint64_t now_ms, struct fail *);

/* The newest term heard of the run that has or had the server. */
uint64_t session_term(const struct session *);
/* FAIL_AGAIN: this term is older than that. */
int session_check_term(const struct session *, uint64_t term, struct fail *);

/* The coordinator's run has the server, in this term. */
void session_claim(struct session *, uint64_t term);
/* Does a run have the server?  A run that was replayed from a log does not yet:
   its coordinator may count on more than the log held. */
bool session_is_claimed(const struct session *);
/* No run has the server: any may take it. */
void session_release(struct session *);

/*
 * The coordinator leaves the server to others; its run has this term.  Our run
 * is over if this is the coordinator of our run, and of this term.  A
 * coordinator that ends before it has sent its PLAN, one of another run or one
 * that was started again, does not make our run over.
 */
void session_leave(struct session *, uint64_t term);
void session_end_run(struct session *);		/* if the coordinator is that of
						   our run, the run is over */
bool session_run_over(const struct session *);

/* Has a run the server, and can its coordinator be reached, and was it heard in
   the last lease_ms? */
bool session_has_run(struct session *, uint64_t now_ms);

/* ---- how long nobody has used the server ---- */

void session_need(struct session *);		/* somebody uses it now */
/* See server_look().  Returns true if somebody used it since the last look;
   false as well if the last look was less than every_ms ago. */
bool session_look(struct session *, uint64_t every_ms, uint64_t now_ms);
/* Has nobody used it for limit_ms or longer?  A limit of 0 is none. */
bool session_idle(const struct session *, uint64_t limit_ms);

#endif
