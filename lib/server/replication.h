/*
 * replication - the link from a server to its standby, as the server sees it.
 *
 * The standby calls.  The server sends it a snapshot in chunks, of which at
 * most four are unacknowledged at a time, and from the snapshot on every
 * change, in order.  The standby holds the changes that it has acknowledged
 * (HELD), and the server acts on a change only when the standby holds it.
 * While the snapshot is still on its way the standby may be REPLICATION_BEHIND
 * changes behind, so that the server need not stand still for it.
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
 * When a state that the coordinator must know of has changed, there is news:
 * see replication_news().
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

/* A peer said HELLO as a standby: it waits for replication_begin(), in place of
   one that waited before.  -1 (FAIL_PROTOCOL): the HELLO has no endpoint, or no
   life. */
int replication_hello(struct replication *, uint64_t peer,
		      const struct message *, struct fail *);
/* Does a standby wait, and is there no other one yet? */
bool replication_waits(const struct replication *);

/*
 * Make the standby that waits the server's standby, and send it: the SYNC
 * message, whose chunks are filled in here and all else by the caller; the
 * first chunks of the snapshot, which is this object's to free from now on; and
 * the changes from this one on, which wait in the commit log.
 * sync->sync.number is the last change that the snapshot contains.
 */
void replication_begin(struct replication *, struct shard_snapshot *,
		       struct message *sync, const struct change *);

/* Send a change to the standby, if there is one. */
void replication_forward(struct replication *, const struct change *);

/* Take a message of the standby, or of the one that waits.  acted: the last
   change that the server has acted on. */
void replication_receive(struct replication *, uint64_t peer,
			 const struct message *, uint64_t acted);

/* replication_send(): send a message (STOP) to the standby and to the one that
   waits.  replication_reached(): can either of them still be sent anything? */
void replication_send(struct replication *, const struct message *);
bool replication_reached(const struct replication *);
/* Ping the standby and the one that waits: so they know that the server is
   there, and the server notices when one of them has left. */
void replication_ping(struct replication *);

/*
 * awaited: changes wait for the standby alone.  A standby on which the
 * coordinator does not count, and for which they wait longer than limit_ms, is
 * dropped: no coordinator would ever let the server proceed without it.
 */
void replication_watch(struct replication *, bool awaited, uint64_t limit_ms,
		       uint64_t now_ms);

bool replication_is_there(const struct replication *);
/* The server must not act on changes above this number. */
uint64_t replication_limit(const struct replication *);
/* The life of the standby that the coordinator counts on, as our answer to its
   PLAN reports it; 0: none. */
uint64_t replication_counted(const struct replication *);

/* replication_drop(): let go of the standby and tell it (REFUSED), so that it
   may call again.  replication_drop_copying(): the same if its snapshot is
   still on its way, because that snapshot's shard is freed. */
void replication_drop(struct replication *);
void replication_drop_copying(struct replication *);
/* The run is forgotten: let go of its standby, which is sent no message. */
void replication_forget(struct replication *);

/*
 * The coordinator counts on the standby of this life (0: on none): drop any
 * other, and count on the one that is in sync.
 */
void replication_keep(struct replication *, uint64_t life);
/* The same, but a standby that is not in sync and reached now is not counted
   on. */
void replication_count(struct replication *, uint64_t life);

/* replication_news() returns a STANDBY message for the coordinator, once for
   each change of state: life, counted, and the endpoint in frame 0, which is
   good until the next call.  Its run and term are the caller's to fill in. */
bool replication_has_news(const struct replication *);
struct message replication_news(struct replication *);
/* Report a standby that is in sync again: the coordinator is a new one. */
void replication_report(struct replication *);

/* Copy the endpoint at which a peer that says HELLO listens.  false: the HELLO
   has none, it does not fit, or it has bytes that cannot be shown. */
bool replication_endpoint(const struct message *hello, char *endpoint,
			  size_t room);

/* For tests: NULL, or the invariant that is broken.  stands_by: the server is a
   standby itself; acted: the last change that it has acted on. */
const char *replication_check(const struct replication *, bool stands_by,
			      uint64_t acted);

#endif
