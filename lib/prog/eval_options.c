#include "prog/eval_options.h"

#include "data/cache.h"
#include "data/format.h"
#include "data/source.h"
#include "prog/cluster_task.h"
#include "sys/clock.h"

#include <stdlib.h>
#include <string.h>

#define BATCH		1024
#define MAX_BATCH	((uint64_t)1 << 20)

enum { CACHE = CLI_LONG, FOLLOW, IDLE, MAX_BAD, NEWEST, NO_HEADER, PREDICT,
       RESTART, STEP, UNTIL };

static const struct cli_option options[] = {
	CLI_HEADING("The model"),
	{ 'C', "checkpoint", "DIRECTORY",
	  "score the checkpoints in this directory, or this checkpoint" },
	{ 'c', "coordinator", "ENDPOINT",
	  "score the live model of this coordinator" },
	{ NEWEST, "newest", NULL,
	  "score only the newest complete checkpoint" },
	{ FOLLOW, "follow", NULL,
	  "also score new checkpoints, until the final one" },
	{ IDLE, "idle", "DURATION",
	  "with --follow, end after this time without a new checkpoint" },
	{ UNTIL, "until", "CONDITION",
	  "end when an evaluation meets the condition, for example auc>=0.9" },
	{ 'x', "external", "[LAYER=]COMMAND",
	  "the command that computes the external layer" },
	{ STEP, "step", "COMMAND",
	  "the command that computes the steps of the model's step line" },
	{ RESTART, "restart", "N",
	  "start the command of --step again at most N times in a row (default "
	  "3)" },
	CLI_HEADING("The data"),
	{ 'B', "batch", "BATCH",
	  "examples of a batch (default 1024)" },
	{ CACHE, "cache", "[DIRECTORY]",
	  "keep the parsed records of each input for the next time" },
	{ 'F', "format", "FORMAT",
	  "format of the inputs, whatever the file names:" FORMAT_NAMES },
	{ MAX_BAD, "max-bad", "N",
	  "skip up to N malformed records (default 0)" },
	{ NO_HEADER, "no-header", NULL,
	  "the first line of csv and tsv is a record, not column names" },
	CLI_HEADING("Output"),
	{ 'o', "output", "FILE",
	  "append the scores to this file" },
	{ PREDICT, "predict", NULL,
	  "print predictions instead of scores" },
	{ 0 }
};

const struct cli_program eval_program = {
	.name = "ps-eval", .kind = CLI_FILTER, .options = options,
	.operands = "input ..."
};

/* Remove slashes at the end: "dir/" is "dir". */
static const char *
trim(char *path)
{
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		path[--n] = '\0';
	return path;
}

/* Find the coordinator whose live model is scored, if there is no -C. */
static void
find_coordinator(struct eval_settings *s)
{
	struct evaluator_options *o = &s->evaluator;

	cluster_task_read(&s->cluster, &s->common, CLUSTER_EVALUATOR);
	if (s->cluster.has_task)
		o->index = s->cluster.index;
	if (!s->dir)
		o->coordinator = cluster_task_coordinator(
			&s->cluster, o->coordinator, "-C or -c",
			"what is to be scored?");
}

static void
check(const struct eval_settings *s)
{
	struct fail f;

	if (s->dir && s->evaluator.coordinator)
		cli_usage("-C and -c: a checkpoint or the live model, not "
			  "both");
	if ((s->follow || s->newest || s->output) && !s->dir)
		cli_usage("%s: where are the checkpoints? say -C", s->follow ?
			  "--follow" : s->newest ? "--newest" : "-o");
	if (s->idle_ms && !s->follow)
		cli_usage("--idle: there is nothing to wait for but with "
			  "--follow");
	if (s->follow && s->newest)
		cli_usage("--follow and --newest: all of them, or one");
	if (s->predict && (s->follow || *s->until.metric))
		cli_usage("--predict: there is nothing to %s", s->follow ?
			  "follow, one model predicts" : "wait for");
	if (s->predict && s->reader.max_bad > 0)
		cli_usage("--predict: each record has its line, none can be "
			  "passed over");
	if (s->predict && s->output)
		cli_usage("--predict: there are no scores to put into a file, "
			  "predictions are printed");
	if (s->reader.format && !reader_format(s->reader.format))
		cli_usage("-F: '%s' is none of" FORMAT_NAMES,
			  s->reader.format);
	if (s->count == 0)
		cli_usage("no input: a file, - or pipe:COMMAND");
	if (cache_probe(s->reader.cache, &f) < 0)
		cli_die(&f);
}

void
eval_settings_read(struct eval_settings *s, int argc, char **argv)
{
	int c;

	s->batch = BATCH;
	s->evaluator.index = WIRE_NONE;
	s->programs.restarts = PROGRAMS_RESTARTS;
	s->evaluator.life = clock_random();
	s->reader.allow_pipe = true;
	while ((c = cli_next(argc, argv, &s->common)) != -1) {
		switch (c) {
		case 'B':	s->batch = cli_uint(1, MAX_BATCH); break;
		case 'C':	s->dir = trim(optarg); break;
		case 'c':	s->evaluator.coordinator = optarg; break;
		case CACHE:	s->reader.cache = optarg ? optarg : ""; break;
		case 'F':	s->reader.format = optarg; break;
		case FOLLOW:	s->follow = true; break;
		case IDLE:	s->idle_ms = cli_limit(); break;
		case MAX_BAD:	s->reader.max_bad = cli_uint(0, UINT64_MAX);
				break;
		case NEWEST:	s->newest = true; break;
		case NO_HEADER:	s->reader.no_header = true; break;
		case 'o':	s->output = cli_file(); break;
		case PREDICT:	s->predict = true; break;
		case RESTART:	s->programs.restarts = cli_uint(0, UINT64_MAX);
				break;
		case STEP:	s->programs.step = optarg; break;
		case UNTIL:
			if (!stop_condition_read(&s->until, optarg))
				cli_usage("--until: '%s' is not a condition "
					  "such as auc>=0.9", optarg);
			break;
		case 'x':	external_processes_add(&s->programs, optarg);
			break;
		}
	}
	s->inputs = argv + optind;
	s->count = (size_t)(argc - optind);
	s->evaluator.timeout_ms = s->programs.timeout_ms =
		s->common.timeout_ms;
	s->evaluator.externals = external_processes_externals(&s->programs);
	s->reader.unlabelled = s->predict;
	check(s);
	find_coordinator(s);
}

void
eval_settings_reread(const struct eval_settings *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (source_once(s->inputs[i]))
			cli_usage("'%s' can be read only once, not for each "
				  "checkpoint: say --newest, or name a file",
				  s->inputs[i]);
}

bool
eval_settings_stream(const struct eval_settings *s)
{
	bool any = false;

	for (size_t i = 0; i < s->count; i++)
		any = any || source_once(s->inputs[i]) ||
			strncmp(s->inputs[i], "pipe:", 5) == 0;
	return any;
}

void
eval_settings_release(struct eval_settings *s)
{
	external_processes_end(&s->programs);
	cluster_release(&s->cluster);
}
