#include "prog/work_options.h"

#include "base/crew.h"
#include "base/mem.h"
#include "data/cache.h"
#include "data/format.h"
#include "prog/cluster_task.h"
#include "prog/site.h"
#include "sys/clock.h"
#include "sys/cores.h"

#include <stdlib.h>
#include <string.h>

#define SHUFFLE_EXAMPLES	10000
#define MAX_SHUFFLE		((uint64_t)1 << 32)

enum { BATCH = CLI_LONG, CACHE, CHECK, GRACE, INPUT, LEASE, MAX_BAD, NO_HEADER,
       OVERLAP, PREFETCH, REPEAT, RESTART, SHARD, SHUFFLE, SITE, STEP };

static const struct cli_option options[] = {
	CLI_HEADING("The cluster"),
	{ 'c', "coordinator", "ENDPOINT",
	  "endpoint of the coordinator" },
	{ 'i', "index", "INDEX",
	  "the worker's number in results and messages, from 0" },
	{ LEASE, "lease", "DURATION",
	  "a peer that is silent for this time is lost (default 10s)" },
	{ GRACE, "grace", "DURATION",
	  "on SIGTERM, run on for up to this time while a coordinator is "
	  "there" },
	{ SITE, "site", "NAME",
	  "use the relay of this site, if there is one (default the host's "
	  "name)" },
	CLI_HEADING("The data"),
	{ 'F', "format", "FORMAT",
	  "format of the inputs, whatever the file names:" FORMAT_NAMES },
	{ NO_HEADER, "no-header", NULL,
	  "the first line of csv and tsv is a record, not column names" },
	{ INPUT, "input", "NAME:FILE",
	  "a file of the model's data set NAME" },
	{ BATCH, "batch", "NAME:N",
	  "examples of a batch of this data set" },
	{ SHARD, "shard", "[NAME:]I/N",
	  "read only the records whose number is I modulo N" },
	{ SHUFFLE, "shuffle", "[[NAME:]BUFFER]",
	  "draw each example at random from BUFFER records that are read ahead "
	  "(default 10000)" },
	{ REPEAT, "repeat", "[NAME]",
	  "read the inputs again when they have ended" },
	{ CACHE, "cache", "[DIRECTORY]",
	  "keep the parsed records of each input for the next pass" },
	{ MAX_BAD, "max-bad", "N",
	  "skip up to N malformed records in a pass (default 0)" },
	CLI_HEADING("Steps"),
	{ 'x', "external", "[LAYER=]COMMAND",
	  "the command that computes the external layer" },
	{ STEP, "step", "COMMAND",
	  "the command that computes the steps of the model's step line" },
	{ RESTART, "restart", "N",
	  "start the command of --step again at most N times in a row (default "
	  "3)" },
	{ 'j', "threads", "N",
	  "compute each step with N threads; 0: one for each CPU (default 1)" },
	{ PREFETCH, "prefetch", "N",
	  "1: compute a step while the step before is pushed and the next one "
	  "is pulled (default 0; 1 with --step)" },
	{ OVERLAP, "overlap", "N",
	  "1: in rounds, pull for the next round while the gradients of this "
	  "one are pushed (default 1)" },
	{ CHECK, "check", NULL,
	  "check the command line, and exit" },
	{ 0 }
};

const struct cli_program work_program = {
	.name = "ps-work", .kind = CLI_DAEMON, .options = options,
	.operands = "[input ...]"
};

#define UNSAID	UINT64_MAX	/* no option was given */

/* ---- data sets ---- */

/* Return the data set with this name, of size letters; it may be new. */
static struct input_files *
find_input(struct work_settings *s, const char *name, size_t size)
{
	struct feed_options *o = &s->feed;

	for (size_t i = 0; i < o->inputs; i++)
		if (strncmp(o->input[i].name, name, size) == 0 &&
		    o->input[i].name[size] == '\0')
			return &o->input[i];
	if (o->inputs == INPUTS_FDS)
		cli_usage("more than %d data sets", INPUTS_FDS - 1);
	o->input = mem_grow(o->input, o->inputs, &s->input_room,
			    sizeof(*o->input));
	o->input[o->inputs] = (struct input_files){
		.name = mem_text_n(name, size) };
	return &o->input[o->inputs++];
}

/*
 * Find the data set of "NAME:..."  in optarg, and leave the rest there.
 * Without a name it is the first one, whose settings are for all.
 */
static struct input_files *
find_named(struct work_settings *s)
{
	char *colon = strchr(optarg, ':');
	struct input_files *in;

	if (!colon)
		return find_input(s, "", 0);
	if (colon == optarg)
		cli_usage("'%s' has no name before the colon", optarg);
	in = find_input(s, optarg, (size_t)(colon - optarg));
	optarg = colon + 1;
	return in;
}

static void
add_file(struct work_settings *s)
{
	struct input_files *in;

	if (!strchr(optarg, ':') || !strchr(optarg, ':')[1])
		cli_usage("--input: '%s' is not NAME:FILE", optarg);
	in = find_named(s);
	in->file = mem_grow(in->file, in->count, &in->room, sizeof(char *));
	in->file[in->count++] = optarg;
}

static void
read_batch(struct work_settings *s)
{
	if (!strchr(optarg, ':'))
		cli_usage("--batch: '%s' is not NAME:N; that of other inputs "
			  "is set by ps-coord", optarg);
	find_named(s)->batch = cli_uint(1, MAX_SHUFFLE);
}

static void
read_repeat(struct work_settings *s)
{
	find_input(s, optarg ? optarg : "", optarg ? strlen(optarg) : 0)
		->reader.repeat = true;
}

static void
read_shard(struct work_settings *s)
{
	struct reader_options *o = &find_named(s)->reader;

	cli_shard(&o->shard, &o->shards);
}

static void
read_shuffle(struct work_settings *s)
{
	struct input_files *in = optarg ? find_named(s) :
		find_input(s, "", 0);

	in->reader.shuffle = optarg ? cli_uint(1, MAX_SHUFFLE) :
		SHUFFLE_EXAMPLES;
}

/*
 * Give a data set the settings of the first one where it has none of its own.
 */
static void
finish_input(struct input_files *in, const struct reader_options *all)
{
	struct reader_options *o = &in->reader;

	if (in->count == 0)
		cli_usage("there is no --input=%s:FILE", in->name);
	o->format = all->format;
	o->no_header = all->no_header;
	o->max_bad = all->max_bad;
	o->cache = all->cache;
	o->allow_pipe = all->allow_pipe;
	o->repeat = o->repeat || all->repeat;
	if (o->shuffle == 0)
		o->shuffle = all->shuffle;
	if (o->shards == 0) {
		o->shard = all->shard;
		o->shards = all->shards;
	}
}

/* Set the operands as files of the data set without a name. */
static void
finish_inputs(struct work_settings *s, char **file, size_t count)
{
	struct feed_options *o = &s->feed;
	const struct reader_options *all = &o->input[0].reader;

	if (count == 0 && o->inputs == 1 &&
	    (all->repeat || all->shards || all->shuffle))
		cli_usage("--repeat, --shard and --shuffle are for inputs, "
			  "and none is named");
	if (all->format && !reader_format(all->format))
		cli_usage("-F: '%s' is none of" FORMAT_NAMES, all->format);
	for (size_t i = 1; i < o->inputs; i++)
		finish_input(&o->input[i], all);
	o->input[0].file = mem_alloc(count, sizeof(char *));
	for (size_t i = 0; i < count; i++)
		o->input[0].file[i] = file[i];
	o->input[0].count = count;
}

/* ---- the cluster ---- */

static void
find_coordinator(struct work_settings *s)
{
	cluster_task_read(&s->cluster, &s->common, CLUSTER_WORKER);
	if (s->cluster.has_task && s->worker.index == WIRE_NONE)
		s->worker.index = s->cluster.index;
	s->worker.coordinator = cluster_task_coordinator(
		&s->cluster, s->worker.coordinator, "-c",
		"where is the coordinator?");
}

/* Make the crew; one thread needs none. */
static void
begin_crew(struct work_settings *s)
{
	struct fail f;

	if (s->threads == 0)
		s->threads = cores_granted();
	if (s->threads > 1 && !(s->worker.crew = crew_new(s->threads, &f))) {
		fail_at(&f, "-j %llu",
			(unsigned long long)s->threads);
		cli_die(&f);
	}
}

void
work_settings_read(struct work_settings *s, int argc, char **argv)
{
	struct reader_options *all;
	const char *site = NULL;
	struct fail f;
	int c;

	*s = (struct work_settings){ .worker.lease_ms = 10000,
				     .worker.prefetch = UNSAID,
				     .worker.index = WIRE_NONE,
				     .worker.overlap = true, .threads = 1,
				     .programs.restarts = PROGRAMS_RESTARTS };
	find_input(s, "", 0)->reader.allow_pipe = true;
	while ((c = cli_next(argc, argv, &s->common)) != -1) {
		all = &s->feed.input[0].reader;
		switch (c) {
		case BATCH:	read_batch(s); break;
		case 'c':	s->worker.coordinator = optarg; break;
		case CACHE:	all->cache = optarg ? optarg : ""; break;
		case CHECK:	s->check = true; break;
		case 'F':	all->format = optarg; break;
		case GRACE:	s->grace.ms = cli_duration(); break;
		case 'i':	s->worker.index = cli_uint(0, 1 << 20); break;
		case INPUT:	add_file(s); break;
		case 'j':	s->threads = cli_uint(0, CREW_MOST); break;
		case LEASE:	s->worker.lease_ms = cli_duration(); break;
		case MAX_BAD:	all->max_bad = cli_uint(0, UINT64_MAX); break;
		case NO_HEADER:	all->no_header = true; break;
		case OVERLAP:	s->worker.overlap = cli_uint(0, 1); break;
		case PREFETCH:	s->worker.prefetch = cli_uint(0, 1); break;
		case REPEAT:	read_repeat(s); break;
		case RESTART:	s->programs.restarts = cli_uint(0, UINT64_MAX);
				break;
		case SHARD:	read_shard(s); break;
		case SHUFFLE:	read_shuffle(s); break;
		case SITE:	site = optarg; break;
		case STEP:	s->programs.step = optarg; break;
		case 'x':	external_processes_add(&s->programs, optarg);
			break;
		}
	}
	if (s->worker.prefetch == UNSAID)
		s->worker.prefetch = s->programs.step ? 1 : 0;
	finish_inputs(s, argv + optind, (size_t)(argc - optind));
	if (cache_probe(s->feed.input[0].reader.cache, &f) < 0)
		cli_die(&f);
	s->worker.timeout_ms = s->programs.timeout_ms = s->common.timeout_ms;
	s->programs.steady = s->grace.ms > 0;
	s->worker.life = clock_random();
	s->worker.site = site_name(site);
	find_coordinator(s);
	s->feed.life = s->worker.life;
	s->feed.index = s->worker.index;
	s->worker.externals = external_processes_externals(&s->programs);
	if (!s->check)
		begin_crew(s);
}

void
work_settings_release(struct work_settings *s)
{
	external_processes_end(&s->programs);
	crew_free(s->worker.crew);
	for (size_t i = 0; i < s->feed.inputs; i++) {
		free((char *)(uintptr_t)s->feed.input[i].name);
		free(s->feed.input[i].file);
	}
	free(s->feed.input);
	cluster_release(&s->cluster);
}
