/*
 * coord_standby - hot standbys of servers.
 */
#ifndef PS_COORD_STANDBY_H
#define PS_COORD_STANDBY_H

#include "coord/coord_private.h"

/* What has become of one, or of several. */
enum standby_news {
	STANDBY_NONE = 0,
	STANDBY_COUNTED = 1,	/* it can take over */
	STANDBY_TOOK_OVER = 2,
	STANDBY_NEW_TERM = 4	/* none can, and its server must know */
};

void standby_init(struct coord *);
void standby_release(struct coord *);
bool standby_knows(const struct coord *, uint64_t peer);
void standby_up(struct coord *, uint64_t peer, uint64_t now_ms);
void standby_down(struct coord *, uint64_t peer, uint64_t now_ms);
enum standby_news standby_receive(struct coord *, uint64_t peer,
				  const struct message *, uint64_t now_ms);
/* A server says what has become of its standby. */
enum standby_news standby_notified(struct coord *, size_t server,
				   const struct message *, uint64_t now_ms);
/* Have a standby take over for each server that came back with nothing. */
bool standby_step_in(struct coord *, uint64_t now_ms);
/* One that took over counts as such when the next step is done. */
void standby_notify(struct coord *, uint64_t now_ms);
/*
 * In the journal: of a server the life of the one that is counted on (0: there
 * is none) and where it is.  And those that it knows of are dialled, when the
 * coordinator is started again.
 */
void standby_write(const struct coord *, size_t server, struct pack *);
void standby_read(struct coord *, size_t server, uint64_t of,
		  struct unpack *);
void standby_resume(struct coord *);
/* It is counted on; it can take over; it has, and no step was done since. */
bool standby_counted(const struct coord *, size_t server);
bool standby_ready(const struct coord *, size_t server);
bool standby_took_over(const struct coord *, size_t server);
const char *standby_check(const struct coord *);
/* The coordinator has just been started: some may still answer. */
bool standby_awaited(const struct coord *, uint64_t now_ms);
/* Before a new term: which ones are counted on in it; and when all servers
   have taken its plan: which ones are in sync with them. */
void standby_begin_term(struct coord *);
void standby_compare(struct coord *);
/* Servers and standbys that are gone, or hang. */
enum standby_news standby_watch(struct coord *, uint64_t now_ms);
/*
 * A connection breaks, and is made again: that takes several trips there and
 * back.  Who has not returned by then is gone.
 */
uint64_t standby_mending(const struct coord *);
/* We did not listen ourselves: nobody's silence counts until now. */
void standby_excuse(struct coord *, uint64_t now_ms);

#endif
