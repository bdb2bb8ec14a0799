/*
 * disk - writes files that are there whole or not at all.
 *
 * A file is written, and hashed, under a temporary name beside its own, made
 * safe by fsync(), and renamed.  A writer keeps paths, never the descriptor of
 * a folder: so one that was taken for dead and wakes up late finds that its
 * folder was renamed, and cannot change what was published.
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

#define DISK_TEMP	".tmp-"		/* the prefix of temporary names */

/* Return a path, as sprintf() writes it, for the caller to free. */
char *disk_path(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/* Return the last component of a path, without slashes, for the caller to
   free. */
char *disk_base(const char *path);

struct disk_file {
	int fd;				/* -1: none */
	char *path, *temp;
	uint64_t size;			/* bytes written so far */
	struct hash *hash;		/* of these bytes; NULL: not hashed,
					   and not made safe */
	char *room, *block;		/* after disk_pass_cache(): bytes that
					   do not fill a block yet; block is
					   aligned in room */
	size_t filled;			/* bytes in block */
};

/* Begin a file.  Return 0, or -1 (FAIL_CREATE). */
int disk_create(struct disk_file *, const char *path, struct fail *);

/* The same; but return 1, and begin nothing, if another program is writing this
   file. */
int disk_create_alone(struct disk_file *, const char *path, struct fail *);

/*
 * Write a new file past the page cache (O_DIRECT), if its file system can: for
 * large files that nobody reads soon.  That takes a third of the processor's
 * time, and the cache keeps the files that others read.
 */
void disk_pass_cache(struct disk_file *);

/*
 * Neither hash a new file nor make it safe from a power failure: for files that
 * can be made again, and whose readers notice damage.
 */
void disk_trust_reader(struct disk_file *);

/* Append bytes.  Return 0, or -1 (FAIL_IO). */
int disk_write(struct disk_file *, const void *, size_t, struct fail *);

/*
 * End a file: make it safe on disk, and rename it.  Return 0; or -1, and the
 * temporary file is removed.  If several programs write the same file at once,
 * only the last one to begin succeeds.
 */
int disk_commit(struct disk_file *, struct fail *);

/* End a file without its name: remove the temporary file.  After disk_commit(),
   or on { .fd = -1 }, do nothing. */
void disk_abandon(struct disk_file *);

/*
 * Write a small file that is written again and again while others read it: they
 * always find it whole.  It is not made safe from a power failure.  Its
 * temporary name ends with "~", so that programs that read all files with a
 * suffix do not read it.  Return 0 or -1.
 */
int disk_replace(const char *path, const void *, size_t, struct fail *);

/* Check that there is a plain file at a path, or nothing: a new file would
   replace a link, a pipe or a device.  Return 0, or -1 (FAIL_CREATE). */
int disk_check_plain(const char *path, struct fail *);

/* Check that disk_replace() can write a file: the folder must be writable, and
   anything but a plain file at the path is refused.  Return 0 or -1. */
int disk_probe(const char *path, struct fail *);

/* Lock an open file until it is closed.  Return 0, or -1: FAIL_AGAIN if another
   program has locked it. */
int disk_lock(int fd, const char *path, struct fail *);

/* Make a folder, unless it is there already.  Return 0, or -1 (FAIL_CREATE). */
int disk_make_folder(const char *path, struct fail *);

/* Make new names in a folder safe from a power failure.  Return 0 or -1. */
int disk_sync_folder(const char *path, struct fail *);

/* The same for the folder of a file. */
int disk_sync_parent(const char *path, struct fail *);

/*
 * Remove a folder and its files.  A folder that has folders in it stays, with
 * these, and is a failure.  If the path is a file or a link, remove that
 * itself. A path that is gone is no failure, since others may remove it as
 * well.  Return 0, or -1 (FAIL_IO).
 */
int disk_remove_folder(const char *path, struct fail *);

/*
 * Open a plain file to read.  With the descriptor of a folder, which is
 * AT_FDCWD otherwise, open the last component of the path in that folder, even
 * if the folder was renamed.  Return a descriptor and the size, unless size is
 * NULL; or -1: FAIL_NOINPUT, or FAIL_DATA for anything but a plain file.
 */
int disk_open(int folder, const char *path, uint64_t *size, struct fail *);

/* Does a name still lead to an open file? */
bool disk_is_named(int fd, const char *name);

/* Is there anything at a path, even a broken link?  Yes, if that cannot be
   found out. */
bool disk_is_there(const char *path);

/* Do two paths lead to the same file or folder? */
bool disk_is_same(const char *a, const char *b);

/* Open a folder for disk_open().  Return a descriptor, or -1 (FAIL_NOINPUT). */
int disk_open_folder(const char *path, struct fail *);

/*
 * From now on, in all threads, disk_read_at() fails with FAIL_AGAIN while *stop
 * is not 0; a signal may set it.  For programs that may read for long.
 */
void disk_read_until(const volatile sig_atomic_t *stop);

/* Read size bytes at an offset.  Return 0, or -1: FAIL_DATA if the file ends
   before that, or FAIL_IO. */
int disk_read_at(int fd, const char *path, void *, size_t size,
		 uint64_t offset, struct fail *);

/* Append a whole file of at most limit bytes to a text; more is FAIL_DATA.  The
   folder is as for disk_open().  Return 0 or -1. */
int disk_read_text(int folder, const char *path, size_t limit, struct text *,
		   struct fail *);

#endif
