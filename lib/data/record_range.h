/*
 * record_range - some records of a file, one behind the other.
 *
 * What is known of where they are is used: the file is entered at a byte, and
 * the first records from there on are passed over.
 */
#ifndef PS_RECORD_RANGE_H
#define PS_RECORD_RANGE_H

#include "data/cache_segment.h"
#include "data/skip_records.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define RECORD_RANGE_EVERY	4096	/* records between places of a tally */

struct record_range {
	char *file;
	char *label;		/* the file of labels (idx, npy), or NULL */
	uint64_t begin, end;	/* bytes: records that begin there, and before
				   the end; 0 and UINT64_MAX: all */
	uint64_t skip, count;	/* records */
	uint64_t number;	/* of the first one in the file, from 0 */
	struct segment_place at;	/* the first one; all are of its
					   segment, */
	uint64_t segment;	/* which has so many records */
};

void record_range_release(struct record_range *);	/* the names */

struct order;

/* How files are to be read. */
struct record_range_format {
	char *name;		/* NULL: by the file's name */
	bool no_header;
	const atomic_bool *stop;	/* leave off when it is true; or NULL */
	struct cache *cache;	/* NULL: there are none; borrowed */
	struct skip_records *bad;	/* what may be passed over, or NULL; so,
					   too */
	struct noes *noes;	/* labels that were read, or NULL; so, too */
	struct order *order;	/* of the columns so far, or NULL; so, too */
};

struct record_range_reader;

/*
 * All but the span is borrowed; label may be NULL.  Only files are opened,
 * never commands: a span may be a peer's word.
 */
struct record_range_reader *
record_range_open(const struct record_range *,
		  const struct record_range_format *,
		  const struct input *inputs, size_t count,
		  const struct input *label, struct fail *);
void record_range_close(struct record_range_reader *);

/* Go on with a span that follows in the file; false: it is another place. */
bool record_range_follow(struct record_range_reader *,
			 const struct record_range *);

/*
 * Append the next records to a batch: how many; 0: those of the span have been
 * read.  Of one that is passed over, and then comes alone, there is no example.
 * When there are fewer than that the file is not what it was, FAIL_DATA.
 */
int record_range_read(struct record_range_reader *, struct batch *,
		      struct fail *);

/*
 * A segment of cache that was begun is worth its end.  Read a little more of
 * it, after the last span that follows: false when there is nothing to be done.
 */
bool record_range_finish(struct record_range_reader *);

/*
 * How many records there are between two bytes of a file, and where: a place
 * for each RECORD_RANGE_EVERY of them, or none if the file can only be read
 * from the front.  What is in the records is not looked at.  Free place.
 */
struct record_range_tally {
	uint64_t records, *place;
	size_t places;
	bool whole;		/* this file cannot be cut: count it as one */
};
int record_range_count(const struct record_range *,
		       const struct record_range_format *,
		       const struct input *inputs, size_t count,
		       const struct input *label, struct record_range_tally *,
		       struct fail *);

#endif
