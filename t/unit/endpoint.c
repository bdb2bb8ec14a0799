/* An address is valid as a whole, or is refused with a line that quotes it. */
#include "base/endpoint.h"

#include "tap.h"

#include <string.h>

static struct fail f;

static bool
binds(const char *endpoint)
{
	return endpoint_check(endpoint, ENDPOINT_BIND, &f) == 0;
}

static bool
connects(const char *endpoint)
{
	return endpoint_check(endpoint, ENDPOINT_CONNECT, &f) == 0;
}

/* Is the endpoint refused for binding and connecting, by a line with these
   words? */
static bool
refused(const char *endpoint, const char *words)
{
	return !binds(endpoint) && strstr(f.text, endpoint) &&
		!connects(endpoint) && strstr(f.text, words) &&
		f.kind == FAIL_USAGE;
}

int
main(void)
{
	char path[128] = "ipc://";

	ok(binds("tcp://127.0.0.1:*") && !connects("tcp://127.0.0.1:*"));
	ok(binds("tcp://127.0.0.1:0") && !connects("tcp://127.0.0.1:0"));
	ok(binds("tcp://*:2222") && !connects("tcp://*:2222"));
	ok(connects("tcp://job-ps-0.ns.svc:2222"));
	ok(connects("tcp://[::1]:65535") && binds("tcp://[::1]:65535"));
	ok(connects("ipc:///run/user/0/ps.sock"));

	ok(refused("tcp://127.0.0.1:99999", "'99999'"));
	ok(refused("tcp://127.0.0.1:65536", "port"));
	ok(refused("tcp://127.0.0.1:-1", "port"));
	ok(refused("tcp://127.0.0.1:80abc", "port"));
	ok(refused("tcp://127.0.0.1:", "port"));
	ok(refused("tcp://127.0.0.1", "no port"));
	ok(refused("tcp://:80", "host"));
	ok(refused("tcp://a b:80", "host"));
	ok(refused("tcp://::1:80", "host"));
	ok(refused("tcp://[::1:80", "host"));
	ok(refused("udp://127.0.0.1:80", "neither"));
	ok(refused("127.0.0.1:80", "neither"));
	ok(refused("", "neither"));
	ok(refused("ipc://", "no file") && refused("ipc://@x", "no file") &&
	   refused("ipc://*", "no file"));

	memset(path + 6, 'a', 108);
	ok(refused(path, "too long"));
	path[6 + 107] = '\0';
	ok(binds(path) && connects(path));

	ok(endpoint_loopback("tcp://127.0.0.1:*"));
	ok(endpoint_loopback("tcp://127.9.9.9:1"));
	ok(endpoint_loopback("tcp://localhost:80"));
	ok(endpoint_loopback("tcp://[::1]:80"));
	ok(endpoint_loopback("ipc:///tmp/x"));
	ok(!endpoint_loopback("tcp://*:80"));
	ok(!endpoint_loopback("tcp://0.0.0.0:80"));
	ok(!endpoint_loopback("tcp://127.evil.example:80"));
	ok(!endpoint_loopback("tcp://localhost.evil.example:80"));
	ok(!endpoint_loopback("tcp://[::]:80"));
	ok(endpoint_wildcard("tcp://*:80"));
	ok(endpoint_wildcard("tcp://0.0.0.0:*"));
	ok(endpoint_wildcard("tcp://[::]:80"));
	ok(!endpoint_wildcard("tcp://10.0.0.0:80"));
	ok(!endpoint_wildcard("ipc://*:80"));
	ok(!endpoint_wildcard("0.0.0.0"));
	return tap_done();
}
