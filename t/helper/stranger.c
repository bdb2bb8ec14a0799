/*
 * stranger - connect to a program and send HELLO in another version of the
 * protocol, or in this version with other messages.
 *
 *	stranger ENDPOINT ROLE VERSION [other]
 *
 * ROLE is a number of enum role.  Prints the status and the text of the
 * refusal, or the kind of another answer.
 */
#include "base/text.h"
#include "sys/cli.h"
#include "sys/clock.h"
#include "sys/net.h"

#include <stdio.h>
#include <string.h>

#define PATIENCE_MS	10000

static const struct cli_program program = {
	.name = "stranger", .kind = CLI_FILTER,
	.operands = "endpoint role version [other]"
};

static void
print(const struct message *m)
{
	char text[MESSAGE_BLOB + 1];

	message_text(m, text, sizeof(text));
	if (m->kind == MESSAGE_REFUSED)
		printf("%llu %s\n", (unsigned long long)m->refused.status,
		       text);
	else
		printf("%s\n", message_name(m->kind));
}

int
main(int argc, char **argv)
{
	struct message hello = { .kind = MESSAGE_HELLO };
	struct net *net = net_new(PATIENCE_MS);
	struct net_event e = { .kind = NET_NOTHING };
	struct fail f;
	uint64_t peer;
	const uint64_t end = clock_ms() + PATIENCE_MS;

	cli_begin(&program);
	hello.foreign = argc == 5 && strcmp(argv[4], "other") == 0;
	if (argc != 4 + hello.foreign ||
	    !text_uint(argv[2], &hello.hello.role) ||
	    !text_uint(argv[3], &hello.hello.version))
		cli_usage("three arguments are wanted, or four");
	hello.hello.index = WIRE_NONE;
	hello.hello.life = clock_random();
	if (net_dial(net, argv[1], &peer, &f) < 0)
		cli_die(&f);
	while (e.kind != NET_MESSAGE && clock_ms() < end) {
		if (net_wait(net, NULL, 0, 100, &f) < 0)
			cli_die(&f);
		net_next(net, &e);
		if (e.kind == NET_UP)
			net_send(net, peer, &hello);
	}
	if (e.kind != NET_MESSAGE)
		fail(&f, FAIL_PEER, "%s does not answer", argv[1]);
	else
		print(&e.message);
	net_free(net);
	if (e.kind != NET_MESSAGE)
		cli_die(&f);
	return cli_end(0);
}
