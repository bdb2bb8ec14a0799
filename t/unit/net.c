/* Two nets in one process: how they reach each other. */
#include "base/send_buffer.h"
#include "files.h"
#include "plain.h"
#include "sys/clock.h"
#include "sys/net.h"
#include "tap.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define LARGE_ONES	4
#define FOR_A_NET	((size_t)512 << 10)	/* large enough to wait */
#define FOR_TCP		((size_t)2 << 20)	/* its buffers are large */

/* Waits until this event happens to the net. */
static bool
await(struct net *net, struct net *other, enum net_event_kind kind,
      struct net_event *e)
{
	struct net_event theirs;
	struct fail f;

	for (int i = 0; i < 10000; i++) {
		net_next(net, e);
		if (e->kind == kind)
			return true;
		net_wait(other, NULL, 0, 0, &f);
		net_next(other, &theirs);
		net_wait(net, NULL, 0, 1, &f);
	}
	return false;
}

static const struct message ping = { .kind = MESSAGE_PING };
static const struct message welcome = { .kind = MESSAGE_WELCOME };

/* The client sends a message, so that the server knows it as a peer. */
static void
meet(struct net *server, struct net *client, uint64_t peer)
{
	struct net_event e;

	ok(net_send(client, peer, &ping) == 0 &&
	   await(server, client, NET_MESSAGE, &e) &&
	   net_send(server, e.peer, &welcome) == 0 &&
	   await(client, server, NET_MESSAGE, &e));
}

/* Has this machine a loopback address of IPv6? */
static bool
has_ipv6(void)
{
	struct sockaddr_in6 at = { .sin6_family = AF_INET6,
				   .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	const int fd = socket(AF_INET6, SOCK_STREAM, 0);
	const bool has = fd >= 0 && bind(fd, (struct sockaddr *)&at,
					 sizeof(at)) == 0;

	if (fd >= 0)
		close(fd);
	return has;
}

/* Returns the number of ipc connections to the abstract name of this tcp
   endpoint. */
static size_t
connections(const char *endpoint)
{
	FILE *file = fopen("/proc/net/unix", "r");
	char line[512], name[300];
	size_t count = 0;

	snprintf(name, sizeof(name), "@pskit-%s", endpoint + 6);
	while (file && fgets(line, sizeof(line), file)) {
		char *at = strstr(line, name);

		/* State 03: connected; 01: listening. */
		if (at && strstr(line, " 03 "))
			count++;
	}
	if (file)
		fclose(file);
	return count;
}

static void
test_way(const char *bind, const char *host, bool shortcut)
{
	struct net *server = net_new(10000), *client = net_new(10000);
	const struct message asked = { .kind = MESSAGE_PING, .request = 7 };
	struct net_event e;
	struct fail f;
	char endpoint[64], first[64];
	uint64_t peer;

	snprintf(first, sizeof(first), "tcp://%s:", bind);
	snprintf(endpoint, sizeof(endpoint), "tcp://%s:*", bind);
	equals(net_listen(server, endpoint, false, &f), 0);
	equals(strncmp(net_endpoint(server), first, strlen(first)), 0);
	snprintf(endpoint, sizeof(endpoint), "tcp://%s:%s", host,
		 strrchr(net_endpoint(server), ':') + 1);
	equals(net_dial(client, endpoint, &peer, &f), 0);
	ok(await(client, server, NET_UP, &e));
	if (access("/proc/net/unix", R_OK) == 0)
		ok((connections(net_endpoint(server)) > 0) == shortcut);
	else
		tap_skip("/proc is not mounted");
	equals(net_send(client, peer, &asked), 0);
	ok(await(server, client, NET_MESSAGE, &e) &&
	   e.message.kind == MESSAGE_PING && e.message.request == 7);
	net_free(client);
	net_free(server);
}

/* Frames arrive as they were sent, even if some are empty. */
static void
test_empty_keys(void)
{
	struct net *server = net_new(10000), *client = net_new(10000);
	struct net_event e;
	struct fail f;
	uint64_t peer;

	equals(net_listen(server, "tcp://127.0.0.1:*", false, &f), 0);
	equals(net_dial(client, net_endpoint(server), &peer, &f), 0);
	ok(await(client, server, NET_UP, &e));
	for (int full = 0; full < 8; full++) {
		struct message m = { .kind = MESSAGE_PUSHPULL, .frames = 3 };
		bool same = true;

		for (int i = 0; i < 3; i++)
			m.frame[i] = (struct frame){ &"abc"[i],
						     full >> i & 1, NULL };
		equals(net_send(client, peer, &m), 0);
		ok(await(server, client, NET_MESSAGE, &e) &&
		   e.message.frames == 3);
		for (int i = 0; i < 3; i++)
			same = same && e.message.frame[i].data &&
				e.message.frame[i].size == m.frame[i].size &&
				memcmp(e.message.frame[i].data,
				       m.frame[i].data, m.frame[i].size) == 0;
		ok(same);
	}
	net_free(client);
	net_free(server);
}

/* No program listens yet: the net waits for tcp, as for another host. */
static void
test_later(void)
{
	struct net *server = net_new(10000), *client = net_new(10000);
	struct net_event e;
	struct fail f;
	char endpoint[64];
	uint64_t peer;

	equals(net_listen(server, "tcp://127.0.0.1:*", false, &f), 0);
	snprintf(endpoint, sizeof(endpoint), "%s", net_endpoint(server));
	net_free(server);
	server = net_new(10000);
	equals(net_dial(client, endpoint, &peer, &f), 0);
	equals(net_listen(server, endpoint, false, &f), 0);
	ok(await(client, server, NET_UP, &e) && e.peer == peer);
	net_free(client);
	net_free(server);
}

static void
write_key(const char *path, char letter)
{
	FILE *file = fopen(path, "w");

	for (int i = 0; i < 40; i++)
		fputc(letter, file);
	fputc('\n', file);
	fclose(file);
	chmod(path, 0600);
}

/* A net with this key, if any, can connect to a net with the key "ours", or
   cannot. */
static void
test_key(const char *key, bool friend)
{
	struct net *server = net_new(10000), *client = net_new(10000);
	const struct message asked = { .kind = MESSAGE_PING, .request = 7 };
	struct fail f;
	struct net_event e;
	uint64_t peer;
	bool blamed = false, quiet = true;

	equals(net_guard(server, "ours", &f), 0);
	equals(net_guard(client, key, &f), 0);
	equals(net_listen(server, "tcp://127.0.0.1:*", false, &f), 0);
	equals(net_dial(client, net_endpoint(server), &peer, &f), 0);
	if (friend) {
		ok(await(client, server, NET_UP, &e));
		equals(net_send(client, peer, &asked), 0);
		ok(await(server, client, NET_MESSAGE, &e) &&
		   e.message.kind == MESSAGE_PING);
	}
	for (int i = 0; i < 10000 && !friend && !blamed; i++) {
		net_next(client, &e);
		quiet = quiet && e.kind == NET_NOTHING;
		net_wait(server, NULL, 0, 0, &f);
		net_next(server, &e);
		quiet = quiet && (e.kind == NET_NOTHING ||
				  e.kind == NET_SOMEBODY_LEFT);
		net_wait(client, NULL, 0, 1, &f);
		fail(&f, FAIL_PEER, "does not answer");
		blamed = net_explain_failure(client, net_endpoint(server), &f);
	}
	ok(quiet && blamed == !friend && (friend || f.kind == FAIL_DENIED));
	net_free(client);
	net_free(server);
}

/* ---- the last messages of a program ---- */

static const struct message bye = { .kind = MESSAGE_BYE };

static void
forget(struct refcount *hold)
{
	free(hold);
}

static void
send_large(struct net *net, uint64_t peer, size_t size)
{
	struct refcount *hold = calloc(1, sizeof(*hold) + size);
	struct message m = { .kind = MESSAGE_VALUES, .frames = 1 };

	*hold = (struct refcount){ .references = 1, .release = forget };
	m.frame[0] = (struct frame){ hold + 1, size, hold };
	net_send(net, peer, &m);
	refcount_drop(hold);
}

/*
 * Starts a program that connects, may first wait for an answer, sends many
 * messages, may hang up, and ends; just before its end it writes a byte to the
 * pipe.  The program is started while this process has no net, since a thread
 * of a net might hold a lock that would stay locked after the fork.
 */
static pid_t
speaker(const char *endpoint, const char *key, uint64_t lease_ms, size_t size,
	bool asks, bool hangs_up, int done[2])
{
	struct net_event e = { .kind = NET_NOTHING };
	struct net *net;
	struct fail f;
	uint64_t peer;
	pid_t pid;

	equals(pipe(done), 0);
	fflush(stdout);
	pid = fork();
	if (pid != 0)
		return pid;
	net = net_new(lease_ms);
	if (net_guard(net, key, &f) < 0 ||
	    net_dial(net, endpoint, &peer, &f) < 0)
		_exit(1);
	while (e.kind != NET_UP) {
		net_wait(net, NULL, 0, 1000, &f);
		net_next(net, &e);
	}
	while (asks && e.kind != NET_MESSAGE) {
		if (e.kind == NET_UP)
			net_send(net, peer, &ping);
		net_wait(net, NULL, 0, 1000, &f);
		net_next(net, &e);
	}
	for (int i = 0; i < LARGE_ONES; i++)
		send_large(net, peer, size);
	net_send(net, peer, &bye);
	if (hangs_up)
		net_hang_up(net, peer);
	if (write(done[1], "", 1) != 1)
		_exit(1);
	net_leave(net);
	_exit(0);
}

static bool
ended_well(pid_t pid, int done[2])
{
	int status;

	close(done[0]);
	close(done[1]);
	return waitpid(pid, &status, 0) == pid && status == 0;
}

/* All messages of the program arrive, with a key or without. */
static void
test_last_words(const char *key, bool hangs_up)
{
	int done[2], larges = 0;
	const pid_t pid = speaker("ipc://words", key, 10000, FOR_A_NET,
				  true, hangs_up, done);
	struct net *net = net_new(10000);
	struct net_event e = { .kind = NET_NOTHING };
	struct fail f;

	equals(net_guard(net, key, &f), 0);
	equals(net_listen(net, "ipc://words", false, &f), 0);
	for (int i = 0; i < 10000; i++) {
		net_next(net, &e);
		if (e.kind == NET_MESSAGE && e.message.kind == MESSAGE_BYE)
			break;
		if (e.kind == NET_MESSAGE && e.message.kind == MESSAGE_VALUES)
			larges++;
		if (e.kind == NET_MESSAGE && e.message.kind == MESSAGE_PING)
			net_send(net, e.peer, &welcome);
		if (e.kind == NET_NOTHING)
			net_wait(net, NULL, 0, 1, &f);
	}
	ok(e.kind == NET_MESSAGE && larges == LARGE_ONES);
	ok(ended_well(pid, done));
	net_free(net);
}

/* A peer that sends nothing for a moment is not lost, even with a very long
   lease. */
static void
test_long_lease(uint64_t lease_ms)
{
	struct net *net = net_new(lease_ms);
	struct net_event e = { .kind = NET_NOTHING };
	bool down = false;
	char endpoint[64];
	int listener = plain_listen(endpoint, sizeof(endpoint)), fd;
	struct fail f;
	uint64_t peer;

	equals(net_dial(net, endpoint, &peer, &f), 0);
	fd = plain_accept(listener);
	while (e.kind != NET_UP) {
		net_wait(net, NULL, 0, 1000, &f);
		net_next(net, &e);
	}
	for (int i = 0; i < 100; i++) {
		net_wait(net, NULL, 0, 1, &f);
		net_next(net, &e);
		down = down || e.kind == NET_DOWN;
	}
	ok(!down);
	close(fd);
	close(listener);
	net_free(net);
}

/* Handles events for a moment.  Does the net explain a failure by the peer's
   missing key? */
static bool
blames(struct net *net, const char *endpoint)
{
	struct net_event e;
	struct fail f;

	net_wait(net, NULL, 0, 1, &f);
	do
		net_next(net, &e);
	while (e.kind != NET_NOTHING);
	fail(&f, FAIL_PEER, "does not answer");
	return net_explain_failure(net, endpoint, &f);
}

/* Closes a connection that waits to be accepted; returns the number closed. */
static int
send_away(int listener)
{
	const int fd = accept(listener, NULL, NULL);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/*
 * A program that closes our connection at once may require a key; but not one
 * that no longer listens, nor one that has accepted us before (met).
 */
static void
test_hung_up(bool met)
{
	struct net *net = net_new(10000);
	char endpoint[64];
	int listener = plain_listen(endpoint, sizeof(endpoint)), away = 0;
	bool blamed = false;
	struct fail f;
	uint64_t peer;

	equals(net_dial(net, endpoint, &peer, &f), 0);
	if (met) {
		const int fd = plain_accept(listener);
		struct net_event e = { .kind = NET_NOTHING };

		while (e.kind != NET_UP) {
			net_wait(net, NULL, 0, 1000, &f);
			net_next(net, &e);
		}
		close(fd);
	}
	fcntl(listener, F_SETFL, O_NONBLOCK);
	for (int i = 0; i < 10000 && away < 5 && !blamed; i++) {
		away += send_away(listener);
		blamed = blames(net, endpoint);
	}
	ok(blamed == !met && away > 0);
	close(listener);
	for (int i = 0; i < 10000 && blamed; i++)
		blamed = blames(net, endpoint);
	ok(!blamed);
	net_free(net);
}

#define MANY	20000

/* One net sends more than the other can receive at once. */
static void
test_talker(void)
{
	struct net *server = net_new(10000), *client = net_new(10000);
	size_t heard = 0, turn = 0, longest = 0, waits = 0;
	struct net_event e;
	uint64_t peer = 0;
	struct fail f;

	ok(net_listen(server, "tcp://127.0.0.1:*", false, &f) == 0 &&
	   net_dial(client, net_endpoint(server), &peer, &f) == 0 &&
	   await(client, server, NET_UP, &e));
	meet(server, client, peer);
	for (int i = 0; i < MANY; i++)
		net_send(client, peer, &ping);
	while (heard < MANY && waits < 100000) {
		net_next(server, &e);
		for (const uint64_t began = clock_us();
		     e.kind == NET_MESSAGE && clock_us() - began < 10; )
			;
		heard += e.kind == NET_MESSAGE;
		turn = e.kind == NET_MESSAGE ? turn + 1 : 0;
		longest = turn > longest ? turn : longest;
		if (e.kind == NET_NOTHING && ++waits)
			net_wait(server, NULL, 0, 100, &f);
	}
	equals(heard, MANY);
	named(longest <= MANY / 4,
	      "a peer that sends without end does not keep others from being "
	      "read");
	net_free(client);
	net_free(server);
}

/* Keeps the last bytes that have come. */
static void
keep_end(char *end, size_t size, const char *bytes, size_t n)
{
	const size_t fresh = n < size ? n : size;

	memmove(end, end + fresh, size - fresh);
	memcpy(end + size - fresh, bytes + n - fresh, fresh);
}

/* A peer that begins to read after all was sent gets everything, in order. */
static void
test_slow_reader(void)
{
	static char bytes[1 << 16];
	struct pack last = { 0 };
	struct pollfd later;
	char endpoint[64], end[64] = "";
	int listener = plain_listen(endpoint, sizeof(endpoint)), fd, done[2];
	pid_t pid = speaker(endpoint, NULL, 10000, FOR_TCP, false, false,
			    done);
	size_t size = 0;
	ssize_t n;

	message_write(&last, &bye);
	fd = plain_accept(listener);
	equals(read(done[0], bytes, 1), 1);
	later = (struct pollfd){ .fd = done[0], .events = POLLIN };
	poll(&later, 1, 20);
	while ((n = read(fd, bytes, sizeof(bytes))) > 0) {
		size += (size_t)n;
		keep_end(end, last.size, bytes, (size_t)n);
	}
	ok(size > LARGE_ONES * FOR_TCP);
	equals(memcmp(end, last.data, last.size), 0);
	ok(ended_well(pid, done));
	pack_release(&last);
	close(fd);
	close(listener);
}

/* Reads until nothing has come for a second; returns the number of bytes. */
static size_t
read_all(int fd)
{
	static char bytes[1 << 16];
	struct pollfd more = { .fd = fd, .events = POLLIN };
	size_t size = 0;
	ssize_t n;

	while (poll(&more, 1, 1000) > 0 &&
	       (n = read(fd, bytes, sizeof(bytes))) > 0)
		size += (size_t)n;
	return size;
}

/* A peer that never reads is sent a limited amount, and others still get
   answers. */
static void
test_deaf(void)
{
	static char why[MESSAGE_BLOB];
	struct net *server = net_new(10000), *client = net_new(10000);
	struct message m = { .kind = MESSAGE_REFUSED,
			     .blob = { why, sizeof(why), NULL } };
	struct net_event e;
	struct fail f;
	struct pollfd end = { .events = POLLIN };
	uint64_t peer, deaf;
	int fd, said = 0;

	equals(net_listen(server, "tcp://127.0.0.1:*", false, &f), 0);
	fd = plain_call(net_endpoint(server), "");
	ok(plain_put(fd, plain_ping, PLAIN_PING));
	ok(await(server, client, NET_MESSAGE, &e));
	deaf = e.peer;
	while (said < 200000 && net_send(server, deaf, &m) == 0)
		said++;
	named(said >= 16384 && said < 200000,
	      "a peer that never reads is sent a limited number of messages");
	ok(net_dial(client, net_endpoint(server), &peer, &f) == 0 &&
	   await(client, server, NET_UP, &e));
	m.kind = MESSAGE_PING;
	ok(net_send(client, peer, &m) == 0 &&
	   await(server, client, NET_MESSAGE, &e) && e.peer != deaf);
	m.kind = MESSAGE_PONG;
	ok(net_send(server, e.peer, &m) == 0 &&
	   await(client, server, NET_MESSAGE, &e));
	ok(net_send(server, deaf, &m) < 0);
	end.fd = fd;
	named(await(server, client, NET_SOMEBODY_LEFT, &e),
	      "the peer that could not be sent more is reported as gone");
	read_all(fd);
	named(poll(&end, 1, 0) > 0 && read(fd, why, 1) <= 0,
	      "the connection of a peer that never reads is closed");
	close(fd);
	net_free(client);
	net_free(server);
}

/* Messages that a peer has not read are counted, and no longer once it has. */
static void
test_unread(void)
{
	enum { FRAMES = 64, SIZE = 1 << 20, KERNEL = 16 << 20 };
	struct net *server = net_new(10000), *client = net_new(10000);
	struct send_buffer *held = NULL;
	struct message m = { .kind = MESSAGE_VALUES, .frames = 1 };
	struct net_event e;
	struct fail f;
	int fd, said = 0;

	m.frame[0] =
		(struct frame){ send_buffer_room(&held, SIZE / sizeof(float)),
				     SIZE, NULL };
	memset(held->at, 0, SIZE);
	equals(net_listen(server, "tcp://127.0.0.1:*", false, &f), 0);
	fd = plain_call(net_endpoint(server), "");
	ok(plain_put(fd, plain_ping, PLAIN_PING));
	ok(await(server, client, NET_MESSAGE, &e));
	named_equals(net_unread(server, e.peer), 0,
		     "a new connection has no unread bytes");
	for (int i = 0; i < FRAMES; i++) {
		m.frame[0].hold = i % 2 ? &held->hold : NULL;
		said += net_send(server, e.peer, &m) == 0;
	}
	equals(said, FRAMES);
	named(net_unread(server, e.peer) > (size_t)FRAMES * SIZE - KERNEL,
	      "bytes that a peer has not read are counted");
	named(!refcount_alone(&held->hold),
	      "a buffer that is sent without a copy is held");
	ok(read_all(fd) > (size_t)FRAMES * SIZE);
	named(net_unread(server, e.peer) <= SIZE,
	      "bytes that a peer has read no longer count, except for the "
	      "last frame");
	m.frame[0].size = 100;
	m.frame[0].hold = NULL;
	ok(net_send(server, e.peer, &m) == 0 && read_all(fd) > 100);
	named(net_unread(server, e.peer) == 0 && refcount_alone(&held->hold),
	      "the last frame stops counting with the next send");
	close(fd);
	net_free(client);
	net_free(server);
	send_buffer_free(&held);
}

/* A peer that sends more than we have read, and disconnects, does no harm. */
static void
test_hasty(void)
{
	static char many[20000][PLAIN_PING];
	struct net *server = net_new(100), *other = net_new(100);
	struct net_event e;
	struct fail f;
	size_t heard = 0;
	int fd;

	for (size_t i = 0; i < 20000; i++)
		memcpy(many[i], plain_ping, PLAIN_PING);
	equals(net_listen(server, "tcp://127.0.0.1:*", false, &f), 0);
	fd = plain_call(net_endpoint(server), "");
	ok(plain_put(fd, plain_ping, PLAIN_PING));
	ok(await(server, other, NET_MESSAGE, &e) &&
	   net_send(server, e.peer, &welcome) == 0);
	ok(write(fd, many, sizeof(many)) == sizeof(many));
	poll(NULL, 0, 50);
	close(fd);
	poll(NULL, 0, 100);	/* some heartbeats */
	for (int ms = 0; ms < 1000 && heard < 20000; ms++) {
		net_wait(server, NULL, 0, 1, &f);
		for (net_next(server, &e); e.kind != NET_NOTHING;
		     net_next(server, &e))
			heard += e.kind == NET_MESSAGE;
	}
	equals(heard, 20000);
	net_free(other);
	net_free(server);
}

/*
 * While messages are left to send the peer sends one, too, and disconnects.
 * That aborts libzmq 4.3.4, at its next heartbeat, if the socket is closed and
 * lingers.
 */
static void
test_rude_reader(void)
{
	char endpoint[64], byte;
	int listener = plain_listen(endpoint, sizeof(endpoint)), fd, done[2];
	pid_t pid = speaker(endpoint, NULL, 400, FOR_TCP, false, false, done);
	struct pollfd later;

	fd = plain_accept(listener);
	equals(read(done[0], &byte, 1), 1);
	later = (struct pollfd){ .fd = done[0], .events = POLLIN };
	poll(&later, 1, 20);
	equals(send(fd, "\0\1x", 3, MSG_NOSIGNAL), 3);
	close(fd);
	ok(ended_well(pid, done));
	close(listener);
}

/* Starts a process that listens at the endpoint, if it can, and writes the
   outcome to the pipe. */
static pid_t
listen_apart(const char *endpoint, int said[2])
{
	const pid_t pid = pipe(said) < 0 ? -1 : fork();
	struct fail f;

	if (pid != 0)
		return pid;
	if (net_listen(net_new(1000), endpoint, false, &f) == 0)
		(void)!write(said[1], "y", 1);
	else
		(void)!write(said[1], "n", 1);
	for (;;)
		pause();
}

/* Returns the byte that comes within ms, or '?'. */
static char
hears(int said[2], int ms)
{
	struct pollfd fd = { .fd = said[0], .events = POLLIN };
	char is = '?';

	if (poll(&fd, 1, ms) == 1)
		(void)!read(said[0], &is, 1);
	return is;
}

static void
end_apart(pid_t pid, int said[2])
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(said[0]);
	close(said[1]);
}

/* Finds a tcp endpoint at which no program listens. */
static void
free_endpoint(char *endpoint, size_t size)
{
	struct net *net = net_new(1000);
	struct fail f;

	equals(net_listen(net, "tcp://127.0.0.1:*", false, &f), 0);
	snprintf(endpoint, size, "%s", net_endpoint(net));
	net_free(net);
}

/* A restarted program can listen although its predecessor is still ending. */
static void
test_dying(const char *endpoint)
{
	int before[2], behind[2], third[2];
	const pid_t first = listen_apart(endpoint, before);
	pid_t second, late;

	ok(hears(before, 10000) == 'y');
	second = listen_apart(endpoint, behind);
	named(hears(behind, 100) == '?',
	      "a program waits for an endpoint whose owner may be ending");
	end_apart(first, before);
	named_equals(hears(behind, 10000), 'y',
		     "a program gets the endpoint when its owner has ended");
	late = listen_apart(endpoint, third);
	named_equals(hears(third, 20000), 'n',
		     "a program does not get the endpoint of an owner that "
		     "lives");
	end_apart(late, third);
	end_apart(second, behind);
}

int
main(void)
{
	char endpoint[300];

	test_way("127.0.0.1", "127.0.0.1", true);
	test_way("127.0.0.1", "localhost", false);
	if (!has_ipv6()) {
		printf("# no IPv6 here\n");
	} else {
		test_way("[::1]", "[::1]", true);
		test_way("[::1]", "[0::1]", false);
	}
	test_later();
	test_talker();
	test_empty_keys();
	files_begin();
	write_key("ours", 'a');
	write_key("theirs", 'b');
	test_key("ours", true);
	test_key("theirs", false);
	test_key(NULL, false);
	test_long_lease((uint64_t)INT32_MAX + 1);	/* ms: 597 hours */
	test_long_lease(UINT64_MAX);
	test_hung_up(false);
	test_hung_up(true);
	test_last_words(NULL, false);
	test_last_words(NULL, true);
	test_last_words("ours", false);
	free_endpoint(endpoint, sizeof(endpoint));
	test_dying(endpoint);
	test_dying("ipc://dying");
	files_end();
	test_slow_reader();
	test_deaf();
	test_unread();
	test_hasty();
	test_rude_reader();
	return tap_done();
}
