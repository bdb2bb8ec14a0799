#include "sys/coord_options.h"

#include "base/mem.h"
#include "base/text.h"
#include "sys/clock.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BATCH	((uint64_t)1 << 24)
#define MAX_PACK	4096
#define MAX_IN_FLIGHT	64

enum { CHECKPOINT = CLI_LONG, EVERY, IN_FLIGHT, KEEP, KEEP_GOING,
       KEEP_SERVERS, LEASE, MIN_WORKERS, PACK, PARTITION, PATIENCE, PLACE, PLAN,
       PRINT_TASK, RESTORE, RESULTS, SEED };

static const struct cli_option options[] = {
	{ 'b',          "bind",         "ENDPOINT" },
	{ 'B',          "batch",        "BATCH" },
	{ CHECKPOINT,   "checkpoint",   "DIRECTORY" },
	{ EVERY,        "every",        "STEPS|DURATION" },
	{ IN_FLIGHT,    "in-flight",    "N" },
	{ KEEP,         "keep",         "N" },
	{ KEEP_GOING,   "keep-going",   NULL },
	{ KEEP_SERVERS, "keep-servers", NULL },
	{ LEASE,        "lease",        "DURATION" },
	{ 'm',          "model",        "MODEL" },
	{ MIN_WORKERS,  "min-workers",  "N" },
	{ 'o',          "output",       "FILE" },
	{ PACK,         "pack",         "N" },
	{ PARTITION,    "partition",    "PARTITIONER" },
	{ PATIENCE,     "patience",     "DURATION" },
	{ PLACE,        "place",        "PLACEMENT" },
	{ PLAN,         "plan",         NULL },
	{ PRINT_TASK,   "print-task",   NULL },
	{ RESTORE,      "restore",      "latest|none|PATH" },
	{ RESULTS,      "results",      "all|errors|none" },
	{ 's',          "servers",      "ENDPOINT,...|COUNT" },
	{ SEED,         "seed",         "N" },
	{ 0, NULL, NULL }
};

static const char *const results_names[] = { "all", "errors", "none", NULL };

/* A bare number is steps; with a unit it is a time. */
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
read_option(struct coord_settings *s, int c)
{
	struct coord_options *o = &s->o;
	struct fail f;

	switch (c) {
	case 'b':	s->bind = optarg; break;
	case 'B':	o->batch = cli_uint(1, MAX_BATCH); break;
	case CHECKPOINT: s->keeper.dir = optarg; break;
	case EVERY:	read_every(o); break;
	case IN_FLIGHT:	o->in_flight = cli_uint(1, MAX_IN_FLIGHT); break;
	case KEEP:	s->keeper.keep = cli_uint(0, UINT64_MAX); break;
	case KEEP_GOING: o->keep_going = true; break;
	case KEEP_SERVERS: o->keep_servers = true; break;
	case LEASE:	o->lease_ms = cli_duration(); break;
	case 'm':	s->model = optarg; break;
	case MIN_WORKERS: o->min_workers = cli_uint(0, 1 << 20); break;
	case 'o':	s->output = optarg; break;
	case PACK:	o->pack = cli_uint(1, MAX_PACK); break;
	case PARTITION:
		if (partitioner_parse(&o->partitioner, optarg, &f) < 0)
			cli_usage("--partition: %s", f.text);
		break;
	case PATIENCE:	o->patience_ms = cli_duration(); break;
	case PLACE:
		if (placement_parse(&o->placement, optarg, &f) < 0)
			cli_usage("--place: %s", f.text);
		break;
	case PLAN:	s->plan_only = true; break;
	case PRINT_TASK: s->print_task = true; break;
	case RESTORE:	s->restore = optarg; break;
	case RESULTS:	o->results = (enum results)cli_choice(results_names);
			break;
	case 's':	s->servers = optarg; break;
	case SEED:	o->seed = cli_uint(0, UINT64_MAX); break;
	}
}

/* A list of endpoints, or how many servers will register themselves. */
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
	if (!s->servers)
		s->servers = getenv("PS_SERVERS");
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

static void
read_cluster(struct coord_settings *s)
{
	struct fail f;

	if (cluster_read(&s->cluster, s->common.cluster, s->common.task,
			 &f) < 0)
		cli_die(&f);
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
}

void
coord_settings_read(struct coord_settings *s, int argc, char **argv)
{
	int c;

	s->o = (struct coord_options){ .batch = 32, .pack = 1,
				       .in_flight = 2, .min_workers = 1,
				       .lease_ms = 10000,
				       .patience_ms = 60000 };
	s->keeper.keep = 5;
	s->requests = "-";
	while ((c = cli_next(argc, argv, options, &s->common)) != -1)
		read_option(s, c);
	if (argc - optind > 1)
		cli_usage("'%s': one file of requests is enough",
			  argv[optind + 1]);
	if (optind < argc)
		s->requests = argv[optind];
	s->o.timeout_ms = s->common.timeout_ms;
	read_cluster(s);
	if (!s->model && !s->print_task)
		cli_usage("which model? say -m");
	if (!s->keeper.dir && (s->o.every_steps || s->o.every_ms))
		cli_usage("--every needs --checkpoint");
	if (!s->restore)
		s->restore = s->keeper.dir ? "latest" : "none";
	if (!s->keeper.dir && strcmp(s->restore, "none") != 0)
		cli_usage("--restore needs --checkpoint");
	s->o.life = clock_random();
	for (size_t i = 0; i < PLAN_RUN; i += sizeof(uint64_t)) {
		const uint64_t bits = clock_random();

		memcpy(s->o.run + i, &bits, sizeof(bits));
	}
}

void
coord_settings_release(struct coord_settings *s)
{
	free(s->o.server);
	free(s->server_list);
	cluster_release(&s->cluster);
}
