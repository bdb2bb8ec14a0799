/* plain - peers that speak ZMTP 3.0, correctly or not, over plain sockets. */
#ifndef PS_PLAIN_H
#define PS_PLAIN_H

#include "tap.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* PING, as ps-wire(7) has it, in a frame. */
static const char plain_ping[] = "\0\3\x92\5\7";
#define PLAIN_PING	(sizeof(plain_ping) - 1)

static inline bool
plain_put(int fd, const void *bytes, size_t size)
{
	return send(fd, bytes, size, MSG_NOSIGNAL) == (ssize_t)size;
}

static inline void
plain_hello(int fd)
{
	static const char hello[] =
		"\xff\0\0\0\0\0\0\0\0\x7f\3\0" "NULL\0\0\0\0\0\0\0\0"
		"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
		"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

	ok(plain_put(fd, hello, sizeof(hello) - 1));
}

/* Sends READY: the type of the socket, ROUTER or DEALER, and its own name. */
static inline void
plain_ready(int fd, const char *type, const char *name)
{
	const size_t length = strlen(name);
	char ready[128];
	int n;

	n = snprintf(ready, sizeof(ready), "\4%c\5READY\xb%s%c%c%c\6%s",
		     (int)(41 + length), "Socket-Type", 0, 0, 0, type);
	n += snprintf(ready + n, sizeof(ready) - (size_t)n, "\x8%s%c%c%c%c%s",
		      "Identity", 0, 0, 0, (int)length, name);
	ok(ready[1] == n - 2 && plain_put(fd, ready, (size_t)n));
}

/* Makes a socket that listens, so that the peer can be made to read slowly. */
static inline int
plain_listen(char *endpoint, size_t size)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t length = sizeof(at);
	const int fd = socket(AF_INET, SOCK_STREAM, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ok(bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 &&
	   listen(fd, 1) == 0 &&
	   getsockname(fd, (struct sockaddr *)&at, &length) == 0);
	snprintf(endpoint, size, "tcp://127.0.0.1:%d", ntohs(at.sin_port));
	return fd;
}

static inline int
plain_accept(int listener)
{
	const int fd = accept(listener, NULL, NULL);

	plain_hello(fd);
	plain_ready(fd, "ROUTER", "");
	return fd;
}

/* Connects, and sends nothing; returns the socket, or -1. */
static inline int
plain_dial(const char *endpoint)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	const int fd = socket(AF_INET, SOCK_STREAM, 0);

	to.sin_port = htons((uint16_t)atoi(strrchr(endpoint, ':') + 1));
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
		return fd;
	close(fd);
	return -1;
}

/* Connects and does the handshake.  The other side must send READY first: more
   than 64 bytes before that are refused. */
static inline int
plain_call(const char *endpoint, const char *name)
{
	const int fd = plain_dial(endpoint);
	char theirs[65];

	ok(fd >= 0);
	plain_hello(fd);
	plain_ready(fd, "DEALER", name);
	ok(recv(fd, theirs, sizeof(theirs), MSG_WAITALL) == sizeof(theirs));
	return fd;
}

#endif
