/*
 * archive_source - gives libarchive the bytes of a file, and can hash them on
 * the way.
 *
 * Bytes are read by pread(), so the descriptor's own offset does not matter.
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
	uint64_t at, size;	/* offset of the next byte; bytes of the file */
	struct hash *hash;	/* of all bytes that are read; or NULL */
	struct fail *fail;	/* set when */
	bool failed;		/* reading failed, or was asked to stop */
	char block[1 << 16];
};

/* An archive_read_callback of libarchive; packed is a struct archive_source. */
la_ssize_t archive_source_read(struct archive *, void *packed,
			       const void **bytes);

#endif
