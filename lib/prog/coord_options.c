#include "prog/coord_options.h"

#include "base/endpoint.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "data/format.h"
#include "data/reader.h"
#include "prog/bags.h"
#include "store/checkpoint.h"
#include "store/disk.h"
#include "sys/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_BATCH	((uint64_t)1 << 24)
#define MAX_PACK	4096
#define MAX_IN_FLIGHT	64
#define BESIDE_ALL	UINT64_MAX	/* as many as there are known workers */
#define SPLIT_BYTES	((uint64_t)64 << 20)
#define SHUFFLE_RECORDS	10000
#define ORDERED_RECORDS	1024	/* records of a block that is not shuffled */
#define MAX_SHUFFLE	((uint64_t)1 << 32)

/* "float32|..." */
#define CODEC_OR(name)		#name "|"
#define CODEC_NOT(name)
#define CODING			CODEC_TABLE(CODEC_OR, CODEC_NOT) \
				"CODEC[,from=STEP][@PATTERN]"

enum { ACCUMULATE = CLI_LONG, BACKUP, BESIDE, CHECKPOINT, END_WITH, EVERY,
       FORGET, GRACE, INPUT,
       IN_FLIGHT, JOURNAL, KEEP,
       KEEP_GOING, KEEP_SERVERS, LEASE, MIN_WORKERS, MODE, NO_HEADER, PACK,
       PARTITION, PATIENCE, PLACE, PLAN, PRINT_TASK, PULL, PUSH, QUEUE,
       REPLICAS, RESTORE, AS_IS,
       RESULTS, SEED, SHUFFLE, SPLIT, STATUS, STEP_TIMEOUT, SUSPEND,
       VOCAB_ANYWHERE, WIRE };

static const struct cli_option options[] = {
	CLI_HEADING("The cluster"),
	{ 'b', "bind", "ENDPOINT",
	  "listen here for workers, evaluators and servers (default "
	  "tcp://127.0.0.1:*)" },
	{ 's', "servers", "ENDPOINT,...|COUNT",
	  "endpoints of the servers, or the number of servers that will "
	  "register" },
	{ MIN_WORKERS, "min-workers", "N",
	  "begin when this many workers have joined (default 1)" },
	{ BESIDE, "beside", "[N]",
	  "the first N servers run beside workers (default: one beside each "
	  "worker); they hold dense variables, the others hold tables" },
	{ PARTITION, "partition", "PARTITIONER[@PATTERN]",
	  "how variables, or those that match the pattern, are cut into "
	  "shards: none, spread, fixed:N, min:BYTES[:N], max:BYTES[:N] "
	  "(default none; spread with --beside)" },
	{ PLACE, "place", "balanced|round-robin|PATTERN@FIRST-LAST",
	  "how shards are placed on servers (default balanced), or the servers "
	  "for the variables that match a pattern" },
	{ KEEP_SERVERS, "keep-servers", NULL,
	  "do not stop the servers at the end: another run will use them" },
	{ LEASE, "lease", "DURATION",
	  "a peer that is silent for this time is lost (default 10s)" },
	{ PATIENCE, "patience", "DURATION",
	  "wait this long for a server that is lost (default 60s)" },
	{ PRINT_TASK, "print-task", NULL,
	  "print the task of this program in the cluster, and exit" },
	CLI_HEADING("The model"),
	{ 'm', "model", "MODEL",
	  "the model file, see ps-model(5); - is standard input" },
	{ 'D', "define", "NAME=VALUE",
	  "the value of ${NAME} in the model" },
	{ SEED, "seed", "N",
	  "seed of initial values, dropout and shuffling (default 0)" },
	CLI_HEADING("The data"),
	{ 'd', "data", "INPUT",
	  "train on this file, or on all files that match a pattern" },
	{ INPUT, "input", "NAME:INPUT",
	  "the same for the model's data set NAME" },
	{ END_WITH, "end-with", "NAME",
	  "an epoch also ends when this data set ends" },
	{ 'F', "format", "FORMAT",
	  "format of the data, whatever the file names:" FORMAT_NAMES },
	{ NO_HEADER, "no-header", NULL,
	  "the first line of csv and tsv is a record, not column names" },
	{ SHUFFLE, "shuffle", "[BUFFER]",
	  "read the data in another order in each epoch, shuffled within "
	  "blocks of BUFFER records (default 10000)" },
	{ SPLIT, "split", "SIZE",
	  "cut large data files into splits of this size (default 64Mi)" },
	{ VOCAB_ANYWHERE, "vocab-anywhere", NULL,
	  "allow vocab_file= outside of the model's folder" },
	CLI_HEADING("Steps"),
	{ 'B', "batch", "[NAME:]BATCH",
	  "examples of a batch: of a step, or of a replica of a round (default "
	  "32); NAME: only of that data set" },
	{ ACCUMULATE, "accumulate", "N",
	  "batches of a step; their gradients are added and pushed once "
	  "(default 1)" },
	{ MODE, "mode", "async|ssp:N|sync",
	  "how far workers may be apart (default async)" },
	{ REPLICAS, "replicas", "N",
	  "number of replicas of a round, with --mode=sync" },
	{ BACKUP, "backup", "N",
	  "when only N replicas of a round are not done, spare workers compute "
	  "them, too (default 0)" },
	{ PACK, "pack", "N",
	  "lease up to N steps at once (default 1)" },
	{ IN_FLIGHT, "in-flight", "N",
	  "leases that each worker may hold, 1 to 64 (default 2)" },
	{ STEP_TIMEOUT, "step-timeout", "DURATION",
	  "give a step that takes longer than this to a second worker, too" },
	{ PUSH, "push", CODING,
	  "the format in which gradients travel, from step STEP on, for all "
	  "variables or those that match the pattern (default float32)" },
	{ PULL, "pull", "delta:CODEC|" CODING,
	  "the format in which values travel (default float32)" },
	{ WIRE, "wire", CODING,
	  "the format for both" },
	CLI_HEADING("Requests and results"),
	{ QUEUE, "queue", "ENDPOINT|FIFO",
	  "also take requests here, until a request stops the run" },
	{ FORGET, "forget", "DURATION",
	  "keep the results of an absent submitter for this time (default "
	  "24h)" },
	{ 'o', "output", "FILE",
	  "write the results to this file, not to standard output" },
	{ RESULTS, "results", "all|errors|none",
	  "which results are written (default all)" },
	{ KEEP_GOING, "keep-going", NULL,
	  "continue after an error of a step or request" },
	CLI_HEADING("Checkpoints, and a run that is resumed"),
	{ CHECKPOINT, "checkpoint", "DIRECTORY",
	  "keep checkpoints here" },
	{ EVERY, "every", "STEPS|DURATION",
	  "save a checkpoint at this interval, in steps or time" },
	{ KEEP, "keep", "N",
	  "keep the newest N checkpoints, 0: all (default 5)" },
	{ RESTORE, "restore", "latest|none|PATH",
	  "the checkpoint to start from (default latest)" },
	{ AS_IS, "restore-as-is", NULL,
	  "restore even if ids meant something else in the checkpoint" },
	{ JOURNAL, "journal", "FILE",
	  "keep the state from which an interrupted run can be resumed" },
	{ SUSPEND, "suspend", NULL,
	  "on SIGTERM save and exit; the same command resumes the run" },
	{ GRACE, "grace", "DURATION",
	  "on SIGTERM, end within this time (default 7s)" },
	CLI_HEADING("To look at a run"),
	{ PLAN, "plan", NULL,
	  "print what each server would hold, and exit" },
	{ STATUS, "status", "FILE",
	  "keep the state of the run in this file" },
	{ 0 }
};

const struct cli_program coord_program = {
	.name = "ps-coord", .kind = CLI_DAEMON, .options = options,
	.wanted = "m", .operands = "[requests]"
};

static const char *const results_names[] = { "all", "errors", "none", NULL };

/* Read --every: a plain number is steps, one with a unit is a time. */
static void
read_every(struct coord_options *o)
{
	if (text_uint(optarg, &o->every_steps) && o->every_steps > 0)
		return;
	o->every_steps = 0;
	if (!text_duration(optarg, &o->every_ms) || o->every_ms == 0)
		cli_usage("--every: '%s' is neither a number of steps nor a "
			  "duration such as 30s, 5m", optarg);
}

static void
read_mode(struct coord_options *o)
{
	if (strcmp(optarg, "async") == 0)
		o->mode = MODE_ASYNC;
	else if (strcmp(optarg, "sync") == 0)
		o->mode = MODE_SYNC;
	else if (strncmp(optarg, "ssp:", 4) == 0 &&
		 text_uint(optarg + 4, &o->ahead))
		o->mode = MODE_SSP;
	else
		cli_usage("--mode: '%s' is not async, ssp:N or sync", optarg);
}

static void
read_coding(struct coding_rule *head, const char *option, bool both)
{
	struct fail f;

	if (coding_add(head, option, optarg, both, &f) < 0)
		cli_usage("%s: %s", option, f.text);
}

/* Check options that only rounds have. */
static void
check_mode(const struct coord_options *o)
{
	const struct coding_rule *r = coding_find_residual(&o->push);

	if (o->mode == MODE_SYNC)
		return;
	if (r)
		cli_usage("--push=%s needs --mode=sync: where steps overlap a "
			  "push takes no time that this could save", r->text);
	if (coding_find_delta(&o->pull))
		cli_usage("--pull=delta: needs --mode=sync: it is for what "
			  "rounds have changed");
	if (o->replicas > 0)
		cli_usage("--replicas needs --mode=sync");
	if (o->backup > 0)
		cli_usage("--backup needs --mode=sync");
}

/* Finds the data set with a name of so many bytes, or adds it. */
static struct coord_data *
find_data(struct coord_settings *s, const char *name, size_t size)
{
	for (size_t i = 0; i < s->datas; i++)
		if (strncmp(s->data[i].name, name, size) == 0 &&
		    s->data[i].name[size] == '\0')
			return &s->data[i];
	s->data = mem_grow(s->data, s->datas, &s->data_room,
			   sizeof(*s->data));
	s->data[s->datas] = (struct coord_data){
		.name = mem_text_n(name, size) };
	return &s->data[s->datas++];
}

/* "NAME:...", of which the rest is left. */
static struct coord_data *
find_named(struct coord_settings *s, const char *option)
{
	const size_t size = strcspn(optarg, ":");
	struct coord_data *d;

	if (size == 0 || !optarg[size] || !optarg[size + 1])
		cli_usage("%s: '%s' is not NAME:...", option, optarg);
	d = find_data(s, optarg, size);
	optarg += size + 1;
	return d;
}

static void
add_input(struct coord_data *d)
{
	d->input = mem_grow(d->input, d->inputs, &d->room, sizeof(char *));
	d->input[d->inputs++] = optarg;
}

static void
read_batch(struct coord_settings *s)
{
	struct coord_data *d = strchr(optarg, ':') ? find_named(s, "-B") :
		NULL;

	*(d ? &d->batch : &s->o.batch) = cli_uint(1, MAX_BATCH);
}

static void
read_option(struct coord_settings *s, int c)
{
	struct coord_options *o = &s->o;
	struct fail f;

	switch (c) {
	case ACCUMULATE: o->batches = cli_uint(1, PLAN_BATCHES); break;
	case 'b':	s->bind = optarg; break;
	case BACKUP:	o->backup = cli_uint(0, WIRE_REPLICAS); break;
	case 'B':	read_batch(s); break;
	case CHECKPOINT: s->ckpt.dir = optarg; break;
	case 'd':	add_input(&s->data[0]); break;
	case 'D':
		if (definitions_add(&s->definitions, optarg, &f) < 0)
			cli_usage("-D: %s", f.text);
		break;
	case END_WITH:	find_data(s, optarg, strlen(optarg))->ends = true;
			break;
	case EVERY:	read_every(o); break;
	case 'F':	o->format.name = optarg; break;
	case FORGET:	o->forget_ms = cli_duration(); break;
	case GRACE:	o->grace_ms = cli_duration(); break;
	case INPUT:	add_input(find_named(s, "--input")); break;
	case IN_FLIGHT:	o->in_flight = cli_uint(1, MAX_IN_FLIGHT); break;
	case JOURNAL:	s->journal = optarg; break;
	case KEEP:	s->ckpt.keep = cli_uint(0, UINT64_MAX);
			s->keep_said = true;
			break;
	case KEEP_GOING: o->keep_going = true; break;
	case KEEP_SERVERS: o->keep_servers = true; break;
	case LEASE:	o->lease_ms = cli_duration(); break;
	case 'm':	s->model = optarg; break;
	case MIN_WORKERS: o->min_workers = cli_uint(0, 1 << 20); break;
	case MODE:	read_mode(o); break;
	case NO_HEADER:	o->format.no_header = true; break;
	case 'o':	s->output = cli_file(); break;
	case PACK:	o->pack = cli_uint(1, MAX_PACK); break;
	case BESIDE:	s->beside = optarg ? cli_uint(1, PLAN_SERVERS) :
				BESIDE_ALL;
			break;
	case PARTITION:
		s->partition_said |= !strchr(optarg, '@');
		if (partitioner_add(&o->partitioner, optarg, &f) < 0)
			cli_usage("--partition: %s", f.text);
		break;
	case PATIENCE:	o->patience_ms = cli_duration(); break;
	case PLACE:
		if (placement_add(&o->placement, optarg, &f) < 0)
			cli_usage("--place: %s", f.text);
		break;
	case PLAN:	s->plan_only = true; break;
	case PRINT_TASK: s->print_task = true; break;
	case PULL:	read_coding(&o->pull, "--pull", false); break;
	case PUSH:	read_coding(&o->push, "--push", false); break;
	case QUEUE:	s->queue = optarg; break;
	case REPLICAS:	o->replicas = cli_uint(1, WIRE_REPLICAS); break;
	case RESTORE:	s->restore = optarg; break;
	case AS_IS:	s->ckpt.as_is = true; break;
	case RESULTS:	o->results = (enum results)cli_choice(results_names);
			break;
	case 's':	s->servers = optarg; break;
	case SEED:	o->seed = cli_uint(0, UINT64_MAX); break;
	case SHUFFLE:	s->shuffle = optarg ? cli_uint(1, MAX_SHUFFLE) :
				SHUFFLE_RECORDS;
			break;
	case SPLIT:	s->split = cli_bytes(); break;
	case STATUS:	s->status = optarg; break;
	case STEP_TIMEOUT: o->step_timeout_ms = cli_limit(); break;
	case SUSPEND:	o->suspend = true; break;
	case VOCAB_ANYWHERE: s->anywhere = true; break;
	case WIRE:
		read_coding(&o->push, "--wire", true);
		read_coding(&o->pull, "--wire", true);
		break;
	}
}

/*
 * Read -s: a list of endpoints, or the number of servers that will register
 * themselves.
 */
static void
read_servers(struct coord_settings *s)
{
	struct coord_options *o = &s->o;
	const struct cluster_job *job = &s->cluster.job[CLUSTER_PS];
	uint64_t count;

	if (!s->servers && s->cluster.has_jobs && job->count > 0) {
		o->server = mem_alloc(job->count, sizeof(*o->server));
		o->servers = job->count;
		memcpy(o->server, job->endpoint,
		       job->count * sizeof(*o->server));
		return;
	}
	if (!s->servers) {
		s->servers = getenv("PS_SERVERS");
		s->told_beside = getenv("PS_BESIDE");
	}
	if ((!s->servers || !*s->servers) && s->plan_only)
		cli_usage("for how many servers? say -s, such as -s 2");
	if (!s->servers || !*s->servers)
		cli_usage("where are the servers? say -s");
	if (text_uint(s->servers, &count)) {
		if (count == 0 || count > PLAN_SERVERS)
			cli_usage("-s: '%s' is not a number of servers from "
				  "1 to %d", s->servers, PLAN_SERVERS);
		o->server = mem_alloc(count, sizeof(*o->server));
		o->servers = count;
		return;
	}
	s->server_list = mem_text(s->servers);
	o->server = text_split(s->server_list, ',', &o->servers);
	if (o->servers > PLAN_SERVERS)
		cli_usage("-s: at most %d servers", PLAN_SERVERS);
}

/*
 * Read how many servers are beside workers.  Without a number these are all
 * that ps-local has started there, or one for each worker.
 */
static void
read_beside(struct coord_settings *s)
{
	struct coord_options *o = &s->o;

	if (s->beside != 0 && s->beside != BESIDE_ALL)
		s->told_beside = NULL;
	if (s->told_beside && !text_uint(s->told_beside, &s->beside))
		cli_usage("PS_BESIDE: '%s' is not a number", s->told_beside);
	if (s->beside == BESIDE_ALL)
		s->beside = o->workers;
	else if (s->beside == 0)
		return;
	if (s->beside == 0)
		cli_usage("--beside: how many workers there are is not known: "
			  "say --beside=N");
	if (o->workers > 0 && s->beside > o->workers)
		cli_usage("--beside=%" PRIu64 ": there are only %" PRIu64
			  " workers", s->beside, o->workers);
	if (s->beside > o->servers)
		cli_usage("--beside=%" PRIu64 ": there are only %zu servers",
			  s->beside, o->servers);
	placement_beside(&o->placement, s->beside, o->servers);
	if (!s->partition_said)
		o->partitioner.kind = PARTITION_SPREAD;
}

static void
check_servers(const struct coord_options *o)
{
	for (size_t i = 1; i < o->servers; i++)
		for (size_t k = 0; k < i && o->server[i]; k++)
			if (strcmp(o->server[k], o->server[i]) == 0)
				cli_usage("servers %zu and %zu are the same: "
					  "%s", k, i, o->server[i]);
}

static void
read_cluster(struct coord_settings *s)
{
	struct fail f;

	if (cluster_read(&s->cluster, s->common.cluster, s->common.task,
			 &f) < 0)
		cli_die(&f);
	if (s->print_task && !s->cluster.has_task && s->cluster.where)
		cli_usage("%s has no task: say -t", s->cluster.where);
	if (s->print_task && !s->cluster.has_task)
		cli_usage("there is no task: say -t, or TF_CONFIG");
	if (s->print_task)
		return;
	if (s->cluster.has_task && s->cluster.type != CLUSTER_CHIEF)
		cli_usage("the task is %s, not chief",
			  cluster_type_name(s->cluster.type));
	if (!s->bind)
		s->bind = cluster_endpoint(&s->cluster, CLUSTER_CHIEF, 0);
	if (!s->bind)
		s->bind = getenv("PS_COORD");
	if (!s->bind)
		s->bind = "tcp://127.0.0.1:*";
	s->o.workers = s->cluster.job[CLUSTER_WORKER].count;
	read_servers(s);
	read_beside(s);
	check_servers(&s->o);
}

static bool
has_data(const struct coord_settings *s)
{
	return s->data[0].inputs > 0 || s->datas > 1;
}

static void
check_data(const struct coord_settings *s)
{
	const struct record_range_format *how = &s->o.format;

	if (how->name && !reader_format(how->name))
		cli_usage("-F: '%s' is none of" FORMAT_NAMES, how->name);
	if (!has_data(s) && (how->name || how->no_header || s->shuffle ||
			     s->split))
		cli_usage("-F, --no-header, --shuffle and --split are for "
			  "data, and none are given: say -d");
	for (size_t i = 1; i < s->datas; i++)
		if (s->data[i].inputs == 0)
			cli_usage("there is no --input=%s:FILE",
				  s->data[i].name);
	if (has_data(s) && s->o.mode == MODE_SYNC && s->o.replicas == 0)
		cli_usage("-d with --mode=sync needs --replicas=N: what a "
			  "replica reads depends on how many there are");
}

/* Return whether both paths are one file, or will be. */
static bool
is_same(const char *a, const char *b)
{
	return a && b && (strcmp(a, b) == 0 || disk_is_same(a, b));
}

/*
 * Return whether a path is one that is read: an output there would destroy an
 * input.
 */
static bool
is_read(const struct coord_settings *s, const char *path)
{
	bool read = is_same(path, s->requests) || is_same(path, s->model) ||
		is_same(path, s->journal);

	for (size_t i = 0; i < s->datas; i++)
		for (size_t k = 0; k < s->data[i].inputs; k++)
			read = read || is_same(path, s->data[i].input[k]);
	return read;
}

static void
check_output(const struct coord_settings *s)
{
	struct stat st;

	if (s->output && stat(s->output, &st) == 0 && S_ISREG(st.st_mode) &&
	    is_read(s, s->output))
		cli_usage("-o: %s is what is read", s->output);
	if (is_read(s, s->status))
		cli_usage("--status: %s is what is read", s->status);
	if (is_same(s->status, s->output) || is_same(s->status, s->common.log))
		cli_usage("--status: %s is for something else", s->status);
}

/*
 * An address has "://".  Other texts are the path of a FIFO, whose lines count
 * as our own requests.
 */
static void
read_queue(struct coord_settings *s)
{
	if (!s->queue || !strstr(s->queue, "://"))
		return;
	s->o.queue = true;
}

/* A coordinator that is killed loses no request if it is started again and can
   read all that it had not taken. */
static void
name_task(struct coord_settings *s)
{
	struct stat file;
	const bool again = s->o.queue || (strcmp(s->requests, "-") != 0 &&
		stat(s->requests, &file) == 0 && S_ISREG(file.st_mode));

	snprintf(s->task, sizeof(s->task), "%s %llu%s",
		 cluster_type_name(s->cluster.type),
		 (unsigned long long)s->cluster.index,
		 s->journal && again ? " resumes" : "");
}

void
coord_settings_read(struct coord_settings *s, int argc, char **argv)
{
	int c;

	s->o = (struct coord_options){ .batch = 32, .batches = 1, .pack = 1,
				       .in_flight = 2, .min_workers = 1,
				       .lease_ms = 10000,
				       .patience_ms = 60000,
				       .grace_ms = 7000,
				       .forget_ms = 24 * 3600 * 1000 };
	find_data(s, "", 0);
	s->ckpt.keep = 5;
	s->requests = "-";
	while ((c = cli_next(argc, argv, &s->common)) != -1)
		read_option(s, c);
	if (argc - optind > 1)
		cli_usage("'%s': one file of requests is enough",
			  argv[optind + 1]);
	if (optind < argc)
		s->requests = argv[optind];
	check_data(s);
	s->o.timeout_ms = s->common.timeout_ms;
	check_mode(&s->o);
	read_cluster(s);
	if (!s->model && !s->print_task)
		cli_usage("which model? say -m");
	if (s->model && strcmp(s->model, "-") == 0 && !s->plan_only &&
	    strcmp(s->requests, "-") == 0)
		cli_usage("-m -: the requests are on standard input, too: "
			  "name a file for one of them");
	if (!s->ckpt.dir && (s->o.every_steps || s->o.every_ms))
		cli_usage("--every needs --checkpoint");
	if (!s->ckpt.dir && s->keep_said)
		cli_usage("--keep needs --checkpoint");
	read_queue(s);
	s->o.beside_journal = !s->journal && s->ckpt.dir;
	if (s->o.beside_journal)
		s->journal = s->journal_path =
			disk_path("%s/" JOURNAL_FILE, s->ckpt.dir);
	if (s->print_task)
		name_task(s);
	if (s->o.suspend && !s->journal)
		cli_usage("--suspend needs --checkpoint or --journal");
	check_output(s);
	if (!s->restore)
		s->restore = s->ckpt.dir ? "latest" : "none";
	if (!s->ckpt.dir && strcmp(s->restore, "none") != 0)
		cli_usage("--restore needs --checkpoint");
	s->o.life = clock_random();
	for (size_t i = 0; i < PLAN_RUN; i += sizeof(uint64_t)) {
		const uint64_t bits = clock_random();

		memcpy(s->o.run + i, &bits, sizeof(bits));
	}
}

void
coord_settings_listen(struct coord_settings *s, const char *endpoint)
{
	const size_t n = strlen(s->bind);

	s->o.endpoint = endpoint;
	s->o.any_port = n > 0 && s->bind[n - 1] == '*';
	if (!s->o.any_port)
		log_info("listening on %s", endpoint);
}

struct model *
coord_settings_model(struct coord_settings *s, struct model_source *source,
		     struct fail *f)
{
	struct text lines = { 0 };
	struct model *model;

	s->ckpt.source = source;
	if (model_source_read(source, s->model, &s->definitions, s->anywhere,
			      f) < 0 ||
	    !(model = model_parse(source, f)))
		return NULL;
	model_unused(model, &lines);
	if (model_doubts(model, s->o.batch, &lines, f) < 0) {
		model_free(model);
		model = NULL;
	}
	log_warn_lines(lines.data, lines.size);
	text_release(&lines);
	return model;
}

static int
find_dataset(const struct model *model, const char *name, size_t *dataset,
	     struct fail *f)
{
	struct model_dataset d;

	for (size_t i = 0; i < model_datasets(model); i++) {
		d = model_dataset(model, i);
		*dataset = i;
		if (strcmp(d.name, name) == 0 && d.inputs > 0)
			return 0;
	}
	return *name ? fail(f, FAIL_CONFIG, "--input=%s: no input of the model "
			    "is read from it (from=%s)", name, name) :
		fail(f, FAIL_CONFIG, "-d: no input of the model is read from "
		     "it: there is none, or each has a from=");
}

/* Splits the files of a data set; most: for --plan, of each input of the
   model. */
static int
split_dataset(struct coord_settings *s, const struct coord_data *data,
	      const struct model *model, size_t *most, struct fail *f)
{
	const uint64_t streams = coord_streams(&s->o);
	const uint64_t batch = data->batch ? data->batch : s->o.batch;
	struct sampler_options o = {
		.unit = s->o.pack,
		.batch = batch * s->o.batches / streams,
		.buffer = s->shuffle ? s->shuffle : ORDERED_RECORDS,
		.shuffle = s->shuffle > 0,
		.replicas = s->o.replicas * streams
	};
	struct splits splits = { 0 };
	size_t dataset = 0;

	if (find_dataset(model, data->name, &dataset, f) < 0 ||
	    splits_cut(&splits, data->input, data->inputs, &s->o.format,
		       model_dataset(model, dataset).label != NULL,
		       s->split ? s->split : SPLIT_BYTES, f) < 0 ||
	    (s->plan_only && bags_read(&s->bags, most, model, dataset, &splits,
				       &s->o.format, f) < 0)) {
		splits_release(&splits);
		return -1;
	}
	/* Each is shuffled in another order. */
	o.seed = s->o.seed ^ (uint64_t)dataset << 48;
	samplers_add(s->o.samplers, sampler_new(&o, &splits), dataset,
		     data->ends);
	return 0;
}

static int
split_inputs(struct coord_settings *s, struct model *model, struct fail *f)
{
	size_t inputs, *most;
	int status = 0;

	if (!has_data(s))
		return 0;
	if (s->datas > SAMPLERS)
		return fail(f, FAIL_USAGE, "--input: more than %d data sets",
			    SAMPLERS);
	s->o.samplers = samplers_new(model, s->o.replicas *
				       coord_streams(&s->o));
	model_inputs(model, &inputs);
	most = mem_alloc(inputs, sizeof(*most));
	for (size_t i = 0; i < s->datas && status == 0; i++)
		if (s->data[i].inputs > 0)
			status = split_dataset(s, &s->data[i], model, most, f);
	if (status == 0 && s->plan_only)
		model_expect(model, most);
	free(most);
	return status;
}

/* As many as the model's local lines say. */
static int
set_local_steps(struct coord_options *o, const struct model_local *l,
		struct fail *f)
{
	if (o->batches > 1)
		return fail(f, FAIL_CONFIG, "--accumulate: %s: local steps "
			    "are batches of a step, too: say one of both",
			    l->where);
	if (l->steps > PLAN_BATCHES)
		return fail(f, FAIL_CONFIG, "%s: steps=%" PRIu64 ": a step has "
			    "%d batches at most", l->where, l->steps,
			    PLAN_BATCHES);
	if (l->keeps && o->mode == MODE_SYNC)
		return fail(f, FAIL_CONFIG, "--mode=sync: %s: slots=keep: a "
			    "replica would depend on which worker computes it; "
			    "say async or ssp:N", l->keeps);
	o->batches = l->steps;
	o->in_line = true;
	return 0;
}

/* How many has a step, and how large may they be? */
static int
find_batches(struct coord_options *o, const struct model *model,
	     struct fail *f)
{
	const struct model_local local = model_local(model);
	const char *where = local.steps > 0 ? local.where : "--accumulate";

	if (local.steps > 0 && set_local_steps(o, &local, f) < 0)
		return -1;
	if (o->batch > MAX_BATCH / o->batches)
		return fail(f, FAIL_USAGE, "%s: %" PRIu64 " batches "
			    "of %" PRIu64 " examples are more than %" PRIu64,
			    where, o->batches, o->batch, MAX_BATCH);
	if (o->batches > 1 && model_step(model, 0, &where))
		return fail(f, FAIL_CONFIG, "--accumulate: %s: a program "
			    "computes a step at once", where);
	return 0;
}

/*
 * Refuse programs with data of their own in rounds: a second attempt at a step
 * would read other records, so a replica would exist in two versions.
 */
static int
check_own_data(const struct coord_options *o, const struct model *model,
	       struct fail *f)
{
	const char *name, *where;

	for (size_t i = 0; o->mode == MODE_SYNC &&
	     (name = model_step(model, i, &where)); i++)
		if (!model_reads(model, i))
			return fail(f, FAIL_CONFIG, "--mode=sync: %s: %s takes "
				    "no input: a program with data of its own "
				    "computes other records when a step is "
				    "run again; say async or ssp:N", where,
				    name);
	return 0;
}

/* Does the optimizer divide its steps by what gradients have been? */
static bool
is_adaptive(const struct optimizer *o)
{
	return strcmp(optimizer_name(o), "sgd") != 0 &&
		strcmp(optimizer_name(o), "adagrad") != 0;
}

/* Check that what codecs lose of gradients can be pushed before a checkpoint,
   by whichever step comes last; and warn of an optimizer that is not made for
   it. */
static int
check_residuals(const struct coord_options *o, const struct variable *v,
		size_t n, struct fail *f)
{
	struct codings *c = codings_new(n);
	const struct variable *adaptive = NULL;
	uint64_t lines = 0;
	int status = 0;

	codings_make(c, WAY_PUSH, &o->push, v);
	for (size_t i = 0; i < n; i++)
		lines |= v[i].lines;
	for (size_t i = 0; i < n && status == 0; i++) {
		if (!c->of[i][WAY_PUSH].codec->sparse)
			continue;
		if (v[i].trained_by > 0 && (lines & ~v[i].trained_by) > 0)
			status = fail(f, FAIL_CONFIG, "--push=%s: only some "
				      "step lines train %s, and a checkpoint "
				      "may come behind another: say "
				      "--push=float32@%s",
				      c->of[i][WAY_PUSH].codec->name,
				      v[i].name, v[i].name);
		if (!adaptive && v[i].optimizer &&
		    is_adaptive(v[i].optimizer))
			adaptive = &v[i];
	}
	if (status == 0 && adaptive)
		log_warn("--push=%s: the optimizer %s of %s divides by the "
			 "codec's error, too: sgd and adagrad are better for "
			 "it", coding_find_residual(&o->push)->text,
			 optimizer_name(adaptive->optimizer), adaptive->name);
	codings_free(c);
	return status;
}

/* Check that each codec has a variable to code, and warn of a pattern that also
   names variables that its codec cannot code. */
static int
check_codings(const struct coord_options *o, const struct variable *v, size_t n,
	      struct fail *f)
{
	struct fail doubt;

	if (coding_check(&o->push, WAY_PUSH, v, n, f) < 0 ||
	    coding_check(&o->pull, WAY_PULL, v, n, f) < 0 ||
	    check_residuals(o, v, n, f) < 0)
		return -1;
	for (const struct coding_rule *r = o->pull.next; r; r = r->next)
		if (coding_check_pattern(&o->pull, r, WAY_PULL, v, n, &doubt))
			log_warn("%s", doubt.text);
	return 0;
}

/* Check that each pattern has a variable to cut, to place or to code. */
static int
check_patterns(const struct coord_options *o, const struct model *model,
		struct fail *f)
{
	size_t n;
	const struct variable *v = model_variables(model, &n);

	if (partitioner_check(&o->partitioner, v, n, f) < 0)
		return fail_at(f, "--partition");
	if (placement_check(&o->placement, v, n, o->servers, f) < 0)
		return fail_at(f, "--place");
	return check_codings(o, v, n, f);
}

int
coord_settings_check(struct coord_settings *s, struct model *model,
		     struct fail *f)
{
	if (find_batches(&s->o, model, f) < 0 ||
	    check_own_data(&s->o, model, f) < 0 ||
	    split_inputs(s, model, f) < 0 ||
	    endpoint_check(s->bind, ENDPOINT_BIND, f) < 0 ||
	    check_patterns(&s->o, model, f) < 0 ||
	    plan_check(model, &s->o.partitioner, s->o.servers, f) < 0)
		return -1;
	for (size_t i = 0; i < s->o.servers; i++)
		if (s->o.server[i] &&
		    endpoint_check(s->o.server[i], ENDPOINT_CONNECT, f) < 0)
			return fail_at(f, "server %zu", i);
	return 0;
}

void
coord_settings_release(struct coord_settings *s)
{
	publisher_release(&s->ckpt);
	samplers_free(s->o.samplers);
	partitioner_release(&s->o.partitioner);
	placement_release(&s->o.placement);
	coding_release(&s->o.push);
	coding_release(&s->o.pull);
	definitions_release(&s->definitions);
	free(s->o.restored.sampler);
	for (size_t i = 0; i < s->datas; i++) {
		free(s->data[i].name);
		free(s->data[i].input);
	}
	free(s->data);
	free(s->o.server);
	free(s->server_list);
	free(s->journal_path);
	cluster_release(&s->cluster);
}
