/*
 * files - a disk that loses what was not synced, and that may be full.
 *
 * The programs write real files, in a folder of the run.  The simulator's
 * own fsync(), fdatasync(), write() and pwrite() stand in the way of the
 * system's: they remember how much of each file is safe, and refuse to write
 * while the disk of the process that runs is full.
 */
#ifndef PS_SIM_FILES_H
#define PS_SIM_FILES_H

#include "base/rng.h"

#include <stdbool.h>
#include <stdint.h>

/* A folder for this run's files, of at most 64 bytes with its NUL, in memory
   if there is such a file system. */
void files_begin(char folder[64]);
/* Remove the folder with all that is in it. */
void files_end(const char *folder);

/* The disk of the process that runs from now on is full, or has room. */
void files_full(bool full);

/*
 * The machine under these files died: what was not synced of the file, or of
 * the files of the folder, is gone, in part, or torn.
 */
void files_crash(const char *path, struct rng *);

/*
 * Somebody put an older state in the place of what was safe: the newest file
 * of the folder is cut, or removed.  Says which; false: there was nothing.
 */
bool files_age(const char *folder, struct rng *, char *what, size_t room);
/* The same with a file, of which so many bytes, at least, stay. */
bool files_shorten(const char *path, uint64_t least, struct rng *);
/* A backup is made, or put back; false: there is none. */
bool files_copy(const char *from, const char *to);

#endif
