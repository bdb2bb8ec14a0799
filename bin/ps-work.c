/*
 * ps-work - run steps: read a batch, pull, compute gradients, push.
 */
#include "base/log.h"
#include "base/subnormal.h"
#include "data/cache.h"
#include "prog/feed.h"
#include "prog/programs.h"
#include "store/cluster.h"
#include "sys/breathing.h"
#include "sys/cli.h"
#include "sys/clock.h"
#include "sys/grace.h"
#include "sys/net.h"
#include "worker/worker.h"

#include <stdlib.h>

#define USAGE	"[-c endpoint] [--cache[=directory]] [--check] [-F format] " \
		"[--grace=duration] [-i index] [--lease=duration] " \
		"[--max-bad=n] [--no-header] [--prefetch=n] [--repeat] " \
		"[--shard=i/n] [--shuffle[=buffer]] [-x [layer=]command] " \
		"[input ...]"

#define SHUFFLE_EXAMPLES	10000
#define MAX_SHUFFLE		((uint64_t)1 << 32)
#define TICK_MS			250

enum { CACHE = CLI_LONG, CHECK, GRACE, LEASE, MAX_BAD, NO_HEADER, PREFETCH,
       REPEAT, SHARD, SHUFFLE };

static const struct cli_option options[] = {
	{ 'c',       "coordinator", "ENDPOINT" },
	{ CACHE,     "cache",       "[DIRECTORY]" },
	{ CHECK,     "check",       NULL },
	{ 'F',       "format",      "FORMAT" },
	{ GRACE,     "grace",       "DURATION" },
	{ 'i',       "index",       "INDEX" },
	{ LEASE,     "lease",       "DURATION" },
	{ MAX_BAD,   "max-bad",     "N" },
	{ NO_HEADER, "no-header",   NULL },
	{ PREFETCH,  "prefetch",    "N" },
	{ REPEAT,    "repeat",      NULL },
	{ SHARD,     "shard",       "I/N" },
	{ SHUFFLE,   "shuffle",     "[BUFFER]" },
	{ 'x',       "external",    "COMMAND" },
	{ 0, NULL, NULL }
};

struct options {
	struct cli_common common;
	struct cluster cluster;
	struct worker_options worker;
	struct feed_options feed;
	struct grace grace;
	struct programs programs;
	bool check;
};

static void
find_coordinator(struct options *o)
{
	struct fail f;

	if (cluster_read(&o->cluster, o->common.cluster, o->common.task,
			 &f) < 0)
		cli_die(&f);
	if (o->cluster.has_task && o->cluster.type != CLUSTER_WORKER)
		cli_usage("the task is %s, not worker",
			  cluster_type_name(o->cluster.type));
	if (o->cluster.has_task && o->worker.index == WIRE_NONE)
		o->worker.index = o->cluster.index;
	if (!o->worker.coordinator)
		o->worker.coordinator = cluster_endpoint(&o->cluster,
							 CLUSTER_CHIEF, 0);
	if (!o->worker.coordinator)
		o->worker.coordinator = getenv("PS_COORD");
	if (!o->worker.coordinator)
		cli_usage("where is the coordinator? say -c");
}

static struct options
parse(int argc, char **argv)
{
	struct options o = { .worker.lease_ms = 10000,
			     .worker.index = WIRE_NONE,
			     .feed.reader.allow_pipe = true };
	struct fail f;
	int c;

	while ((c = cli_next(argc, argv, options, &o.common)) != -1) {
		switch (c) {
		case 'c':	o.worker.coordinator = optarg; break;
		case CACHE:	o.feed.reader.cache = optarg ? optarg : "";
				break;
		case CHECK:	o.check = true; break;
		case 'F':	o.feed.reader.format = optarg; break;
		case GRACE:	o.grace.ms = cli_duration(); break;
		case 'i':	o.worker.index = cli_uint(0, 1 << 20); break;
		case LEASE:	o.worker.lease_ms = cli_duration(); break;
		case MAX_BAD:	o.feed.reader.max_bad = cli_uint(0, UINT64_MAX);
				break;
		case NO_HEADER:	o.feed.reader.no_header = true; break;
		case PREFETCH:	o.worker.prefetch = cli_uint(0, 1); break;
		case REPEAT:	o.feed.reader.repeat = true; break;
		case SHARD:	cli_shard(&o.feed.reader.shard,
					  &o.feed.reader.shards);
				break;
		case SHUFFLE:	o.feed.reader.shuffle = optarg ?
					cli_uint(1, MAX_SHUFFLE) :
					SHUFFLE_EXAMPLES;
				break;
		case 'x':	programs_add(&o.programs, optarg); break;
		}
	}
	if (optind == argc && (o.feed.reader.repeat || o.feed.reader.shards ||
			       o.feed.reader.shuffle))
		cli_usage("--repeat, --shard and --shuffle are for inputs, "
			  "and none is named");
	if (o.feed.reader.format && !reader_format(o.feed.reader.format))
		cli_usage("-F: there is no format '%s'", o.feed.reader.format);
	if (cache_probe(o.feed.reader.cache, &f) < 0)
		cli_die(&f);
	o.feed.inputs = argv + optind;
	o.feed.count = (size_t)(argc - optind);
	o.worker.timeout_ms = o.programs.timeout_ms = o.common.timeout_ms;
	o.programs.steady = o.grace.ms > 0;
	o.worker.life = clock_random();
	find_coordinator(&o);
	o.feed.life = o.worker.life;
	o.feed.index = o.worker.index;
	return o;
}

static void
say_alive(void *worker)
{
	worker_breathe(worker);
}

static int
hear(struct net *net, struct worker *w, struct feed *feed, struct fail *f)
{
	struct net_event e;

	for (net_next(net, &e); e.kind != NET_NOTHING; net_next(net, &e)) {
		if (e.kind == NET_UP)
			worker_up(w, e.peer, clock_ms());
		else if (e.kind == NET_DOWN)
			worker_down(w, e.peer, clock_ms());
		else if (e.kind == NET_MESSAGE &&
			 worker_hear(w, e.peer, &e.message, clock_ms(),
				     clock_us(), f) < 0)
			return -1;
		/* The next batch while this one's answers are under way. */
		feed_steps(feed);
		if (worker_stopped(w))
			break;
	}
	return 0;
}

static int
work(struct net *net, struct worker *w, struct feed *feed,
     struct grace *grace, struct fail *f)
{
	struct pollfd fds[1 + FEED_FDS];

	while (!grace_over(grace, worker_has_run(w)) && !worker_stopped(w)) {
		const size_t count = 1 + feed_fds(feed, fds + 1);

		fds[0] = grace_fd(grace);
		if (net_wait(net, fds, count,
			     worker_can_compute(w) ? 0 : TICK_MS, f) < 0 ||
		    hear(net, w, feed, f) < 0)
			return -1;
		feed_steps(feed);
		if (worker_tick(w, clock_ms(), f) < 0)
			return -1;
		feed_evaluation(feed);
		/* What arrives meanwhile is heard before the next one. */
		if (worker_compute(w))
			worker_computed(w, clock_ms(), clock_us());
	}
	return 0;
}

int
main(int argc, char **argv)
{
	struct fail f;

	cli_begin("ps-work", USAGE, CLI_DAEMON);
	subnormal_flush();

	struct options o = parse(argc, argv);

	o.worker.externals = programs_externals(&o.programs);

	struct net *net = net_new(o.worker.lease_ms);
	struct outbox outbox = net_outbox(net);
	struct worker *worker = NULL;

	if (net_guard(net, o.common.key, &f) == 0)
		worker = worker_new(&o.worker, &outbox, clock_ms(), &f);
	if (!worker)
		cli_die(&f);

	struct feed *feed = feed_new(worker, &o.feed);
	struct breathing breathing;

	breathing_begin(&breathing, o.worker.lease_ms, say_alive, worker);

	int status = o.check ? 0 : work(net, worker, feed, &o.grace, &f);

	if (status < 0 && cli_stop && f.kind == FAIL_AGAIN)
		status = 0;	/* it was told to end, and computed still */
	if (status < 0)
		net_blame(net, o.worker.coordinator, &f);
	else
		status = feed_failure(feed, &f);

	log_info("stopped after %s", worker_state(worker));
	breathing_end();
	feed_free(feed);
	worker_free(worker);
	net_leave(net);
	programs_end(&o.programs);
	cluster_release(&o.cluster);
	if (status < 0)
		cli_die(&f);
	return cli_end(0);
}
