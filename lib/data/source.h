/*
 * source - bytes out of a file, decompressed as they come.
 *
 * The name is a file, "-" (standard input) or "pipe:COMMAND", which sh runs.
 * gzip, bzip2, xz, lzip, zstd and lz4 are known by their first bytes; all else
 * is taken as it is.  A command must end with status 0, or by SIGPIPE.
 *
 * FAIL_NOINPUT: it cannot be read at all; FAIL_DATA: it is damaged or cut
 * short; FAIL_IO: reading broke off.  Every message begins with the name.
 */
#ifndef PS_SOURCE_H
#define PS_SOURCE_H

#include "base/fail.h"
#include "data/command.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct source;

/* Commands are put on that list; NULL: "pipe:" is refused (FAIL_DENIED). */
struct source *source_open(const char *name, struct commands *, struct fail *);

/* The same for an archive, tar or zip, to be read member by member. */
struct source *source_open_archive(const char *name, struct commands *,
				   struct fail *);
/* The bytes of a file from an offset on, as they are. */
struct source *source_open_at(const char *name, uint64_t offset,
			      struct fail *);
void source_close(struct source *);

/* Can it be read but once, as standard input and named pipes can? */
bool source_once(const char *name);

/* A file that is not there, or a folder, is refused as source_open() would;
   nothing is opened, and no command run. */
int source_look(const char *name, struct fail *);

/* Is it a plain file, whose bytes we give as they lie there? */
bool source_plain(const struct source *);

const char *source_name(const struct source *);

/* Go to the next member: 1, and its name until the next call; 0: no more. */
int source_member(struct source *, const char **name, struct fail *);

/* Some more bytes, good until the next call; no bytes are the end. */
int source_read(struct source *, const void **bytes, size_t *size,
		struct fail *);

/* Copy as many as there are at hand, up to room; none are the end. */
int source_fill(struct source *, void *to, size_t room, size_t *got,
		struct fail *);

/* Copy n bytes, fewer only at the end; *got says how many. */
int source_copy(struct source *, void *to, size_t n, size_t *got,
		struct fail *);

#endif
