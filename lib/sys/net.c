#include "sys/net.h"

#include "base/mem.h"
#include "base/endpoint.h"
#include "sys/clock.h"
#include "sys/curve.h"
#include "sys/descriptors.h"
#include "sys/host.h"
#include "sys/inbound.h"
#include "sys/memory.h"
#include "sys/pid.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <zmq.h>

#define SEAL		64	/* bytes, more than SEALED */
#define SEALED		33	/* bytes that encryption adds to a frame */
#define ZERO_COPY	((size_t)64 << 10)	/* least bytes of a frame that
						   is sent without a copy */
#define COUNTED		((size_t)16 << 10)	/* least bytes of a frame that
						   net_unread() counts */
#define HANDSHAKE_MS	2000	/* or half a lease, if that is more */
#define RECONNECT_MS	10
#define RECONNECT_MAX_MS 2000
#define FLUSH_MS	500	/* for messages to leave */
#define RECEIVE_US		20000	/* between two NET_NOTHING */
#define MAX_TTL		6553599	/* the longest TTL in ms that ZMTP can send */
#define BACKLOG		1024	/* connections that wait to be accepted */
#define FEW		4096	/* descriptors: too few for the shortcut */
#define LEAST		64	/* descriptors: with fewer, half of them leave
				   too little for the program's own files, and
				   libzmq aborts it when there is none */
#define THREADS		2	/* that libzmq starts with its first socket */
#define WATCH_MS	2	/* between looks at strangers */
#define CLOSE_MS	2000	/* for all connections to break */
#define UNREAD		16384	/* messages that a caller may leave unread */
#define TRIM_MS		10000	/* between looks at free memory */
#define DYING_MS	2000	/* for a killed program to free our endpoint */
#define REFUSALS	(ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | \
			 ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | \
			 ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL)

/* Peers that we dialled have this bit, above all routing ids. */
#define DIALLED		((uint64_t)1 << 63)

/*
 * A ZeroMQ socket is read only when it may be ready: when its descriptor was
 * readable, or after we sent something, since libzmq may have taken notice of
 * incoming messages then, and the descriptor is not readable any more.  Each
 * read that finds nothing would cost a system call.
 */
struct poll_socket {
	void *socket;
	int fd;
	bool maybe_ready;
};

struct dialled {
	struct poll_socket dealer, monitor;
	int fd;			/* of its connection, or -1 */
	bool broken;		/* we have broken that connection */
	bool up, reported;	/* somebody is there; NET_UP was reported */
	bool known;		/* a handshake has succeeded once */
	bool refused;		/* none has, and the last one was refused */
	bool speaks_zmtp;	/* it answered in ZMTP, so a program with
				   ZeroMQ is there */
	uint64_t hung_up_ms;	/* when we hung up; 0: we did not */
	char endpoint[256];
};

/* An address at which the net listens. */
struct listen_address {
	char endpoint[256];
	int lock;		/* of an ipc endpoint, or -1 */
	char lock_path[300];
};

struct net {
	void *context;
	struct poll_socket listener, zap;
	struct poll_socket listener_monitor;	/* guarded by lock_inbound, */
	struct inbound *inbound;	/* as this is: two threads use both */
	pthread_mutex_t lock_inbound;
	pthread_t watch;
	bool watched;		/* the thread runs */
	int stop_watch;		/* an eventfd, which ends the thread */
	struct poll_socket departures;	/* an eventfd: a caller has gone */
	size_t descriptors;	/* that the process may have */
	bool has_threads;	/* libzmq has started its own, or can */
	struct curve curve;
	bool guarded;		/* by the curve's key */
	struct listen_address address[2];	/* where the net listens */
	struct dialled *dial;
	size_t dials, dial_room;
	uint64_t lease_ms;
	uint64_t await_ms;	/* net_await_name() */
	int await_stop;
	size_t next_socket;	/* the socket that net_next() reads first */
	uint64_t trimmed_ms;	/* when memory was last given back */
	uint64_t since_us;	/* time of the first event, and */
	size_t events;		/* their number, since NET_NOTHING */
	struct pack header;
	zmq_msg_t id, head, frame[MESSAGE_FRAMES];
	struct pollfd *polled;
	struct poll_socket **polled_socket;	/* of each; NULL: not ours */
	size_t polled_room, socket_room;
};

static int
fail_zmq(struct fail *f, enum fail_kind kind, const char *what,
	 const char *endpoint)
{
	return fail(f, kind, "cannot %s %s: %s", what, endpoint,
		    zmq_strerror(errno));
}

/*
 * Prepare what libzmq leaves to us.  Routing ids begin at a number from rand(),
 * which libzmq does not seed.  And glibc must not return the memory of every
 * large frame to the system, which would have to clear it anew each time.
 */
static void
prepare_process(void)
{
	unsigned seed = 0;

	if (getrandom(&seed, sizeof(seed), 0) == sizeof(seed))
		srand(seed);
	pid_remember();
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, 128 << 20);
}

/*
 * Run under SCHED_BATCH: a program that is woken by a message then does not
 * preempt the program that sent it, which may have more to send, and many
 * messages are handled at one switch.  The threads of libzmq, which carry
 * messages, stay under SCHED_OTHER: their work is short, and a peer waits for
 * it, maybe while other threads here compute for long.
 */
static void
set_batch_scheduling(void *context)
{
	const struct sched_param normal = { .sched_priority = 0 };

	if (sched_getscheduler(0) != SCHED_OTHER)
		return;
	sched_setscheduler(0, SCHED_BATCH, &normal);
	zmq_ctx_set(context, ZMQ_THREAD_SCHED_POLICY, SCHED_OTHER);
}

struct net *
net_new(uint64_t lease_ms)
{
	struct net *net = mem_alloc(1, sizeof(*net));

	prepare_process();
	net->descriptors = descriptors_raise();
	net->address[0].lock = net->address[1].lock = -1;
	net->stop_watch = net->departures.fd = -1;
	net->await_stop = -1;
	pthread_mutex_init(&net->lock_inbound, NULL);
	net->lease_ms = lease_ms;
	net->context = zmq_ctx_new();
	set_batch_scheduling(net->context);
	zmq_msg_init(&net->id);
	zmq_msg_init(&net->head);
	for (size_t i = 0; i < MESSAGE_FRAMES; i++)
		zmq_msg_init(&net->frame[i]);
	return net;
}

int
net_guard(struct net *net, const char *key, struct fail *f)
{
	net->guarded = key && curve_read(&net->curve, key, f) == 0;
	return key && !net->guarded ? -1 : 0;
}

/*
 * Close a socket and its monitor.  The socket must have no connection whose
 * handshake is over: libzmq 4.3.4 and 4.3.5 abort the program if a peer sends
 * something and hangs up, or leaves half of a message unread, while its
 * connection is closed on this side (_io_error in stream_engine_base.cpp,
 * clean_pipes() in session_base.cpp).
 */
static void
close_sockets(const struct poll_socket *s, const struct poll_socket *monitor)
{
	if (!s->socket)
		return;
	zmq_socket_monitor(s->socket, NULL, 0);
	if (monitor->socket)
		zmq_close(monitor->socket);
	zmq_close(s->socket);
}

static void
set_option(void *socket, int option, int value)
{
	zmq_setsockopt(socket, option, &value, sizeof(value));
}

/* Return a socket to poll.  It may be ready: events may be there already. */
static struct poll_socket
poll_socket_of(void *socket)
{
	struct poll_socket s = { .socket = socket, .fd = -1,
				.maybe_ready = true };
	size_t size = sizeof(s.fd);

	if (socket)
		zmq_getsockopt(socket, ZMQ_FD, &s.fd, &size);
	return s;
}

/*
 * Set heartbeats: one in a quarter of a lease, and a connection that is silent
 * for a lease is lost.  An int bounds the lease here.  The TTL tells the peer
 * after which silence we are lost; if it does not fit ZMTP's field, the peer
 * uses its own lease.
 */
static void
set_lease(void *socket, uint64_t lease_ms)
{
	const int lease = lease_ms < INT_MAX ? (int)lease_ms : INT_MAX;

	set_option(socket, ZMQ_HEARTBEAT_IVL, lease / 4 > 0 ? lease / 4 : 1);
	set_option(socket, ZMQ_HEARTBEAT_TIMEOUT, lease);
	set_option(socket, ZMQ_HEARTBEAT_TTL, lease <= MAX_TTL ? lease : 0);
}

/* With a key a handshake takes three round trips, so a long lease allows more
   time. */
static int
handshake_ms(const struct net *net)
{
	const uint64_t half = net->lease_ms / 2;

	return half < HANDSHAKE_MS ? HANDSHAKE_MS :
		half < INT_MAX / 2 ? (int)half : INT_MAX / 2;
}

/* Only an address in brackets is IPv6; names are looked up as IPv4. */
static bool
is_ipv6(const char *endpoint)
{
	return strncmp(endpoint, "tcp://[", 7) == 0;
}

/* Admit only our own user, and root, to ipc: the abstract name of a shortcut
   has no permissions that the system would check. */
static void
admit_own(void *socket)
{
	const uid_t own[] = { geteuid(), 0 };

	for (size_t i = 0; i < 2; i++)
		zmq_setsockopt(socket, ZMQ_IPC_FILTER_UID, &own[i],
			       sizeof(own[i]));
}

/*
 * Return how many callers may wait to be accepted.  By ipc, libzmq aborts the
 * program if accept() finds no free descriptor; callers may have half of all,
 * so with few descriptors the queue is an eighth of them.
 */
static int
backlog(const struct net *net, const char *endpoint)
{
	return net->descriptors < FEW && strncmp(endpoint, "ipc", 3) == 0 ?
		(int)net->descriptors / 8 : BACKLOG;
}

/*
 * Open a ROUTER to listen, or a DEALER to dial one peer.
 *
 * Only a ROUTER has a limit of unsent messages: a caller may ask again and
 * again and never read, and the answers must not fill our memory.  What a
 * dialled peer is sent we decide ourselves.  Neither has a limit of received
 * messages, only of their size: with one, libzmq would stop reading a
 * connection, and if that is then broken, version 4.3.4 fails an assertion at
 * the next heartbeat.
 */
static struct poll_socket
open_socket(struct net *net, int type, const char *endpoint)
{
	void *socket = zmq_socket(net->context, type);
	const int64_t max = WIRE_FRAME + SEAL;	/* larger: it is cut off */

	if (!socket)
		return poll_socket_of(NULL);
	zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &max, sizeof(max));
	set_option(socket, ZMQ_IPV6, is_ipv6(endpoint));
	set_option(socket, ZMQ_LINGER, 0);
	set_option(socket, ZMQ_SNDHWM, type == ZMQ_ROUTER ? UNREAD : 0);
	set_option(socket, ZMQ_RCVHWM, 0);
	set_option(socket, ZMQ_HANDSHAKE_IVL, handshake_ms(net));
	set_lease(socket, net->lease_ms);
	if (type == ZMQ_ROUTER) {
		set_option(socket, ZMQ_BACKLOG, backlog(net, endpoint));
		set_option(socket, ZMQ_ROUTER_MANDATORY, 1);
		admit_own(socket);
	} else {
		set_option(socket, ZMQ_IMMEDIATE, 1);
		set_option(socket, ZMQ_RECONNECT_IVL, RECONNECT_MS);
		set_option(socket, ZMQ_RECONNECT_IVL_MAX, RECONNECT_MAX_MS);
	}
	return poll_socket_of(socket);
}

/* Receive a frame.  A signal must not interrupt between frames of a message. */
static int
receive_frame(zmq_msg_t *frame, void *socket)
{
	int size;

	do
		size = zmq_msg_recv(frame, socket, ZMQ_DONTWAIT);
	while (size < 0 && errno == EINTR);
	return size;
}

/* Open a socket on which another socket reports events of its connections. */
static struct poll_socket
open_monitor(struct net *net, void *socket, int events)
{
	char address[64];
	void *monitor;

	snprintf(address, sizeof(address), "inproc://monitor-%p", socket);
	if (zmq_socket_monitor(socket, address, events) < 0)
		return poll_socket_of(NULL);
	monitor = zmq_socket(net->context, ZMQ_PAIR);
	if (monitor) {
		/* With a limit, a full monitor would stop all connections. */
		set_option(monitor, ZMQ_RCVHWM, 0);
		zmq_connect(monitor, address);
	}
	return poll_socket_of(monitor);
}

/* Return the next event of a monitor, or 0; set *fd to the value of the event,
   which is the descriptor of the connection for most events. */
static uint16_t
next_monitor_event(struct poll_socket *monitor, int *fd)
{
	uint16_t event = 0;
	zmq_msg_t frame;
	bool first = true;

	if (!monitor->maybe_ready || !monitor->socket)
		return 0;
	zmq_msg_init(&frame);
	while (receive_frame(&frame, monitor->socket) >= 0) {
		const char *bytes = zmq_msg_data(&frame);

		if (first && zmq_msg_size(&frame) >= sizeof(event) + 4) {
			memcpy(&event, bytes, sizeof(event));
			memcpy(fd, bytes + sizeof(event), 4);
		}
		first = false;
		if (!zmq_msg_more(&frame))
			break;
	}
	zmq_msg_close(&frame);
	monitor->maybe_ready = event != 0;
	return event;
}

/*
 * Wait 5 ms, up to DYING_MS in all, and return true to try again.  A program
 * that was killed keeps its endpoint until it is dead, which on a busy machine
 * takes longer than the start of its successor.
 */
static bool
wait_for_owner(uint64_t since_ms)
{
	const int why = errno;
	const bool may = clock_ms() - since_ms < DYING_MS &&
		poll(NULL, 0, 5) == 0;

	errno = why;
	return may;
}

static int
fail_taken(const char *path, struct fail *f)
{
	return fail(f, FAIL_PEER, "cannot listen on ipc://%s: "
		    "another program does", path);
}

/* Does a program listen at a socket's path?  The system refuses a connection to
   a socket that a dead program has left. */
static bool
is_live(const char *path)
{
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK |
			      SOCK_CLOEXEC, 0);
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	bool live;

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	live = fd >= 0 && (connect(fd, (struct sockaddr *)&to,
				   sizeof(to)) == 0 || errno == EAGAIN);
	if (fd >= 0)
		close(fd);
	return live;
}

/* Check that binding, which removes the file at the path, only removes a socket
   of a dead program. */
static int
check_path(const char *path, struct fail *f)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return 0;
	if (!S_ISSOCK(st.st_mode))
		return fail(f, FAIL_CREATE, "cannot listen on ipc://%s: it is "
			    "not a socket", path);
	return is_live(path) ? fail_taken(path, f) : 0;
}

/*
 * Open and lock a file; *held is false if another program has the lock.  If the
 * file was unlinked meanwhile by its last owner, the lock is worth nothing, and
 * the inodes differ.
 */
static int
open_lock(const char *path, bool *held)
{
	const uint64_t since = clock_ms();
	struct stat ours, there;
	int lock;

	for (;;) {
		lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		if (lock < 0)
			return -1;
		*held = flock(lock, LOCK_EX | LOCK_NB) == 0 &&
			fstat(lock, &ours) == 0 && stat(path, &there) == 0 &&
			ours.st_ino == there.st_ino;
		if (*held || !wait_for_owner(since))
			return lock;
		close(lock);
	}
}

/*
 * Hold a lock, in a file beside it, as long as an ipc endpoint is ours: bind
 * would silently take the endpoint from another program.
 */
static int
lock_path(struct listen_address *p, const char *path, struct fail *f)
{
	struct stat st;
	bool held;
	int lock;

	snprintf(p->lock_path, sizeof(p->lock_path), "%s.lock", path);
	lock = open_lock(p->lock_path, &held);
	if (lock < 0)
		return fail_sys(f, FAIL_CREATE, "cannot make %s",
				p->lock_path);
	if (fstat(lock, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > 0)
		fail(f, FAIL_CREATE, "cannot make %s: it exists, and is not a "
		     "lock", p->lock_path);
	else if (!held)
		fail_taken(path, f);
	else if (check_path(path, f) == 0) {
		p->lock = lock;	/* unlinked by its owner alone */
		return 0;
	} else
		unlink(p->lock_path);
	close(lock);
	return -1;
}

bool
net_explain_failure(const struct net *net, const char *endpoint, struct fail *f)
{
	char number[INET_ADDRSTRLEN];
	struct fail why = { 0 };

	if (f->kind != FAIL_PEER || !endpoint)
		return false;
	for (size_t i = 0; i < net->dials; i++)
		if (net->dial[i].refused &&
		    strcmp(net->dial[i].endpoint, endpoint) == 0)
			fail(&why, FAIL_DENIED, net->guarded ?
			     "%s: the program that listens there does not have "
			     "our --key" :
			     net->dial[i].speaks_zmtp ?
			     "%s: the program that listens there wants a "
			     "--key" :
			     "%s: the program that listens there is not one of "
			     "pskit, or wants a --key", endpoint);
	if (strncmp(endpoint, "tcp://", 6) == 0 && !is_ipv6(endpoint))
		host_find(endpoint, number, &why);
	if (why.kind)
		*f = why;
	return why.kind;
}

/* Replace the name of a host by its address: libzmq binds only to addresses. */
static int
resolve(const char *endpoint, char *numeric, size_t size, struct fail *f)
{
	char number[INET_ADDRSTRLEN];

	snprintf(numeric, size, "%s", endpoint);
	if (strncmp(endpoint, "tcp://*:", 8) == 0 || is_ipv6(endpoint))
		return 0;
	if (host_find(endpoint, number, f) < 0)
		return -1;
	snprintf(numeric, size, "tcp://%s%s", number,
		 strrchr(endpoint, ':'));
	return 0;
}

/*
 * Make the name of a shortcut.  On one host, ipc takes two thirds of the
 * processor time of tcp.  So a net that listens at an address of tcp also
 * listens at a name, made of that address, among the abstract names of ipc,
 * which need no file and end with their owner.  A program on the same host that
 * dials the address finds the name.
 */
static void
name_shortcut(const char *endpoint, char *name, size_t size)
{
	snprintf(name, size, "ipc://@pskit-%s", endpoint + strlen("tcp://"));
}

/* Does a program of our own user listen at this name? */
static bool
is_there(const char *name)
{
	const char *text = name + strlen("ipc://");
	const size_t length = strlen(text);
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct ucred peer = { .uid = (uid_t)-1 };
	socklen_t size = sizeof(peer);
	int fd;

	if (length >= sizeof(at.sun_path))
		return false;
	memcpy(at.sun_path, text, length);
	at.sun_path[0] = '\0';		/* for "@" */
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	if (connect(fd, (struct sockaddr *)&at, (socklen_t)
		    (offsetof(struct sockaddr_un, sun_path) + length)) == 0)
		getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size);
	close(fd);
	return peer.uid == geteuid();
}

/*
 * Test that our listener refuses a caller with another key, which knows our
 * public key.  A caller without any key is refused by libzmq itself, at the
 * first bytes, so that is not tested.
 */
static int
try_stranger(struct net *net, struct fail *f)
{
	struct poll_socket caller, monitor;
	struct curve key;
	uint16_t event = 0;
	int of;

	if (curve_make(&key, f) < 0)
		return -1;
	caller = open_socket(net, ZMQ_DEALER, net->address[0].endpoint);
	if (!caller.socket)
		return fail_zmq(f, FAIL_INTERNAL, "try",
				net->address[0].endpoint);
	curve_use(&key, net->curve.public, caller.socket);
	monitor = open_monitor(net, caller.socket,
			       ZMQ_EVENT_HANDSHAKE_SUCCEEDED | REFUSALS);
	zmq_connect(caller.socket, net->address[0].endpoint);
	for (int ms = 0; event == 0 && ms < 2 * handshake_ms(net); ms++) {
		struct pollfd fd[] = { { monitor.fd, POLLIN, 0 },
				       { net->zap.fd, POLLIN, 0 } };

		poll(fd, 2, 1);
		while (curve_answer_zap(&net->curve, net->zap.socket))
			;
		monitor.maybe_ready = true;
		event = next_monitor_event(&monitor, &of);
	}
	close_sockets(&caller, &monitor);
	return event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH ? 0 :
		fail(f, FAIL_INTERNAL, "%s: a stranger's key was not refused",
		     net->address[0].endpoint);
}

/* From now on the listener admits only callers with our key. */
static int
guard_listener(struct net *net, struct fail *f)
{
	net->zap = poll_socket_of(curve_open_zap(net->context, f));
	if (!net->zap.socket)
		return -1;
	curve_guard(&net->curve, net->listener.socket);
	return 0;
}

/* ---- callers ---- */

static void
note_departure(struct net *net)
{
	const uint64_t one = 1;

	if (write(net->departures.fd, &one, sizeof(one)) < 0)
		return;		/* it is readable already */
}

/* Process all connections and ends of connections of the listener.  The calling
   thread holds lock_inbound. */
static void
process_listener_monitor(struct net *net)
{
	uint16_t event;
	int fd = -1;

	net->listener_monitor.maybe_ready = true;
	while ((event = next_monitor_event(&net->listener_monitor, &fd)) != 0)
		if (event == ZMQ_EVENT_ACCEPTED)
			inbound_accepted(net->inbound, fd, clock_ms());
		else if (event == ZMQ_EVENT_DISCONNECTED)
			inbound_closed(net->inbound, fd);
	inbound_watch(net->inbound, clock_ms());
	if (inbound_has_left(net->inbound))
		note_departure(net);
}

/*
 * The thread that watches callers: the program may be busy for long, but libzmq
 * reads from strangers all the same.  It processes events before it waits, as
 * for a socket that may be ready, and at most once in WATCH_MS.
 */
static void *
watch_callers(void *data)
{
	struct net *net = data;
	struct pollfd fds[] = {
		{ .fd = net->stop_watch, .events = POLLIN },
		{ .fd = net->listener_monitor.fd, .events = POLLIN },
		{ .fd = inbound_fd(net->inbound), .events = POLLIN }
	};

	while (!fds[0].revents) {
		pthread_mutex_lock(&net->lock_inbound);
		process_listener_monitor(net);
		pthread_mutex_unlock(&net->lock_inbound);
		poll(fds, 1, WATCH_MS);
		if (!fds[0].revents)
			poll(fds, 3, -1);
	}
	return NULL;
}

/* Start that thread, with all signals blocked, and not under SCHED_BATCH. */
static int
begin_watch(struct net *net, struct fail *f)
{
	const struct sched_param normal = { .sched_priority = 0 };
	sigset_t all, before;
	int wrong;

	net->listener_monitor = open_monitor(net, net->listener.socket,
					     ZMQ_EVENT_ACCEPTED |
					     ZMQ_EVENT_DISCONNECTED);
	net->inbound = inbound_new(net->descriptors);
	net->stop_watch = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	net->departures.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!net->listener_monitor.socket || net->departures.fd < 0 ||
	    net->stop_watch < 0 || inbound_fd(net->inbound) < 0)
		return fail_sys(f, FAIL_AGAIN, "cannot watch who calls");
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	wrong = pthread_create(&net->watch, NULL, watch_callers, net);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (wrong)
		return fail(f, FAIL_AGAIN, "cannot start a thread: %s",
			    strerror(wrong));
	net->watched = true;
	pthread_setschedparam(net->watch, SCHED_OTHER, &normal);
	return 0;
}

static void
end_watch(struct net *net)
{
	const uint64_t one = 1;

	if (!net->watched)
		return;
	while (write(net->stop_watch, &one, sizeof(one)) < 0)
		;
	pthread_join(net->watch, NULL);
	net->watched = false;
}

/* ---- listening ---- */

/* Bind the shortcut, too, unless descriptors are few: libzmq aborts the program
   if a caller by ipc finds no descriptor.  A failure does no harm. */
static void
bind_shortcut(struct net *net, const struct listen_address *p)
{
	char shortcut[300];

	if (net->descriptors < FEW)
		return;
	name_shortcut(p->endpoint, shortcut, sizeof(shortcut));
	zmq_bind(net->listener.socket, shortcut);
}

void
net_await_name(struct net *net, uint64_t ms, int stop_fd)
{
	net->await_ms = ms;
	net->await_stop = stop_fd;
}

/* Check that we may listen at an endpoint, lock it or await its name, and write
   the form of it that libzmq binds to. */
static int
prepare_address(struct net *net, struct listen_address *p, const char *endpoint,
		bool insecure, char *numeric, size_t size, struct fail *f)
{
	const bool ipc = strncmp(endpoint, "ipc://", 6) == 0;

	if (endpoint_check(endpoint, ENDPOINT_BIND, f) < 0)
		return -1;
	if (!insecure && !net->guarded && !endpoint_loopback(endpoint))
		return fail(f, FAIL_DENIED, "%s can be reached by strangers: "
			    "listen on 127.0.0.1 or ipc://, or say --key or "
			    "--insecure", endpoint);
	snprintf(numeric, size, "%s", endpoint);
	if (ipc)
		return lock_path(p, endpoint + 6, f);
	if (host_await(endpoint, net->await_ms, net->await_stop, f) < 0)
		return -1;
	return resolve(endpoint, numeric, size, f);
}

static int
bind_address(struct net *net, struct listen_address *p, const char *endpoint,
	     const char *numeric, struct fail *f)
{
	const mode_t mask = umask(0077);	/* of the ipc socket's file */
	const uint64_t since = clock_ms();
	size_t size = sizeof(p->endpoint);
	int bound;

	do
		bound = zmq_bind(net->listener.socket, numeric);
	while (bound < 0 && errno == EADDRINUSE && wait_for_owner(since));
	umask(mask);
	if (bound < 0)
		return fail_zmq(f, FAIL_PEER, "listen on", endpoint);
	zmq_getsockopt(net->listener.socket, ZMQ_LAST_ENDPOINT, p->endpoint,
		       &size);
	if (strncmp(endpoint, "ipc://", 6) != 0)
		bind_shortcut(net, p);
	return 0;
}

static void *
await_unlock(void *mutex)
{
	pthread_mutex_lock(mutex);
	pthread_mutex_unlock(mutex);
	return NULL;
}

/* Start as many threads at once as libzmq will, and end them.  Return 0 or an
   error number. */
static int
try_threads(void)
{
	pthread_mutex_t running = PTHREAD_MUTEX_INITIALIZER;
	pthread_t thread[THREADS];
	size_t count = 0;
	int wrong = 0;

	pthread_mutex_lock(&running);
	while (count < THREADS && wrong == 0) {
		wrong = pthread_create(&thread[count], NULL, await_unlock,
				       &running);
		count += wrong == 0;
	}
	pthread_mutex_unlock(&running);
	while (count > 0)
		pthread_join(thread[--count], NULL);
	pthread_mutex_destroy(&running);
	return wrong;
}

/* Without a descriptor for each connection libzmq aborts the program, or waits
   for ever; if it cannot start its threads, it aborts the program, too. */
static int
check_limits(struct net *net, const char *endpoint, struct fail *f)
{
	int wrong;

	if (net->descriptors < LEAST)
		return fail(f, FAIL_CONFIG, "%s: this process may have %zu "
			    "files open at once, but a connection takes %d "
			    "(ulimit -n)", endpoint, net->descriptors, LEAST);
	wrong = net->has_threads ? 0 : try_threads();
	net->has_threads = wrong == 0;
	return wrong == 0 ? 0 :
		fail(f, FAIL_AGAIN, "%s: cannot start a thread: %s (ulimit -u, "
		     "ulimit -v)", endpoint, strerror(wrong));
}

int
net_listen(struct net *net, const char *endpoint, bool insecure,
	   struct fail *f)
{
	struct listen_address *p = &net->address[0];
	char numeric[300];

	if (check_limits(net, endpoint, f) < 0)
		return -1;
	if (prepare_address(net, p, endpoint, insecure, numeric,
			    sizeof(numeric), f) < 0)
		return -1;
	net->listener = open_socket(net, ZMQ_ROUTER, endpoint);
	if (!net->listener.socket)
		return fail_zmq(f, FAIL_INTERNAL, "open", endpoint);
	if (net->guarded && guard_listener(net, f) < 0)
		return -1;
	if (begin_watch(net, f) < 0 ||
	    bind_address(net, p, endpoint, numeric, f) < 0)
		return -1;
	return net->guarded ? try_stranger(net, f) : 0;
}

int
net_listen_also(struct net *net, const char *endpoint, bool insecure,
		struct fail *f)
{
	char numeric[300];

	if (prepare_address(net, &net->address[1], endpoint, insecure, numeric,
			    sizeof(numeric), f) < 0)
		return -1;
	set_option(net->listener.socket, ZMQ_IPV6, is_ipv6(endpoint));
	return bind_address(net, &net->address[1], endpoint, numeric, f);
}

const char *
net_endpoint(const struct net *net)
{
	return net->listener.socket ? net->address[0].endpoint : NULL;
}

const char *
net_endpoint_also(const struct net *net)
{
	return *net->address[1].endpoint ? net->address[1].endpoint : NULL;
}

int
net_dial(struct net *net, const char *endpoint, uint64_t *peer,
	 struct fail *f)
{
	struct dialled *d;
	char shortcut[300];

	if (endpoint_check(endpoint, ENDPOINT_CONNECT, f) < 0 ||
	    check_limits(net, endpoint, f) < 0)
		return -1;
	name_shortcut(endpoint, shortcut, sizeof(shortcut));
	net->dial = mem_grow(net->dial, net->dials, &net->dial_room,
			     sizeof(*net->dial));
	d = &net->dial[net->dials];
	*d = (struct dialled){
		.dealer = open_socket(net, ZMQ_DEALER, endpoint), .fd = -1
	};
	snprintf(d->endpoint, sizeof(d->endpoint), "%s", endpoint);
	if (!d->dealer.socket)
		return fail_zmq(f, FAIL_INTERNAL, "open", endpoint);
	if (net->guarded)
		curve_use(&net->curve, net->curve.public, d->dealer.socket);
	d->monitor = open_monitor(net, d->dealer.socket, ZMQ_EVENT_CLOSED |
				  ZMQ_EVENT_CONNECTED | REFUSALS |
				  ZMQ_EVENT_DISCONNECTED |
				  ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
	if (zmq_connect(d->dealer.socket, is_there(shortcut) ? shortcut :
			endpoint) < 0) {
		fail_zmq(f, FAIL_PEER, "reach", endpoint);
		close_sockets(&d->dealer, &d->monitor);
		return -1;
	}
	*peer = DIALLED | net->dials++;
	return 0;
}

static struct dialled *
dialled(struct net *net, uint64_t peer)
{
	const uint64_t i = peer & ~DIALLED;

	return peer & DIALLED && i < net->dials && net->dial[i].dealer.socket &&
		!net->dial[i].hung_up_ms ? &net->dial[i] : NULL;
}

/*
 * Wait until libzmq's I/O thread has begun to write all messages sent so far.
 * It executes commands in order, so it has done so once it has failed to reach
 * an endpoint at which nobody listens.
 */
static void
await_io_thread(struct net *net, uint64_t until)
{
	struct poll_socket caller = open_socket(net, ZMQ_DEALER, "");
	struct poll_socket monitor;
	int of;

	if (!caller.socket)
		return;
	monitor = open_monitor(net, caller.socket, ZMQ_EVENT_ALL);
	zmq_connect(caller.socket, "ipc://@pskit-nobody");
	while (!next_monitor_event(&monitor, &of) && clock_ms() < until) {
		struct pollfd fd = { monitor.fd, POLLIN, 0 };

		poll(&fd, 1, 1);
		monitor.maybe_ready = true;
	}
	close_sockets(&caller, &monitor);
}

static bool
is_stranger(struct net *net, int fd)
{
	bool is;

	pthread_mutex_lock(&net->lock_inbound);
	is = net->inbound && inbound_is_stranger(net->inbound, fd);
	pthread_mutex_unlock(&net->lock_inbound);
	return is;
}

/* Is this descriptor an epoll that waits for another one to be writable?
   Connections of strangers do not count. */
static bool
awaits_output(struct net *net, int fdinfo, const char *name)
{
	const int fd = openat(fdinfo, name, O_RDONLY | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	char line[256];
	unsigned events;
	bool found = false;
	int to;

	while (file && !found && fgets(line, sizeof(line), file))
		found = sscanf(line, "tfd: %d events: %x", &to, &events) == 2 &&
			events & EPOLLOUT && !is_stranger(net, to);
	if (file)
		fclose(file);
	return found;
}

/*
 * Are there bytes that the kernel has not taken yet?  libzmq does not say, but
 * as long as it has bytes to write, its epoll waits for a writable socket, and
 * /proc shows that.  If /proc cannot be read, there may be such bytes.
 */
static bool
has_unwritten(struct net *net)
{
	DIR *dir = opendir("/proc/self/fdinfo");
	const struct dirent *entry;
	bool found = !dir;

	while (!found && (entry = readdir(dir)))
		found = awaits_output(net, dirfd(dir), entry->d_name);
	if (dir)
		closedir(dir);
	return found;
}

/*
 * Wait, at most FLUSH_MS, until all messages have left; sockets are closed
 * after that.  ZMQ_LINGER cannot be used: a lingering connection reads no
 * input, and if its peer then sends something and hangs up, libzmq 4.3.4 fails
 * an assertion at the next heartbeat, which ends the program.
 */
static void
flush_messages(struct net *net)
{
	const uint64_t until = clock_ms() + FLUSH_MS;

	if (!net->has_threads)	/* nothing was sent, or can be */
		return;
	await_io_thread(net, until);
	while (has_unwritten(net) && clock_ms() < until)
		poll(NULL, 0, 1);
}

static bool
writable(void *socket)
{
	int events = 0;
	size_t size = sizeof(events);

	return zmq_getsockopt(socket, ZMQ_EVENTS, &events, &size) == 0 &&
		events & ZMQ_POLLOUT;
}

/*
 * Has a handshake failed since nothing came, not even that the peer hung up?
 * The peer may be one of ours that is stopped.
 */
static bool
is_silence(uint16_t event, int error)
{
	return event == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL &&
		error != EPIPE && error != ECONNRESET;
}

/* Process the next event of a dialled peer's monitor.  Return NET_UP, NET_DOWN
   or NET_NOTHING. */
static enum net_event_kind
process_monitor(struct dialled *d)
{
	int fd = -1;		/* or an error */
	const uint16_t event = next_monitor_event(&d->monitor, &fd);

	if (event == ZMQ_EVENT_CONNECTED) {
		d->fd = fd;
		d->broken = false;
	}
	if (event == ZMQ_EVENT_DISCONNECTED) {
		const bool was = d->reported;

		d->fd = -1;
		d->up = d->reported = false;
		return was ? NET_DOWN : NET_NOTHING;
	}
	if (event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED)
		d->up = d->known = true;
	/* A peer with which a handshake has succeeded has our key: it refuses
	   only since it is dying. */
	if (event & REFUSALS && !is_silence(event, fd))
		d->refused = !d->known;
	if (event & (ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
		     ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL))
		d->speaks_zmtp = true;	/* NO_DETAIL: it only hung up */
	if (event & (ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_CLOSED))
		d->refused = false;	/* CLOSED: nobody is there at all */
	if (!d->up || d->reported || !writable(d->dealer.socket))
		return NET_NOTHING;
	d->reported = true;
	return NET_UP;
}

/* ---- hanging up ---- */

/*
 * Close a dialled peer: break its connection, and close the socket when the
 * monitor has reported that.  libzmq may have dialled again by then; that
 * connection has to be broken, too.  false: not closed yet, call it again.
 */
static bool
close_dialled(struct dialled *d)
{
	d->monitor.maybe_ready = true;
	while (d->dealer.socket && d->monitor.maybe_ready)
		process_monitor(d);
	if (d->dealer.socket && d->fd >= 0) {
		if (!d->broken)
			shutdown(d->fd, SHUT_RDWR);
		d->broken = true;
		return false;
	}
	close_sockets(&d->dealer, &d->monitor);
	d->dealer.socket = d->monitor.socket = NULL;
	return true;
}

/* Cut a caller off. */
static void
cut_caller(struct net *net, uint64_t peer)
{
	pthread_mutex_lock(&net->lock_inbound);
	process_listener_monitor(net);
	inbound_cut_peer(net->inbound, peer);
	pthread_mutex_unlock(&net->lock_inbound);
}

/* If a dialled peer is there the socket stays for FLUSH_MS, so that messages
   that were sent before can leave. */
void
net_hang_up(struct net *net, uint64_t peer)
{
	struct dialled *d = dialled(net, peer);

	if (d) {
		d->hung_up_ms = clock_ms();
		if (!d->up)
			d->hung_up_ms -= FLUSH_MS;
	} else if (net->inbound && !(peer & DIALLED)) {
		cut_caller(net, peer);
	}
}

/* Close a peer that we hung up on, when its time is over.  Return the ms after
   which to call this again; INT64_MAX: it is closed. */
static int64_t
end_hang_up(struct dialled *d)
{
	const uint64_t now = clock_ms(), end = d->hung_up_ms + FLUSH_MS;

	if (!d->dealer.socket)
		return INT64_MAX;
	if (now < end)
		return (int64_t)(end - now);
	return close_dialled(d) ? INT64_MAX : 1;
}

/* ---- the end ---- */

static void
release_endpoint(struct listen_address *p)
{
	if (p->lock < 0)
		return;
	/* libzmq does not remove the socket's file.  Remove it before the lock,
	   while the endpoint is still ours. */
	if (*p->endpoint)
		unlink(p->endpoint + strlen("ipc://"));
	unlink(p->lock_path);
	close(p->lock);
	p->lock = -1;
}

static void
release_endpoints(struct net *net)
{
	release_endpoint(&net->address[0]);
	release_endpoint(&net->address[1]);
}

void
net_leave(struct net *net)
{
	static struct net *left;	/* for leak checkers: it is not lost */

	if (!net)
		return;
	left = net;
	flush_messages(left);
	release_endpoints(left);
}

/*
 * Break all connections; return true when all have ended.  A connection that
 * comes later has sent no message, so libzmq can close it safely, as it does
 * with the listener.
 */
static bool
break_all(struct net *net)
{
	bool broken = true;

	for (size_t i = 0; i < net->dials; i++)
		if (!close_dialled(&net->dial[i]))
			broken = false;
	if (!net->inbound)
		return broken;
	process_listener_monitor(net);
	return inbound_cut_all(net->inbound) == 0 && broken;
}

void
net_free(struct net *net)
{
	uint64_t until;

	if (!net)
		return;
	flush_messages(net);
	end_watch(net);
	until = clock_ms() + CLOSE_MS;
	while (!break_all(net) && clock_ms() < until)
		poll(NULL, 0, 1);
	close_sockets(&net->listener, &net->listener_monitor);
	if (net->zap.socket)
		zmq_close(net->zap.socket);
	for (size_t i = 0; i < MESSAGE_FRAMES; i++)
		zmq_msg_close(&net->frame[i]);
	zmq_msg_close(&net->head);
	zmq_msg_close(&net->id);
	zmq_ctx_term(net->context);
	release_endpoints(net);
	inbound_free(net->inbound);
	if (net->stop_watch >= 0)
		close(net->stop_watch);
	if (net->departures.fd >= 0)
		close(net->departures.fd);
	pthread_mutex_destroy(&net->lock_inbound);
	pack_release(&net->header);
	free(net->polled);
	free(net->polled_socket);
	free(net->dial);
	free(net);
}

/* Return the peer of a routing id that libzmq has made: five bytes, the first
   of them 0.  0: the caller has chosen its routing id itself. */
static uint64_t
peer_of(zmq_msg_t *id)
{
	const char *bytes = zmq_msg_data(id);
	uint64_t peer = 0;

	if (zmq_msg_size(id) == 5 && bytes[0] == '\0')
		memcpy(&peer, bytes, 5);
	return peer;
}

/* Return the bytes of a frame in ZMTP: flags, a size of one byte or eight, and
   what encryption adds. */
static size_t
wire_bytes(const struct net *net, zmq_msg_t *frame)
{
	const size_t size = zmq_msg_size(frame) + (net->guarded ? SEALED : 0);

	return size + (size > 255 ? 9 : 2);
}

/* Receive all frames of one message.  *frames is their number, without the
   header; those after MESSAGE_FRAMES are dropped. */
static bool
receive_frames(struct net *net, void *socket, size_t *frames, size_t *bytes)
{
	*frames = 0;
	if (socket == net->listener.socket &&
	    (receive_frame(&net->id, socket) < 0 || !zmq_msg_more(&net->id)))
		return false;
	if (receive_frame(&net->head, socket) < 0)
		return false;
	*bytes = wire_bytes(net, &net->head);

	bool more = zmq_msg_more(&net->head);

	while (more) {
		zmq_msg_t *to = &net->frame[*frames < MESSAGE_FRAMES ?
					    *frames : MESSAGE_FRAMES - 1];

		if (receive_frame(to, socket) < 0)
			break;
		*bytes += wire_bytes(net, to);
		more = zmq_msg_more(to);
		++*frames;
	}
	return true;
}

/*
 * Note which caller has sent a message.  If it is its first one, process the
 * monitor before: the events of its connection, and of the ends of earlier
 * connections with its descriptor, are there already.
 */
static void
identify_caller(struct net *net, uint64_t peer, size_t bytes)
{
	pthread_mutex_lock(&net->lock_inbound);
	if (peer && !inbound_is_connected(net->inbound, peer)) {
		process_listener_monitor(net);
		inbound_identify(net->inbound, peer,
				 zmq_msg_get(&net->head, ZMQ_SRCFD));
	}
	inbound_received(net->inbound, peer, bytes);
	pthread_mutex_unlock(&net->lock_inbound);
}

/* A caller has sent something that is not a message: cut it off, if it is a
   stranger. */
static void
refuse_caller(struct net *net, uint64_t peer)
{
	pthread_mutex_lock(&net->lock_inbound);
	if (peer)
		inbound_refuse(net->inbound, peer);
	else
		inbound_cut(net->inbound,
			    zmq_msg_get(&net->head, ZMQ_SRCFD));
	pthread_mutex_unlock(&net->lock_inbound);
}

/* Read the header of a message, and check the number of its frames; receive()
   sets their data. */
static int
read_message(struct net *net, struct message *m, size_t frames,
	     struct fail *f)
{
	if (message_read(m, zmq_msg_data(&net->head),
			 zmq_msg_size(&net->head), f) < 0)
		return -1;
	m->frames = message_missing(m->kind, frames) + frames;
	if (frames > MESSAGE_FRAMES)
		return fail(f, FAIL_PROTOCOL, "%zu frames", frames);
	return message_check_frames(m, f);
}

static bool
receive(struct net *net, struct poll_socket *s, uint64_t peer,
	struct net_event *e)
{
	const bool called = s == &net->listener;
	struct message *m = &e->message;
	size_t frames, bytes;

	if (!s->maybe_ready)
		return false;
	s->maybe_ready = receive_frames(net, s->socket, &frames, &bytes);
	if (!s->maybe_ready)
		return false;
	e->peer = called ? peer_of(&net->id) : peer;
	e->kind = NET_GARBAGE;
	if (called)
		identify_caller(net, e->peer, bytes);
	if (called && !e->peer)
		fail(&e->why, FAIL_PROTOCOL, "a name of its own making");
	else if (read_message(net, m, frames, &e->why) == 0)
		e->kind = NET_MESSAGE;
	if (e->kind == NET_GARBAGE) {
		if (called)
			refuse_caller(net, e->peer);
		return true;
	}

	const size_t missing = m->frames - frames;

	for (size_t i = 0; i < missing; i++)
		m->frame[i].data = "";
	for (size_t i = 0; i < frames; i++) {
		m->frame[missing + i].data = zmq_msg_data(&net->frame[i]);
		m->frame[missing + i].size = zmq_msg_size(&net->frame[i]);
	}
	return true;
}

static bool
has_departed(struct net *net)
{
	uint64_t count;

	net->departures.maybe_ready = false;
	return read(net->departures.fd, &count, sizeof(count)) > 0;
}

/* Get an event of socket i: 0 is the listener, then come the dialled ones. */
static bool
receive_at(struct net *net, size_t i, struct net_event *e)
{
	if (i == 0) {
		if (!net->listener.socket)
			return false;
		if (net->zap.socket && net->zap.maybe_ready)
			net->zap.maybe_ready =
				curve_answer_zap(&net->curve, net->zap.socket);
		if (net->departures.maybe_ready && has_departed(net)) {
			e->kind = NET_SOMEBODY_LEFT;
			return true;
		}
		return receive(net, &net->listener, 0, e);
	}
	struct dialled *d = &net->dial[i - 1];

	if (!d->dealer.socket || d->hung_up_ms)
		return false;
	e->peer = DIALLED | (i - 1);
	e->kind = process_monitor(d);
	return e->kind != NET_NOTHING ||
		receive(net, &d->dealer, e->peer, e);
}

/* Have events come for RECEIVE_US?  Reading the clock can take longer than a
   message, so only each 32nd event does. */
static bool
has_received_enough(struct net *net)
{
	if (net->events == 0)
		net->since_us = clock_us();
	return net->events % 32 == 31 &&
		clock_us() - net->since_us >= RECEIVE_US;
}

void
net_next(struct net *net, struct net_event *e)
{
	const size_t sockets = has_received_enough(net) ? 0 : 1 + net->dials;

	for (size_t i = 0; i < sockets; i++) {
		const size_t at = (net->next_socket + i) % sockets;

		e->kind = NET_NOTHING;
		if (receive_at(net, at, e)) {
			net->next_socket = at + 1;
			net->events++;
			return;
		}
	}
	e->kind = NET_NOTHING;
	net->events = 0;
}

static void
add_polled(struct net *net, size_t *count, struct pollfd fd,
	   struct poll_socket *s)
{
	net->polled = mem_grow(net->polled, *count, &net->polled_room,
			       sizeof(*net->polled));
	net->polled_socket = mem_grow(net->polled_socket, *count,
				      &net->socket_room,
				      sizeof(*net->polled_socket));
	net->polled[*count] = fd;
	net->polled_socket[(*count)++] = s;
}

static void
add_socket(struct net *net, size_t *count, struct poll_socket *s)
{
	if (s->socket)
		add_polled(net, count, (struct pollfd){ .fd = s->fd,
							.events = POLLIN },
			   s);
}

/* Give memory back now and then: prepare_process() has told malloc() not to
   return it when it is freed. */
static void
trim_memory(struct net *net)
{
	const uint64_t now = clock_ms();

	if (now - net->trimmed_ms < TRIM_MS)
		return;
	net->trimmed_ms = now;
	memory_trim();
}

int
net_wait(struct net *net, struct pollfd *fds, size_t count, int64_t ms,
	 struct fail *f)
{
	size_t n = 0;

	trim_memory(net);
	for (size_t i = 0; i < count; i++)
		add_polled(net, &n, fds[i], NULL);
	add_socket(net, &n, &net->listener);
	add_socket(net, &n, &net->zap);
	if (net->inbound)
		add_polled(net, &n, (struct pollfd){ net->departures.fd,
						     POLLIN, 0 },
			   &net->departures);
	for (size_t i = 0; i < net->dials; i++) {
		struct dialled *d = &net->dial[i];

		if (d->hung_up_ms) {
			const int64_t again = end_hang_up(d);

			if (again < INT64_MAX && (ms < 0 || ms > again))
				ms = again;
			continue;
		}
		add_socket(net, &n, &d->dealer);
		add_socket(net, &n, &d->monitor);
		/* No descriptor is ready when a socket gets writable. */
		if (d->dealer.socket && d->up && !d->reported)
			ms = 1;
	}
	for (size_t i = 0; i < n; i++)
		if (net->polled_socket[i] && net->polled_socket[i]->maybe_ready)
			ms = 0;
	if (poll(net->polled, n, (int)ms) < 0) {
		if (errno != EINTR)
			return fail_sys(f, FAIL_INTERNAL, "cannot poll");
		for (size_t i = 0; i < n; i++)
			net->polled[i].revents = 0;
	}
	for (size_t i = 0; i < n; i++)
		if (net->polled_socket[i] && net->polled[i].revents)
			net->polled_socket[i]->maybe_ready = true;
	for (size_t i = 0; i < count; i++)
		fds[i].revents = net->polled[i].revents;
	return 0;
}

static void
release_frame(void *data, void *hint)
{
	(void)data;
	refcount_drop(hint);
}

/* A frame that net_unread() counts until libzmq is done with it. */
struct counted {
	struct unread *unread;
	size_t size;
	struct refcount *hold;	/* of the sender's bytes; NULL: bytes[] has a
				   copy */
	char bytes[];
};

static void
uncount_frame(void *data, void *hint)
{
	struct counted *c = hint;

	(void)data;
	atomic_fetch_sub(&c->unread->bytes, c->size);
	refcount_drop(&c->unread->hold);
	if (c->hold)
		refcount_drop(c->hold);
	free(c);
}

static void
count_frame(zmq_msg_t *out, const struct frame *frame, struct unread *unread)
{
	const bool copied = !frame->hold || frame->size < ZERO_COPY;
	struct counted *c = mem_resize(NULL, 1, sizeof(*c) +
				       (copied ? frame->size : 0));

	*c = (struct counted){ .unread = unread, .size = frame->size,
			       .hold = copied ? NULL : frame->hold };
	refcount_take(&unread->hold);
	atomic_fetch_add(&unread->bytes, frame->size);
	if (copied)
		memcpy(c->bytes, frame->data, frame->size);
	else
		refcount_take(frame->hold);
	/* The cast is safe: libzmq only reads the data. */
	zmq_msg_init_data(out, copied ? c->bytes :
			  (void *)(uintptr_t)frame->data, frame->size,
			  uncount_frame, c);
}

/* Send one frame.  unread is NULL if the frame must not be counted. */
static int
send_frame(void *socket, const struct frame *frame, int flags,
	   struct unread *unread)
{
	zmq_msg_t out;
	int sent;

	if (unread && frame->size >= COUNTED) {
		count_frame(&out, frame, unread);
	} else if (!frame->hold || frame->size < ZERO_COPY) {
		do
			sent = zmq_send(socket, frame->data, frame->size,
					flags);
		while (sent < 0 && errno == EINTR);
		return sent < 0 ? -1 : 0;
	} else {
		refcount_take(frame->hold);
		zmq_msg_init_data(&out, (void *)(uintptr_t)frame->data,
				  frame->size, release_frame, frame->hold);
	}
	do
		sent = zmq_msg_send(&out, socket, flags);
	while (sent < 0 && errno == EINTR);
	if (sent < 0)
		zmq_msg_close(&out);
	return sent < 0 ? -1 : 0;
}

/*
 * Return the count of a caller's unread bytes, with a reference; NULL: it has
 * gone.  A caller that is sent a real answer, not PING, PONG or REFUSED, is not
 * a stranger any more.
 */
static struct unread *
unread_of_caller(struct net *net, uint64_t peer, enum message_kind kind)
{
	struct unread *unread;

	if (!net->inbound)
		return NULL;
	pthread_mutex_lock(&net->lock_inbound);
	unread = inbound_unread(net->inbound, peer);
	if (unread)
		refcount_take(&unread->hold);
	if (kind != MESSAGE_PING && kind != MESSAGE_PONG &&
	    kind != MESSAGE_REFUSED)
		inbound_welcome(net->inbound, peer);
	pthread_mutex_unlock(&net->lock_inbound);
	return unread;
}

size_t
net_unread(struct net *net, uint64_t peer)
{
	struct unread *unread;
	size_t bytes = 0;

	if (!net->inbound)
		return 0;
	pthread_mutex_lock(&net->lock_inbound);
	if (inbound_is_connected(net->inbound, peer) &&
	    (unread = inbound_unread(net->inbound, peer)))
		bytes = atomic_load(&unread->bytes);
	pthread_mutex_unlock(&net->lock_inbound);
	return bytes;
}

/* Send the header, and then the frames. */
static int
send_message(struct net *net, void *socket, const struct message *m,
	     struct unread *unread)
{
	const int more = ZMQ_DONTWAIT | ZMQ_SNDMORE;
	const size_t first = message_unsent(m);
	struct frame header;
	int sent;

	pack_reset(&net->header);
	message_write(&net->header, m);
	header = (struct frame){ net->header.data, net->header.size, NULL };
	sent = send_frame(socket, &header, first < m->frames ? more :
			  ZMQ_DONTWAIT, NULL);
	if (sent < 0)
		return -1;
	/* If one fails, libzmq drops the others up to the message's end. */
	for (size_t i = first; i < m->frames; i++)
		if (send_frame(socket, &m->frame[i], i + 1 < m->frames ?
			       more : ZMQ_DONTWAIT, unread) < 0)
			sent = -1;
	return sent;
}

/* A caller could not be sent a message: if it is there, but does not read, it
   is cut off, and connects again. */
static void
give_up_caller(struct net *net, uint64_t peer, bool deaf)
{
	if (deaf)
		cut_caller(net, peer);
	note_departure(net);
}

static int
send_to_caller(struct net *net, uint64_t peer, const struct message *m)
{
	const struct frame to = { &peer, 5, NULL };
	struct unread *unread = peer & DIALLED ? NULL :
		unread_of_caller(net, peer, m->kind);
	void *socket = net->listener.socket;
	int sent;

	net->listener.maybe_ready = true;
	errno = 0;
	sent = !unread ||
		send_frame(socket, &to, ZMQ_DONTWAIT | ZMQ_SNDMORE, NULL) < 0 ?
		-1 : send_message(net, socket, m, unread);
	if (sent < 0 && net->inbound)
		give_up_caller(net, peer, errno == EAGAIN);
	if (unread)
		refcount_drop(&unread->hold);
	return sent;
}

int
net_send(struct net *net, uint64_t peer, const struct message *m)
{
	struct dialled *d = dialled(net, peer);

	if (!d)
		return send_to_caller(net, peer, m);
	d->dealer.maybe_ready = true;
	return d->dealer.socket ? send_message(net, d->dealer.socket, m, NULL) :
		-1;
}

static int
send_to(void *net, uint64_t peer, const struct message *m)
{
	return net_send(net, peer, m);
}

static int
dial_to(void *net, const char *endpoint, uint64_t *peer, struct fail *f)
{
	return net_dial(net, endpoint, peer, f);
}

static void
hang_up_on(void *net, uint64_t peer)
{
	net_hang_up(net, peer);
}

static size_t
unread_of(void *net, uint64_t peer)
{
	return net_unread(net, peer);
}

struct outbox
net_outbox(struct net *net)
{
	return (struct outbox){ .send = send_to, .dial = dial_to,
				.hang_up = hang_up_on, .to = net,
				.unread = unread_of };
}
