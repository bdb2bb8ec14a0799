/*
 * commit_log - the messages that change a server's state, in order, until the
 * server may act on them.
 *
 * A server with a log or a standby must not act on a message, and must not show
 * its effect to anybody, before the message is durable.  So the message waits
 * here, byte for byte: the log writes these bytes, the standby is sent them,
 * and the server applies them, all in the same order.  A message that waits
 * here is a change; changes are numbered from 1.
 */
#ifndef PS_COMMIT_LOG_H
#define PS_COMMIT_LOG_H

#include "wire/message.h"

#include <stdbool.h>

struct change {
	struct refcount hold;	/* of the bytes: a frame that is sent may still
				   refer to them */
	uint64_t number, peer;
	struct message message;	/* its blob and frames lie behind the struct */
	struct change *next;
};

struct commit_log {		/* { 0 }: empty, without a log */
	struct change *first, **end;
	uint64_t last;		/* number of the last change added, */
	uint64_t taken;		/* and of the last one taken out */
	uint64_t logged;	/* changes up to this one are in the log */
	bool log;		/* there is a log */
};

void commit_log_release(struct commit_log *);

/* Append a copy of a message that the peer sent.  The change belongs to the
   commit log. */
const struct change *commit_log_add(struct commit_log *, uint64_t peer,
				    const struct message *);

/* The change of this number, or NULL: it was not added yet, or was taken
   out. */
const struct change *commit_log_find(const struct commit_log *,
				     uint64_t number);

/* Take out the first change; the caller ends its use with refcount_drop().
   NULL if there is none, if its number is above the limit, or if there is a log
   that does not hold it yet. */
struct change *commit_log_take(struct commit_log *, uint64_t limit);

/* From now on there is a log, which holds all changes up to this one. */
void commit_log_set_logged(struct commit_log *, uint64_t number);
/* Must a new change be added here first: is there a log, or do changes wait? */
bool commit_log_hold(const struct commit_log *);

/* Drop all changes: the state was replaced by another one, which already
   contains the changes up to this number. */
void commit_log_begin(struct commit_log *, uint64_t number);

/* For tests: NULL, or the invariant that is broken.  Every change that may be
   acted on must have been taken: up to *limit, and up to the last one in the
   log if there is a log.  limit is NULL while the server takes no changes. */
const char *commit_log_check(const struct commit_log *, const uint64_t *limit);

#endif
