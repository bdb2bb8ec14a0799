/*
 * far - make a server seem further away.
 *
 *	far MILLISECONDS tcp://127.0.0.1:PORT [MBIT]
 *
 * Bytes to the server and from it arrive MILLISECONDS later, in order, whatever
 * their number.  With MBIT each direction also carries at most that many
 * megabits a second.  Prints the endpoint to connect to in place of the
 * server's, and ends on a signal.
 */
#include "bench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#define PAIRS	64
#define CHUNK	((size_t)256 << 10)

struct chunk {
	struct chunk *next;
	double due;
	size_t size, sent;
	char data[];
};

/* One direction of a connection: bytes that came from one socket and are not
   yet due at the other. */
struct way {
	int from, to;
	double free;		/* when the link has carried what came */
	struct chunk *first, **last;
};

static struct way way[2 * PAIRS];
static size_t ways;
static double delay_ms, byte_ms;	/* to arrive, and to be carried */

static void
check(bool good)
{
	if (!good)
		bench_die("far: %s", strerror(errno));
}

static double
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int
listener(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	const int fd = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t size = sizeof(at);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	check(bind(fd, (struct sockaddr *)&at, size) == 0 &&
	      listen(fd, PAIRS) == 0 &&
	      getsockname(fd, (struct sockaddr *)&at, &size) == 0);
	printf("tcp://127.0.0.1:%d\n", ntohs(at.sin_port));
	fflush(stdout);
	return fd;
}

/* Sends what is due at once, even if earlier bytes are not acknowledged yet. */
static void
send_at_once(int fd)
{
	check(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 },
			 sizeof(int)) == 0);
}

static void
join(int here, int port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)port) };
	const int there = socket(AF_INET, SOCK_STREAM, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	check(here >= 0 && ways < 2 * PAIRS &&
	      connect(there, (struct sockaddr *)&at, sizeof(at)) == 0);
	send_at_once(here);
	send_at_once(there);
	way[ways] = (struct way){ .from = here, .to = there };
	way[ways].last = &way[ways].first;
	way[++ways] = (struct way){ .from = there, .to = here };
	way[ways].last = &way[ways].first;
	ways++;
}

static void
take(struct way *w)
{
	struct chunk *c = malloc(sizeof(*c) + CHUNK);
	ssize_t size;

	check(c != NULL);
	size = recv(w->from, c->data, CHUNK, MSG_DONTWAIT);
	if (size <= 0) {
		free(c);
		if (size < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		shutdown(w->to, SHUT_WR);
		w->from = -1;
		return;
	}
	if (w->free < now_ms())
		w->free = now_ms();
	w->free += (double)size * byte_ms;
	*c = (struct chunk){ .due = w->free + delay_ms,
			     .size = (size_t)size };
	*w->last = c;
	w->last = &c->next;
}

static void
give(struct way *w, double now)
{
	while (w->first && w->first->due <= now) {
		struct chunk *c = w->first;
		const ssize_t sent = send(w->to, c->data + c->sent,
					  c->size - c->sent,
					  MSG_DONTWAIT | MSG_NOSIGNAL);

		if (sent < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		c->sent = sent < 0 ? c->size : c->sent + (size_t)sent;
		if (c->sent < c->size)
			continue;
		w->first = c->next;
		if (!w->first)
			w->last = &w->first;
		free(c);
	}
}

/* Wait until something comes, something is due, or there is room for it. */
static void
wait_for(int listening, struct pollfd *fd)
{
	struct timespec left = { .tv_sec = 1 };
	const double now = now_ms();

	fd[2 * ways] = (struct pollfd){ listening, POLLIN, 0 };
	for (size_t i = 0; i < ways; i++) {
		const struct chunk *c = way[i].first;
		const bool due = c && c->due <= now;

		fd[2 * i] = (struct pollfd){ way[i].from, POLLIN, 0 };
		fd[2 * i + 1] = (struct pollfd){ due ? way[i].to : -1,
						 POLLOUT, 0 };
		if (c && !due && (c->due - now) * 1e6 <
		    (double)left.tv_sec * 1e9 + (double)left.tv_nsec)
			left = (struct timespec){
				.tv_nsec = (long)((c->due - now) * 1e6) };
	}
	check(ppoll(fd, 2 * ways + 1, &left, NULL) >= 0 || errno == EINTR);
}

int
main(int argc, char **argv)
{
	struct pollfd fd[4 * PAIRS + 1];
	const char *port = argc == 3 || argc == 4 ? strrchr(argv[2], ':') :
		NULL;
	int listening;

	if (!port)
		bench_die("usage: far milliseconds tcp://127.0.0.1:port "
			  "[mbit]");
	delay_ms = atof(argv[1]);
	byte_ms = argc == 4 ? 8 / (atof(argv[3]) * 1e3) : 0;
	listening = listener();
	for (;;) {
		const size_t known = ways;

		wait_for(listening, fd);
		for (size_t i = 0; i < known; i++) {
			if (fd[2 * i].revents)
				take(&way[i]);
			give(&way[i], now_ms());
		}
		if (fd[2 * known].revents)
			join(accept(listening, NULL, NULL), atoi(port + 1));
	}
}
