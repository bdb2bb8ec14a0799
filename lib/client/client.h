/*
 * client - the servers' peer: pushes gradients, pulls values.
 *
 * A client is what a worker or an evaluator knows of the servers of a run.  One
 * exchange is under way at a time.  It goes to every part of the plan, and
 * pushes the gradient of one compute, pulls the values that another one needs,
 * or does both in one message.  Parts that are lost with a connection are sent
 * again: a server applies a step to a part once, however often it comes.
 *
 * A worker may use the relay of its site instead of all servers.  An exchange
 * goes by the relay if the link is open when the exchange begins; if the link
 * closes, the parts that are unanswered go to the servers.
 *
 * If a server has another term than the plan, or has lost its variables, the
 * exchange waits: the coordinator will send a newer PLAN, for client_renew(),
 * or end the run.
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
 * Call it when the borrowed plan has got a newer term, and perhaps other
 * endpoints.  The exchange under way is forgotten.  A server whose endpoint has
 * changed is dialled; a connected server that has not sent WELCOME is greeted
 * again.  -1: a server cannot be dialled (FAIL_PEER).
 */
int client_renew(struct client *, uint64_t now_ms, struct fail *);

/* Takes a RELAY: the relay to use, or that there is none. */
void client_relay(struct client *, const struct message *, uint64_t now_ms);
/* Asks whether the relay is alive, and gives it up after half a lease without
   an answer.  Call it several times in a lease. */
void client_tick(struct client *, uint64_t now_ms, uint64_t lease_ms);

/* True if the peer is one of the servers, or the relay. */
bool client_knows(const struct client *, uint64_t peer);

void client_up(struct client *, uint64_t peer, uint64_t now_ms);
void client_down(struct client *, uint64_t peer, uint64_t now_ms);

/* All servers have said WELCOME. */
bool client_ready(const struct client *);

/*
 * What to push, and what to pull.  A push to a round and a pull for the step
 * after it (after not 0) are separate messages, as the push is answered as soon
 * as it is staged.  Servers may send the values ahead of the round's end; these
 * count when the servers have confirmed them.
 */
struct exchange {
	const struct compute *push;	/* NULL: only pull */
	uint64_t step, examples;
	float learning_rate;		/* as in struct request */
	struct compute *pull;		/* NULL: only push */
	uint64_t cut;			/* pull from this cut; WIRE_NONE */
	uint64_t replica, attempt;	/* of a round; 0: of none */
	unsigned level;			/* at which a relay may add up the
					   push: see message_node() */
	uint64_t after;			/* pull when all rounds of steps below
					   this one have ended; 0: now */
	uint64_t server;		/* push to this one; WIRE_NONE: all */
	const uint64_t *version;	/* of each part: the values that the
					   push was computed with; NULL: not
					   known */
	uint64_t *pulled;		/* of each part: gets the version that
					   was pulled; NULL: not wanted */
	bool push_coded, pull_coded;	/* encoded as the plan says; else as
					   floats */
	float *const *left;		/* of each variable: gets the residual,
					   what a codec has lost of its
					   gradient; NULL: not wanted */
	uint64_t pull_step;		/* the step that is pulled for */
};

/* What became of the push: numbers of parts.  A part that staged the push for
   its round counts as applied. */
struct exchanged {
	size_t applied, repeated, voided, refused;
	uint64_t staleness;		/* the largest of all parts */
	struct traffic traffic;
};

/*
 * Checks that what the compute needs can be pulled, and its gradient pushed.
 * -1: a frame cannot hold its rows of one part (FAIL_CONFIG); the failure names
 * the variable and the server.
 */
int client_check_pull(struct client *, const struct compute *, struct fail *);

/*
 * Begins an exchange.  Computes and versions are borrowed until client_idle();
 * gradients are held longer, by reference counts.
 */
void client_exchange(struct client *, const struct exchange *,
		     uint64_t now_ms);
/* True if no exchange is under way. */
bool client_idle(const struct client *);
/* True if a worker's pull of a cut has ended without values, as the servers do
   not hold the cut any more. */
bool client_cut_is_gone(const struct client *);
/* True if all parts have answered the push, or nothing was pushed. */
bool client_pushed(const struct client *);

/*
 * Begins an exchange that belongs to no step: pulls what the compute needs,
 * from a cut or from the live model (WIRE_NONE).  -1: see client_check_pull().
 */
int client_pull(struct client *, struct compute *, uint64_t cut,
		uint64_t now_ms, struct fail *);
/* Gives up the exchange under way; its late answers are ignored. */
void client_give_up(struct client *);
const struct exchanged *client_exchanged(const struct client *);

/* The traffic of all exchanges, without pulls of cuts; and the bytes of values
   that came ahead of a round's end. */
struct traffic client_traffic(const struct client *);
uint64_t client_ahead(const struct client *);

/*
 * Takes a message of a server or of the relay.  -1: the run cannot continue
 * like this, for example as a server refuses what the client sends; the failure
 * names the server.
 */
int client_receive(struct client *, uint64_t peer, const struct message *,
		   uint64_t now_ms, struct fail *);

/* Call it after a pause of this program: the silence of servers until now does
   not count. */
void client_skip_pause(struct client *, uint64_t now_ms);

/*
 * Looks for a server that has left something unanswered for timeout_ms.  -1 if
 * there is one: *server is its number, and the failure has its address and when
 * it was last heard (FAIL_PEER).
 */
int client_check(const struct client *, uint64_t now_ms, uint64_t timeout_ms,
		 size_t *server, struct fail *);

#endif
