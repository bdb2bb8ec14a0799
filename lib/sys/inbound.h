/*
 * inbound - those who have called us, and what strangers among them may take.
 *
 * libzmq reads whatever a connection says, as fast as it comes, and keeps it
 * until the program has heard it: parts of a message, too, whose end never
 * comes.  So whoever calls is a stranger until the program has an answer for
 * it (inbound_welcome()), and is cut off when more of what it said waits than
 * anybody has to say before.  Strangers have so many connections: a further
 * one costs the first of them its own.
 *
 * A caller is known by its descriptor, from when it came until it went, and by
 * the number that its messages have.
 */
#ifndef PS_INBOUND_H
#define PS_INBOUND_H

#include "base/refcount.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INBOUND_STRANGERS	4096	/* at most, of a quarter of all */
#define INBOUND_UNHEARD		((size_t)16 << 10)	/* bytes of one */

struct inbound;

/* Of so many descriptors of the process half are for callers. */
struct inbound *inbound_new(size_t descriptors);
void inbound_free(struct inbound *);

void inbound_came(struct inbound *, int fd, uint64_t now_ms);
void inbound_went(struct inbound *, int fd);

/* Is ready to be read from when inbound_watch() has something to do. */
int inbound_fd(const struct inbound *);

/* Cut off strangers who have said too much; those who went are known. */
void inbound_watch(struct inbound *, uint64_t now_ms);

/* A message of so many bytes on its connection was heard. */
void inbound_received(struct inbound *, uint64_t peer, size_t bytes);

/* The one with this descriptor sends as this peer. */
void inbound_meet(struct inbound *, uint64_t peer, int fd);

/* Is a peer, that was met, still here? */
bool inbound_here(const struct inbound *, uint64_t peer);

/*
 * Bytes that were sent to a caller, and not taken off by the system: whoever
 * counts them, in any thread, holds it.  NULL: the peer is not here.
 */
struct unread {
	struct refcount hold;
	atomic_size_t bytes;
};
struct unread *inbound_unread(struct inbound *, uint64_t peer);

/* No stranger any more. */
void inbound_welcome(struct inbound *, uint64_t peer);

/* Cut off the one with this descriptor; or a peer, if it is a stranger. */
void inbound_cut(struct inbound *, int fd);
void inbound_refuse(struct inbound *, uint64_t peer);

/* Cut off all.  How many are here still. */
size_t inbound_cut_all(struct inbound *);

bool inbound_is_stranger(const struct inbound *, int fd);

/* Since last asked, has anybody gone who was met? */
bool inbound_left(struct inbound *);

#endif
