#include "sys/inbound.h"

#include "base/mem.h"
#include "base/peers.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define READY		64	/* events of epoll at a time */
#define TOKENS		8	/* looks at which a stranger of this host may
				   have sent something */
#define TOKEN_MS	100	/* after which it may once more */

/*
 * One connection:
 *
 *	accepted -> STRANGER -> WELCOME	inbound_welcome()
 *	                  \         \
 *	                   `-> CUT   `-> closed
 *	                         `-----> closed
 *
 * Strangers are in a list, in the order in which they came.  A caller that is
 * CUT stays until libzmq has found its connection broken, and closed it.
 */
enum standing { STRANGER, WELCOME, CUT };

struct caller {
	enum standing standing;
	int fd;
	bool by_tcp;		/* the system counts the bytes it has sent */
	uint64_t peer;		/* 0: not known */
	uint64_t received;	/* bytes of its messages, as a stranger */
	struct unread *unread;	/* NULL: nothing was sent to it yet */
	/* Not by TCP: a bucket of TOKENS, one of which comes back in
	   TOKEN_MS. */
	uint64_t refilled_ms;	/* the time up to which they came back */
	unsigned used_tokens;
	struct caller *before, *behind;
};

struct inbound {
	struct caller **at;	/* by descriptor */
	size_t room, count, most;
	size_t going;		/* callers of count that are CUT */
	struct caller *first, *last;	/* strangers */
	size_t strangers, most_strangers;
	struct peers peers;
	int epoll;		/* of the strangers' descriptors */
	bool left;		/* for inbound_has_left() */
};

struct inbound *
inbound_new(size_t descriptors)
{
	struct inbound *c = mem_alloc(1, sizeof(*c));

	c->most = descriptors / 2;
	c->most_strangers = descriptors / 4 < INBOUND_STRANGERS ?
		descriptors / 4 : INBOUND_STRANGERS;
	c->epoll = epoll_create1(EPOLL_CLOEXEC);
	return c;
}

static void
release(struct caller *one)
{
	if (one->unread)
		refcount_drop(&one->unread->hold);
	free(one);
}

void
inbound_free(struct inbound *c)
{
	if (!c)
		return;
	for (size_t fd = 0; fd < c->room; fd++)
		if (c->at[fd])
			release(c->at[fd]);
	free(c->at);
	peers_release(&c->peers);
	if (c->epoll >= 0)
		close(c->epoll);
	free(c);
}

int
inbound_fd(const struct inbound *c)
{
	return c->epoll;
}

static struct caller *
find_caller(const struct inbound *c, int fd)
{
	return fd >= 0 && (size_t)fd < c->room ? c->at[fd] : NULL;
}

/* ---- strangers ---- */

static void
add_stranger(struct inbound *c, struct caller *one)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET,
				     .data.fd = one->fd };

	one->before = c->last;
	*(c->last ? &c->last->behind : &c->first) = one;
	c->last = one;
	c->strangers++;
	/* Errors are ignored: the caller may be gone again, and its descriptor
	   be closed, or be another file. */
	epoll_ctl(c->epoll, EPOLL_CTL_ADD, one->fd, &event);
}

static void
remove_stranger(struct inbound *c, struct caller *one)
{
	*(one->before ? &one->before->behind : &c->first) = one->behind;
	*(one->behind ? &one->behind->before : &c->last) = one->before;
	one->before = one->behind = NULL;
	c->strangers--;
	epoll_ctl(c->epoll, EPOLL_CTL_DEL, one->fd, NULL);
}

/*
 * Break the connection for both sides.  The descriptor belongs to libzmq, which
 * notices, and closes it.  A TCP socket is disconnected by connect() to
 * AF_UNSPEC, which drops the bytes that were not read; a socket of this host
 * has no more of them than fit its buffer, so shutdown() is enough.
 */
static void
cut(struct inbound *c, struct caller *one)
{
	const struct sockaddr none = { .sa_family = AF_UNSPEC };

	if (one->standing == CUT)
		return;
	if (one->standing == STRANGER)
		remove_stranger(c, one);
	one->standing = CUT;
	c->going++;
	if (one->by_tcp)
		connect(one->fd, &none, sizeof(none));
	else
		shutdown(one->fd, SHUT_RDWR);
}

/* ---- comings and goings ---- */

static void
forget(struct inbound *c, struct caller *one)
{
	if (one->standing == STRANGER)
		remove_stranger(c, one);
	if (one->peer) {
		peers_remove(&c->peers, one->peer);
		c->left = true;
	}
	c->at[one->fd] = NULL;
	c->count--;
	c->going -= one->standing == CUT;
	release(one);
}

static bool
is_tcp(int fd)
{
	int domain = AF_UNIX;
	socklen_t size = sizeof(domain);

	getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size);
	return domain != AF_UNIX;
}

void
inbound_accepted(struct inbound *c, int fd, uint64_t now)
{
	struct caller *one;

	if (fd < 0)
		return;
	inbound_closed(c, fd);
	while ((size_t)fd >= c->room) {
		const size_t was = c->room;

		c->at = mem_grow(c->at, was, &c->room, sizeof(*c->at));
		for (size_t i = was; i < c->room; i++)
			c->at[i] = NULL;
	}
	one = mem_alloc(1, sizeof(*one));
	*one = (struct caller){ .fd = fd, .by_tcp = is_tcp(fd),
				.refilled_ms = now };
	c->at[fd] = one;
	c->count++;
	add_stranger(c, one);
	while (c->first && (c->strangers > c->most_strangers ||
			    c->count - c->going > c->most))
		cut(c, c->first);
}

void
inbound_closed(struct inbound *c, int fd)
{
	struct caller *one = find_caller(c, fd);

	if (one)
		forget(c, one);
}

bool
inbound_has_left(struct inbound *c)
{
	const bool left = c->left;

	c->left = false;
	return left;
}

/* ---- messages ---- */

/*
 * Has a stranger sent more than it may?  By TCP the system counts its bytes.
 * For a socket of this host there is no such count: it may use up TOKENS,
 * one for each time when it was found readable.
 */
static bool
has_sent_too_much(struct caller *one, uint64_t now)
{
	struct tcp_info info = { 0 };
	socklen_t size = sizeof(info);

	if (one->by_tcp)
		return getsockopt(one->fd, IPPROTO_TCP, TCP_INFO, &info,
				  &size) == 0 &&
			info.tcpi_bytes_received > one->received +
				INBOUND_UNRECEIVED;
	for (; one->used_tokens > 0 && now - one->refilled_ms >= TOKEN_MS;
	     one->refilled_ms += TOKEN_MS)
		one->used_tokens--;
	if (one->used_tokens == 0)
		one->refilled_ms = now;
	return ++one->used_tokens > TOKENS;
}

void
inbound_watch(struct inbound *c, uint64_t now)
{
	struct epoll_event ready[READY];
	int n;

	do {
		n = epoll_wait(c->epoll, ready, READY, 0);
		for (int i = 0; i < n; i++) {
			struct caller *one = find_caller(c, ready[i].data.fd);

			if (one && one->standing == STRANGER &&
			    has_sent_too_much(one, now))
				cut(c, one);
		}
	} while (n == READY);
}

void
inbound_received(struct inbound *c, uint64_t peer, size_t bytes)
{
	struct caller *one = peers_find(&c->peers, peer);

	if (one && one->standing == STRANGER)
		one->received += bytes;
}

/* Did a peer come after another one?  libzmq numbers its callers as they come,
   in the bytes 1 to 4 of the routing id, big-endian; the numbers wrap. */
static bool
is_newer(uint64_t peer, uint64_t than)
{
	const unsigned char *a = (const unsigned char *)&peer;
	const unsigned char *b = (const unsigned char *)&than;
	uint32_t ahead = 0;

	for (int i = 1; i <= 4; i++)
		ahead = ahead << 8 | a[i];
	for (int i = 1; i <= 4; i++)
		ahead -= (uint32_t)b[i] << (32 - 8 * i);
	return ahead != 0 && ahead < (uint32_t)1 << 31;
}

void
inbound_identify(struct inbound *c, uint64_t peer, int fd)
{
	struct caller *one = find_caller(c, fd);

	if (!one)
		return;		/* it went after it had sent this message */
	/* A message is often received after its caller has gone, when another
	   caller has the descriptor already. */
	if (one->peer && !is_newer(peer, one->peer))
		return;
	if (one->peer) {	/* the caller before it, by this descriptor */
		peers_remove(&c->peers, one->peer);
		c->left = true;
	}
	one->peer = peer;
	peers_set(&c->peers, peer, one);
}

bool
inbound_is_connected(const struct inbound *c, uint64_t peer)
{
	return peers_find(&c->peers, peer) != NULL;
}

static void
free_unread(struct refcount *hold)
{
	free(hold);		/* the first member of struct unread */
}

struct unread *
inbound_unread(struct inbound *c, uint64_t peer)
{
	struct caller *one = peers_find(&c->peers, peer);

	if (one && !one->unread) {
		one->unread = mem_alloc(1, sizeof(*one->unread));
		atomic_init(&one->unread->hold.references, 1);
		one->unread->hold.release = free_unread;
	}
	return one ? one->unread : NULL;
}

void
inbound_welcome(struct inbound *c, uint64_t peer)
{
	struct caller *one = peers_find(&c->peers, peer);

	if (!one || one->standing != STRANGER)
		return;
	remove_stranger(c, one);
	one->standing = WELCOME;
}

/* ---- cutting callers off ---- */

void
inbound_cut(struct inbound *c, int fd)
{
	struct caller *one = find_caller(c, fd);

	if (one)
		cut(c, one);
}

void
inbound_cut_peer(struct inbound *c, uint64_t peer)
{
	struct caller *one = peers_find(&c->peers, peer);

	if (one)
		cut(c, one);
}

void
inbound_refuse(struct inbound *c, uint64_t peer)
{
	struct caller *one = peers_find(&c->peers, peer);

	if (one && one->standing == STRANGER)
		cut(c, one);
}

size_t
inbound_cut_all(struct inbound *c)
{
	for (size_t fd = 0; fd < c->room; fd++)
		if (c->at[fd])
			cut(c, c->at[fd]);
	return c->count;
}

bool
inbound_is_stranger(const struct inbound *c, int fd)
{
	const struct caller *one = find_caller(c, fd);

	return one && one->standing != WELCOME;
}
