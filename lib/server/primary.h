/*
 * primary - the server that a standby follows, as the standby sees it.
 *
 * What comes before all chunks of the cut are there is kept; then each change
 * is said to be held before it is applied.  Who has once been greeted by the
 * coordinator is promised to it, and begins anew only under a newer term.
 */
#ifndef PS_PRIMARY_H
#define PS_PRIMARY_H

#include "wire/outbox.h"

/* The request number of its HELLO, which no chunk that it acknowledges has. */
#define PRIMARY_HELLO	(WIRE_NONE - 1)

struct primary {		/* { 0 }: there is none */
	uint64_t peer;		/* 0: nobody, and never did */
	char at[256], endpoint[256];	/* where it and we listen */
	bool promoted;		/* it was followed, until we took over */
	bool synced;		/* SYNC has come */
	bool greeted;		/* by the coordinator, since then */
	uint64_t chunks;	/* still to come */
	uint64_t held;		/* said to be held */
};

/* It is a standby, of which nobody may ask anything. */
static inline bool
primary_followed(const struct primary *w)
{
	return w->peer && !w->promoted;
}

/* It has all that the other had. */
static inline bool
primary_copied(const struct primary *w)
{
	return w->synced && w->chunks == 0;
}

/*
 * The connection is there: say who we are, a standby, or, to one who does
 * not know that its time is over, the server.
 */
void primary_hello(const struct primary *, uint64_t life, uint64_t index,
		   uint64_t term, const struct frame *run, struct outbox *);

/* Say that the changes up to this one are held, unless it has been said. */
void primary_hold(struct primary *, uint64_t number, struct outbox *);

#endif
