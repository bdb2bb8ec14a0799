/*
 * archive_source - the bytes of a file as libarchive asks for them.
 *
 * They are read where they lie, whatever the descriptor stands at, and can be
 * hashed on the way.
 */
#ifndef PS_ARCHIVE_SOURCE_H
#define PS_ARCHIVE_SOURCE_H

#include "base/fail.h"
#include "base/hash.h"

#include <archive.h>
#include <stdbool.h>
#include <stdint.h>

struct archive_source {
	int fd;
	const char *path;
	uint64_t at, size;
	struct hash *hash;	/* of all that is read; or NULL */
	struct fail *fail;	/* says why, */
	bool failed;		/* if reading did, or was to stop */
	char block[1 << 16];
};

/* libarchive's archive_read_callback, of a struct archive_source. */
la_ssize_t archive_source_read(struct archive *, void *packed,
			       const void **bytes);

#endif
