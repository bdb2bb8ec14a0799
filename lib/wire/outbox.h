/*
 * outbox - where a role puts its messages, and asks for new peers.
 *
 * A role holds no socket: in a program the outbox is the network, in a test a
 * list.  When send() returns, everything that a message points at may be
 * reused, but frames with a hold.
 */
#ifndef PS_OUTBOX_H
#define PS_OUTBOX_H

#include "wire/message.h"

struct outbox {
	/* 0; -1: the peer has left. */
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

static inline int
outbox_send(const struct outbox *o, uint64_t peer, const struct message *m)
{
	return o->send(o->to, peer, m);
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
