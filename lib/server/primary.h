/*
 * primary - the server that a standby follows, as the standby sees it.
 *
 * What comes before all chunks of the snapshot are there is kept; then each
 * change is said to be held before it is applied.  Who has once been greeted by
 * the coordinator is promised to it, and begins anew only under a newer term.
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

/* The request number of its HELLO, which no chunk that it acknowledges has. */
#define PRIMARY_HELLO	(WIRE_NONE - 1)

struct primary;

/* The life is that of the server that has it. */
struct primary *primary_new(struct outbox *, uint64_t life);
void primary_free(struct primary *);

/* Dial the one that listens at one endpoint, for a server that listens at
   another. */
int primary_follow(struct primary *, const char *at, const char *endpoint,
		   struct fail *);

bool primary_is(const struct primary *, uint64_t peer);
const char *primary_at(const struct primary *);

/* The server is a standby, of which nobody may ask anything. */
bool primary_followed(const struct primary *);
/* It has all that the other had. */
bool primary_copied(const struct primary *);
/* It was followed, until the server took over. */
bool primary_promoted(const struct primary *);
/* Changes above this must not be acted on. */
uint64_t primary_limit(const struct primary *);
/* Changes are of the state that came. */
bool primary_synced(const struct primary *);

/*
 * The connection is there: say who we are, a standby, or, to one who does not
 * know that its time is over, the server: of an index, a term and a run, which
 * is empty if it has none.
 */
void primary_hello(const struct primary *, uint64_t index, uint64_t term,
		   struct frame run);

/* The coordinator has greeted the server, and was told that it has, or has
   not, all that the other had. */
void primary_greet(struct primary *, bool copied);
/* A SYNC of our run, under a newer term or not: may it be taken?  -1: the
   coordinator counts on what is here. */
int primary_check_sync(const struct primary *, bool newer, struct fail *);
/* What is here is forgotten; then the SYNC was taken. */
void primary_forget(struct primary *);
void primary_begin(struct primary *, const struct message *sync);
/* Was one still to come?  It has come. */
bool primary_next_chunk(struct primary *);

/* Say that the changes up to this one are held, unless it has been said. */
void primary_hold(struct primary *, uint64_t number);

/* A change that it has made cannot be made here. */
void primary_refuse(const struct primary *, const struct message *change,
		    const struct fail *why);

/* It does not want us any more.  False: it never did. */
bool primary_refused(struct primary *, const struct message *);

/* The server takes over, in this term; all up to this change is its own. */
void primary_promote(struct primary *, uint64_t last);

/* For tests: NULL, or what does not hold; all up to this was acted on. */
const char *primary_check(const struct primary *, uint64_t acted);

#endif
