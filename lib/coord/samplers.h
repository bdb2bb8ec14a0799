/*
 * samplers - which records of each of the coordinator's data sets a step reads.
 *
 * Each data set has a sampler, and is read for itself, epoch after epoch.  A
 * step takes the next batches of all that its step line takes, as many of each:
 * in a round one for each replica, else one.  It takes fewer where one of them
 * comes to the end of its epoch, so that a step has records of one epoch of
 * each, and an epoch of each has every record once.
 */
#ifndef PS_SAMPLERS_H
#define PS_SAMPLERS_H

#include "coord/sampler.h"
#include "model/model.h"

#define SAMPLERS	8	/* data sets, at most */

struct samplers;

/* The places of a step: so many in a row of each data set that it takes. */
struct places {
	uint64_t batches;
	uint64_t first[SAMPLERS];	/* PLACES_NONE: it takes none */
};
#define PLACES_NONE	UINT64_MAX

/* Of a step that takes none. */
struct places places_none(void);
/* Are these of the step that is so many behind, if they go on in a row? */
bool places_follow(const struct places *, uint64_t steps,
		   const struct places *);
/* What that one has. */
struct places places_behind(const struct places *, uint64_t steps);
void places_write(const struct places *, struct pack *);
struct places places_read(struct unpack *);

/* The model is borrowed; NULL: all steps take all.  replicas: of a step, a
   batch each. */
struct samplers *samplers_new(const struct model *, uint64_t replicas);
void samplers_free(struct samplers *);

/*
 * That of the model's data set of this number, which it takes.  ends: an epoch
 * of steps that take it is over when its own is.  They are numbered as they are
 * added.
 */
void samplers_add(struct samplers *, struct sampler *, size_t dataset,
		  bool ends);
size_t samplers_count(const struct samplers *);
struct sampler *samplers_get(const struct samplers *, size_t i);
size_t samplers_dataset(const struct samplers *, size_t i);
/* Its name; "" */
const char *samplers_name(const struct samplers *, size_t i);
/* A bit for each of the model's. */
uint64_t samplers_datasets(const struct samplers *);
/* That of this name, or SAMPLER_NONE. */
size_t samplers_find(const struct samplers *, const char *name);

bool samplers_ready(const struct samplers *);

/* ---- the steps of a step line, by its name; NULL: the first one's ---- */

/* A bit for each sampler that they take. */
uint64_t samplers_taken(const struct samplers *, const char *step);
/* That of the line's first input, or else the first that is taken, of some. */
size_t samplers_first(const struct samplers *, const char *step);

/* The next one's; an epoch that begins has so many streams; 0: as the last. */
struct places samplers_take(struct samplers *, const char *step,
			    uint64_t streams);
void samplers_return(struct samplers *, const struct places *);

/* Steps until the epoch of one that is taken is over. */
uint64_t samplers_left(const struct samplers *, const char *step, size_t i);

/* ---- places ---- */

/* Steps that can be leased together from there on; the stream of the first. */
uint64_t samplers_run(const struct samplers *, const struct places *);
uint64_t samplers_stream(const struct samplers *, const struct places *);
/* The most that an epoch has of which batches are taken now. */
uint64_t samplers_streams(const struct samplers *);

/* A step of that line has been done, of so many examples of its first input:
   what it has read, added to *v, or (NULL) to what the samplers have. */
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
