/*
 * span - some records of a file, one behind the other.
 *
 * What is known of where they are is used: the file is entered at a byte, and
 * the first records from there on are passed over.
 */
#ifndef PS_SPAN_H
#define PS_SPAN_H

#include "data/bad.h"
#include "data/pieces.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define SPAN_EVERY	4096	/* records between two places of a tally */

struct span {
	char *file;
	char *label;		/* the file of labels (idx, npy), or NULL */
	uint64_t begin, end;	/* bytes: records that begin there, and before
				   the end; 0 and UINT64_MAX: all */
	uint64_t skip, count;	/* records */
	uint64_t number;	/* of the first one in the file, from 0 */
	struct piece_place at;	/* the first one; all are of its piece, */
	uint64_t piece;		/* which has so many records */
};

void span_release(struct span *);	/* the names */

struct order;

/* How files are to be read. */
struct span_format {
	char *name;		/* NULL: by the file's name */
	bool no_header;
	const atomic_bool *stop;	/* leave off when it is true; or NULL */
	struct cache *cache;	/* NULL: there are none; borrowed */
	struct bad *bad;	/* what may be passed over, or NULL; so, too */
	struct noes *noes;	/* labels that were read, or NULL; so, too */
	struct order *order;	/* of the columns so far, or NULL; so, too */
};

struct span_reader;

/*
 * All but the span is borrowed; label may be NULL.  Only files are opened,
 * never commands: a span may be a peer's word.
 */
struct span_reader *span_open(const struct span *, const struct span_format *,
			      const struct input *inputs, size_t count,
			      const struct input *label, struct fail *);
void span_close(struct span_reader *);

/* Go on with a span that follows in the file; false: it is another place. */
bool span_follow(struct span_reader *, const struct span *);

/*
 * Append the next records to a batch: how many; 0: those of the span have been
 * read.  Of one that is passed over, and then comes alone, there is no example.
 * When there are fewer than that the file is not what it was, FAIL_DATA.
 */
int span_read(struct span_reader *, struct batch *, struct fail *);

/*
 * A piece of cache that was begun is worth its end.  Read a little more of it,
 * after the last span that follows: false when there is nothing to be done.
 */
bool span_finish(struct span_reader *);

/*
 * How many records there are between two bytes of a file, and where: a place
 * for each SPAN_EVERY of them, or none if the file can only be read from the
 * front.  What is in the records is not looked at.  Free place.
 */
struct span_tally {
	uint64_t records, *place;
	size_t places;
	bool whole;		/* this file cannot be cut: count it as one */
};
int span_count(const struct span *, const struct span_format *,
	       const struct input *inputs, size_t count,
	       const struct input *label, struct span_tally *, struct fail *);

#endif
