/*
 * ps-serve - hold one shard of every variable; answer pulls and pushes.
 */
#include "base/endpoint.h"
#include "base/log.h"
#include "base/subnormal.h"
#include "role/server.h"
#include "store/cluster.h"
#include "store/disk.h"
#include "sys/callers.h"
#include "sys/changelog.h"
#include "sys/cli.h"
#include "sys/clock.h"
#include "sys/grace.h"
#include "sys/memory.h"
#include "sys/net.h"
#include "sys/registration.h"
#include "sys/saver.h"

#include <stdlib.h>
#include <string.h>

#define USAGE	"[-b endpoint] [-c endpoint] [-d directory] [-i index] " \
		"[--durable=checkpoint|wal] [--grace=duration] " \
		"[--lease=duration] [--standby-of=endpoint]"

#define MAX_SERVERS	4096
#define LEAVE_MS	1000	/* for its standby */

enum { DURABLE = CLI_LONG, GRACE, LEASE, STANDBY_OF };

static const struct cli_option options[] = {
	{ 'b',   "bind",        "ENDPOINT" },
	{ 'c',   "coordinator", "ENDPOINT" },
	{ 'd',   "directory",   "DIRECTORY" },
	{ DURABLE, "durable",   "checkpoint|wal" },
	{ GRACE, "grace",       "DURATION" },
	{ 'i',   "index",       "INDEX" },
	{ LEASE, "lease",       "DURATION" },
	{ STANDBY_OF, "standby-of", "ENDPOINT" },
	{ 0, NULL, NULL }
};

static const char *const durables[] = { "checkpoint", "wal", NULL };

struct options {
	struct cli_common common;
	struct cluster cluster;
	const char *bind, *coordinator, *directory, *standby_of;
	uint64_t index, lease_ms, grace_ms;
	bool wal;
};

/* Everything that ps-serve has open. */
struct program {
	struct net *net;
	struct outbox outbox;
	struct server *server;
	struct saver *saver;
	struct changelog *log;		/* NULL: there is none */
	struct registration reg;
	struct callers callers;
	struct grace grace;
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
		case GRACE:	o.grace_ms = cli_duration(); break;
		case 'i':	o.index = cli_uint(0, MAX_SERVERS - 1); break;
		case DURABLE:	o.wal = cli_choice(durables); break;
		case LEASE:	o.lease_ms = cli_duration(); break;
		case STANDBY_OF: o.standby_of = optarg; break;
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
	if (o.index != WIRE_NONE && !o.coordinator && !o.wal)
		cli_usage("-i: of use with -c or --durable=wal alone");
	if (o.wal && !o.directory)
		cli_usage("--durable=wal: where is the log to be? say -d");
	if (o.standby_of && (o.coordinator || o.wal))
		cli_usage("--standby-of: not with %s",
			  o.wal ? "--durable=wal" : "-c");
	if ((o.coordinator || o.standby_of) && endpoint_wildcard(o.bind))
		cli_usage("-b: others are to call %s: say which address of "
			  "this machine it is", o.bind);
	return o;
}

static int
hear(struct program *p, struct fail *f)
{
	struct net_event e;

	for (net_next(p->net, &e); e.kind != NET_NOTHING;
	     net_next(p->net, &e)) {
		const int ours = registration_hear(&p->reg, p->net, &e, f);

		callers_note(&p->callers, &e, clock_ms());
		if (ours < 0)
			return -1;
		if (e.kind == NET_MESSAGE && !ours)
			server_hear(p->server, e.peer, &e.message,
				    clock_ms());
		else if (e.kind == NET_UP && !ours)
			server_up(p->server, e.peer);
		else if (e.kind == NET_SOMEBODY_LEFT)
			server_left(p->server);
	}
	return 0;
}

/* What was heard becomes durable and is acted on; files are read, written. */
static int
act(struct program *p, struct fail *f)
{
	do {
		server_flush(p->server);
		if (p->log && changelog_run(p->log, p->server, f) < 0)
			return -1;
	} while (saver_run(p->saver, p->server));
	return server_over(p->server, f) ? -1 : 0;
}

static bool
is_to_end(struct program *p)
{
	return cli_stop && grace_over(&p->grace, server_has_run(p->server,
								clock_ms()));
}

static int
serve(struct program *p, struct fail *f)
{
	struct pollfd fds[] = { { 0 },
				{ .fd = saver_fd(p->saver),
				  .events = POLLIN } };

	while (!server_stopping(p->server) && !is_to_end(p)) {
		fds[0] = grace_fd(&p->grace);
		if (net_wait(p->net, fds, 2, grace_wait(&p->grace), f) < 0 ||
		    hear(p, f) < 0 || act(p, f) < 0)
			return -1;
	}

	/* What is on its way when a connection ends may be dropped. */
	const uint64_t last = clock_ms() + LEAVE_MS;

	while (!grace_over(&p->grace, true) && server_awaits(p->server) &&
	       clock_ms() < last) {
		fds[0] = grace_fd(&p->grace);
		if (net_wait(p->net, fds, 1, LEAVE_MS, f) < 0 ||
		    hear(p, f) < 0)
			return -1;
	}
	return 0;
}

static int
open_all(struct program *p, const struct options *o, struct fail *f)
{
	const uint64_t index = o->index != WIRE_NONE ? o->index :
		o->cluster.has_task ? o->cluster.index : 0;

	p->grace.ms = o->grace_ms;
	p->reg = (struct registration){ .index = o->index,
					.life = clock_random() };
	p->net = net_new(o->lease_ms);
	net_await_name(p->net, o->common.timeout_ms, cli_stop_fd);
	p->outbox = net_outbox(p->net);
	p->server = server_new(p->reg.life, o->lease_ms, &p->outbox);
	server_limit(p->server, memory_limit(), &cli_stop);
	disk_read_until(&cli_stop);
	p->saver = saver_new(o->directory, o->wal);
	server_saves(p->server, saver_can, p->saver);
	/* Where another server listens, its files are not to be touched. */
	return net_guard(p->net, o->common.key, f) < 0 ||
		net_listen(p->net, o->bind, o->common.insecure, f) < 0 ||
		(o->directory && checkpoint_probe(o->directory, f) < 0) ||
		(o->wal && !(p->log = changelog_open(o->directory, index,
						     p->server, f))) ||
		(o->coordinator &&
		 net_dial(p->net, o->coordinator, &p->reg.peer, f) < 0) ||
		(o->standby_of &&
		 server_follow(p->server, o->standby_of,
			       net_endpoint(p->net), f) < 0) ? -1 : 0;
}

static void
close_all(struct program *p)
{
	saver_free(p->saver);
	changelog_close(p->log);
	log_info("stopped: %s", server_state(p->server));
	server_free(p->server);
	net_leave(p->net);
}

int
main(int argc, char **argv)
{
	struct program p = { 0 };
	struct fail f;

	cli_begin("ps-serve", USAGE, CLI_DAEMON);
	subnormal_flush();

	struct options o = parse(argc, argv);

	if (open_all(&p, &o, &f) < 0) {
		net_leave(p.net);
		if (cli_stop)
			exit(cli_end(0));
		cli_die(&f);
	}
	cli_ready(net_endpoint(p.net));
	cli_warn_open(&o.common, net_endpoint(p.net));
	log_info("listening on %s", net_endpoint(p.net));
	if (serve(&p, &f) < 0)
		cli_die(&f);
	close_all(&p);
	cluster_release(&o.cluster);
	return cli_end(0);
}
