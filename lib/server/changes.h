/*
 * changes - what alters a server's state, in order, until it may be acted on.
 *
 * A server with a log or a standby must not act on a message, and nobody may
 * see its effect, before the message is durable.  So it is kept here as it
 * came: the log writes these bytes, the standby is sent them, and the server
 * applies them, each in this order.  Changes are numbered from 1.
 */
#ifndef PS_CHANGES_H
#define PS_CHANGES_H

#include "wire/message.h"

#include <stdbool.h>

struct change {
	struct hold hold;	/* of the bytes: a frame may outlive it here */
	uint64_t number, peer;
	struct message message;	/* blob and frames lie behind the struct */
	struct change *next;
};

struct changes {		/* { 0 } is empty, and there is no log */
	struct change *first, **end;
	uint64_t last;		/* the number of the last one ever kept, */
	uint64_t taken;		/* and taken out */
	uint64_t logged;	/* those that are in the log */
	bool log;		/* there is one */
};

void changes_release(struct changes *);

/* Keep a copy of a message, and who said it. */
const struct change *changes_add(struct changes *, uint64_t peer,
				 const struct message *);

/* The one of this number, or NULL: there is none yet, or no longer. */
const struct change *changes_find(const struct changes *, uint64_t number);

/* Take out the first one, for hold_drop(); NULL if it is above the limit, or
   is not in the log, and there is one. */
struct change *changes_take(struct changes *, uint64_t limit);

/* From now on there is a log; it has all up to this one. */
void changes_set_logged(struct changes *, uint64_t number);
/* Is there a log, or does something wait? */
bool changes_hold(const struct changes *);

/* The state is another one, of which changes up to this one were taken. */
void changes_begin(struct changes *, uint64_t number);

/* For tests: NULL, or what does not hold; what is not above this limit, if
   there is one (NULL: nothing is taken now), has been taken. */
const char *changes_check(const struct changes *, const uint64_t *limit);

#endif
