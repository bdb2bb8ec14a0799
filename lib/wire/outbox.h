/*
 * outbox - where a role puts its messages, and asks for new peers.
 *
 * A role holds no socket: in a program the outbox is the network, in a test a
 * list.  When send() returns, everything that a message points at may be
 * reused, but frames with a hold.
 *
 * A message to a peer that has left is dropped, just as one that is under way
 * when its connection breaks: so no sender asks what became of it.  A role
 * hears of a peer that it dialled by its *_down().  Of those that dialled it,
 * it hears only that one has left (coord_somebody_left(), relay_left(),
 * server_ping_standbys()), at the latest after a message was dropped, and then
 * asks for each if it is still there, by outbox_reaches().  Besides, work that
 * is blamed for the deaths of its workers is sent by outbox_reaches(): who was
 * gone before did not die of it.
 */
#ifndef PS_OUTBOX_H
#define PS_OUTBOX_H

#include "wire/message.h"

struct outbox {
	/* 0; -1: the message was dropped, as the peer has left. */
	int (*send)(void *to, uint64_t peer, const struct message *);
	/* Connect to an endpoint; the role is told (its *_up function) when the
	   connection to *peer is there. */
	int (*dial)(void *to, const char *endpoint, uint64_t *peer,
		    struct fail *);
	void (*hang_up)(void *to, uint64_t peer);
	void *to;
	/* Bytes that a peer which called us has not read yet; NULL: not
	   known. */
	size_t (*unread)(void *to, uint64_t peer);
};

static inline void
outbox_send(const struct outbox *o, uint64_t peer, const struct message *m)
{
	o->send(o->to, peer, m);
}

/* Send a message; false: it was dropped. */
static inline bool
outbox_reaches(const struct outbox *o, uint64_t peer, const struct message *m)
{
	return o->send(o->to, peer, m) == 0;
}

static inline int
outbox_dial(const struct outbox *o, const char *endpoint, uint64_t *peer,
	    struct fail *f)
{
	return o->dial(o->to, endpoint, peer, f);
}

static inline size_t
outbox_unread(const struct outbox *o, uint64_t peer)
{
	return o->unread ? o->unread(o->to, peer) : 0;
}

static inline void
outbox_hang_up(const struct outbox *o, uint64_t peer)
{
	o->hang_up(o->to, peer);
}

#endif
