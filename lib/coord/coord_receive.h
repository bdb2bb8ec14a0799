/*
 * coord_receive - what workers and evaluators say.
 */
#ifndef PS_COORD_RECEIVE_H
#define PS_COORD_RECEIVE_H

#include "coord/coord_private.h"

struct member;

void receive_member(struct coord *, uint64_t peer, const struct message *,
		    uint64_t now_ms);
void receive_probe(struct coord *, uint64_t now_ms);
void receive_send_plan(struct coord *);
/* Those to whom something could not be sent are gone: were there any? */
bool receive_unreachable(struct coord *);
/* Others get what those had who hang, or are at a step for too long. */
void receive_silence(struct coord *, uint64_t now_ms);
void receive_late(struct coord *, uint64_t now_ms);
/* Nobody has anything: so whatever is noted of that is void. */
void receive_anew(struct coord *);

#endif
