/*
 * tar - plain archives, written whole and read in place.
 *
 * Through libarchive, which is allowed only the tar format and no filter, and
 * never extracts: reading makes an index of where each member's bytes lie,
 * and whoever wants them reads the file there.  Only regular files are taken,
 * and the length must be exact: the last member, zeros up to a multiple of
 * 512, two blocks of zeros, the end.
 */
#ifndef PS_TAR_H
#define PS_TAR_H

#include "base/fail.h"
#include "base/hash.h"

#include <stddef.h>
#include <stdint.h>

/* The time of every member: SOURCE_DATE_EPOCH, or 0. */
int64_t tar_time(void);

struct tar_writer;

struct tar_writer *tar_create(const char *path, struct fail *);
/* A member of exactly size bytes; then add them, then end it. */
int tar_begin(struct tar_writer *, const char *name, uint64_t size,
	      struct fail *);
int tar_add(struct tar_writer *, const void *, size_t, struct fail *);
void tar_hash(const struct tar_writer *, char hash[HASH_TEXT]);
/* Safe on disk, its size and hash told; or gone.  Frees the writer. */
int tar_commit(struct tar_writer *, uint64_t *size, char hash[HASH_TEXT],
	       struct fail *);
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
 * Index an open file of size bytes; path is for messages.  With hash, every
 * byte is read, and the members' hashes and the file's own come back;
 * without, data is skipped.  Damage is FAIL_DATA with path and offset.
 */
int tar_read(struct tar_index *, int fd, const char *path, uint64_t size,
	     char *hash, struct fail *);
void tar_index_release(struct tar_index *);

#endif
