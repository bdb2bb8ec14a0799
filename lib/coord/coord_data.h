/*
 * coord_data - the samplers: their splits are counted, their blocks leased,
 * their epochs closed.
 */
#ifndef PS_COORD_DATA_H
#define PS_COORD_DATA_H

#include "coord/coord_private.h"

struct member;
struct places;
struct result;
struct samplers_reads;

void data_init(struct coord *);
void data_release(struct coord *);
/* Is everything known that is needed to give out steps? */
bool data_ready(const struct coord *);
/* Have splits counted by those who can. */
void data_count(struct coord *);
/* The worker is gone: somebody else is to count, and to read its stream. */
void data_take_back(struct coord *, struct member *);
/* It died, perhaps while it counted a split: if too many have, nobody can. */
void data_died(struct coord *, const struct member *);
int data_counted(struct coord *, struct member *, const struct message *,
		 struct fail *);
void data_refused(struct coord *, struct member *, const struct message *);
/* Steps that can be leased together, from this place on. */
size_t data_run(const struct coord *, const struct places *);
/* What the samplers have for a worker; as queue_lease(). */
size_t data_lease(struct coord *, struct member *, uint64_t limit, bool any,
		  struct lease_terms *);
/* Its frames for a replica, which are good until the next lease. */
void data_describe(struct coord *, const struct lease_terms *, uint64_t replica,
		   struct message *);
/* A step is done, which has not ended yet; the same for some of the steps. */
void data_done(struct coord *, const struct result *, const float *scores,
	       const unsigned char *positive, uint64_t now_ms);
void data_add_read(struct coord *, const struct result *,
		   struct samplers_reads *);
/* The epoch that it is of; WIRE_NONE: of none. */
uint64_t data_epoch_of(const struct coord *, uint64_t step);
/* The files that are scored without a word, as a list; false: not ours. */
bool data_write_scored(const struct coord *, struct pack *);
/*
 * Into how many streams an epoch is cut is safe in the journal before any step
 * of it is given out.  So a server that has a step, of those from the first on,
 * of one of which the journal says nothing was told of it by a coordinator that
 * had more of the journal; cut anew it would be of other records.  False: so it
 * is, and the run ends.
 */
bool data_knows_epochs(struct coord *, uint64_t first);
/* The epoch at the front has steps from now on. */
void data_begin_epoch(struct coord *, const struct request *, uint64_t now_ms);
/* An epoch is at the front of the queue: 1: it is behind us. */
int data_epoch(struct coord *, const struct request *, uint64_t now_ms);
/* Where the samplers are, and for a checkpoint: where it was when that was
   noted, in hexadecimal, to free(); NULL: without data. */
void data_note(const struct coord *, struct pack *place,
	       struct samplers_reads *);
char *data_position(const struct coord *, const struct pack *place,
		    const struct samplers_reads *);
/* Can the samplers do that? */
int data_can(const struct coord *, const struct request *, struct fail *);
void data_join(struct coord *, const struct member *);
const char *data_check(const struct coord *);
/* In the journal.  -1: it makes no sense. */
/* all: what is needed to run again any step, not only later ones. */
void data_write_counts(struct coord *, bool all);
int data_read_counts(struct coord *, struct unpack *, struct fail *);
/* If an epoch has begun: into how many streams it was cut. */
void data_write_streams(struct coord *);
int data_read_streams(struct coord *, struct unpack *);
void data_write_epoch(const struct coord *, struct pack *, uint64_t now_ms);
int data_read_epoch(struct coord *, struct unpack *);

#endif
