/*
 * standby - the hot standby of a server, as the server sees it.
 *
 * It is sent a cut (SYNC, then every chunk, a few at a time), and every
 * change from that cut on.  While it takes the cut, which may be long, it may
 * be so many changes behind.  Then what it has not said that it holds is not
 * acted on: so, when it has caught up, it lacks nothing that anybody has seen.
 * The coordinator counts on it once we have acknowledged that we know so: from
 * then on only the coordinator can let the server go on without it.
 */
#ifndef PS_STANDBY_H
#define PS_STANDBY_H

#include "server/changes.h"
#include "shard/shard.h"
#include "wire/outbox.h"

struct standby {		/* { 0 }: there is none */
	uint64_t life;		/* 0: there is none */
	uint64_t peer;		/* 0: it cannot be reached */
	char endpoint[256];	/* where it listens */
	struct cut *cut;	/* NULL: all of it is there */
	size_t next;		/* chunks of it that were sent */
	size_t answered;	/* those that are there, and SYNC */
	uint64_t held;		/* it holds the changes up to here */
	uint64_t awaited_ms;	/* since when others wait for it; 0: none do */
	bool in_sync;		/* the coordinator has been told */
	bool counted;		/* and counts on it, as we have told it */
};

/* There is none any more; what was sent stays sent. */
void standby_forget(struct standby *);

/*
 * Send the cut, which it takes, to this peer: as of the change numbered in
 * the SYNC message, which is the caller's to fill in but for its chunks.
 * -1: it is gone.
 */
int standby_begin(struct standby *, const struct standby *who,
		  struct cut *, struct message *sync, struct outbox *);

/* Send a change.  -1: it is gone. */
int standby_forward(const struct standby *, const struct change *,
		    struct outbox *);

/* It has SYNC or a chunk.  1: now it has all of them.  -1: it is gone. */
int standby_answered(struct standby *, struct outbox *);

/* Does it have the cut, so that it is to hold changes first? */
bool standby_whole(const struct standby *);

#define STANDBY_BEHIND	256	/* changes, while it takes the cut */

/* Changes above this must not be acted on. */
uint64_t standby_limit(const struct standby *);

#endif
