/*
 * source - reads the bytes of an input, decompressed as they come.
 *
 * The name is a file, "-" (standard input) or "pipe:COMMAND", which sh runs.
 * gzip, bzip2, xz, lzip, zstd and lz4 are recognized by their first bytes; all
 * other bytes are given as they are.  A command must end with status 0, or by
 * SIGPIPE.
 *
 * Functions return 0, or -1 or NULL with FAIL_NOINPUT (the input cannot be
 * opened), FAIL_DATA (it is damaged or cut short) or FAIL_IO (reading broke
 * off, or the command failed).  Every message begins with the name.
 */
#ifndef PS_SOURCE_H
#define PS_SOURCE_H

#include "base/fail.h"
#include "data/command.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct source;

/*
 * Open an input.  A command is put on the list, borrowed, until the source is
 * closed; NULL: "pipe:" is refused (FAIL_DENIED).
 */
struct source *source_open(const char *name, struct commands *, struct fail *);

/* The same for an archive, tar or zip, to be read member by member. */
struct source *source_open_archive(const char *name, struct commands *,
				   struct fail *);

/* Open a file to give its bytes from an offset on, never decompressed. */
struct source *source_open_at(const char *name, uint64_t offset,
			      struct fail *);

/* Close a source; a command that still runs is sent SIGTERM and awaited. */
void source_close(struct source *);

/* Can it be read only once, as standard input or a named pipe? */
bool source_once(const char *name);

/* Refuse a missing file or a folder, as source_open() would, but open nothing
   and run no command. */
int source_look(const char *name, struct fail *);

/* Is it a plain file that is not compressed, so that bytes that are read have
   the same offsets in the file? */
bool source_plain(const struct source *);

const char *source_name(const struct source *);

/* Go to the next member of an archive.  Return 1, and its name is good until
   the next call; 0: there are no more; or -1. */
int source_member(struct source *, const char **name, struct fail *);

/* Give some more bytes, which are good until the next call; *size is 0 at the
   end of the input, or of the member. */
int source_read(struct source *, const void **bytes, size_t *size,
		struct fail *);

/* Copy the bytes that are at hand, up to room; *got is 0 only at the end. */
int source_fill(struct source *, void *to, size_t room, size_t *got,
		struct fail *);

/* Copy n bytes, fewer only at the end; *got is their number. */
int source_copy(struct source *, void *to, size_t n, size_t *got,
		struct fail *);

#endif
