/* Two nets in one process: how they reach each other. */
#include "files.h"
#include "sys/net.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

/* Until one of these happens to the net. */
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

/* Connections of ipc to the abstract name of this tcp endpoint. */
static size_t
connections(const char *endpoint)
{
	FILE *file = fopen("/proc/net/unix", "r");
	char line[512], name[300];
	size_t count = 0;

	snprintf(name, sizeof(name), "@pskit-%s", endpoint + 6);
	while (file && fgets(line, sizeof(line), file)) {
		char *at = strstr(line, name);

		/* State 03: connected; 01: the one that listens. */
		if (at && strstr(line, " 03 "))
			count++;
	}
	if (file)
		fclose(file);
	return count;
}

static void
test_way(const char *host, bool shortcut)
{
	struct net *server = net_new(10000), *client = net_new(10000);
	const struct message ping = { .kind = MESSAGE_PING, .request = 7 };
	struct net_event e;
	struct fail f;
	char endpoint[64];
	uint64_t peer;

	ok(net_listen(server, "tcp://127.0.0.1:*", false, &f) == 0);
	ok(strncmp(net_endpoint(server), "tcp://127.0.0.1:", 16) == 0);
	snprintf(endpoint, sizeof(endpoint), "tcp://%s:%s", host,
		 strrchr(net_endpoint(server), ':') + 1);
	ok(net_dial(client, endpoint, &peer, &f) == 0);
	ok(await(client, server, NET_UP, &e));
	ok((connections(net_endpoint(server)) > 0) == shortcut);
	ok(net_send(client, peer, &ping) == 0);
	ok(await(server, client, NET_MESSAGE, &e) &&
	   e.message.kind == MESSAGE_PING && e.message.request == 7);
	net_free(client, 0);
	net_free(server, 0);
}

/* Nobody is there yet: it waits for tcp, as it would on another host. */
static void
test_later(void)
{
	struct net *server = net_new(10000), *client = net_new(10000);
	struct net_event e;
	struct fail f;
	char endpoint[64];
	uint64_t peer;

	ok(net_listen(server, "tcp://127.0.0.1:*", false, &f) == 0);
	snprintf(endpoint, sizeof(endpoint), "%s", net_endpoint(server));
	net_free(server, 0);
	server = net_new(10000);
	ok(net_dial(client, endpoint, &peer, &f) == 0);
	ok(net_listen(server, endpoint, false, &f) == 0);
	ok(await(client, server, NET_UP, &e) && e.peer == peer);
	net_free(client, 0);
	net_free(server, 0);
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

/* Who dials with this key, if any, comes in to who has "ours", or not. */
static void
test_key(const char *key, bool friend)
{
	struct net *server = net_new(10000), *client = net_new(10000);
	const struct message ping = { .kind = MESSAGE_PING, .request = 7 };
	struct fail f;
	struct net_event e;
	uint64_t peer;
	bool blamed = false, quiet = true;

	ok(net_guard(server, "ours", &f) == 0);
	ok(net_guard(client, key, &f) == 0);
	ok(net_listen(server, "tcp://127.0.0.1:*", false, &f) == 0);
	ok(net_dial(client, net_endpoint(server), &peer, &f) == 0);
	if (friend) {
		ok(await(client, server, NET_UP, &e));
		ok(net_send(client, peer, &ping) == 0);
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
		blamed = net_blame(client, net_endpoint(server), &f);
	}
	ok(quiet && blamed == !friend && (friend || f.kind == FAIL_DENIED));
	net_free(client, 0);
	net_free(server, 0);
}

int
main(void)
{
	test_way("127.0.0.1", true);
	test_way("localhost", false);
	test_later();
	files_begin();
	write_key("ours", 'a');
	write_key("theirs", 'b');
	test_key("ours", true);
	test_key("theirs", false);
	test_key(NULL, false);
	files_end();
	return tap_done();
}
