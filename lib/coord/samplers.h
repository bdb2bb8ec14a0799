/*
 * samplers - which records of each of the coordinator's data sets a step reads.
 *
 * Each data set has a sampler and is read on its own, epoch after epoch.  A
 * step takes the next batches of every data set that its step line reads, the
 * same number of each: in a round one for each replica, else one.  A round
 * takes fewer at the end of an epoch of one of these data sets: so a step has
 * records of only one epoch of each data set, and an epoch of each data set has
 * every record once.
 */
#ifndef PS_SAMPLERS_H
#define PS_SAMPLERS_H

#include "coord/sampler.h"
#include "model/model.h"

#define SAMPLERS	8	/* data sets, at most */

struct samplers;

/* The places of a step: batches places in a row of each data set. */
struct places {
	uint64_t batches;
	uint64_t first[SAMPLERS];	/* PLACES_NONE: the step does not read
					   that data set */
};
#define PLACES_NONE	UINT64_MAX

/* Returns the places of a step that reads no data set. */
struct places places_none(void);
/* places_behind() returns the places of the step that is this many steps later,
   if all places follow in a row; places_follow() is true if the second argument
   has those. */
bool places_follow(const struct places *, uint64_t steps,
		   const struct places *);
struct places places_behind(const struct places *, uint64_t steps);
void places_write(const struct places *, struct pack *);
struct places places_read(struct unpack *);

/* The model is borrowed; NULL: every step reads every data set.  replicas: the
   number of batches of a step, one for each replica. */
struct samplers *samplers_new(const struct model *, uint64_t replicas);
void samplers_free(struct samplers *);

/*
 * Adds the sampler, taken over, of the model's data set of this number.  ends:
 * an epoch request of steps that read this data set is over when an epoch of
 * this data set is.  Samplers are numbered in the order in which they are
 * added.
 */
void samplers_add(struct samplers *, struct sampler *, size_t dataset,
		  bool ends);
size_t samplers_count(const struct samplers *);
struct sampler *samplers_get(const struct samplers *, size_t i);
size_t samplers_dataset(const struct samplers *, size_t i);
/* Returns the name of the data set; "": it has none. */
const char *samplers_name(const struct samplers *, size_t i);
/* Returns a bit for each of the model's data sets that has a sampler. */
uint64_t samplers_datasets(const struct samplers *);
/* Returns the number of the sampler of this name, or SAMPLER_NONE. */
size_t samplers_find(const struct samplers *, const char *name);

/* Are the records of all data sets counted? */
bool samplers_ready(const struct samplers *);

/* ---- the steps of a step line, by its name; NULL: the first line ---- */

/* Returns a bit for each sampler that the steps read. */
uint64_t samplers_taken(const struct samplers *, const char *step);
/* Returns the sampler of the line's first input, or if it has none, the first
   sampler that the steps read. */
size_t samplers_first(const struct samplers *, const char *step);

/* Takes the places of the next step; an epoch that begins with it has this many
   streams; 0: as many as the last.  samplers_return() returns the places of a
   step that was given up. */
struct places samplers_take(struct samplers *, const char *step,
			    uint64_t streams);
void samplers_return(struct samplers *, const struct places *);

/* Counts the steps until the epoch of sampler i, which they read, is over (or
   that of another one that was added with ends). */
uint64_t samplers_left(const struct samplers *, const char *step, size_t i);

/* ---- places ---- */

/* The number of steps from these places on that can be leased together; and the
   stream of the first. */
uint64_t samplers_run(const struct samplers *, const struct places *);
uint64_t samplers_stream(const struct samplers *, const struct places *);
/* Returns the largest number of streams of the epochs that are read now. */
uint64_t samplers_streams(const struct samplers *);

/* Counts the records that a step of this line has read, examples of them of the
   line's first input: in *v, or (NULL) in the samplers. */
struct samplers_reads {
	struct sampler_reads of[SAMPLERS];
};
struct samplers_reads samplers_reads(const struct samplers *);
void samplers_add_read(struct samplers *, struct samplers_reads *v,
		       const struct places *, const char *step,
		       uint64_t examples);

/* ---- as bytes; see sampler.h ---- */

void samplers_write_counts(const struct samplers *, struct pack *);
int samplers_read_counts(struct samplers *, struct unpack *, struct fail *);
void samplers_write_position(const struct samplers *, struct pack *, bool all);
void samplers_copy_position(const struct pack *from,
			    const struct samplers_reads *, struct pack *);
int samplers_read_position(struct samplers *, const void *, size_t,
			   struct fail *);

#endif
