/*
 * replication - to the server that stands by for one, as the latter sees it.
 *
 * It calls, is sent a cut in chunks, each acknowledged before many more are
 * sent, and from the snapshot on every change in order.  It holds what it has
 * acknowledged; the server acts on a change when it holds it.  Only what it
 * does not have yet of the snapshot lets it be a few changes behind: the server
 * need not stand still for it.
 *
 *	none    -> waiting	replication_hello()
 *	waiting -> copying	replication_begin(): it is sent a snapshot
 *	copying -> in sync	replication_receive(): it holds the snapshot
 *				and all that was acted on
 *	in sync -> counted	replication_keep(), replication_count(): the
 *				coordinator counts on it
 *	counted -> unreached	it cannot be sent anything; the server goes
 *				on when the coordinator says so
 *	any     -> none		replication_drop(); or it cannot be sent
 *				anything, and is not counted on
 *
 * Whatever the coordinator is to know of it is news.
 */
#ifndef PS_REPLICATION_H
#define PS_REPLICATION_H

#include "server/commit_log.h"
#include "shard/shard.h"
#include "wire/outbox.h"

#define REPLICATION_BEHIND	256	/* changes, while it is copying */

struct replication;

struct replication *replication_new(struct outbox *);
void replication_free(struct replication *);

/* One that calls would be it.  -1: it does not say where it listens. */
int replication_hello(struct replication *, uint64_t peer,
		      const struct message *, struct fail *);
/* One waits to be begun with, and there is none yet. */
bool replication_waits(const struct replication *);

/*
 * Begin with the one that waits: send the snapshot, which it takes, as of the
 * change numbered in the SYNC message, which is the caller's to fill in but
 * for its chunks; and the changes that wait, from this one on.
 */
void replication_begin(struct replication *, struct shard_snapshot *,
		       struct message *sync, const struct change *);

/* Send a change, to a standby that there is. */
void replication_forward(struct replication *, const struct change *);

/* It, or the one that waits, said something; all up to a change was acted
   on. */
void replication_receive(struct replication *, uint64_t peer,
			 const struct message *, uint64_t acted);

/* All of them, that they stop; any of them is not gone. */
void replication_send(struct replication *, const struct message *);
bool replication_reached(const struct replication *);
/* They learn from it that the server is there; that one is not is noticed. */
void replication_ping(struct replication *);

/*
 * Changes wait for it alone, or none do.  That nobody knows of it who could
 * have the server go on has an end after so long.
 */
void replication_watch(struct replication *, bool awaited, uint64_t limit_ms,
		       uint64_t now_ms);

bool replication_is_there(const struct replication *);
/* Changes above this must not be acted on. */
uint64_t replication_limit(const struct replication *);
/* The life of the one that is counted on, as was acknowledged; or 0. */
uint64_t replication_counted(const struct replication *);

/* It may begin anew.  The same if the shard goes whose snapshot it is sent. */
void replication_drop(struct replication *);
void replication_drop_copying(struct replication *);
/* The run is forgotten, and it with that. */
void replication_forget(struct replication *);

/* The coordinator counts on the one of this life: any other is none. */
void replication_keep(struct replication *, uint64_t life);
/* The same, but one that is not in sync here and now is not counted on. */
void replication_count(struct replication *, uint64_t life);

/* What the coordinator is to be told, once: life, counted, and the endpoint
   in frame 0, good until the next call. */
bool replication_has_news(const struct replication *);
struct message replication_news(struct replication *);
/* It is news again, if there is one in sync. */
void replication_report(struct replication *);

/* Where a peer that says HELLO listens, in letters that can be shown; false:
   nowhere. */
bool replication_endpoint(const struct message *hello, char *endpoint,
			  size_t room);

/* For tests: NULL, or what does not hold.  The server stands by itself, or
   not, and has acted on changes up to this one. */
const char *replication_check(const struct replication *, bool stands_by,
			      uint64_t acted);

#endif
