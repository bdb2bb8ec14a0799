/*
 * coord_hear - what workers and evaluators say.
 */
#ifndef PS_COORD_HEAR_H
#define PS_COORD_HEAR_H

#include "coord/coord_private.h"

struct member;

void hear_member(struct coord *, uint64_t peer, const struct message *,
		 uint64_t now_ms);
void hear_probe(struct coord *, uint64_t now_ms);
void hear_say_plan(struct coord *);
/* Those to whom something could not be sent are gone: were there any? */
bool hear_unreachable(struct coord *);
/* Others get what those had who hang, or are at a step for too long. */
void hear_silence(struct coord *, uint64_t now_ms);
void hear_late(struct coord *, uint64_t now_ms);
/* Nobody has anything: so whatever is noted of that is void. */
void hear_anew(struct coord *);

#endif
