/*
 * primary - the server that a standby follows, as the standby sees it.
 *
 * The standby first receives a snapshot in chunks, and keeps changes that come
 * before the last chunk.  Then it acknowledges each change (HELD) before it
 * applies it.  Once the coordinator has greeted a standby that has all of the
 * state, it counts on that state: the standby then takes a new snapshot only
 * under a newer term.
 *
 *	none     -> followed	primary_follow()
 *	followed -> copying	primary_begin(): SYNC has come
 *	copying  -> copied	primary_next_chunk(): the last one
 *	copied   -> followed	primary_forget(): another SYNC has come
 *	copied   -> promoted	primary_promote(): we have taken over
 */
#ifndef PS_PRIMARY_H
#define PS_PRIMARY_H

#include "wire/outbox.h"

/* The request number of the HELLO that a standby sends; no chunk that it
   acknowledges has this one. */
#define PRIMARY_HELLO	(WIRE_NONE - 1)

struct primary;

/* life: the random number of this server's start, see server_new(). */
struct primary *primary_new(struct outbox *, uint64_t life);
void primary_free(struct primary *);

/* Dial the primary, which listens at the first endpoint; the second one is that
   of this server.  -1: the dial failed. */
int primary_follow(struct primary *, const char *at, const char *endpoint,
		   struct fail *);

bool primary_is(const struct primary *, uint64_t peer);
const char *primary_at(const struct primary *);

/* Is this server a standby?  Then nobody may pull from it or push to it. */
bool primary_followed(const struct primary *);
/* Has the whole snapshot come? */
bool primary_copied(const struct primary *);
/* Did this server follow a primary and then take over? */
bool primary_promoted(const struct primary *);
/* The server must not act on changes above this number. */
uint64_t primary_limit(const struct primary *);
/* Has a SYNC come?  The changes that follow belong to its state. */
bool primary_synced(const struct primary *);

/*
 * Send HELLO when the connection is up: as a standby, or, once promoted, as the
 * server.  The latter tells a primary that was replaced that its time is over.
 * index, term and run are those of this server; run is empty if it has none.
 */
void primary_hello(const struct primary *, uint64_t index, uint64_t term,
		   struct frame run);

/* The coordinator has greeted this server.  copied: the answer said that the
   server has all of its primary's state, so that the coordinator counts on
   it. */
void primary_greet(struct primary *, bool copied);
/* May a SYNC of our run be taken?  newer: it has a newer term than the last
   one.  -1 (FAIL_AGAIN): the coordinator counts on the state that is here. */
int primary_check_sync(const struct primary *, bool newer, struct fail *);
/* primary_forget(): the state of this server is dropped.  primary_begin(): a
   SYNC was taken; its chunks are to come. */
void primary_forget(struct primary *);
void primary_begin(struct primary *, const struct message *sync);
/* Count a chunk that has come.  false: none was expected; it belongs to an
   earlier SYNC. */
bool primary_next_chunk(struct primary *);

/* Send HELD for the changes up to this number, unless it was sent before or
   this server does not follow. */
void primary_hold(struct primary *, uint64_t number);

/* Send REFUSED: this server cannot make a change that the primary has made. */
void primary_refuse(const struct primary *, const struct message *change,
		    const struct fail *why);

/* REFUSED has come from the primary: it does not want this standby any more.
   false: it refused our HELLO, so it never did. */
bool primary_refused(struct primary *, const struct message *);

/* This server takes over; the changes up to this number are its own. */
void primary_promote(struct primary *, uint64_t last);

/* For tests: NULL, or the invariant that is broken, when the server has acted
   on the changes up to this number. */
const char *primary_check(const struct primary *, uint64_t acted);

#endif
