#include "prog/submit_options.h"

#include "base/endpoint.h"
#include "coord/submitters.h"
#include "prog/site.h"
#include "store/disk.h"
#include "sys/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DETACH = CLI_LONG, KEEP_GOING };

static const struct cli_option options[] = {
	{ DETACH, "detach", NULL,
	  "the run keeps the requests if this program dies" },
	{ KEEP_GOING, "keep-going", NULL,
	  "continue after an error of a step or request" },
	{ 'n', "name", "NAME",
	  "a name; a later start with it continues this one" },
	{ 'o', "output", "FILE",
	  "append the results to this file, each once, not to standard "
	  "output" },
	{ 'Q', "queue", "ENDPOINT",
	  "endpoint of ps-coord's --queue" },
	{ 0 }
};

const struct cli_program submit_program = {
	.name = "ps-submit", .kind = CLI_DAEMON, .options = options,
	.operands = "[requests]"
};

static void
check(struct submit_settings *s)
{
	struct fail f;

	if (!s->o.coordinator)
		s->o.coordinator = getenv("PS_QUEUE");
	if (!s->o.coordinator)
		cli_usage("where does ps-coord take requests? say -Q");
	if (endpoint_check(s->o.coordinator, ENDPOINT_CONNECT, &f) < 0)
		cli_die(&f);
	if (!s->o.name && s->output)
		cli_usage("-o needs a name, by which a later start goes on: "
			  "say -n");
	if (!s->o.name && (s->o.wishes & SUBMITTER_DETACH))
		cli_usage("--detach needs a name, by which a later start gets "
			  "the results: say -n");
	if (s->o.name)
		site_check_name("-n", s->o.name);
	if (s->output && strcmp(s->requests, "-") != 0 &&
	    disk_is_same(s->output, s->requests))
		cli_usage("-o: %s is what is read", s->output);
}

void
submit_settings_read(struct submit_settings *s, int argc, char **argv)
{
	int c;

	*s = (struct submit_settings){ .requests = "-" };
	while ((c = cli_next(argc, argv, &s->common)) != -1) {
		switch (c) {
		case DETACH:	s->o.wishes |= SUBMITTER_DETACH; break;
		case KEEP_GOING: s->o.wishes |= SUBMITTER_KEEP_GOING; break;
		case 'n':	s->o.name = optarg; break;
		case 'o':	s->output = cli_file(); break;
		case 'Q':	s->o.coordinator = optarg; break;
		}
	}
	if (argc - optind > 1)
		cli_usage("'%s': one file of requests is enough",
			  argv[optind + 1]);
	if (optind < argc)
		s->requests = argv[optind];
	check(s);
	s->o.life = clock_random();
	s->o.timeout_ms = s->common.timeout_ms;
	s->o.reused = s->o.name != NULL;
	if (s->o.name)
		return;
	snprintf(s->name, sizeof(s->name), "submit-%016" PRIx64, s->o.life);
	s->o.name = s->name;
}
