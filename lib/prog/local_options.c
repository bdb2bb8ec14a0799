#include "prog/local_options.h"

#include <inttypes.h>
#include <string.h>

#define MAX_MEMBERS	9999

#define BESIDE_ALL	UINT64_MAX

enum { BESIDE = CLI_LONG, GRACE, LOG, NO_PIN, PIN, PRINT_ENDPOINT, RESTART };

static const struct cli_option options[] = {
	{ 'C', "checkpoint", "DIR",
	  "the servers' directory for checkpoints" },
	{ 'r', "relays", "RELAYS",
	  "number of relays, each for its share of the workers (default 0)" },
	{ 's', "servers", "SERVERS",
	  "number of servers, without those of --beside (default 1, with "
	  "--beside 0)" },
	{ 'w', "workers", "WORKERS",
	  "number of workers (default 1)" },
	{ BESIDE, "beside", "[N]",
	  "a server beside each of the first N workers, for dense variables "
	  "(default all)" },
	{ GRACE, "grace", "DURATION",
	  "kill programs that still run this long after the command's end "
	  "(default 12s)" },
	{ LOG, "log", "FILE",
	  "append the messages of servers, workers and relays to this file" },
	{ NO_PIN, "no-pin", NULL,
	  "never pin programs to CPUs" },
	{ PIN, "pin", NULL,
	  "keep every server, worker and relay on one CPU" },
	{ PRINT_ENDPOINT, "print-endpoint", "[FILE]",
	  "print the coordinator's endpoint before the command runs" },
	{ RESTART, "restart", "N",
	  "start each server, worker and relay that dies again, up to N times "
	  "(default 0)" },
	{ 0 }
};

const struct cli_program local_program = {
	.name = "ps-local", .kind = CLI_LAUNCHER, .options = options,
	.operands = "[-- worker-option ... --] command [argument ...]"
};

/*
 * Set the words for workers, between two "--", and the words of the command
 * behind them.  A "--" that is the argument of an option is not the first of
 * them.
 */
static void
split_words(int argc, char **argv, const char *argument,
	    struct local_cluster_options *o)
{
	if (optind > 1 && argv[optind - 1] != argument &&
	    strcmp(argv[optind - 1], "--") == 0) {
		o->worker_word = argv + optind;
		for (; optind < argc && strcmp(argv[optind], "--") != 0;
		     optind++)
			if (strcmp(argv[optind], "-") == 0)
				cli_usage("-: standard input is the command's; "
					  "name files or pipe:COMMAND");
		if (optind == argc)
			cli_usage("the workers' options end with --");
		argv[optind++] = NULL;
	}
	if (optind == argc)
		cli_usage("a command is wanted");
	o->command = argv + optind;
}

/* Count the servers; those beside workers come first. */
static void
count_servers(struct local_cluster_options *o, uint64_t alone)
{
	if (alone == BESIDE_ALL)	/* it was not given */
		alone = o->beside == 0;
	if (o->beside == BESIDE_ALL)
		o->beside = o->workers;
	else if (o->beside > o->workers)
		cli_usage("--beside=%" PRIu64 ": there are only %" PRIu64
			  " workers", o->beside, o->workers);
	o->servers = o->beside + alone;
}

struct local_cluster_options
local_options_read(int argc, char **argv)
{
	struct cli_common common = { 0 };
	struct local_cluster_options o = { .workers = 1,
					   .grace_ms = 12000 };
	uint64_t alone = BESIDE_ALL;
	const char *argument = NULL;
	int c;

	while ((c = cli_next(argc, argv, &common)) != -1) {
		argument = optarg;
		switch (c) {
		case BESIDE:	o.beside = optarg ?
					cli_uint(1, MAX_MEMBERS) : BESIDE_ALL;
				break;
		case 'C':	o.checkpoint = optarg; break;
		case GRACE:	o.grace_ms = cli_duration(); break;
		case LOG:	o.log = optarg; break;
		case NO_PIN:	o.pin = PIN_NEVER; break;
		case PIN:	o.pin = PIN_ALWAYS; break;
		case PRINT_ENDPOINT: o.print_endpoint = true;
				o.endpoint_file = optarg;
				break;
		case RESTART:	o.restarts = cli_uint(0, UINT64_MAX); break;
		case 'r':	o.relays = cli_uint(0, MAX_MEMBERS); break;
		case 's':	alone = cli_uint(0, MAX_MEMBERS); break;
		case 'w':	o.workers = cli_uint(0, MAX_MEMBERS); break;
		}
	}
	count_servers(&o, alone);
	if (o.relays > o.workers)
		cli_usage("-r: %llu relays are too many for %llu workers",
			  (unsigned long long)o.relays,
			  (unsigned long long)o.workers);
	o.level = common.verbose ? "-v" : common.quiet ? "-q" : NULL;
	split_words(argc, argv, argument, &o);
	return o;
}
