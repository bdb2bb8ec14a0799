/*
 * flood - connect to a program as strangers do, in every wrong way.
 *
 *	flood tcp://HOST:PORT CONNECTIONS SEED
 *
 * Connections are of these kinds, in turn, with bytes that are drawn from the
 * seed: garbage; half-open and trickling connections, which are kept for a
 * while; frames and messages of ZMTP that pskit does not use; and messages of
 * pskit with wrong numbers.  Prints the number of connections that were made.
 */
#include "base/rng.h"
#include "sys/cli.h"
#include "wire/message.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define KEPT		100	/* connections that are left open */
#define PART		((size_t)64 << 10)
#define PARTS		16

static const struct cli_program program = {
	.name = "flood", .kind = CLI_DAEMON,
	.operands = "endpoint connections seed"
};

static struct rng rng;
static unsigned char noise[PART];
static int kept[KEPT];

static uint64_t
below(uint64_t n)
{
	return rng_below(&rng, n);
}

static void
stir(size_t n)
{
	for (size_t i = 0; i < n; i++)
		noise[i] = (unsigned char)below(256);
}

/* Sends bytes; an error is ignored, since the program may have hung up. */
static void
put(int fd, const void *bytes, size_t size)
{
	if (send(fd, bytes, size, MSG_NOSIGNAL) < 0)
		return;
}

static void
put_frame(int fd, const void *bytes, size_t size, bool more)
{
	unsigned char head[9] = { (unsigned char)(more | 2) };

	for (int i = 0; i < 8; i++)
		head[1 + i] = (unsigned char)((uint64_t)size >> (56 - 8 * i));
	put(fd, head, sizeof(head));
	put(fd, bytes, size);
}

/* Sends the greeting of ZMTP 3.0 with the NULL mechanism. */
static void
put_greeting(int fd)
{
	static const unsigned char greeting[64] = {
		0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0x7f, 3, 0,
		'N', 'U', 'L', 'L'
	};

	put(fd, greeting, sizeof(greeting));
}

/* Waits for the beginning of the other side's READY: messages of more than 64
   bytes that come before it are not read. */
static void
put_hello(int fd)
{
	const struct timeval patience = { .tv_sec = 1 };
	char theirs[65];
	static const char ready[] = "\4\x19" "\5READY" "\xbSocket-Type"
		"\0\0\0\6" "DEALER";
	char copy[sizeof(ready) - 1];

	memcpy(copy, ready, sizeof(copy));
	copy[1] = (char)(sizeof(copy) - 2);
	put_greeting(fd);
	put(fd, copy, sizeof(copy));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (recv(fd, theirs, sizeof(theirs), MSG_WAITALL) < 0)
		return;
}

/* ---- the kinds ---- */

static void
garbage(int fd)
{
	stir(1000);
	put(fd, noise, below(1000));
}

static void
http(int fd)
{
	static const char get[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

	put(fd, get, sizeof(get) - 1);
}

static void
half_open(int fd)
{
	static const unsigned char start[] = { 0xff, 0, 0, 0 };

	put(fd, start, below(sizeof(start) + 1));
}

static void
oversized(int fd)
{
	unsigned char head[9] = { 2 };

	put_hello(fd);
	for (int i = 1; i < 9; i++)
		head[i] = (unsigned char)(below(256) | (i == 1 ? 0x10 : 0));
	head[1] &= 0x7f;
	put(fd, head, sizeof(head));
	put(fd, noise, 1000);
}

static void
bad_commands(int fd)
{
	unsigned char head[2] = { 4, (unsigned char)below(200) };

	stir(200);
	put_hello(fd);
	put(fd, head, sizeof(head));
	put(fd, noise, head[1]);
}

static void
noise_frames(int fd)
{
	put_hello(fd);
	for (uint64_t n = below(9); n > 0; n--) {
		stir(300);
		put_frame(fd, noise, below(300), n > 1);
	}
}

static void
many_parts(int fd)
{
	put_hello(fd);
	for (int n = PARTS; n > 0; n--)
		put_frame(fd, noise, PART, n > 1);
}

static void
cut_message(int fd)
{
	put_hello(fd);
	put_frame(fd, noise, below(1000), true);
}

/* Returns a number near a limit, such as a power of two. */
static uint64_t
lie(void)
{
	const uint64_t near[] = { 0, 1, 2, 3, 255, 65535, UINT32_MAX,
				  INT64_MAX, UINT64_MAX, below(UINT64_MAX) };

	return near[below(sizeof(near) / sizeof(*near))];
}

static void
lying_message(int fd)
{
	struct message m = {
		.kind = (enum message_kind)(1 + below(MESSAGE_KINDS - 1)),
		.request = lie(),
	};
	struct pack pack = { 0 };
	struct message back;
	struct fail f;
	uint64_t frames;

	stir(600);
	for (size_t i = 0; i < MESSAGE_NUMBERS; i++)
		m.number[i] = lie();
	m.blob = (struct frame){ noise, below(40), NULL };
	message_write(&pack, &m);
	if (message_read(&back, pack.data, pack.size, &f) < 0) {
		m.blob.size = 0;	/* this kind has no blob */
		pack_reset(&pack);
		message_write(&pack, &m);
	}
	put_hello(fd);
	frames = below(5);
	put_frame(fd, pack.data, pack.size, frames > 0);
	for (; frames > 0; frames--)
		put_frame(fd, noise, below(600), frames > 1);
	pack_release(&pack);
}

static const struct kind {
	void (*say)(int fd);
	bool keep;
} kinds[] = {
	{ garbage, false }, { http, false }, { half_open, true },
	{ put_greeting, true }, { oversized, false }, { put_hello, true },
	{ bad_commands, false }, { noise_frames, false },
	{ many_parts, false }, { cut_message, true },
	{ lying_message, false }, { lying_message, false },
};

/* ---- */

/* Hangs up when the program has read everything, or after a moment. */
static void
hang_up(int fd)
{
	const struct timeval moment = { .tv_usec = 20000 };
	char answer[4096];

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &moment, sizeof(moment));
	shutdown(fd, SHUT_WR);
	while (recv(fd, answer, sizeof(answer), 0) > 0)
		;
	close(fd);
}

/* Keeps a connection open, in place of the oldest; each that is kept sends one
   more byte. */
static void
keep(int fd, uint64_t i)
{
	int *place = &kept[i % KEPT];

	if (*place > 0)
		close(*place);
	*place = fd;
	for (size_t k = 0; k < KEPT; k++)
		if (kept[k] > 0)
			put(kept[k], noise, 1);
}

int
main(int argc, char **argv)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	const size_t n = sizeof(kinds) / sizeof(*kinds);
	uint64_t connections, seed, made = 0;
	char host[64] = "";
	unsigned port;

	cli_begin(&program);
	if (argc != 4 || sscanf(argv[1], "tcp://%63[^:]:%u", host,
				&port) != 2 ||
	    inet_pton(AF_INET, host, &to.sin_addr) != 1 ||
	    sscanf(argv[2], "%lu", &connections) != 1 ||
	    sscanf(argv[3], "%lu", &seed) != 1)
		cli_usage("an endpoint and two numbers are wanted");
	to.sin_port = htons((uint16_t)port);
	rng = (struct rng){ .seed = seed };
	stir(PART);
	for (uint64_t i = 0; i < connections && !cli_stop; i++) {
		const struct kind *kind = &kinds[i % n];
		const int fd = socket(AF_INET, SOCK_STREAM, 0);

		if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
			break;
		kind->say(fd);
		if (kind->keep)
			keep(fd, i / n);
		else
			hang_up(fd);
		made++;
	}
	printf("%lu\n", (unsigned long)made);
	return cli_end(0);
}
