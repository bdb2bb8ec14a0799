/*
 * coord_submit - whose requests are taken, and who gets the results.
 */
#ifndef PS_COORD_SUBMIT_H
#define PS_COORD_SUBMIT_H

#include "coord/coord_private.h"

void submit_init(struct coord *);
void submit_release(struct coord *);

/* A line: what cannot be done is REQUEST_BAD, which says why. */
void submit_read(struct coord *, struct request *, const char *line,
		 size_t size, uint64_t number);
/* Takes what was read of a line of so many bytes. */
void submit_take(struct coord *, size_t owner, struct request *, size_t bytes);
/* Is there room for another line of our own? */
bool submit_wants(const struct coord *);

/* From one who submits, or wants to? */
bool submit_is_for(const struct coord *, uint64_t peer,
		   const struct message *);
void submit_hear(struct coord *, uint64_t peer, const struct message *,
		 uint64_t now_ms);
void submit_probe(struct coord *, uint64_t now_ms);

/* Put into the queue whatever has its turn; is there anything? */
bool submit_turns(struct coord *);
/* Everybody gets what there is for it. */
void submit_tell(struct coord *);
/* Has everybody who is there all of it, when the run ends? */
bool submit_have_all(const struct coord *);

#endif
