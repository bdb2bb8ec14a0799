/*
 * relay - what programs say, line by line and each with its name, to one file.
 *
 * That is written to only as far as it takes something at once: who cannot
 * read keeps the programs waiting, when their pipes are full, and not us.
 */
#ifndef PS_RELAY_H
#define PS_RELAY_H

#include "base/text.h"

#include <poll.h>
#include <stdbool.h>

struct relay {			/* { .to = FILE } */
	int to;
	struct text out;	/* what is to be written, */
	size_t written;		/* and how much of it has been */
};

struct relayed {		/* { .from = PIPE }; -1: it has ended */
	int from;
	const char *program;	/* borrowed */
	size_t index;
	struct text line;	/* what is there of it */
	struct text last;	/* line that it said under its name; or else,
				   if it said none, the last one */
	bool named;
};

void relay_release(struct relay *);
void relayed_release(struct relayed *);		/* closes it */

/* Is there something to write, and so nothing more to be read? */
bool relay_is_full(const struct relay *);

/* It can be written to. */
void relay_write(struct relay *);

/* There is something to read, or the end. */
void relay_read(struct relay *, struct relayed *);
/* Read all that is there by now, of one that has ended. */
void relay_read_rest(struct relay *, struct relayed *);

#endif
