#include "prog/serve_options.h"

#include "base/endpoint.h"
#include "prog/cluster_task.h"
#include "wire/message.h"

#include <stdlib.h>

#define MAX_SERVERS	4096
#define LEASE_MS	10000
#define IDLE_MS		900000	/* longer than a job takes to be requeued */

enum { DURABLE = CLI_LONG, GRACE, IDLE, LEASE, STANDBY_OF };

static const struct cli_option options[] = {
	CLI_HEADING("The cluster"),
	{ 'b', "bind", "ENDPOINT",
	  "listen here (default tcp://127.0.0.1:*)" },
	{ 'c', "coordinator", "ENDPOINT",
	  "register with the coordinator at this endpoint" },
	{ 'i', "index", "INDEX",
	  "the index of this server, from 0" },
	{ STANDBY_OF, "standby-of", "ENDPOINT",
	  "be the hot standby of the server at this endpoint" },
	{ LEASE, "lease", "DURATION",
	  "a peer that is silent for this time is lost (default 10s)" },
	{ IDLE, "idle", "DURATION",
	  "exit after this time without a coordinator (default 15m)" },
	{ GRACE, "grace", "DURATION",
	  "on SIGTERM, run on for up to this time while a coordinator is "
	  "there" },
	CLI_HEADING("What lasts"),
	{ 'd', "directory", "DIRECTORY",
	  "directory for this server's part of checkpoints" },
	{ DURABLE, "durable", "checkpoint|wal",
	  "what survives if this server dies: the last checkpoint, or every "
	  "step (default checkpoint)" },
	{ 0 }
};

const struct cli_program serve_program = {
	.name = "ps-serve", .kind = CLI_DAEMON, .options = options,
};

static const char *const durables[] = { "checkpoint", "wal", NULL };

static void
read_cluster(struct serve_settings *s)
{
	cluster_task_read(&s->cluster, &s->common, CLUSTER_PS);
	if (!s->bind && s->cluster.has_task)
		s->bind = cluster_endpoint(&s->cluster, CLUSTER_PS,
					   s->cluster.index);
	if (!s->bind)
		s->bind = "tcp://127.0.0.1:*";
}

static void
check(const struct serve_settings *s)
{
	if (s->coordinator && s->index == WIRE_NONE)
		cli_usage("-c: which server is this? say -i");
	if (s->index != WIRE_NONE && !s->coordinator && !s->wal)
		cli_usage("-i: of use with -c or --durable=wal alone");
	if (s->wal && !s->directory)
		cli_usage("--durable=wal: where is the log to be? say -d");
	if (s->standby_of && (s->coordinator || s->wal))
		cli_usage("--standby-of: not with %s",
			  s->wal ? "--durable=wal" : "-c");
	if ((s->coordinator || s->standby_of) && endpoint_wildcard(s->bind))
		cli_usage("-b: others are to call %s: say which address of "
			  "this machine it is", s->bind);
	if (s->idle_ms > 0 && s->idle_ms < s->lease_ms)
		cli_usage("--idle: a coordinator may be silent for a --lease, "
			  "%g s: say no less", (double)s->lease_ms / 1000);
}

void
serve_settings_read(struct serve_settings *s, int argc, char **argv)
{
	bool idle = false;
	int c;

	*s = (struct serve_settings){ .lease_ms = LEASE_MS,
				      .idle_ms = IDLE_MS,
				      .index = WIRE_NONE };
	while ((c = cli_next(argc, argv, &s->common)) != -1) {
		switch (c) {
		case 'b':	s->bind = optarg; break;
		case 'c':	s->coordinator = optarg; break;
		case 'd':	s->directory = optarg; break;
		case DURABLE:	s->wal = cli_choice(durables); break;
		case GRACE:	s->grace_ms = cli_duration(); break;
		case 'i':	s->index = cli_uint(0, MAX_SERVERS - 1); break;
		case IDLE:	s->idle_ms = cli_limit(); idle = true; break;
		case LEASE:	s->lease_ms = cli_duration(); break;
		case STANDBY_OF: s->standby_of = optarg; break;
		}
	}
	if (optind < argc)
		cli_usage("'%s': no operands wanted", argv[optind]);
	if (!idle && s->idle_ms < s->lease_ms)
		s->idle_ms = s->lease_ms;
	read_cluster(s);
	check(s);
}

uint64_t
serve_settings_index(const struct serve_settings *s)
{
	return s->index != WIRE_NONE ? s->index :
		s->cluster.has_task ? s->cluster.index : 0;
}

void
serve_settings_release(struct serve_settings *s)
{
	cluster_release(&s->cluster);
}
