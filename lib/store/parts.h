/*
 * parts - the archives of one checkpoint, open and indexed.
 *
 * Opening checks all that can be checked without reading the numbers: sizes,
 * members against each part's manifest, shapes, that rows of an array
 * neither overlap nor miss.  The files stay open, so that whoever removes the
 * checkpoint does not pull it from under a reader.
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
	struct manifest_member *member;	/* by variable, slot and row */
	size_t members;
};

/* Part i of n: "FOLDER/shard-i-of-n.tar"; free it. */
char *parts_path(const char *folder, size_t i, size_t n);

/*
 * The n parts of the checkpoint called name, as vouched for, in an open
 * folder whose path is for messages.  With verify every byte is read and
 * every hash compared.  On failure release it, too.
 */
int parts_open(struct parts *, int folder, const char *path,
	       const char *name, const struct checkpoint_part *, size_t n,
	       bool verify, struct fail *);
void parts_release(struct parts *);

/*
 * Rows of one member, counted from its own first.  Its hash is verified
 * before the first number leaves.
 */
int parts_floats(const struct parts *, struct manifest_member *, struct rows,
		 float *out, struct fail *);
int parts_numbers(const struct parts *, struct manifest_member *,
		  struct rows, uint64_t *out, struct fail *);

#endif
