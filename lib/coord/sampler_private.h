/*
 * sampler_private - what the parts of the sampler share: sampler.c (what a step
 * reads), sampler_count.c (the records of the splits), sampler_position.c
 * (which place is next).  For nobody else.
 */
#ifndef PS_SAMPLER_PRIVATE_H
#define PS_SAMPLER_PRIVATE_H

#include "base/ranges.h"
#include "coord/sampler.h"

enum count { COUNT_WANTED, COUNT_ASKED, COUNT_KNOWN };

struct tally {
	enum count state;
	uint64_t records, number;	/* number: records of the file in the
					   splits before this one */
	uint64_t *place;	/* see sampler_counted() */
	size_t places;
};

/* The order of the splits in an epoch. */
struct order {
	uint64_t epoch;		/* UINT64_MAX: of none yet */
	size_t *split;		/* those that have records */
	uint64_t *start;	/* the first record of each, and the end of
				   the last */
	size_t count;
};

/* The number of streams, and the unit, from an epoch on. */
struct since {
	uint64_t epoch, streams, unit;
};

struct sampler {
	struct sampler_options o;
	struct splits in;
	struct tally *tally;	/* of each split */
	size_t known;
	uint64_t records;
	struct order order[2];	/* of two epochs, one after the other */
	struct since *since;
	size_t sinces, since_room;
	uint64_t begun;		/* epochs that have streams */
	uint64_t next;		/* place */
	struct ranges returned;	/* places */
	struct sampler_reads visits;
};

/* Fails with FAIL_CONFIG: the bytes are of other files or splits. */
int sampler_fail_other(struct fail *);

#endif
