/*
 * coord_standby - hot standbys of servers.
 */
#ifndef PS_COORD_STANDBY_H
#define PS_COORD_STANDBY_H

#include "coord/coord_private.h"

/* What has happened to standbys: bits. */
enum standby_news {
	STANDBY_NONE = 0,
	STANDBY_COUNTED = 1,	/* one can take over from now on */
	STANDBY_TOOK_OVER = 2,
	STANDBY_NEW_TERM = 4	/* one is lost that a server is bound to: only a
				   new term lets the server go on alone */
};

void standby_init(struct coord *);
void standby_release(struct coord *);
/* Is this peer the connection to a standby? */
bool standby_knows(const struct coord *, uint64_t peer);
/* The connection to such a peer was made, or broke; it sent a message. */
void standby_up(struct coord *, uint64_t peer, uint64_t now_ms);
void standby_down(struct coord *, uint64_t peer, uint64_t now_ms);
enum standby_news standby_receive(struct coord *, uint64_t peer,
				  const struct message *, uint64_t now_ms);
/* Takes STANDBY of a server: it has a standby, or has lost it. */
enum standby_news standby_notified(struct coord *, size_t server,
				   const struct message *, uint64_t now_ms);
/* Promotes the standby of each server that came back without its variables;
   true: of any. */
bool standby_step_in(struct coord *, uint64_t now_ms);
/* Warns, when a step was done after a standby took over, how long that took. */
void standby_notify(struct coord *, uint64_t now_ms);
/*
 * Write and read, for one server, the life of the standby that is counted on
 * and can take over (0: none) and its endpoint; of: the life of the server.
 * standby_resume() dials the standbys that were read.
 */
void standby_write(const struct coord *, size_t server, struct pack *);
void standby_read(struct coord *, size_t server, uint64_t of,
		  struct unpack *);
void standby_resume(struct coord *);
/* Is the server's standby counted on; can it take over now; has it taken over,
   and no step was done since? */
bool standby_counted(const struct coord *, size_t server);
bool standby_ready(const struct coord *, size_t server);
bool standby_took_over(const struct coord *, size_t server);
const char *standby_check(const struct coord *);
/* Has the coordinator just been started, so that a standby of the journal may
   still answer? */
bool standby_awaited(const struct coord *, uint64_t now_ms);
/* standby_begin_term() sets which standbys are counted on in the new term;
   standby_compare() drops those that their servers, which have taken its plan,
   do not know as such. */
void standby_begin_term(struct coord *);
void standby_compare(struct coord *);
/* Looks for servers and standbys that are gone, or hang. */
enum standby_news standby_watch(struct coord *, uint64_t now_ms);
/*
 * Returns the time, in ms, in which a broken connection is made again: several
 * trips there and back, at most a lease.  A peer that has not returned after
 * it is gone.
 */
uint64_t standby_mending(const struct coord *);
/* Forgives a pause in which the coordinator itself did not listen: the silence
   of standbys is counted from now. */
void standby_skip_pause(struct coord *, uint64_t now_ms);

#endif
