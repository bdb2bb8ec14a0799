/* Attacks of strangers on a program that does not read its connections: its net
   alone must stop them. */
#include "plain.h"
#include "sys/clock.h"
#include "sys/net.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/un.h>
#include <sys/wait.h>

#define ROOM		((size_t)64 << 20)	/* memory that all may take */
#define MORE		((size_t)1 << 30)	/* bytes that none may send */
#define EACH		50
#define PATIENCE_MS	60000
#define DESCRIPTORS	256	/* few */

static const struct message ping = { .kind = MESSAGE_PING };
static const struct message welcome = { .kind = MESSAGE_WELCOME };

static size_t
resident(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long pages = 0;

	ok(file && fscanf(file, "%*u %lu", &pages) == 1);
	fclose(file);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static struct net *
listener(void)
{
	struct net *net = net_new(10000);
	struct fail f;

	equals(net_listen(net, "tcp://127.0.0.1:*", false, &f), 0);
	return net;
}

/* ---- strangers that send too much ---- */

/* Sends the beginning of a frame of 64 MiB: a command of the handshake. */
static void
begin_command(int fd)
{
	char theirs[64];

	plain_hello(fd);
	ok(recv(fd, theirs, sizeof(theirs), MSG_WAITALL) == sizeof(theirs));
	ok(plain_put(fd, "\6\0\0\0\0\4\0\0\0", 9));
}

static void
begin_frame(int fd)
{
	char theirs[65];

	plain_hello(fd);
	plain_ready(fd, "DEALER", "");
	ok(recv(fd, theirs, sizeof(theirs), MSG_WAITALL) == sizeof(theirs));
	ok(plain_put(fd, "\2\0\0\0\0\4\0\0\0", 9));
}

/* Does the handshake; then each byte is a frame, or begins one. */
static void
begin_frames(int fd)
{
	char theirs[65];

	plain_hello(fd);
	plain_ready(fd, "DEALER", "");
	ok(recv(fd, theirs, sizeof(theirs), MSG_WAITALL) == sizeof(theirs));
}

/* Does the handshake with a name that others have, too: libzmq does not read
   the second one. */
static void
begin_twin(int fd)
{
	char theirs[65];

	plain_hello(fd);
	plain_ready(fd, "DEALER", "twin");
	ok(recv(fd, theirs, sizeof(theirs), MSG_WAITALL) == sizeof(theirs));
}

/*
 * All strangers send, in turn, until their connections are closed; returns the
 * number that are left.  The program does not handle events meanwhile.
 */
static int
write_all(int *fd, const char *bytes, size_t size)
{
	size_t said = 0;
	int left = EACH;

	while (left > 0 && said < MORE) {
		for (int i = 0; i < EACH; i++) {
			const ssize_t n = fd[i] < 0 ? 0 :
				send(fd[i], bytes, size, MSG_NOSIGNAL |
				     MSG_DONTWAIT);

			said += n > 0 ? (size_t)n : 0;
			if (fd[i] >= 0 && n < 0 && errno != EAGAIN) {
				close(fd[i]);
				fd[i] = -1;
				left--;
			}
		}
	}
	return left;
}

static void
test_talkers(void (*begin)(int), const char *unit, size_t size,
	     const char *name)
{
	static char bytes[1 << 16];
	struct net *net = listener();
	const size_t before = resident();
	int fd[EACH];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = unit[i % size];
	for (int i = 0; i < EACH; i++) {
		fd[i] = plain_dial(net_endpoint(net));
		begin(fd[i]);
	}
	named_for(write_all(fd, bytes, sizeof(bytes) / size * size) == 0,
		  "the connection of a stranger is closed after %s", name);
	ok(resident() < before + ROOM);
	net_free(net);
}

static void
test_command(void)
{
	test_talkers(begin_command, "x", 1, "a command without an end");
}

static void
test_frame(void)
{
	test_talkers(begin_frame, "x", 1, "a frame without an end");
}

static void
test_message(void)
{
	test_talkers(begin_frames, "\1\1x", 3, "a message without an end");
}

static void
test_flood(void)
{
	test_talkers(begin_frames, plain_ping, PLAIN_PING,
		     "more messages than can wait");
}

static void
test_twins(void)
{
	test_talkers(begin_twin, plain_ping, PLAIN_PING,
		     "a message of another connection with the same name");
}

/* Strangers of the same host use the abstract socket, whose bytes the system
   does not count. */
static void
test_short_way(void)
{
	struct net *net = listener();
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	const int n = snprintf(at.sun_path + 1, sizeof(at.sun_path) - 1,
			       "pskit-%s", net_endpoint(net) + 6);
	static char bytes[1 << 16];
	const size_t before = resident();
	size_t said = 0;

	ok(connect(fd, (struct sockaddr *)&at, (socklen_t)
		   (offsetof(struct sockaddr_un, sun_path) + 1 + n)) == 0);
	begin_frame(fd);
	while (said < MORE && plain_put(fd, bytes, sizeof(bytes)))
		said += sizeof(bytes);
	named(said < MORE,
	      "a frame without end is cut off on the abstract socket, too");
	ok(resident() < before + ROOM);
	net_free(net);
}

/* ---- strangers that send nothing ---- */

static bool
is_cut(int fd)
{
	struct pollfd hung = { .fd = fd, .events = POLLIN };
	char bytes[256];

	while (poll(&hung, 1, 0) > 0)
		if (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) <= 0)
			return true;
	return false;
}

/* Waits until this event happens to the net. */
static bool
await(struct net *net, enum net_event_kind kind, struct net_event *e)
{
	const uint64_t until = clock_ms() + PATIENCE_MS;
	struct fail f;

	while (clock_ms() < until) {
		net_next(net, e);
		if (e->kind == kind)
			return true;
		if (e->kind == NET_NOTHING)
			net_wait(net, NULL, 0, 100, &f);
	}
	return false;
}

/* Starts a program with few descriptors, which accepts every stranger. */
static pid_t
few_descriptors(char *endpoint, size_t size)
{
	const struct rlimit few = { DESCRIPTORS, DESCRIPTORS };
	struct net_event e;
	struct net *net;
	struct fail f;
	int ends[2];
	pid_t pid;

	equals(pipe(ends), 0);
	fflush(stdout);
	pid = fork();
	if (pid != 0) {
		const ssize_t n = read(ends[0], endpoint, size - 1);

		ok(n > 0);
		endpoint[n > 0 ? n : 0] = '\0';
		close(ends[0]);
		close(ends[1]);
		return pid;
	}
	if (setrlimit(RLIMIT_NOFILE, &few) < 0)
		_exit(1);
	net = net_new(10000);
	if (net_listen(net, "tcp://127.0.0.1:*", false, &f) < 0 ||
	    write(ends[1], net_endpoint(net), strlen(net_endpoint(net))) < 0)
		_exit(1);
	for (;;) {
		net_next(net, &e);
		if (e.kind == NET_MESSAGE)
			net_send(net, e.peer, &welcome);
		else if (e.kind == NET_NOTHING)
			net_wait(net, NULL, 0, -1, &f);
	}
}

static bool
is_answered(struct net *net, uint64_t peer)
{
	struct net_event e;

	return net_send(net, peer, &ping) == 0 &&
		await(net, NET_MESSAGE, &e) &&
		e.message.kind == MESSAGE_WELCOME;
}

/* Only the last strangers are kept, up to a number; a peer of ours is always
   kept. */
static void
test_idle(void)
{
	enum { STRANGERS = 200, KEPT = DESCRIPTORS / 4 };
	const uint64_t until = clock_ms() + PATIENCE_MS;
	char endpoint[64];
	const pid_t pid = few_descriptors(endpoint, sizeof(endpoint));
	struct net *ours = net_new(10000);
	int fd[STRANGERS], cut = 0;
	struct net_event e;
	struct fail f;
	uint64_t peer;

	ok(net_dial(ours, endpoint, &peer, &f) == 0 &&
	   await(ours, NET_UP, &e) && is_answered(ours, peer));
	for (int i = 0; i < STRANGERS; i++)
		fd[i] = plain_call(endpoint, "");
	while (cut < STRANGERS - KEPT && clock_ms() < until) {
		cut = 0;
		for (int i = 0; i < STRANGERS; i++)
			cut += is_cut(fd[i]);
		poll(NULL, 0, 1);
	}
	named_equals(cut, STRANGERS - KEPT,
		     "connections of strangers beyond the number kept are "
		     "closed");
	ok(is_cut(fd[0]) && !is_cut(fd[STRANGERS - 1]));
	ok(is_answered(ours, peer));
	for (int i = 0; i < STRANGERS; i++)
		close(fd[i]);
	net_free(ours);
	ok(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
}

/*
 * More strangers connect and disconnect than are counted at once, while the
 * program handles no events: the program can end nevertheless.
 */
static void
test_comings(void)
{
	struct net *net = listener();

	alarm(PATIENCE_MS / 1000);
	for (int i = 0; i < 5000; i++) {
		const int fd = plain_dial(net_endpoint(net));

		if (fd >= 0)
			close(fd);
	}
	net_free(net);
	alarm(0);
	named(true,
	      "a program ends after many connections that it never looked at");
}

int
main(void)
{
	if (access("/proc/self/statm", R_OK) < 0) {
		printf("1..0 # SKIP /proc is not mounted\n");
		return 0;
	}
	test_command();
	test_frame();
	test_message();
	test_flood();
	test_twins();
	test_short_way();
	test_idle();
	test_comings();
	return tap_done();
}
