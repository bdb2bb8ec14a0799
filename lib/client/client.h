/*
 * client - the servers' peer: pushes gradients, pulls values.
 *
 * What a worker or an evaluator knows of the servers of a run.  One exchange
 * is under way at a time: it goes to every part of the plan, pushing what one
 * compute has worked out, pulling what another needs, or both in one message.
 * Parts that get lost with a connection are sent again: servers apply a step
 * to a part once, however often it comes.
 *
 * A worker may have the relay of its site in the place of all servers: an
 * exchange goes by it if it can when it begins, and what is unanswered goes to
 * the servers when it cannot any more.
 *
 * A server that has another term than ours, or has lost its variables, lets
 * the exchange wait: the coordinator will send a newer PLAN, which
 * client_renew() takes, or will end the run.
 */
#ifndef PS_CLIENT_H
#define PS_CLIENT_H

#include "model/compute.h"
#include "wire/outbox.h"
#include "wire/plan.h"
#include "wire/result.h"

struct client;

/* Dials every server.  Plan and model are borrowed.  NULL: FAIL_PEER. */
struct client *client_new(const struct plan *, const struct model *,
			  enum role, uint64_t life, struct outbox *,
			  uint64_t now_ms, struct fail *);
void client_free(struct client *);	/* says BYE and hangs up */

/*
 * The plan, which was borrowed, has a newer term, and maybe other endpoints.
 * The exchange under way is forgotten; servers whose endpoint changed are
 * dialled, and greeted anew who has not let us in.
 */
int client_renew(struct client *, uint64_t now_ms, struct fail *);

/* The relay that we are to use, or none: a RELAY. */
void client_relay(struct client *, const struct message *, uint64_t now_ms);
/* Now and then: is the relay there still? */
void client_tick(struct client *, uint64_t now_ms, uint64_t lease_ms);

/* Is this peer one of the servers, or the relay? */
bool client_knows(const struct client *, uint64_t peer);

void client_up(struct client *, uint64_t peer, uint64_t now_ms);
void client_down(struct client *, uint64_t peer, uint64_t now_ms);

/* All servers have said WELCOME. */
bool client_ready(const struct client *);

/*
 * What is pushed of a round, and pulled for after it, goes in messages of their
 * own: the push is answered when it is staged.  What servers send ahead of the
 * round's end is taken, and counts when they have said that it came to that.
 */
struct exchange {
	const struct compute *push;	/* NULL: only pull */
	uint64_t step, examples;
	float learning_rate;		/* as in struct request */
	struct compute *pull;		/* NULL: only push */
	uint64_t cut;			/* pull from this cut; WIRE_NONE */
	uint64_t replica, attempt;	/* of a round; 0: of none */
	unsigned level;			/* that a relay may add the push up in:
					   see message_node() */
	uint64_t after;			/* pull when all rounds below have
					   ended; 0: now */
	uint64_t server;		/* push to this one; WIRE_NONE: all */
	const uint64_t *version;	/* of each part: what the push was
					   computed with; NULL: not known */
	uint64_t *pulled;		/* of each part: what has been pulled
					   is put there; NULL: nowhere */
	bool coded;			/* as the plan says; or as floats */
	uint64_t pull_step;		/* that is pulled for */
};

/* What became of the push: counted in parts; applied, or staged for it. */
struct exchanged {
	size_t applied, repeated, voided, refused;
	uint64_t staleness;		/* the largest */
	struct traffic traffic;
};

/*
 * Can what this compute needs be pulled, and its gradient be pushed?  -1: it
 * is more of a part than a frame holds; the failure says of what.
 */
int client_check_pull(struct client *, const struct compute *, struct fail *);

/*
 * Begin; computes and versions are borrowed until client_idle(), gradients
 * held longer.
 */
void client_exchange(struct client *, const struct exchange *,
		     uint64_t now_ms);
bool client_idle(const struct client *);
/* A worker's pull of a cut came to its end without values: it is held no
   more. */
bool client_cut_is_gone(const struct client *);
/* All of the push has been answered; of no push, too. */
bool client_pushed(const struct client *);

/*
 * An exchange that is not a step's: pull what the compute needs, of a cut or of
 * the live model (WIRE_NONE).  -1: as of client_check_pull().
 */
int client_pull(struct client *, struct compute *, uint64_t cut,
		uint64_t now_ms, struct fail *);
/* Wait no longer for a pull; what is still said of it is passed over. */
void client_give_up(struct client *);
const struct exchanged *client_exchanged(const struct client *);

/* What has been moved for steps; and how many bytes of values were sent ahead
   of a round's end. */
struct traffic client_traffic(const struct client *);
uint64_t client_ahead(const struct client *);

/*
 * A server said something.  -1: the run cannot go on like this (a server
 * refuses what we say); the failure names it.
 */
int client_receive(struct client *, uint64_t peer, const struct message *,
		   uint64_t now_ms, struct fail *);

/* We did not listen ourselves: nobody's silence counts until now. */
void client_excuse(struct client *, uint64_t now_ms);

/*
 * Has a server let us wait for so long?  -1 then, and the failure names it,
 * its address and when it was last heard; *server is which.
 */
int client_check(const struct client *, uint64_t now_ms, uint64_t timeout_ms,
		 size_t *server, struct fail *);

#endif
