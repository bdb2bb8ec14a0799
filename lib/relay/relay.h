/*
 * relay - between the workers of a site and the servers of a run.
 *
 * It holds no variable, socket, clock or file, and decides nothing: what it
 * passes on servers know to have been applied, if it was.  So it may end at any
 * moment, and be slow, and come back: see ps-wire(7).
 */
#ifndef PS_RELAY_H
#define PS_RELAY_H

#include "wire/outbox.h"

struct relay;

struct relay_options {
	const char *coordinator;	/* its endpoint, */
	const char *endpoint;		/* where workers find us, */
	const char *site;		/* and who; all borrowed */
	uint64_t timeout_ms;
	uint64_t lease_ms;		/* then who says nothing hangs */
	uint64_t life;			/* random, new for every start */
};

/* Dials the coordinator.  Options are copied.  NULL: FAIL_PEER. */
struct relay *relay_new(const struct relay_options *, struct outbox *,
			uint64_t now_ms, struct fail *);
void relay_free(struct relay *);	/* says BYE to all */

void relay_up(struct relay *, uint64_t peer, uint64_t now_ms);
void relay_down(struct relay *, uint64_t peer, uint64_t now_ms);
/* One of those who called has left. */
void relay_left(struct relay *);

/* -1: it cannot go on, and the failure says why. */
int relay_receive(struct relay *, uint64_t peer, const struct message *,
		  uint64_t now_ms, struct fail *);
/* What has come is passed on. */
void relay_flush(struct relay *);
/* Deadlines: call it a few times in a lease. */
int relay_tick(struct relay *, uint64_t now_ms, struct fail *);

/* The coordinator says that the run is over. */
bool relay_stopped(const struct relay *);

/* True once, when no worker has come for a lease, though it is ready. */
bool relay_is_alone(struct relay *, uint64_t now_ms);

/* For people; good until the next call. */
const char *relay_state(struct relay *);

/*
 * For tests, when it has taken an event: NULL, or the words of what does not
 * hold, though it always should.
 */
const char *relay_check(const struct relay *);

#endif
