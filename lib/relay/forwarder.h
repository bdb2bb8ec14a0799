/*
 * forwarder - the requests of workers that a relay passes on to servers, until
 * they are answered.
 *
 * A PULL, PUSH or PUSHPULL gets a request number of the relay, and its answer
 * the worker's number again.  Messages wait until forwarder_flush(); small
 * ones that wait for the same server then leave in one BUNDLE.
 *
 * Pulls of the same part and of the same few rows share one: one at a time is
 * under way.  Those that come meanwhile wait until it is answered and then
 * leave together: each push by itself, and the last push with one pull for all.
 * So a worker never receives values that were asked for before its request
 * came, except values that are always the same: of a cut, or of the end of a
 * round.
 *
 * Pushes to one node of a round may leave as their sum (relay/node_sums.h);
 * each of them gets the answer to the sum.
 */
#ifndef PS_FORWARDER_H
#define PS_FORWARDER_H

#include "wire/outbox.h"
#include "wire/plan.h"

struct forwarder;

/* All are borrowed. */
struct forwarder *forwarder_new(const struct plan *, const struct model *,
			      struct outbox *);
void forwarder_free(struct forwarder *);

/* Takes a PULL, PUSH or PUSHPULL of a worker. */
void forwarder_ask(struct forwarder *, uint64_t peer, const struct message *);
/* Forgets a worker that has left: nothing is sent to it any more. */
void forwarder_leave(struct forwarder *, uint64_t peer);
/* Takes the VALUES or REFUSED of a server to a request of the relay. */
void forwarder_answer(struct forwarder *, const struct message *);
/* True if this request of the relay is a sum of several workers' pushes. */
bool forwarder_sums(const struct forwarder *, uint64_t request);
/* Lets pushes leave that have waited for others since the last call. */
void forwarder_expire(struct forwarder *);
/* Sends what waits; peer has the peer of each server. */
void forwarder_flush(struct forwarder *, const uint64_t *peer);
/* Forgets all requests. */
void forwarder_drop(struct forwarder *);

/* Numbers of messages since the start, but for open. */
struct forwarder_counts {
	uint64_t pushes, pulls;		/* that workers asked for */
	uint64_t shared;		/* pulls that were answered by the pull
					   of another */
	uint64_t bundled, bundles;	/* messages in bundles; bundles */
	uint64_t summed, sums;		/* pushes in sums; sums */
	uint64_t open;			/* not answered now */
};
struct forwarder_counts forwarder_counts(const struct forwarder *);

/* For tests: NULL, or what does not hold. */
const char *forwarder_check(const struct forwarder *);

#endif
