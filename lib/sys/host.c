#include "sys/host.h"

#include "base/log.h"
#include "sys/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define AGAIN_MS	250	/* between two look-ups */

static void
name_of(const char *endpoint, char *name, size_t size)
{
	const char *host = endpoint + strlen("tcp://");

	snprintf(name, size, "%.*s", (int)(strrchr(host, ':') - host), host);
}

int
host_find(const char *endpoint, char number[INET_ADDRSTRLEN], struct fail *f)
{
	struct addrinfo hints = { .ai_family = AF_INET,
				  .ai_socktype = SOCK_STREAM };
	struct addrinfo *found;
	struct sockaddr_in address;
	char name[256];

	name_of(endpoint, name, sizeof(name));
	if (getaddrinfo(name, NULL, &hints, &found) != 0)
		return fail(f, FAIL_PEER, "%s: no host is called %s",
			    endpoint, name);
	memcpy(&address, found->ai_addr, sizeof(address));
	inet_ntop(AF_INET, &address.sin_addr, number, INET_ADDRSTRLEN);
	freeaddrinfo(found);
	return 0;
}

static bool
has_name(const char *endpoint)
{
	struct in_addr number;
	char name[256];

	if (strncmp(endpoint, "tcp://", 6) != 0 || endpoint[6] == '[')
		return false;
	name_of(endpoint, name, sizeof(name));
	return strcmp(name, "*") != 0 && inet_pton(AF_INET, name, &number) != 1;
}

/* Does this machine have the address?  Only then a socket can bind to it, with
   any port. */
static bool
is_ours(const char *number)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool ours;

	inet_pton(AF_INET, number, &at.sin_addr);
	ours = fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 ||
		errno != EADDRNOTAVAIL;
	if (fd >= 0)
		close(fd);
	return ours;
}

static int
find_ours(const char *endpoint, struct fail *f)
{
	char number[INET_ADDRSTRLEN], name[256];

	if (host_find(endpoint, number, f) < 0)
		return -1;
	name_of(endpoint, name, sizeof(name));
	return is_ours(number) ? 0 :
		fail(f, FAIL_PEER, "%s: %s is %s, which is not an address of "
		     "this machine", endpoint, name, number);
}

int
host_await(const char *endpoint, uint64_t ms, int stop_fd, struct fail *f)
{
	const uint64_t until = clock_ms() + ms;
	struct pollfd stop = { .fd = stop_fd, .events = POLLIN };
	struct fail why;
	bool told = false;

	if (!has_name(endpoint))
		return 0;
	while (find_ours(endpoint, &why) < 0) {
		const uint64_t now = clock_ms();

		if (now >= until || stop.revents) {
			*f = why;
			return -1;
		}
		if (!told)
			log_warn("%s: waiting %g s for it", why.text,
				 (double)ms / 1000);
		told = true;
		poll(&stop, 1, until - now < AGAIN_MS ? (int)(until - now) :
		     AGAIN_MS);
	}
	return 0;
}
