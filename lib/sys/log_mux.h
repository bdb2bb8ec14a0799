/*
 * log_mux - what programs say, line by line and each with its name, to one
 * file.
 *
 * That is written to only as far as it takes something at once: who cannot
 * read keeps the programs waiting, when their pipes are full, and not us.
 */
#ifndef PS_LOG_MUX_H
#define PS_LOG_MUX_H

#include "base/text.h"

#include <poll.h>
#include <stdbool.h>

struct log_mux {		/* { .to = FILE } */
	int to;
	struct text out;	/* what is to be written, */
	size_t written;		/* and how much of it has been */
};

struct log_mux_source {		/* { .from = PIPE }; -1: it has ended */
	int from;
	const char *program;	/* borrowed */
	size_t index;
	struct text line;	/* what is there of it */
	struct text last;	/* line that it said under its name; or else,
				   if it said none, the last one */
	bool named;
};

void log_mux_release(struct log_mux *);
void log_mux_source_release(struct log_mux_source *);	/* closes it */

/* Is there something to write, and so nothing more to be read? */
bool log_mux_is_full(const struct log_mux *);

/* It can be written to. */
void log_mux_write(struct log_mux *);

/* There is something to read, or the end. */
void log_mux_read(struct log_mux *, struct log_mux_source *);
/* Read all that is there by now, of one that has ended. */
void log_mux_read_rest(struct log_mux *, struct log_mux_source *);

#endif
