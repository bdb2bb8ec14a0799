/*
 * net - sends messages to peers and receives messages from them, over ZeroMQ.
 *
 * Only this module and curve.c know ZeroMQ.  A net listens at one endpoint, or
 * at two (net_listen_also()), or at none, and dials any number of others.  Each
 * connection has a peer, a number that stays the same while the connection
 * lasts; the number of a dialled peer stays for ever.  The meaning of messages
 * is the business of others.
 *
 * Sending never blocks, and does not say if a message arrives: answers do.
 */
#ifndef PS_NET_H
#define PS_NET_H

#include "base/fail.h"
#include "wire/message.h"
#include "wire/outbox.h"

#include <poll.h>

struct net;

/* A peer that is silent for a lease counts as lost. */
struct net *net_new(uint64_t lease_ms);

/*
 * For a program that ends: wait until all that was sent has left, at most
 * 500 ms.  The connections break when the process ends.
 */
void net_leave(struct net *);

/* For a program that does not end: the same, then break all connections and
   free the net. */
void net_free(struct net *);

/*
 * Before the net listens or dials: read the key of a file (curve.h), admit only
 * callers with this key, and talk only to peers with it.  NULL: no key, and
 * anybody is admitted.  Return 0 or -1, as curve_read().
 */
int net_guard(struct net *, const char *key, struct fail *);

/*
 * Listen.  With "tcp://127.0.0.1:*" the system chooses the port.  With a key,
 * first test that a stranger's key is refused.  Return 0 or -1; an address that
 * is neither loopback nor ipc is refused (FAIL_DENIED) without a key, unless
 * insecure is set; an endpoint that is in use is FAIL_PEER.
 */
int net_listen(struct net *, const char *endpoint, bool insecure,
	       struct fail *);

/* Listen at a second endpoint, too; callers at both are treated alike. */
int net_listen_also(struct net *, const char *endpoint, bool insecure,
		    struct fail *);

/*
 * Before the net listens at an endpoint with a name: let it wait up to ms
 * milliseconds, or until stop_fd is readable, until the name is known and is
 * that of this machine; see host_await().
 */
void net_await_name(struct net *, uint64_t ms, int stop_fd);

/* Return the endpoint at which the net listens, with its port; NULL: it does
   not.  The same for the second endpoint. */
const char *net_endpoint(const struct net *);
const char *net_endpoint_also(const struct net *);

/*
 * Dial an endpoint, again and again until somebody answers; NET_UP reports
 * that.  Return 0 and the peer, or -1 for a malformed endpoint (FAIL_USAGE), or
 * if no socket can be made.
 */
int net_dial(struct net *, const char *endpoint, uint64_t *peer,
	     struct fail *);

/* Give up a peer.  One that was dialled, if it is there, has 500 ms to get what
   was sent to it before.  One that called is cut off, and may call again. */
void net_hang_up(struct net *, uint64_t peer);

/*
 * Find a better reason for the failure of a peer that does not answer
 * (FAIL_PEER).  Dialling never fails for a name that is not known, since it may
 * become known later, nor for a peer that has another key.  If one of these is
 * still so, put it in place of the failure and return true.  An endpoint of
 * NULL has no better reason.
 */
bool net_explain_failure(const struct net *, const char *endpoint,
			 struct fail *);

enum net_event_kind {
	NET_NOTHING,
	NET_MESSAGE,		/* the peer sent message */
	NET_GARBAGE,		/* the peer sent bytes that are not a message;
				   why says what is wrong */
	NET_UP,			/* a peer that we dialled is there */
	NET_DOWN,		/* a peer that we dialled went away */
	NET_SOMEBODY_LEFT	/* a caller that had sent something has gone, so
				   that net_send() fails for it; or net_send()
				   has failed for one */
};

struct net_event {
	enum net_event_kind kind;
	uint64_t peer;
	struct message message;	/* good until the next call */
	struct fail why;
};

/*
 * Get the next event, without waiting.  NET_NOTHING comes at least once in
 * 20 ms, even if there are more events, so that a peer that never stops sending
 * does not keep a program from its other work; net_wait() then returns at once.
 */
void net_next(struct net *, struct net_event *);

/*
 * Wait until there is an event, or until one of count descriptors is ready,
 * whose revents are then set, or until ms milliseconds have passed (-1: for
 * ever).  Return 0 or -1.
 */
int net_wait(struct net *, struct pollfd *fds, size_t count, int64_t ms,
	     struct fail *);

/*
 * Send a message.  Return 0; or -1 if the peer has gone, or if it is a caller
 * that has left 16384 messages unread, which is cut off then.  A failure for a
 * caller is followed by NET_SOMEBODY_LEFT, even if there was one before: a
 * message may be received after its caller has gone.
 *
 * A caller is a stranger until something other than PING, PONG or REFUSED is
 * sent to it.  A stranger that sends more than inbound.h allows, or bytes that
 * are not a message, is cut off.
 */
int net_send(struct net *, uint64_t peer, const struct message *);

/*
 * Return the bytes of large frames, of 16 KiB or more each, that were sent to a
 * caller and that libzmq has not given to the system yet; the last frame may
 * still be counted after it has left.  0 for a peer that we dialled.
 */
size_t net_unread(struct net *, uint64_t peer);

/* Return the functions above as an outbox, by which a role sends. */
struct outbox net_outbox(struct net *);

#endif
