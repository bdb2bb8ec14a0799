/*
 * tar - writes uncompressed tar archives, and makes an index of one.
 *
 * libarchive is used with the tar format only, without filters, and extracts
 * nothing: the index has the place of each member's bytes in the file, and its
 * users read them there.  All members must be plain files.  The file must end
 * exactly where it should: the last member, zeros up to a multiple of 512, and
 * two blocks of zeros.
 */
#ifndef PS_TAR_H
#define PS_TAR_H

#include "base/fail.h"
#include "base/hash.h"

#include <stddef.h>
#include <stdint.h>

/* Return the modification time of all members: SOURCE_DATE_EPOCH of the
   environment, or 0. */
int64_t tar_time(void);

struct tar_writer;

/* Begin an archive, which appears at the path when it is committed. */
struct tar_writer *tar_create(const char *path, struct fail *);

/* Begin a member of exactly size bytes, then add all of them. */
int tar_begin(struct tar_writer *, const char *name, uint64_t size,
	      struct fail *);
int tar_add(struct tar_writer *, const void *, size_t, struct fail *);

/* Write the hash of the bytes that were added to the present member. */
void tar_hash(const struct tar_writer *, char hash[HASH_TEXT]);

/* End the archive, make it safe on disk, and set its size and hash.  Return 0;
   or -1, and the file is removed.  The writer is freed in both cases. */
int tar_commit(struct tar_writer *, uint64_t *size, char hash[HASH_TEXT],
	       struct fail *);

/* Remove the unfinished file, and free the writer. */
void tar_abandon(struct tar_writer *);

struct tar_member {
	char *name;
	uint64_t offset, size;		/* of its bytes in the file */
	char hash[HASH_TEXT];		/* if asked for, else "" */
};

struct tar_index {
	struct tar_member *member;
	size_t count;
};

/*
 * Make an index of an open file of size bytes; path is for messages.  With
 * hash, which has room for HASH_TEXT, read every byte, and set the hashes of
 * members and of the whole file; if it is NULL, skip the data.  Return 0, or -1
 * (FAIL_DATA for damage, with path and offset); the caller releases the index
 * in both cases.
 */
int tar_read(struct tar_index *, int fd, const char *path, uint64_t size,
	     char *hash, struct fail *);
void tar_index_release(struct tar_index *);

#endif
