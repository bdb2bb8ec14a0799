/*
 * commit_log - what alters a server's state, in order, until it may be acted
 * on.
 *
 * A server with a log or a standby must not act on a message, and nobody may
 * see its effect, before the message is durable.  So it is kept here as it
 * came: the log writes these bytes, the standby is sent them, and the server
 * applies them, each in this order.  Changes are numbered from 1.
 */
#ifndef PS_COMMIT_LOG_H
#define PS_COMMIT_LOG_H

#include "wire/message.h"

#include <stdbool.h>

struct change {
	struct refcount hold;	/* of the bytes: a frame may outlive it here */
	uint64_t number, peer;
	struct message message;	/* blob and frames lie behind the struct */
	struct change *next;
};

struct commit_log {		/* { 0 } is empty, and there is no log */
	struct change *first, **end;
	uint64_t last;		/* the number of the last one ever kept, */
	uint64_t taken;		/* and taken out */
	uint64_t logged;	/* those that are in the log */
	bool log;		/* there is one */
};

void commit_log_release(struct commit_log *);

/* Keep a copy of a message, and who said it. */
const struct change *commit_log_add(struct commit_log *, uint64_t peer,
				    const struct message *);

/* The one of this number, or NULL: there is none yet, or no longer. */
const struct change *commit_log_find(const struct commit_log *,
				     uint64_t number);

/* Take out the first one, for refcount_drop(); NULL if it is above the limit,
   or is not in the log, and there is one. */
struct change *commit_log_take(struct commit_log *, uint64_t limit);

/* From now on there is a log; it has all up to this one. */
void commit_log_set_logged(struct commit_log *, uint64_t number);
/* Is there a log, or does something wait? */
bool commit_log_hold(const struct commit_log *);

/* The state is another one, of which changes up to this one were taken. */
void commit_log_begin(struct commit_log *, uint64_t number);

/* For tests: NULL, or what does not hold; what is not above this limit, if
   there is one (NULL: nothing is taken now), has been taken. */
const char *commit_log_check(const struct commit_log *, const uint64_t *limit);

#endif
