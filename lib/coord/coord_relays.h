/*
 * coord_relays - which relay the workers of a site have.
 *
 * A site has one relay at a time.  Its workers are sent RELAY when the relay is
 * ready, and again when it is gone.
 */
#ifndef PS_COORD_RELAYS_H
#define PS_COORD_RELAYS_H

#include "coord/coord_members.h"

void relays_init(struct coord *);
void relays_release(struct coord *);
const char *relays_check(const struct coord *);

/* Checks the site in a HELLO, and a relay's endpoint.  -1 (FAIL_PROTOCOL): one
   is malformed, or a relay has none. */
int relays_check_hello(const struct message *, struct fail *);
/* Returns the relay that is at the site of the relay in this HELLO, or NULL. */
struct member *relays_rival(const struct coord *, const struct message *);

/* relays_join() makes room for a new member; relays_greet() takes the site and
   endpoint of its HELLO, also when it connects again. */
void relays_join(struct coord *, const struct member *);
void relays_greet(struct coord *, struct member *, const struct message *);
/* Notes that a relay is ready, or gone, for relays_notify(). */
void relays_changed(struct coord *);
/* Sends RELAY to each worker whose site has another relay than it was sent. */
void relays_notify(struct coord *);

/* The site of a member, "": none; the endpoint of a relay. */
const char *relays_site(const struct coord *, const struct member *);
const char *relays_endpoint(const struct coord *, const struct member *);
/* Returns the life of the relay that a worker was last sent; 0: none. */
uint64_t relays_told(const struct coord *, const struct member *);
/* Counts the workers that are there and were sent this relay. */
size_t relays_workers(const struct coord *, const struct member *);

#endif
