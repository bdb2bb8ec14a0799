/*
 * ps-serve - hold one shard of every variable; answer pulls and pushes.
 */
#include "base/log.h"
#include "role/server.h"
#include "store/cluster.h"
#include "sys/cli.h"
#include "sys/clock.h"
#include "sys/net.h"
#include "sys/saver.h"

#include <string.h>

#define USAGE	"[-b endpoint] [-c endpoint] [-d directory] [-i index] " \
		"[--lease=duration]"

#define MAX_SERVERS	4096

enum { LEASE = CLI_LONG };

static const struct cli_option options[] = {
	{ 'b',   "bind",        "ENDPOINT" },
	{ 'c',   "coordinator", "ENDPOINT" },
	{ 'd',   "directory",   "DIRECTORY" },
	{ 'i',   "index",       "INDEX" },
	{ LEASE, "lease",       "DURATION" },
	{ 0, NULL, NULL }
};

struct options {
	struct cli_common common;
	struct cluster cluster;
	const char *bind, *coordinator, *directory;
	uint64_t index, lease_ms;
};

/* With -c: the coordinator, to whom we say where we are. */
struct registration {
	uint64_t peer;		/* 0: none */
	uint64_t index, life;
};

static struct options
parse(int argc, char **argv)
{
	struct options o = { .lease_ms = 10000, .index = WIRE_NONE };
	struct fail f;
	int c;

	while ((c = cli_next(argc, argv, options, &o.common)) != -1) {
		switch (c) {
		case 'b':	o.bind = optarg; break;
		case 'c':	o.coordinator = optarg; break;
		case 'd':	o.directory = optarg; break;
		case 'i':	o.index = cli_uint(0, MAX_SERVERS - 1); break;
		case LEASE:	o.lease_ms = cli_duration(); break;
		}
	}
	if (optind < argc)
		cli_usage("'%s': no operands wanted", argv[optind]);
	if (cluster_read(&o.cluster, o.common.cluster, o.common.task,
			 &f) < 0)
		cli_die(&f);
	if (o.cluster.has_task && o.cluster.type != CLUSTER_PS)
		cli_usage("the task is %s, not ps",
			  cluster_type_name(o.cluster.type));
	if (!o.bind && o.cluster.has_task)
		o.bind = cluster_endpoint(&o.cluster, CLUSTER_PS,
					  o.cluster.index);
	if (!o.bind)
		o.bind = "tcp://127.0.0.1:*";
	if (o.coordinator && o.index == WIRE_NONE)
		cli_usage("-c: which server is this? say -i");
	return o;
}

static void
say_where(const struct registration *reg, struct net *net)
{
	const char *endpoint = net_endpoint(net);
	struct message m = { .kind = MESSAGE_HELLO, .frames = 1 };

	m.hello.version = WIRE_VERSION;
	m.hello.role = ROLE_SERVER;
	m.hello.index = reg->index;
	m.hello.life = reg->life;
	m.frame[0] = (struct frame){ endpoint, strlen(endpoint), NULL };
	net_send(net, reg->peer, &m);
}

/* Is it about our registration?  -1: the coordinator does not want us. */
static int
registered(const struct registration *reg, struct net *net,
	   const struct net_event *e, struct fail *f)
{
	char text[MESSAGE_BLOB + 1];

	if (!reg->peer || e->peer != reg->peer)
		return 0;
	if (e->kind == NET_UP)
		say_where(reg, net);
	if (e->kind != NET_MESSAGE || e->message.kind != MESSAGE_REFUSED)
		return 1;
	message_text(&e->message, text, sizeof(text));
	return fail(f, (enum fail_kind)e->message.refused.status,
		    "the coordinator refuses us: %s", text);
}

static int
hear(struct net *net, struct server *server, const struct registration *reg,
     struct fail *f)
{
	struct net_event e;

	for (net_next(net, &e); e.kind != NET_NOTHING; net_next(net, &e)) {
		const int ours = registered(reg, net, &e, f);

		if (ours < 0)
			return -1;
		if (e.kind == NET_MESSAGE && !ours)
			server_hear(server, e.peer, &e.message, clock_ms());
		else if (e.kind == NET_GARBAGE)
			log_info("refused: %s", e.why.text);
		if (server_stopping(server))
			break;
	}
	return 0;
}

static int
serve(struct net *net, struct server *server, const struct registration *reg,
      struct saver *saver, struct fail *f)
{
	struct pollfd fds[] = { { .fd = cli_stop_fd, .events = POLLIN },
				{ .fd = saver_fd(saver), .events = POLLIN } };

	while (!cli_stop && !server_stopping(server)) {
		if (net_wait(net, fds, 2, -1, f) < 0 ||
		    hear(net, server, reg, f) < 0)
			return -1;
		saver_run(saver, server);
	}
	return 0;
}

int
main(int argc, char **argv)
{
	struct fail f;

	cli_begin("ps-serve", USAGE, CLI_DAEMON);

	struct options o = parse(argc, argv);
	struct registration reg = { .index = o.index,
				    .life = clock_random() };
	struct net *net = net_new(o.lease_ms);

	if ((o.directory && checkpoint_probe(o.directory, &f) < 0) ||
	    net_listen(net, o.bind, o.common.insecure, &f) < 0 ||
	    (o.coordinator &&
	     net_dial(net, o.coordinator, &reg.peer, &f) < 0))
		cli_die(&f);

	struct outbox outbox = net_outbox(net);
	struct server *server = server_new(reg.life, o.lease_ms, &outbox);

	struct saver *saver = saver_new(o.directory);

	cli_ready(net_endpoint(net));
	log_info("listening on %s", net_endpoint(net));
	if (serve(net, server, &reg, saver, &f) < 0)
		cli_die(&f);
	saver_free(saver);
	log_info("stopped: %s", server_state(server));
	server_free(server);
	net_free(net, 500);
	cluster_release(&o.cluster);
	return cli_end(0);
}
