/*
 * array - numbers in binary, row by row: what IDX and NumPy files have in
 * common.  A row is the record of one input, or of the label.
 */
#ifndef PS_ARRAY_H
#define PS_ARRAY_H

#include "data/format.h"
#include "data/source.h"
#include "store/npy.h"

#include <stdint.h>

struct array {
	struct npy head;	/* shape, and how a number is written */
	struct source *source;	/* NULL: all bytes are in hand */
	char *name;		/* of the file, and the member */
	unsigned char *bytes;	/* a row, or everything */
	size_t row_size;	/* bytes of a row */
	uint64_t row, rows;	/* read so far, and in all */
};

/* Read a file's header: what is in the file is the format's to say. */
typedef int array_header(struct array *, struct fail *);

/* A zeroed struct array is an empty one, for release. */
int array_open(struct array *, const char *file, struct commands *commands,
	       array_header *, struct fail *);
void array_release(struct array *);

/* Can its rows feed the input?  If not, say why; if so, get ready. */
int array_begin(struct array *, const struct input *, struct fail *);

/* Put the next row into a feature, or pass over it if NULL: 1; 0: no more. */
int array_next(struct array *, struct feature *, size_t example,
	       struct fail *);

/* Read all of a NumPy array, out of a source that has come to it. */
int array_load(struct array *, struct source *, struct fail *);

/*
 * Put n numbers, as they are written in arrays of that header, into a feature
 * that takes numbers, from value number at on.  Fails without their place.
 */
int array_fill(const struct npy *head, struct feature *, size_t at, size_t n,
	       const unsigned char *bytes, struct fail *);

/*
 * A format's open, read and close for one array of values and, if there is a
 * label, a second one of labels, each with as many rows.
 */
void *array_pair_open(const struct read_spec *, char *const *files,
		      array_header *, struct fail *);
int array_pair_read(void *, struct batch *, struct fail *);
void array_pair_close(void *);

/* NumPy's header. */
int npy_header_read(struct array *, struct fail *);

#endif
