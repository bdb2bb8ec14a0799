/*
 * coord_sync - the rounds of a synchronous run.
 */
#ifndef PS_COORD_SYNC_H
#define PS_COORD_SYNC_H

#include "coord/coord_private.h"

struct ask;
struct result;

void sync_init(struct coord *);
void sync_release(struct coord *);
bool sync_begun(const struct coord *);
/* Servers have said which slots of the round they lack; true: some, which are
   done once more.  Else it is committed now. */
bool sync_checked(struct coord *, const struct ask *);
/* The round that is being committed: which step that is, what came of it; and
   servers have committed it. */
uint64_t sync_step(const struct coord *);
void sync_result(const struct coord *, struct result *, const float **scores,
		 const unsigned char **positive);
void sync_committed(struct coord *);
size_t sync_replicas(const struct coord *);
bool sync_is(const struct coord *, const void *worker);
const char *sync_check(const struct coord *);

#endif
