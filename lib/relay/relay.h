/*
 * relay - passes messages between the workers of a site and the servers of a
 * run.
 *
 * A relay holds no variable, socket, clock or file, and decides nothing: only
 * the servers know whether a push was applied.  So a relay may end at any
 * moment, be slow, or come back: see ps-wire(7).
 */
#ifndef PS_RELAY_H
#define PS_RELAY_H

#include "wire/outbox.h"

struct relay;

struct relay_options {
	const char *coordinator;	/* its endpoint; */
	const char *endpoint;		/* the one that workers call; */
	const char *site;		/* the site's name; all borrowed */
	uint64_t timeout_ms;
	uint64_t lease_ms;		/* a peer that is silent for longer
					   hangs */
	uint64_t life;			/* random, new for every start */
};

/* Dials the coordinator.  Options are copied.  NULL: FAIL_PEER. */
struct relay *relay_new(const struct relay_options *, struct outbox *,
			uint64_t now_ms, struct fail *);
void relay_free(struct relay *);	/* says BYE to all */

void relay_up(struct relay *, uint64_t peer, uint64_t now_ms);
void relay_down(struct relay *, uint64_t peer, uint64_t now_ms);
/* A peer that had called the relay has left: forgets the workers that cannot be
   sent to. */
void relay_left(struct relay *);

/* -1: the relay cannot continue, and the failure says why. */
int relay_receive(struct relay *, uint64_t peer, const struct message *,
		  uint64_t now_ms, struct fail *);
/* Passes on what has come. */
void relay_flush(struct relay *);
/* Checks deadlines: call it several times in a lease.  -1: the relay cannot
   continue, and the failure says why. */
int relay_tick(struct relay *, uint64_t now_ms, struct fail *);

/* True when the coordinator has ended the run. */
bool relay_stopped(const struct relay *);

/* True once: when the relay has been ready for a lease and no worker has
   come. */
bool relay_is_alone(struct relay *, uint64_t now_ms);

/* A line for people; good until the next call. */
const char *relay_state(struct relay *);

/*
 * For tests, after each event: NULL, or the words of an invariant that does
 * not hold.
 */
const char *relay_check(const struct relay *);

#endif
