/*
 * array - one array of binary numbers, read row by row: the part that IDX and
 * NumPy files share.  Row i holds the values of record i, for one input or for
 * the label.
 */
#ifndef PS_ARRAY_H
#define PS_ARRAY_H

#include "data/format.h"
#include "data/source.h"
#include "store/npy.h"

#include <stdint.h>

struct array {
	struct npy head;	/* shape, and how a number is written */
	struct source *source;	/* owned; NULL: bytes has the whole array */
	char *name;		/* of the file, or "FILE:MEMBER" */
	unsigned char *bytes;	/* the current row, or the whole array */
	size_t row_size;	/* bytes of a row */
	uint64_t row, rows;	/* rows read so far, rows in all */
};

/* Read the header of a file format into a->head.  Return 0 or -1. */
typedef int array_header(struct array *, struct fail *);

/*
 * Open a file and read its header.  Return 0 or -1; the caller releases the
 * struct in both cases.  A zeroed struct array is an empty one.
 */
int array_open(struct array *, const char *file, struct commands *commands,
	       array_header *, struct fail *);
void array_release(struct array *);

/*
 * Check that a row has as many values as the input takes, and prepare to read
 * rows.  Return 0, or -1 (FAIL_DATA) if the rows cannot feed the input.
 */
int array_begin(struct array *, const struct input *, struct fail *);

/*
 * Put the next row into a feature, as the values of that example; a feature of
 * NULL passes over the row.  Return 1, 0 after the last row, or -1.  A value
 * that does not fit the input is a skippable failure, and its row counts as
 * read.
 */
int array_next(struct array *, struct feature *, size_t example,
	       struct fail *);

/*
 * Read a whole NumPy array into memory, from a source that stands at its
 * header; the source stays the caller's.  Return 0 or -1.
 */
int array_load(struct array *, struct source *, struct fail *);

/*
 * Convert n numbers, whose type is in the header, and put them into a feature,
 * from value number at on; the input must take numbers, not words.  Return 0
 * or -1, with no file name in front of the message.
 */
int array_fill(const struct npy *head, struct feature *, size_t at, size_t n,
	       const unsigned char *bytes, struct fail *);

/*
 * The open, read and close of a struct format (see format.h) whose files hold
 * one array each: files[0] the values of the only input and, if labels are
 * read, files[1] the labels, with the same number of rows.
 */
void *array_pair_open(const struct read_spec *, char *const *files,
		      array_header *, struct fail *);
int array_pair_read(void *, struct batch *, struct fail *);
void array_pair_close(void *);

/* An array_header: NumPy's.  An array without rows is FAIL_NOINPUT. */
int npy_header_read(struct array *, struct fail *);

#endif
