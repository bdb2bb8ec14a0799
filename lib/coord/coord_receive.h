/*
 * coord_receive - messages of workers, evaluators and relays.
 */
#ifndef PS_COORD_RECEIVE_H
#define PS_COORD_RECEIVE_H

#include "coord/coord_private.h"

struct member;

/* Takes a message of a member, or of a peer that is to become one.  What cannot
   be done is answered with REFUSED. */
void receive_member(struct coord *, uint64_t peer, const struct message *,
		    uint64_t now_ms);
/* Pings all members: those that cannot be sent to are gone. */
void receive_probe(struct coord *, uint64_t now_ms);
/* Sends the plan to all members. */
void receive_send_plan(struct coord *);
/* Gives to others what members that hang, or workers whose step takes too long,
   have. */
void receive_silence(struct coord *, uint64_t now_ms);
void receive_late(struct coord *, uint64_t now_ms);
/* Takes back all leases, so that leasing begins anew. */
void receive_anew(struct coord *);

#endif
