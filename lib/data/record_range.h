/*
 * record_range - reads a number of successive records of a file (a span in
 * ps-wire(7)).
 *
 * A range names a byte of the file before its first record, and the number of
 * records to pass over from this byte on, so the file need not be read from the
 * front.
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
	uint64_t begin, end;	/* bytes: only records that begin from begin
				   on, and before end, count; 0 and
				   UINT64_MAX: all */
	uint64_t skip, count;	/* records to pass over from begin on, records
				   of the range */
	uint64_t number;	/* of the range's first record in the file,
				   from 0 */
	struct segment_place at;	/* place of the first record; all
					   others are in the same segment */
	uint64_t segment;	/* records of this segment */
};

/* Free the names. */
void record_range_release(struct record_range *);

struct order;

/* How files are to be read. */
struct record_range_format {
	char *name;		/* of the format; NULL: by the file's name */
	bool no_header;		/* csv, tsv: columns are called 1, 2, 3 ... */
	/* All of these are borrowed: */
	const atomic_bool *stop;	/* when it is true, reading fails with
					   FAIL_PEER; or NULL */
	struct cache *cache;	/* NULL: no caches */
	struct skip_records *bad;	/* how many bad records are skipped;
					   NULL: none */
	struct negative_labels *negatives;	/* so far; or NULL */
	struct order *order;	/* of columns in earlier files; NULL: not
				   checked */
};

struct record_range_reader;

/*
 * Prepare to read a range.  The range is copied; all else is borrowed; label
 * may be NULL.  A range may come from a peer, so only plain files are opened,
 * never commands (FAIL_DENIED).  NULL: the file is missing or not plain, has no
 * file of labels, or the format is unknown.
 */
struct record_range_reader *
record_range_open(const struct record_range *,
		  const struct record_range_format *,
		  const struct input *inputs, size_t count,
		  const struct input *label, struct fail *);
void record_range_close(struct record_range_reader *);

/*
 * Continue with another range, if it follows in the same file and the first one
 * has been read to its end.  false: open it anew.
 */
bool record_range_follow(struct record_range_reader *,
			 const struct record_range *);

/*
 * Append the next records to a batch, and count them in batch->examples.
 * Return how many records of the range were read, 0 at its end, or -1.  A bad
 * record that is skipped makes a call of its own: it returns 1 and appends no
 * example.  If the file has fewer records than the range it has changed,
 * FAIL_DATA.
 */
int record_range_read(struct record_range_reader *, struct batch *,
		      struct fail *);

/*
 * After the last range that follows, read up to 1024 records more for the cache
 * segment that was begun, since a segment is only of use when it is complete.
 * false: nothing is left to do.
 */
bool record_range_finish(struct record_range_reader *);

/* How many records a range of a file has, and where they begin. */
struct record_range_tally {
	uint64_t records, *place;	/* place[i]: the byte at which record
					   i * RECORD_RANGE_EVERY begins */
	size_t places;		/* 0: the file is only read from the front */
	bool whole;		/* this file cannot be cut: count it as one */
};

/*
 * Count the records that begin between begin and end of a range; its skip and
 * count are ignored, and so are the values in the records.  Return 0 or -1;
 * the caller frees place[].  If a part of a file is malformed, but the file as
 * a whole may not be, return 0 with only whole set.
 */
int record_range_count(const struct record_range *,
		       const struct record_range_format *,
		       const struct input *inputs, size_t count,
		       const struct input *label, struct record_range_tally *,
		       struct fail *);

#endif
