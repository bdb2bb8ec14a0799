/*
 * relay_link - a worker's connection to the relay of its site.
 *
 * While the link is open, pushes and pulls may go by the relay instead of to
 * the servers.  Four times in a lease the worker asks the relay to open the
 * link, or, once it is open, whether the relay is still there.  The link closes
 * when half a lease has passed without an answer.
 */
#ifndef PS_RELAY_LINK_H
#define PS_RELAY_LINK_H

#include "wire/outbox.h"
#include "wire/plan.h"

struct relay_link {			/* { 0 }: there is no relay */
	const struct plan *plan;
	struct outbox *outbox;
	uint64_t life;			/* the worker's */
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
	uint64_t asked_ms;		/* when HELLO or PING was last sent */
	uint64_t silent_ms;		/* when the first PING was sent after
					   which nothing came; 0: none */
};

/* Plan and outbox are borrowed. */
void relay_link_init(struct relay_link *, const struct plan *,
		     struct outbox *, uint64_t life);
void relay_link_release(struct relay_link *);	/* says BYE and hangs up */

/* Takes a RELAY of the coordinator: a relay to use, or that there is none.  A
   relay that cannot be dialled counts as none. */
void relay_link_set(struct relay_link *, const struct message *);
/* Asks again for a link, as the plan has a newer term. */
void relay_link_renew(struct relay_link *, uint64_t now_ms);

bool relay_link_knows(const struct relay_link *, uint64_t peer);
bool relay_link_is_open(const struct relay_link *);

void relay_link_up(struct relay_link *, uint64_t now_ms);
void relay_link_down(struct relay_link *);
/* Takes a message of the relay.  True: it is a server's answer that the relay
   passes on, and the caller is to take it. */
bool relay_link_receive(struct relay_link *, const struct message *);
/* Call it after a pause of this program: the relay's silence until now does not
   count. */
void relay_link_skip_pause(struct relay_link *, uint64_t now_ms);
/* Asks the relay if it is time to, and closes a link that is silent. */
void relay_link_tick(struct relay_link *, uint64_t now_ms,
		     uint64_t lease_ms);

#endif
