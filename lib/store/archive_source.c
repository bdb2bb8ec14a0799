#include "store/archive_source.h"

#include "store/disk.h"

#include <errno.h>

la_ssize_t
archive_source_read(struct archive *a, void *packed, const void **bytes)
{
	struct archive_source *in = packed;
	size_t n = sizeof(in->block);

	if (n > in->size - in->at)
		n = (size_t)(in->size - in->at);
	if (disk_read_at(in->fd, in->path, in->block, n, in->at,
			 in->fail) < 0) {
		in->failed = true;
		archive_set_error(a, EIO, "read failed");
		return ARCHIVE_FATAL;
	}
	if (in->hash)
		hash_add(in->hash, in->block, n);
	in->at += n;
	*bytes = in->block;
	return (la_ssize_t)n;
}
