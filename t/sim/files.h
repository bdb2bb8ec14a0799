/*
 * files - a disk that loses what was not synced, and that may be full.
 *
 * The programs write real files, in a folder of the run.  The simulator
 * defines fsync(), fdatasync(), write() and pwrite() in place of the system's:
 * they remember how many bytes of each file are safe, and fail with ENOSPC
 * while the disk of the running process is full.
 */
#ifndef PS_SIM_FILES_H
#define PS_SIM_FILES_H

#include "base/rng.h"

#include <stdbool.h>
#include <stdint.h>

/* Makes a folder for the files of this run, in /dev/shm if that exists, else in
   /tmp.  Its path has at most 64 bytes with the NUL. */
void files_begin(char folder[64]);
/* Removes the folder and its files. */
void files_end(const char *folder);

/* Sets whether the disk of the process that runs from now on is full. */
void files_full(bool full);

/* The machine of these files died: each byte that was not synced, of a file or
   of the files of a folder, may be gone or zero. */
void files_crash(const char *path, struct rng *);

/* Restores an older state of the disk: cuts or removes the newest file of the
   folder.  Writes a text that names that file to what; false: the folder has no
   file. */
bool files_age(const char *folder, struct rng *, char *what, size_t room);
/* Cuts a file at random, but keeps at least "least" bytes.  false: it has no
   more than that. */
bool files_shorten(const char *path, uint64_t least, struct rng *);
/* Copies a file, to make a backup or to put it back.  false: there is no file
   to copy. */
bool files_copy(const char *from, const char *to);

#endif
