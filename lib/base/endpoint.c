#include "base/endpoint.h"

#include "base/text.h"

#include <stdint.h>
#include <string.h>

#define HOST	253	/* bytes in a name, RFC 1035 */

static const char letters_digits[] =
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/* Return the text after the scheme; NULL: the endpoint has another scheme. */
static const char *
after(const char *scheme, const char *endpoint)
{
	const size_t n = strlen(scheme);

	return strncmp(endpoint, scheme, n) == 0 ? endpoint + n : NULL;
}

/* Are n bytes a name, an IPv4 address or an IPv6 address in brackets? */
static bool
host_fits(const char *host, size_t n, enum endpoint_use use)
{
	size_t plain = 0;

	if (n == 1 && *host == '*')
		return use == ENDPOINT_BIND;
	if (n > 2 && *host == '[')
		return strspn(host + 1, "0123456789abcdefABCDEF:.") == n - 2 &&
			host[n - 1] == ']';
	while (plain < n && (strchr(letters_digits, host[plain]) ||
			     strchr("-._", host[plain])))
		plain++;
	return n > 0 && n <= HOST && plain == n && *host != '-';
}

static bool
port_fits(const char *port, enum endpoint_use use)
{
	uint64_t n;

	if (strcmp(port, "*") == 0)
		return use == ENDPOINT_BIND;
	return text_uint(port, &n) && n <= 65535 &&
		(n > 0 || use == ENDPOINT_BIND);
}

static int
check_tcp(const char *endpoint, const char *address, enum endpoint_use use,
	  struct fail *f)
{
	const char *colon = strrchr(address, ':');

	if (!colon)
		return fail(f, FAIL_USAGE, "'%s' has no port", endpoint);
	if (!host_fits(address, (size_t)(colon - address), use))
		return fail(f, FAIL_USAGE, "'%s' has no usable host: '%.*s'",
			    endpoint, (int)(colon - address), address);
	if (!port_fits(colon + 1, use))
		return fail(f, FAIL_USAGE, "'%s' has no usable port: '%s' "
			    "is not a number from %d to 65535", endpoint,
			    colon + 1, use == ENDPOINT_CONNECT);
	return 0;
}

static int
check_ipc(const char *endpoint, const char *path, struct fail *f)
{
	/* ZeroMQ gives "@" (an abstract socket) and "*" (a random path) a
	   meaning of their own; neither is guarded by the permissions of a
	   directory of the user's. */
	if (!*path || *path == '@' || strcmp(path, "*") == 0)
		return fail(f, FAIL_USAGE, "'%s' names no file", endpoint);
	if (strlen(path) > ENDPOINT_PATH)
		return fail(f, FAIL_USAGE, "'%s' is too long: a path has at "
			    "most %d bytes", endpoint, ENDPOINT_PATH);
	return 0;
}

int
endpoint_check(const char *endpoint, enum endpoint_use use, struct fail *f)
{
	const char *rest;

	if ((rest = after("tcp://", endpoint)))
		return check_tcp(endpoint, rest, use, f);
	if ((rest = after("ipc://", endpoint)))
		return check_ipc(endpoint, rest, f);
	return fail(f, FAIL_USAGE, "'%s' is neither tcp://HOST:PORT nor "
		    "ipc://PATH", endpoint);
}

bool
endpoint_loopback(const char *endpoint)
{
	const char *host = after("tcp://", endpoint);

	if (!host)
		return true;
	/* "127.evil.example" begins like an address, but is a name. */
	if (after("127.", host))
		return host[strspn(host, "0123456789.")] == ':';
	return after("localhost:", host) || after("[::1]:", host);
}

bool
endpoint_wildcard(const char *endpoint)
{
	const char *host = after("tcp://", endpoint);

	return host && (after("*:", host) || after("0.0.0.0:", host) ||
			after("[::]:", host));
}
