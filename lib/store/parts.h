/*
 * parts - opens the archives of one checkpoint, and reads rows of their arrays.
 *
 * Opening checks all that can be checked without reading the numbers: sizes,
 * shapes, members against the manifest of their part, and that the rows of an
 * array neither overlap nor are missing.  The files stay open, so a reader can
 * finish even if the checkpoint is removed.
 */
#ifndef PS_PARTS_H
#define PS_PARTS_H

#include "base/fail.h"
#include "store/checkpoint.h"
#include "store/manifest.h"

#include <stdbool.h>
#include <stddef.h>

struct parts {
	struct parts_file {
		int fd;
		char *path;
	} *file;
	size_t count;
	struct manifest_member *member;	/* of all parts, sorted by variable,
					   slot and row */
	size_t members;
	struct manifest_member *empty;	/* as in struct manifest_part */
	size_t empties;
};

/* Return the path of part i of n, "FOLDER/shard-i-of-n.tar", for the caller to
   free. */
char *parts_path(const char *folder, size_t i, size_t n);

/*
 * Open the n parts of the checkpoint called name, in an open folder, whose path
 * is used in messages.  Each must have the size in its struct checkpoint_part;
 * with verify every byte is read, and every hash is compared.  Return 0 or -1;
 * the caller releases the struct in both cases.
 */
int parts_open(struct parts *, int folder, const char *path,
	       const char *name, const struct checkpoint_part *, size_t n,
	       bool verify, struct fail *);
void parts_release(struct parts *);

/*
 * Read some rows of a member, counted from its own first row.  Before its first
 * read its hash is compared.  parts_floats() rounds numbers to floats.  Return
 * 0, or -1 (FAIL_DATA if the array is damaged).
 */
int parts_floats(const struct parts *, struct manifest_member *, struct rows,
		 float *out, struct fail *);
int parts_numbers(const struct parts *, struct manifest_member *,
		  struct rows, uint64_t *out, struct fail *);

#endif
