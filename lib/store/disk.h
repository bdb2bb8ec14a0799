/*
 * disk - files that are there whole or not at all.
 *
 * A file is written under a temporary name beside its own, hashed as it
 * goes, made safe and renamed.  Only names are used, never a kept folder
 * handle: a writer that was presumed dead and wakes up late finds that its
 * folder has moved, and cannot touch what was published.
 */
#ifndef PS_DISK_H
#define PS_DISK_H

#include "base/fail.h"
#include "base/hash.h"
#include "base/text.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DISK_TEMP	".tmp-"		/* what such names begin with */

/* A path put together; the caller frees it. */
char *disk_path(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/* The last component of a path, without slashes; the caller frees it. */
char *disk_base(const char *path);

struct disk_file {
	int fd;				/* -1: none */
	char *path, *temp;
	uint64_t size;			/* written so far */
	struct hash *hash;		/* of what was written; NULL: none */
	char *room, *block;		/* what makes no whole block yet, of a
					   file that passes the page cache */
	size_t filled;
};

int disk_create(struct disk_file *, const char *path, struct fail *);
/* The same, unless somebody else is about it: 1, and nothing is begun. */
int disk_create_alone(struct disk_file *, const char *path, struct fail *);
/*
 * A new file is large, and nobody will read it soon: if its file system can,
 * it is written past the page cache, which costs a third of the processor's
 * time, and leaves there what others read.
 */
void disk_pass_cache(struct disk_file *);
/*
 * A new file can be made again, and whoever reads it finds out what is wrong
 * with it: it is not hashed, and not kept safe from a power failure.
 */
void disk_trust_reader(struct disk_file *);
int disk_write(struct disk_file *, const void *, size_t, struct fail *);
/*
 * Safe on disk under its name, or gone; ends the file either way.  Of those
 * who write the same file at once the last to begin has the name.
 */
int disk_commit(struct disk_file *, struct fail *);
/* Give up; nothing to do after disk_commit(), or on { .fd = -1 }. */
void disk_abandon(struct disk_file *);

/*
 * A small file that is made again and again, and read meanwhile: it is whole
 * at any time, but not kept safe from a power failure.  Its temporary name has
 * another end than its own, for those who read all files that end so.
 */
int disk_replace(const char *path, const void *, size_t, struct fail *);
/* Could it be?  Not where something else than a plain file is. */
int disk_probe(const char *path, struct fail *);

/* An open file is for nobody else, or FAIL_AGAIN. */
int disk_lock(int fd, const char *path, struct fail *);

/* Make a folder; one that is there already is fine. */
int disk_make_folder(const char *path, struct fail *);
/* What was renamed in a folder stays renamed, even without power. */
int disk_sync_folder(const char *path, struct fail *);
/* The same of the folder that a file is in. */
int disk_sync_parent(const char *path, struct fail *);
/* A folder and its files; folders within it stay, and it with them.  What is
   none is removed itself, so a link and not where it leads.  One that is gone,
   for others may be at it as well, is fine. */
int disk_remove_folder(const char *path, struct fail *);

/*
 * A plain file to read, and its size; or -1.  With a folder (else AT_FDCWD)
 * it is the file there of the path's last component, whatever became of the
 * folder's own name.
 */
int disk_open(int folder, const char *path, uint64_t *size, struct fail *);

/* Is what is open still what the name means?  Not if nothing has it. */
bool disk_is_named(int fd, const char *name);

/* Has anything this name, as far as we may know, be it a link to nowhere? */
bool disk_is_there(const char *path);

/* Are they one file, or one folder, however they are spelt? */
bool disk_is_same(const char *a, const char *b);

/* A folder to open files in, or -1. */
int disk_open_folder(const char *path, struct fail *);

/*
 * Nothing is read by disk_read_at() any more once *stop, which a signal may
 * set, is no longer 0: FAIL_AGAIN.  For programs that may read for long, and
 * for all of their threads.
 */
void disk_read_until(const volatile sig_atomic_t *stop);

/* size bytes at offset, or FAIL_DATA if the file ends before. */
int disk_read_at(int fd, const char *path, void *, size_t size,
		 uint64_t offset, struct fail *);

/* A whole file of at most limit bytes; folder as for disk_open(). */
int disk_read_text(int folder, const char *path, size_t limit, struct text *,
		   struct fail *);

#endif
