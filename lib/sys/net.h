/*
 * net - messages to and from peers, over ZeroMQ.
 *
 * The only module, with its curve, that knows ZeroMQ.  A net listens at one
 * endpoint at most and dials any number of others; each of these is a peer, a
 * number that stays the same while the connection lasts (for one that we
 * dialled: for ever).  What a message means is none of its business.
 *
 * Sending never blocks and says nothing of arrival: answers do.
 */
#ifndef PS_NET_H
#define PS_NET_H

#include "base/fail.h"
#include "wire/message.h"
#include "wire/outbox.h"

#include <poll.h>

struct net;

/* The lease is how long a peer may be silent before it counts as lost. */
struct net *net_new(uint64_t lease_ms);

/*
 * For a program that ends: what was sent leaves first, unless that takes
 * longer than 500 ms.  Its connections break when the process has ended.
 */
void net_leave(struct net *);

/* The same for one that goes on: they break, and all is given back. */
void net_free(struct net *);

/*
 * Before it listens or dials: let nobody in who has not the key of this file
 * (curve.h), and talk to nobody else.  NULL: whoever comes.
 */
int net_guard(struct net *, const char *key, struct fail *);

/*
 * Listen.  "tcp://127.0.0.1:*" asks the system for a port.  An address that
 * is neither loopback nor ipc is refused (FAIL_DENIED) unless there is a key,
 * or insecure.  With a key, that a stranger is refused is tried first.
 */
int net_listen(struct net *, const char *endpoint, bool insecure,
	       struct fail *);

/* Besides, listen here; whoever calls here is told from others by nothing. */
int net_listen_also(struct net *, const char *endpoint, bool insecure,
		    struct fail *);

/*
 * Where a name is listened at, it may come to be known, or to be that of this
 * machine, so much later, unless the descriptor can be read from before.
 */
void net_await_name(struct net *, uint64_t ms, int stop_fd);

/* As bound, port filled in; NULL if it does not listen.  And the other one. */
const char *net_endpoint(const struct net *);
const char *net_endpoint_also(const struct net *);

/* Dial.  NET_UP tells when there is somebody at the other end. */
int net_dial(struct net *, const char *endpoint, uint64_t *peer,
	     struct fail *);
void net_hang_up(struct net *, uint64_t peer);

/*
 * Dialling goes on trying when the endpoint's host has no number, since names
 * may come to be known later, or when the one who is there has another key.
 * So when the peer there has failed us (FAIL_PEER) and this is still so, say
 * this instead, and true.  An endpoint of NULL is not known.
 */
bool net_explain_failure(const struct net *, const char *endpoint,
			 struct fail *);

enum net_event_kind {
	NET_NOTHING,
	NET_MESSAGE,		/* peer said message */
	NET_GARBAGE,		/* peer sent what is none: text says why */
	NET_UP,			/* a peer that we dialled is there */
	NET_DOWN,		/* a peer that we dialled went away */
	NET_SOMEBODY_LEFT	/* one of those who dialled us, and spoke: send
				   to find out who */
};

struct net_event {
	enum net_event_kind kind;
	uint64_t peer;
	struct message message;	/* good until the next call */
	struct fail why;
};

/*
 * The next thing that happened, without waiting.  NET_NOTHING once in 20 ms,
 * even if there is more, which net_wait() then knows: a peer that never stops
 * talking does not keep a program from all else that it has to do.
 */
void net_next(struct net *, struct net_event *);

/*
 * Wait until something happens, a descriptor is ready (its revents are set),
 * or the milliseconds ran out (-1: never).
 */
int net_wait(struct net *, struct pollfd *fds, size_t count, int64_t ms,
	     struct fail *);

/*
 * Who dials us is a stranger until something is said to it besides PING, PONG
 * and REFUSED: one that says more than inbound.h allows, or what is no message,
 * is hung up on.
 *
 * 0; or -1: there is no such peer any more, or it called us and has left 16384
 * messages unread.
 */
int net_send(struct net *, uint64_t peer, const struct message *);

/*
 * Bytes of large frames, of 16 KiB or more, that were sent to one who called
 * us, and that the system has not taken off, but for the last frame.  Of whom
 * we called: 0.
 */
size_t net_unread(struct net *, uint64_t peer);

/* The same as an outbox of a role. */
struct outbox net_outbox(struct net *);

#endif
