#include "prog/work_options.h"

#include "data/cache.h"
#include "sys/clock.h"

#include <stdlib.h>

#define SHUFFLE_EXAMPLES	10000
#define MAX_SHUFFLE		((uint64_t)1 << 32)

enum { CACHE = CLI_LONG, CHECK, GRACE, LEASE, MAX_BAD, NO_HEADER, PREFETCH,
       REPEAT, RESTART, SHARD, SHUFFLE, STEP };

static const struct cli_option options[] = {
	CLI_HEADING("The cluster"),
	{ 'c', "coordinator", "ENDPOINT",
	  "where the coordinator listens" },
	{ 'i', "index", "INDEX",
	  "the worker's number in results and messages, from 0" },
	{ LEASE, "lease", "DURATION",
	  "whoever cannot be heard for so long is lost (default 10s)" },
	{ GRACE, "grace", "DURATION",
	  "told to end, go on so long while a coordinator is there" },
	CLI_HEADING("The data"),
	{ 'F', "format", "FORMAT",
	  "of the inputs, whatever their names are: svmlight, csv, tsv, "
	  "idx, npy, npz or tar" },
	{ NO_HEADER, "no-header", NULL,
	  "the first line of csv and tsv has no names" },
	{ SHARD, "shard", "I/N",
	  "only the records whose number is I modulo N" },
	{ SHUFFLE, "shuffle", "[BUFFER]",
	  "draw each example out of so many that are read ahead "
	  "(default 10000)" },
	{ REPEAT, "repeat", NULL,
	  "begin again when the inputs have ended" },
	{ CACHE, "cache", "[DIRECTORY]",
	  "keep what is read of each input for the next pass" },
	{ MAX_BAD, "max-bad", "N",
	  "pass over so many malformed records in a pass (default 0)" },
	CLI_HEADING("Steps"),
	{ 'x', "external", "[LAYER=]COMMAND",
	  "what computes the external layer" },
	{ STEP, "step", "COMMAND",
	  "what computes the steps of the model's step line" },
	{ RESTART, "restart", "N",
	  "start the command of --step again so often in a row (default 3)" },
	{ PREFETCH, "prefetch", "N",
	  "1: compute a step while another one's values travel (default 0; 1 "
	  "with --step)" },
	{ CHECK, "check", NULL,
	  "only see whether the command line is right" },
	{ 0 }
};

const struct cli_program work_program = {
	.name = "ps-work", .kind = CLI_DAEMON, .options = options,
	.operands = "[input ...]"
};

#define UNSAID	UINT64_MAX	/* no option has said it */

static void
find_coordinator(struct work_settings *s)
{
	struct fail f;

	if (cluster_read(&s->cluster, s->common.cluster, s->common.task,
			 &f) < 0)
		cli_die(&f);
	if (s->cluster.has_task && s->cluster.type != CLUSTER_WORKER)
		cli_usage("the task is %s, not worker",
			  cluster_type_name(s->cluster.type));
	if (s->cluster.has_task && s->worker.index == WIRE_NONE)
		s->worker.index = s->cluster.index;
	if (!s->worker.coordinator)
		s->worker.coordinator = cluster_endpoint(&s->cluster,
							 CLUSTER_CHIEF, 0);
	if (!s->worker.coordinator)
		s->worker.coordinator = getenv("PS_COORD");
	if (!s->worker.coordinator)
		cli_usage("where is the coordinator? say -c");
}

void
work_settings_read(struct work_settings *s, int argc, char **argv)
{
	struct fail f;
	int c;

	*s = (struct work_settings){ .worker.lease_ms = 10000,
				     .worker.prefetch = UNSAID,
				     .worker.index = WIRE_NONE,
				     .programs.restarts = PROGRAMS_RESTARTS,
				     .feed.reader.allow_pipe = true };

	while ((c = cli_next(argc, argv, &s->common)) != -1) {
		switch (c) {
		case 'c':	s->worker.coordinator = optarg; break;
		case CACHE:	s->feed.reader.cache = optarg ? optarg : "";
				break;
		case CHECK:	s->check = true; break;
		case 'F':	s->feed.reader.format = optarg; break;
		case GRACE:	s->grace.ms = cli_duration(); break;
		case 'i':	s->worker.index = cli_uint(0, 1 << 20); break;
		case LEASE:	s->worker.lease_ms = cli_duration(); break;
		case MAX_BAD:
			s->feed.reader.max_bad = cli_uint(0, UINT64_MAX);
			break;
		case NO_HEADER:	s->feed.reader.no_header = true; break;
		case PREFETCH:	s->worker.prefetch = cli_uint(0, 1); break;
		case REPEAT:	s->feed.reader.repeat = true; break;
		case RESTART:	s->programs.restarts = cli_uint(0, UINT64_MAX);
				break;
		case SHARD:	cli_shard(&s->feed.reader.shard,
					  &s->feed.reader.shards);
				break;
		case SHUFFLE:	s->feed.reader.shuffle = optarg ?
					cli_uint(1, MAX_SHUFFLE) :
					SHUFFLE_EXAMPLES;
				break;
		case STEP:	s->programs.step = optarg; break;
		case 'x':	external_processes_add(&s->programs, optarg);
			break;
		}
	}
	if (s->worker.prefetch == UNSAID)
		s->worker.prefetch = s->programs.step ? 1 : 0;
	if (optind == argc && (s->feed.reader.repeat || s->feed.reader.shards ||
			       s->feed.reader.shuffle))
		cli_usage("--repeat, --shard and --shuffle are for inputs, "
			  "and none is named");
	if (s->feed.reader.format && !reader_format(s->feed.reader.format))
		cli_usage("-F: there is no format '%s'", s->feed.reader.format);
	if (cache_probe(s->feed.reader.cache, &f) < 0)
		cli_die(&f);
	s->feed.inputs = argv + optind;
	s->feed.count = (size_t)(argc - optind);
	s->worker.timeout_ms = s->programs.timeout_ms = s->common.timeout_ms;
	s->programs.steady = s->grace.ms > 0;
	s->worker.life = clock_random();
	find_coordinator(s);
	s->feed.life = s->worker.life;
	s->feed.index = s->worker.index;
	s->worker.externals = external_processes_externals(&s->programs);
}

void
work_settings_release(struct work_settings *s)
{
	external_processes_end(&s->programs);
	cluster_release(&s->cluster);
}
