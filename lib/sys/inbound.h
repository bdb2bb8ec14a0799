/*
 * inbound - keeps track of the connections that others have made to us, and
 * limits those of strangers.
 *
 * libzmq reads the bytes of a connection as fast as they come, and keeps them
 * until the program receives them, even parts of a message whose end never
 * comes.  So a caller is a stranger until the program has an answer for it
 * (inbound_welcome()).  A stranger is cut off when more than
 * INBOUND_UNRECEIVED of its bytes have not been received; no program of ours
 * sends that many before the first answer.  The number of strangers is limited,
 * too: one more makes us cut off the one that came first.
 *
 * A caller is known by its descriptor, from its connection to its end, and by
 * the peer number of its messages, from the first message on.
 */
#ifndef PS_INBOUND_H
#define PS_INBOUND_H

#include "base/refcount.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INBOUND_STRANGERS	4096	/* strangers; or a quarter of the
					   descriptors, if that is less */
#define INBOUND_UNRECEIVED	((size_t)16 << 10)	/* bytes of each */

struct inbound;

/* The process may have that many descriptors; half of them are for callers. */
struct inbound *inbound_new(size_t descriptors);
void inbound_free(struct inbound *);

/* A connection with this descriptor was accepted, or has ended. */
void inbound_accepted(struct inbound *, int fd, uint64_t now_ms);
void inbound_closed(struct inbound *, int fd);

/* Return a descriptor that is readable when inbound_watch() has work to do. */
int inbound_fd(const struct inbound *);

/* Cut off strangers that have sent too much.  All ends of connections must have
   been reported by inbound_closed() before. */
void inbound_watch(struct inbound *, uint64_t now_ms);

/* The program received a message of a peer, which took that many bytes on its
   connection. */
void inbound_received(struct inbound *, uint64_t peer, size_t bytes);

/* The caller with this descriptor has sent its first message, as this peer. */
void inbound_identify(struct inbound *, uint64_t peer, int fd);

/* Does a peer that was met still have its connection? */
bool inbound_is_connected(const struct inbound *, uint64_t peer);

/*
 * The bytes of counted frames that were sent to a caller, and that libzmq has
 * not given to the system yet.  A thread that counts a frame takes a reference.
 * inbound_unread() returns NULL if the peer is not here; the result is borrowed
 * until the caller goes.
 */
struct unread {
	struct refcount hold;
	atomic_size_t bytes;
};
struct unread *inbound_unread(struct inbound *, uint64_t peer);

/* The peer is not a stranger any more. */
void inbound_welcome(struct inbound *, uint64_t peer);

/* Cut off the caller with this descriptor; or a peer; or a peer, if it is a
   stranger. */
void inbound_cut(struct inbound *, int fd);
void inbound_cut_peer(struct inbound *, uint64_t peer);
void inbound_refuse(struct inbound *, uint64_t peer);

/* Cut off all callers.  Return how many connections have not ended yet. */
size_t inbound_cut_all(struct inbound *);

/* Has this descriptor a caller that is not welcome? */
bool inbound_is_stranger(const struct inbound *, int fd);

/* Has a caller that was met gone since the last call of this function? */
bool inbound_has_left(struct inbound *);

#endif
