/*
 * wire - how many bytes a second go through sys/net one way, as messages
 * with 512 KB of values, beside bare libzmq and, on tcp, a bare socket.
 *
 * At most one window of messages is in flight, and the receiver acknowledges
 * each half of it, with bare libzmq as with pskit, so that one half travels
 * while the other is acknowledged.
 */
#include "path.h"
#include "sys/net.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/un.h>

#define PART		((size_t)512 << 10)
#define HALF		8		/* messages */
#define WINDOW		(2 * HALF)

static float part[PART / sizeof(float)];
static struct refcount kept = { .references = 1 };
static char folder[] = "/tmp/wire.XXXXXX";

/* A sender and a receiver; the receiver reports when it has received
   everything. */
struct stream {
	pid_t pid;
	int done;
	char endpoint[128];
	void *context, *socket;		/* bare libzmq */
	struct net *net;		/* ours */
	uint64_t peer;
	int fd;				/* a bare socket */
};

static void
say(int fd, const char *text)
{
	if (write(fd, text, strlen(text) + 1) < 0)
		exit(1);
}

/* Forks the receiver, which sends its endpoint. */
static void
begin(struct stream *s, const char *endpoint, size_t count,
      void (*receive)(const char *endpoint, size_t count, int done))
{
	int done[2];

	if (pipe(done) < 0)
		bench_die("no pipe");
	s->pid = bench_fork();
	if (s->pid == 0) {
		close(done[0]);
		receive(endpoint, count, done[1]);
		_exit(0);
	}
	close(done[1]);
	s->done = done[0];
	if (read(s->done, s->endpoint, sizeof(s->endpoint)) <= 0)
		bench_die("cannot listen on %s", endpoint);
}

/* Waits until the receiver has received everything. */
static void
end(struct stream *s)
{
	char done;

	if (read(s->done, &done, 1) != 1)
		bench_die("the receiver is gone");
	close(s->done);
}

/* ---- ours ---- */

static void
net_event(struct net *net, struct net_event *e)
{
	struct fail f;

	for (net_next(net, e); e->kind == NET_NOTHING; net_next(net, e))
		if (net_wait(net, NULL, 0, -1, &f) < 0)
			bench_die("%s", f.text);
}

static void
net_receive(const char *endpoint, size_t count, int done)
{
	struct net *net = net_new(10000);
	struct net_event e;
	struct fail f;

	if (net_listen(net, endpoint, false, &f) < 0)
		bench_die("%s", f.text);
	say(done, net_endpoint(net));
	for (size_t i = 0; i < count;) {
		net_event(net, &e);
		if (e.kind != NET_MESSAGE)
			continue;
		if (e.message.kind == MESSAGE_PING) {
			const struct message welcome =
				message_answer(&e.message, MESSAGE_WELCOME);

			net_send(net, e.peer, &welcome);
			continue;
		}
		if (e.message.frame[1].size != PART)
			exit(1);
		if (++i % HALF == 0) {
			const struct message answer =
				message_answer(&e.message, MESSAGE_VALUES);

			net_send(net, e.peer, &answer);
		}
	}
	say(done, "");
	net_event(net, &e);	/* until we are killed */
}

static void
net_stream(struct stream *s, size_t count)
{
	struct message m = { .kind = MESSAGE_PUSH, .frames = 2 };
	struct net_event e;

	m.frame[0] = (struct frame){ part, 0, NULL };
	m.frame[1] = (struct frame){ part, PART, &kept };
	for (size_t sent = 0, answered = 0; answered < count;) {
		for (; sent < count && sent - answered < WINDOW; sent++) {
			m.push.step = sent;
			net_send(s->net, s->peer, &m);
		}
		net_event(s->net, &e);
		if (e.kind == NET_MESSAGE)
			answered += HALF;
	}
}

static const struct message ping = { .kind = MESSAGE_PING };

static void
run_net(struct series *to, const char *endpoint, size_t count)
{
	struct stream s;
	struct net_event e;
	struct fail f;

	begin(&s, endpoint, HALF + count, net_receive);
	/* By its number, a host's own address is a short way to itself. */
	if (strncmp(endpoint, "tcp:", 4) == 0)
		snprintf(s.endpoint, sizeof(s.endpoint), "tcp://localhost:%d",
			 atoi(strrchr(s.endpoint, ':') + 1));
	s.net = net_new(10000);
	if (net_dial(s.net, s.endpoint, &s.peer, &f) < 0)
		bench_die("%s", f.text);
	do
		net_event(s.net, &e);
	while (e.kind != NET_UP);
	net_send(s.net, s.peer, &ping);
	do
		net_event(s.net, &e);
	while (e.kind != NET_MESSAGE);	/* only our sender connects */
	net_stream(&s, HALF);

	const struct watch began = watch_read(s.pid);

	net_stream(&s, count);
	end(&s);
	series_add(to, (double)(count * PART) / 1e9, began, s.pid);
	net_free(s.net);
	bench_kill(s.pid);
}

/* ---- bare libzmq ---- */

static void
zmq_receive(const char *endpoint, size_t count, int done)
{
	void *socket = path_socket(path_context(), ZMQ_PAIR);
	char bound[128];
	size_t size = sizeof(bound);
	zmq_msg_t in;

	path_prepare();
	if (zmq_bind(socket, endpoint) < 0)
		exit(1);
	zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, bound, &size);
	say(done, bound);
	zmq_msg_init(&in);
	for (size_t i = 1; i <= count; i++) {
		if (zmq_msg_recv(&in, socket, 0) != (int)PART)
			exit(1);
		if (i % HALF == 0)
			zmq_send(socket, "", 0, 0);
	}
	say(done, "");
	pause();
}

static void
zmq_stream(struct stream *s, size_t count)
{
	for (size_t sent = 0, answered = 0; answered < count;
	     answered += HALF) {
		for (; sent < count && sent - answered < WINDOW; sent++)
			path_send(s->socket, part, PART, 0);
		if (zmq_recv(s->socket, NULL, 0, 0) < 0)
			bench_die("no answer from %s", s->endpoint);
	}
}

static void
run_zmq(struct series *to, const char *endpoint, size_t count)
{
	struct stream s;

	begin(&s, endpoint, HALF + count, zmq_receive);
	s.context = path_context();
	s.socket = path_socket(s.context, ZMQ_PAIR);
	if (zmq_connect(s.socket, s.endpoint) < 0)
		bench_die("cannot connect to %s", s.endpoint);
	zmq_stream(&s, HALF);

	const struct watch began = watch_read(s.pid);

	zmq_stream(&s, count);
	end(&s);
	series_add(to, (double)(count * PART) / 1e9, began, s.pid);
	zmq_close(s.socket);
	zmq_ctx_term(s.context);
	bench_kill(s.pid);
}

/* ---- a bare socket ---- */

static void
tcp_receive(const char *endpoint, size_t count, int done)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t size = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char port[16];

	(void)endpoint;
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(fd, (struct sockaddr *)&at, size) < 0 ||
	    listen(fd, 1) < 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &size) < 0)
		exit(1);
	snprintf(port, sizeof(port), "%d", ntohs(at.sin_port));
	say(done, port);
	fd = accept(fd, NULL, NULL);
	for (size_t left = count * PART; left > 0;) {
		const ssize_t n = recv(fd, part, PART, 0);

		if (n <= 0)
			exit(1);
		left -= (size_t)n;
	}
	say(done, "");
	pause();
}

static void
run_tcp(struct series *to, const char *endpoint, size_t count)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	struct stream s;

	begin(&s, endpoint, count, tcp_receive);
	s.fd = socket(AF_INET, SOCK_STREAM, 0);
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	at.sin_port = htons((uint16_t)atoi(s.endpoint));
	if (connect(s.fd, (struct sockaddr *)&at, sizeof(at)) < 0)
		bench_die("cannot connect");

	const struct watch began = watch_read(s.pid);

	for (size_t left = count * PART; left > 0;) {
		const ssize_t n = send(s.fd, part, left < PART ? left : PART,
				       0);

		if (n <= 0)
			bench_die("cannot send");
		left -= (size_t)n;
	}
	end(&s);
	series_add(to, (double)(count * PART) / 1e9, began, s.pid);
	close(s.fd);
	bench_kill(s.pid);
}

/* ---- in turn ---- */

int
main(void)
{
	const size_t count = HALF * bench_scale(1, 250, 2500);
	struct series tcp = { 0 }, tcp_zmq = { 0 }, raw = { 0 };
	struct series ipc = { 0 }, ipc_zmq = { 0 };
	char endpoint[64], path[48];

	path_prepare();
	memset(part, 1, sizeof(part));
	if (!mkdtemp(folder))
		bench_die("cannot make %s", folder);
	snprintf(path, sizeof(path), "%s/s", folder);
	snprintf(endpoint, sizeof(endpoint), "ipc://%s", path);
	for (size_t i = 0; i < bench_runs(); i++) {
		run_net(&tcp, "tcp://127.0.0.1:*", count);
		run_zmq(&tcp_zmq, "tcp://127.0.0.1:*", count);
		run_tcp(&raw, "", count);
		run_net(&ipc, endpoint, count);
		unlink(path);
		run_zmq(&ipc_zmq, endpoint, count);
		unlink(path);
	}
	bench_print(&(struct claim){ "wire", "tcp", "GB/s", "bare libzmq",
				     0.95 }, &tcp, &tcp_zmq);
	bench_print(&(struct claim){ "wire", "tcp", "GB/s", "a bare socket",
				     0.80 }, &tcp, &raw);
	bench_print(&(struct claim){ "wire", "ipc", "GB/s", "bare libzmq",
				     0.95 }, &ipc, &ipc_zmq);
	snprintf(path, sizeof(path), "%s/s.lock", folder);
	unlink(path);
	rmdir(folder);
	return 0;
}
