/*
 * coord_data - the coordinator's data sets: workers count the records of their
 * splits, leases say which records a step reads, epochs begin and end.
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
/* Asks each free worker to count the records of a split (INDEX). */
void data_count(struct coord *);
/* The worker is gone: takes back its split and its stream, for others. */
void data_take_back(struct coord *, struct member *);
/* The worker died: if it was counting a split under which QUEUE_DEATHS have
   died, the run fails (FAIL_DATA). */
void data_died(struct coord *, const struct member *);
/* A worker has counted a split (INDEXED); -1: FAIL_PROTOCOL.  Or it could not
   (REFUSED), and the run fails. */
int data_counted(struct coord *, struct member *, const struct message *,
		 struct fail *);
void data_refused(struct coord *, struct member *, const struct message *);
/* Returns how many steps, from these places on, one lease can have: at most
   --pack of them. */
size_t data_run(const struct coord *, const struct places *);
/*
 * Leases steps whose records are in sequence to a worker: of its own stream, as
 * far as there are any; any: of whichever stream is furthest behind.  Returns
 * and fills in what queue_lease() does.
 */
size_t data_lease(struct coord *, struct member *, uint64_t limit, bool any,
		  struct lease_terms *);
/* Appends to a LEASE the frames that say which records the replica reads; their
   bytes are good until the next call. */
void data_describe(struct coord *, const struct lease_terms *, uint64_t replica,
		   struct message *);
/* A step is done, and not yet ended in the queue: adds its result to its epoch.
   And: adds only the records that it has read, to those of a cut. */
void data_done(struct coord *, const struct result *, const float *scores,
	       const unsigned char *positive, uint64_t now_ms);
void data_add_read(struct coord *, const struct result *,
		   struct samplers_reads *);
/* Returns the epoch of a step that has not ended; WIRE_NONE: it has none. */
uint64_t data_epoch_of(const struct coord *, uint64_t step);
/* Writes the list of files that an eval request without files scores; false:
   the coordinator does not have that data set. */
bool data_write_scored(const struct coord *, struct pack *);
/*
 * Does the journal know the epochs of all steps from the first on that servers
 * have?  The number of streams of an epoch is safe in the journal before any of
 * its steps is leased.  So a server with a step of an unknown epoch shows that
 * the journal once had more; with other streams that step would read other
 * records.  false: so it is, and the run fails (FAIL_DATA).
 */
bool data_knows_epochs(struct coord *, uint64_t first);
/* Gives its steps to the epoch request at the front of the queue. */
void data_begin_epoch(struct coord *, const struct request *, uint64_t now_ms);
/* Advances the epoch request at the front of the queue; reports each epoch that
   is over.  1: all have ended, and the caller is to pass it; 0: not yet. */
int data_epoch(struct coord *, const struct request *, uint64_t now_ms);
/* Notes where the samplers stand; place is empty while nothing is counted. */
void data_note(const struct coord *, struct pack *place,
	       struct samplers_reads *);
/* Returns what was noted, for a checkpoint, in hexadecimal, to free(); NULL:
   there are no data, or nothing was noted or restored. */
char *data_position(const struct coord *, const struct pack *place,
		    const struct samplers_reads *);
/* Checks that a request suits the model and the data: 0, or -1 (FAIL_DATA). */
int data_can(const struct coord *, const struct request *, struct fail *);
void data_join(struct coord *, const struct member *);
const char *data_check(const struct coord *);

/* ---- in the journal; -1: the record makes no sense ---- */

/* all: with what is needed to run any step again, not only later ones. */
void data_write_counts(struct coord *, bool all);
int data_read_counts(struct coord *, struct unpack *, struct fail *);
/* Writes the number of streams of an epoch that has begun since the last
   record, if one has. */
void data_write_streams(struct coord *);
int data_read_streams(struct coord *, struct unpack *);
void data_write_epoch(const struct coord *, struct pack *, uint64_t now_ms);
int data_read_epoch(struct coord *, struct unpack *);

#endif
