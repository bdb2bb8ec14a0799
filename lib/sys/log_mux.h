/*
 * log_mux - joins the log lines of several programs in one file, each line with
 * the name and the index of its program.
 *
 * Writing never waits.  If the reader of the file is slow, nothing more is read
 * from the programs: they wait when their pipes are full, and we do not.
 */
#ifndef PS_LOG_MUX_H
#define PS_LOG_MUX_H

#include "base/text.h"

#include <poll.h>
#include <stdbool.h>

struct log_mux {		/* { .to = FILE } */
	int to;
	struct text out;	/* lines to be written, */
	size_t written;		/* and how many bytes of them have been */
};

struct log_mux_source {		/* { .from = PIPE } */
	int from;		/* owned; -1: closed */
	const char *program;	/* its name, borrowed */
	size_t index;
	struct text line;	/* the part of a line that has come so far */
	struct text last;	/* its last line with "NAME: " in front; the
				   last line of all if there is none */
	bool named;		/* last is one of the former */
};

void log_mux_release(struct log_mux *);

/* Close the pipe, and free the rest. */
void log_mux_source_release(struct log_mux_source *);

/* Are there lines to be written?  Then wait to write, and do not read. */
bool log_mux_is_full(const struct log_mux *);

/* Write some lines; call it when to is writable. */
void log_mux_write(struct log_mux *);

/* Read lines, or find the end; call it when from is readable. */
void log_mux_read(struct log_mux *, struct log_mux_source *);

/* Read all that is left in the pipe of a program that has ended. */
void log_mux_read_rest(struct log_mux *, struct log_mux_source *);

#endif
