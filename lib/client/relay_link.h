/*
 * relay_link - a worker's connection to the relay of its site.
 *
 * While it is open, pushes and pulls may go by the relay instead of to the
 * servers.  It asks for that, and then whether the relay is still there, four
 * times in a lease, and is closed when half a lease has passed without an
 * answer.
 */
#ifndef PS_RELAY_LINK_H
#define PS_RELAY_LINK_H

#include "wire/outbox.h"
#include "wire/plan.h"

struct relay_link {			/* { 0 }: there is no relay */
	const struct plan *plan;
	struct outbox *outbox;
	uint64_t life;			/* ours */
	/*
	 *	NONE --relay_link_set()--> DOWN --relay_link_up()--> ASKING
	 *	ASKING --WELCOME, of our term--> OPEN
	 *	OPEN --BYE, silence, a new term--> ASKING
	 *	any --relay_link_down()--> DOWN
	 *	any --relay_link_set()--> NONE or DOWN
	 */
	enum { LINK_NONE, LINK_DOWN, LINK_ASKING, LINK_OPEN } state;
	uint64_t peer;
	char *endpoint;
	uint64_t relay;			/* its life */
	uint64_t asked_ms;		/* when, last */
	uint64_t silent_ms;		/* since when nothing was heard that
					   answers that; 0: it was */
};

/* Plan and outbox are borrowed. */
void relay_link_init(struct relay_link *, const struct plan *,
		     struct outbox *, uint64_t life);
void relay_link_release(struct relay_link *);	/* says BYE and hangs up */

/* The coordinator's word, a RELAY: there is this relay, or none.  One that
   cannot be dialled is none. */
void relay_link_set(struct relay_link *, const struct message *);
/* The plan has a newer term. */
void relay_link_renew(struct relay_link *, uint64_t now_ms);

bool relay_link_knows(const struct relay_link *, uint64_t peer);
bool relay_link_is_open(const struct relay_link *);

void relay_link_up(struct relay_link *, uint64_t now_ms);
void relay_link_down(struct relay_link *);
/* It said something.  True: that is of a server, and is to be heard. */
bool relay_link_receive(struct relay_link *, const struct message *);
/* We did not listen ourselves. */
void relay_link_excuse(struct relay_link *, uint64_t now_ms);
/* Ask, and see whether it answers. */
void relay_link_tick(struct relay_link *, uint64_t now_ms,
		     uint64_t lease_ms);

#endif
