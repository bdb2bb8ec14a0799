/*
 * forwarder - what workers have asked of servers by a relay, and is not
 * answered.
 *
 * Each PULL, PUSH and PUSHPULL gets a request number of ours, and its answer
 * the worker's again.  What comes waits until forwarder_flush(); small messages
 * that wait for one server then leave in one.
 *
 * Pulls of the same part, and of the same few rows, share: one at a time is
 * under way, and those that come meanwhile wait for it and then leave together,
 * each push by itself and the last with a pull for all.  So nobody's values
 * were asked for before it asked, but those of a cut and of the end of a round,
 * which are always the same.
 *
 * Pushes of one node of a round may leave as their sum (relay/node_sums.h); the
 * answer to that is each one's.
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

/* A worker says PULL, PUSH or PUSHPULL. */
void forwarder_ask(struct forwarder *, uint64_t peer, const struct message *);
/* This worker has left: nothing is sent to it any more. */
void forwarder_leave(struct forwarder *, uint64_t peer);
/* A server says VALUES or REFUSED, to a request of ours. */
void forwarder_answer(struct forwarder *, const struct message *);
/* Is this request of ours a sum of several workers' pushes? */
bool forwarder_sums(const struct forwarder *, uint64_t request);
/* Pushes that have waited for others since this was called last wait no
   longer. */
void forwarder_expire(struct forwarder *);
/* What waits is sent; peer: of each server. */
void forwarder_flush(struct forwarder *, const uint64_t *peer);
/* All is forgotten. */
void forwarder_drop(struct forwarder *);

struct forwarder_counts {
	uint64_t pushes, pulls;		/* that workers asked for, */
	uint64_t shared;		/* pulls that needed none of their
					   own, */
	uint64_t bundled, bundles;	/* messages in bundles, and those */
	uint64_t summed, sums;		/* pushes in sums, and those */
	uint64_t open;			/* messages that are not answered */
};
struct forwarder_counts forwarder_counts(const struct forwarder *);

/* For tests: NULL, or what does not hold. */
const char *forwarder_check(const struct forwarder *);

#endif
