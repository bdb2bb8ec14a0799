#include "prog/relay_options.h"

#include "base/endpoint.h"
#include "prog/cluster_task.h"
#include "prog/site.h"
#include "sys/clock.h"

#include <stdlib.h>

#define LEASE_MS	10000

enum { LEASE = CLI_LONG, SITE };

static const struct cli_option options[] = {
	CLI_HEADING("The cluster"),
	{ 'b', "bind", "ENDPOINT",
	  "listen here for workers (default tcp://127.0.0.1:*)" },
	{ 'c', "coordinator", "ENDPOINT",
	  "endpoint of the coordinator" },
	{ SITE, "site", "NAME",
	  "the workers of this site use this relay (default the host's name)" },
	{ LEASE, "lease", "DURATION",
	  "a peer that is silent for this time is lost (default 10s)" },
	{ 0 }
};

const struct cli_program relay_program = {
	.name = "ps-relay", .kind = CLI_DAEMON, .options = options,
};

static void
read_cluster(struct relay_settings *s)
{
	cluster_task_read(&s->cluster, &s->common, CLUSTER_RELAY);
	if (!s->bind && s->cluster.has_task)
		s->bind = cluster_endpoint(&s->cluster, CLUSTER_RELAY,
					   s->cluster.index);
	if (!s->bind)
		s->bind = "tcp://127.0.0.1:*";
	s->relay.coordinator = cluster_task_coordinator(
		&s->cluster, s->relay.coordinator, "-c",
		"where is the coordinator?");
}

void
relay_settings_read(struct relay_settings *s, int argc, char **argv)
{
	const char *site = NULL;
	int c;

	*s = (struct relay_settings){ .relay.lease_ms = LEASE_MS };
	while ((c = cli_next(argc, argv, &s->common)) != -1) {
		switch (c) {
		case 'b':	s->bind = optarg; break;
		case 'c':	s->relay.coordinator = optarg; break;
		case LEASE:	s->relay.lease_ms = cli_duration(); break;
		case SITE:	site = optarg; break;
		}
	}
	if (optind < argc)
		cli_usage("'%s': no operands wanted", argv[optind]);
	s->relay.site = site_name(site);
	s->relay.timeout_ms = s->common.timeout_ms;
	s->relay.life = clock_random();
	read_cluster(s);
	if (endpoint_wildcard(s->bind))
		cli_usage("-b: workers are to call %s: say which address of "
			  "this machine it is", s->bind);
}

void
relay_settings_release(struct relay_settings *s)
{
	cluster_release(&s->cluster);
}
