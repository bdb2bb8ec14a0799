/*
 * coord_relays - which relay the workers of a site have.
 *
 * A site has one relay at a time; its workers are told of it when it is ready,
 * and again when it is gone.
 */
#ifndef PS_COORD_RELAYS_H
#define PS_COORD_RELAYS_H

#include "coord/coord_members.h"

void relays_init(struct coord *);
void relays_release(struct coord *);
const char *relays_check(const struct coord *);

/* Of which site is the caller, and where is it, if it is a relay?  -1: what it
   says of that is malformed. */
int relays_check_hello(const struct message *, struct fail *);
/* The relay that has the site of this one, or NULL. */
struct member *relays_rival(const struct coord *, const struct message *);

/* Room for one that has come for the first time; and what its HELLO says. */
void relays_join(struct coord *, const struct member *);
void relays_greet(struct coord *, struct member *, const struct message *);
/* A relay is ready, or gone. */
void relays_changed(struct coord *);
/* Workers that have a plan are told what is news to them. */
void relays_notify(struct coord *);

const char *relays_site(const struct coord *, const struct member *);
const char *relays_endpoint(const struct coord *, const struct member *);
/* The life of the relay that a worker has been told of; 0: of none. */
uint64_t relays_told(const struct coord *, const struct member *);
/* Workers that are there and have been told of it. */
size_t relays_workers(const struct coord *, const struct member *);

#endif
