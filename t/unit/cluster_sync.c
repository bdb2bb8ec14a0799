/*
 * Whole clusters in rounds, over a network in memory.  The examples of a
 * replica depend only on its step and number, so the weights at the end are
 * the same to the last bit for any order of workers, any programs killed on
 * the way, any number of servers and each codec; and eight replicas equal one
 * replica of eight batches, or four of two.
 */
#include "coord/coord.h"

#include "server/server.h"
#include "worker/worker.h"

#include "model_fixture.h"
#include "sim_network.h"
#include "tap.h"

#define SERVERS		5
#define FIRST_WORKER	8
#define STEPS		12
#define REPLICAS		3
#define MAX_EVENTS	200000
#define FLOATS		32768
#define ALL		(3 * CODECS + 1)

static const char model[] =
	"input i id[2] rows=20\ninput x float[3]\nlabel y float\n"
	"e = embedding i dim=3 combiner=sum\n"
	"h = dense x units=4 activation=tanh\n"
	"a = concat e h\np = dense a units=1\n"
	"loss mean_squared_error p\noptimizer adam learning_rate=0.1\n";
/* A model with variables that are large enough for int8. */
static const char large[] =
	"input i id[2] rows=400\ninput x float[40]\nlabel y float\n"
	"e = embedding i dim=8 combiner=sum\n"
	"h = dense x units=33 activation=tanh\n"
	"g = dense h units=48 activation=tanh\n"
	"a = concat e g\np = dense a units=1\n"
	"loss mean_squared_error p\noptimizer adam learning_rate=0.1\n";

static struct model_fixture fixture;
static const struct codec *codec = &codec_float32;
static const struct codec *delta;	/* codec of differences, or NULL */
static uint64_t every;		/* steps from cut to cut */
static uint64_t replicas = REPLICAS, batches = 1;
static float first[ALL][FLOATS];	/* the weights of the first seed */
static bool known[ALL];	/* by codec, full batches, differences,
				   cuts */
static char *endpoint[SERVERS] = { (char *)"node:1", (char *)"node:2",
				   (char *)"node:3", (char *)"node:4",
				   (char *)"node:5" };

struct cluster {
	struct sim_network network;
	struct coord_options options;
	struct coord *coord;
	struct server *server[SERVERS];
	struct worker *worker[NODES];
	struct batch batch[NODES];
	bool begun[NODES];		/* a batch of the worker's model */
	int workers;			/* number that ever joined */
	uint64_t now, ticked, kills, breaks, losses;
	uint64_t lives;			/* incarnations of servers */
	size_t dead;			/* number that ended by themselves */
	float weight[FLOATS];		/* of the last checkpoint */
};

static void
add_worker(struct cluster *c)
{
	const int node = FIRST_WORKER + c->workers++;
	const struct worker_options o = {
		.coordinator = "node:0", .timeout_ms = 20000,
		.prefetch = node % 2, .overlap = node % 3 > 0,
		.life = (uint64_t)node + 1, .index = WIRE_NONE,
		.assigned = true
	};
	struct fail f;

	if (node < NODES)
		c->worker[node] =
			worker_new(&o, sim_network_node(&c->network, node),
					     c->now, &f);
}

static void
end_worker(struct cluster *c, int node)
{
	worker_free(c->worker[node]);
	c->worker[node] = NULL;
	if (c->begun[node])
		batch_release(&c->batch[node]);
	c->begun[node] = false;
	sim_network_kill(&c->network, node);
}

static bool
are_full(void)
{
	return replicas * batches != REPLICAS;
}

/* Adds the examples of a batch; some batches have fewer than others. */
static void
add_batch(const struct worker_next *next, uint64_t number)
{
	struct rng rng = { .seed = next->step * REPLICAS + number + 99 };
	const uint64_t count = are_full() ? next->batch / batches :
		1 + (next->step + number) % 4;

	for (uint64_t e = 0; e < count; e++)
		fixture_add_example(&fixture, &rng);
}

/* Fills the batch of a replica. */
static void
fill(struct batch *b, const struct worker_next *next)
{
	const struct batch own = fixture.batch;

	/* fixture_add_example() fills the batch of the fixture. */
	fixture.batch = *b;
	batch_reset(&fixture.batch);
	for (uint64_t k = 0; k < batches; k++)
		add_batch(next, next->replica * batches + k);
	*b = fixture.batch;
	fixture.batch = own;
}

static void
feed(struct cluster *c, int node)
{
	const struct model *m = worker_model(c->worker[node]);
	struct batch *b = &c->batch[node];
	const struct worker_next *next;
	const struct input *input;
	size_t inputs;

	if (m && !c->begun[node]) {
		input = model_inputs(m, &inputs);
		batch_begin(b, input, inputs, model_label(m));
		c->begun[node] = true;
	}
	while ((next = worker_next(c->worker[node]))) {
		fill(b, next);
		worker_batch(c->worker[node], b, c->now, c->now * 1000);
	}
	if (worker_compute(c->worker[node]))
		worker_computed(c->worker[node], c->now, c->now * 1000);
}

static void
receive(struct cluster *c, int node, const struct packet *p)
{
	struct worker *w = c->worker[node];
	struct fail f;

	if (node == 0 && p->kind == PACKET_UP)
		coord_up(c->coord, p->peer, c->now);
	else if (node == 0 && p->kind == PACKET_DOWN)
		coord_down(c->coord, p->peer, c->now);
	else if (node == 0 && p->kind == PACKET_LEFT)
		coord_somebody_left(c->coord, c->now);
	else if (node == 0)
		coord_receive(c->coord, p->peer, &p->message, c->now);
	else if (node <= SERVERS && p->kind == PACKET_MESSAGE)
		server_receive(c->server[node - 1], p->peer, &p->message,
			       c->now);
	else if (w && p->kind == PACKET_UP)
		worker_up(w, p->peer, c->now);
	else if (w && p->kind == PACKET_DOWN)
		worker_down(w, p->peer, c->now);
	else if (w && p->kind == PACKET_MESSAGE &&
		 worker_receive(w, p->peer, &p->message, c->now, c->now * 1000,
				&f) < 0) {
		printf("# worker %d: %s\n", node, f.text);
		c->dead++;
		end_worker(c, node);
	}
}

/* Copies the values and slots of a cut to their places in whole variables. */
static void
take_weights(struct cluster *c, const struct server_job *job)
{
	for (size_t i = 0; i < job->arrays; i++) {
		const struct checkpoint_array *a = &job->array[i];
		size_t base = 0, v = 0, n;

		for (; strcmp(fixture.variable[v].name, a->variable) != 0; v++)
			base += 3 * shape_size(fixture.variable[v].shape);
		n = shape_size(fixture.variable[v].shape);
		base += *a->slot == 'm' ? n : *a->slot == 'v' ? 2 * n : 0;
		base += a->rows.first * shape_width(a->shape);
		for (size_t k = 0; k < a->pieces; k++) {
			if (base + a->piece[k].count <= FLOATS)
				memcpy(c->weight + base, a->piece[k].data,
				       a->piece[k].count * sizeof(float));
			base += a->piece[k].count;
		}
	}
}

static void
save(struct cluster *c)
{
	const struct checkpoint_part part = { .size = 1, .hash = "h" };
	struct server_job job;

	for (size_t i = 0; i < c->options.servers; i++)
		while (server_job(c->server[i], &job)) {
			take_weights(c, &job);
			server_saved(c->server[i], &job, &part, NULL);
		}
	if (coord_job(c->coord))
		coord_published(c->coord, NULL, c->now);
}

/* Have all steps ended?  Then no server may be killed: it would lose
   weights. */
static bool
done(const struct cluster *c)
{
	const struct text *out = coord_output(c->coord);

	return out->size > 0 &&
		memmem(out->data, out->size, "\"join\"", 6) != NULL;
}

/* Kills a server; another one takes its place at once. */
static void
lose_server(struct cluster *c, size_t i)
{
	sim_network_kill(&c->network, 1 + (int)i);
	server_free(c->server[i]);
	c->server[i] = server_new(1000 + ++c->lives, 500,
				  sim_network_node(&c->network, 1 + (int)i));
}

static void
mishap(struct cluster *c)
{
	struct rng *rng = &c->network.rng;
	const int node = FIRST_WORKER +
		(int)rng_below(rng, (uint64_t)c->workers);

	if (c->breaks && rng_below(rng, c->breaks) == 0) {
		struct wire *wire = &c->network.wire[rng_below(rng,
							c->network.count)];

		if (wire->dialler >= 0)
			wire_break(&c->network, wire);
	}
	if (c->losses && rng_below(rng, c->losses) == 0 && !done(c))
		lose_server(c, rng_below(rng, c->options.servers));
	if (c->kills && rng_below(rng, c->kills) == 0 && c->workers < 40 &&
	    node < NODES && c->worker[node]) {
		sim_network_kill(&c->network, node);
		end_worker(c, node);
		add_worker(c);
	}
}

static void
step(struct cluster *c)
{
	struct rng *rng = &c->network.rng;
	struct packet *p;
	struct fail f;
	int node = 0;

	mishap(c);
	p = sim_network_next(&c->network, &node);
	c->now += p ? rng_below(rng, 2) : 10;
	if (p) {
		receive(c, node, p);
		packet_free(p);
	}
	for (int i = FIRST_WORKER; i < NODES; i++)
		if (c->worker[i] && rng_below(rng, 3) == 0)
			feed(c, i);
	save(c);
	if (c->now - c->ticked < 20)
		return;
	c->ticked = c->now;
	coord_tick(c->coord, c->now);
	for (int i = FIRST_WORKER; i < NODES; i++)
		if (c->worker[i] && worker_tick(c->worker[i], c->now, &f) < 0)
			end_worker(c, i);
}

static void
begin(struct cluster *c, uint64_t seed, size_t workers)
{
	struct coord_options *o = &c->options;
	struct fail f;

	c->now = 1000;
	c->network.rng.seed = seed;
	*o = (struct coord_options){
		.endpoint = "node:0",
		.server = endpoint, .servers = 1 + seed % SERVERS,
		.partitioner = { .kind = PARTITION_FIXED,
				 .shards = 1 + seed % 3 },
		.placement.rule = PLACE_ROUND_ROBIN, .seed = 4, .batch = 4,
		.pack = 1, .in_flight = 1 + rng_below(&c->network.rng, 3),
		.min_workers = 1, .timeout_ms = 20000, .lease_ms = 500,
		.patience_ms = 20000, .grace_ms = 7000,
		.checkpoint = true, .life = 5, .run = "run of the tests",
		.mode = MODE_SYNC, .replicas = replicas, .batches = batches,
		.push.codec = codec,
		.pull = { .codec = delta ? delta : codec, .delta = delta,
			  .keep = delta == &codec_topk ? 20 : 0 },
		.every_steps = every,
		.piece_bytes = seed % 4 == 1 ? 2048 : seed % 4 == 2 ? 1024 : 0,
		.backup = rng_below(&c->network.rng, 3)
	};
	for (size_t i = 0; i < o->servers; i++)
		c->server[i] =
			server_new(100 + i, 500, sim_network_node(&c->network,
							1 + (int)i));
	c->coord = coord_new(o, &fixture.source, fixture.model,
			     sim_network_node(&c->network, 0), c->now, &f);
	for (size_t i = 0; i < workers; i++)
		add_worker(c);
	coord_request(c->coord, "train 12", 8, 1, c->now);
	coord_request(c->coord, "join", 4, 2, c->now);
	coord_end_of_requests(c->coord, c->now);
}

static void
end(struct cluster *c)
{
	for (int i = FIRST_WORKER; i < NODES; i++)
		if (c->worker[i])
			end_worker(c, i);
	for (size_t i = 0; i < SERVERS; i++)
		server_free(c->server[i]);
	coord_free(c->coord);
	sim_network_release(&c->network);
	free(c);
}

/* Runs the cluster to its end.  Has it ended well, with a line for each step
   and the totals? */
static bool
runs(struct cluster *c)
{
	const struct text *out = coord_output(c->coord);
	int status = -1;
	struct fail f;
	size_t lines = 0;

	for (size_t i = 0; i < MAX_EVENTS &&
	     !coord_over(c->coord, &status, &f); i++)
		step(c);
	for (size_t i = 0; i < out->size; i++)
		lines += out->data[i] == '\n';
	return status == 0 && lines == STEPS + 1 && c->dead == 0;
}

/* Do all seeds end with the same weights? */
static void
all_same(const char *name, uint64_t seeds, uint64_t breaks, uint64_t kills,
	 uint64_t losses)
{
	const uint64_t number = delta ? CODECS + 1 +
		2 * codec_number(delta) + (every > 0) :
		are_full() ? CODECS : codec_number(codec);
	bool good = true;

	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct cluster *c = mem_alloc(1, sizeof(*c));
		bool same;

		c->breaks = breaks;
		c->kills = kills;
		c->losses = losses;
		begin(c, seed, 1 + seed % 6);
		same = runs(c);
		if (!known[number])
			memcpy(first[number], c->weight, sizeof(c->weight));
		known[number] = true;
		same = same && memcmp(first[number], c->weight,
				      sizeof(c->weight)) == 0;
		if (!same)
			printf("# seed %llu\n", (unsigned long long)seed);
		good = good && same;
		end(c);
	}
	named_for(good, "%s: the weights end alike in any order%s%s%s",
		  name, breaks ? ", with broken connections" : "",
		  kills ? ", with killed workers" : "",
		  losses ? ", with lost servers" : "");
}

/* Pulls are differences: the weights depend on the codec alone. */
static void
differ(const char *name, const char *anew, const struct codec *by,
       uint64_t seeds)
{
	const size_t number = CODECS + 1 + 2 * codec_number(by);

	delta = by;
	every = 0;
	all_same(name, seeds, 0, 0, 0);
	all_same(name, seeds, 100, 0, 0);
	all_same(name, seeds, 300, 500, 1500);
	named(memcmp(first[codec_number(codec)], first[number],
		     sizeof(first[0])) != 0,
	      "pulls of differences end with other weights than pulls of "
	      "values");
	every = 5;
	all_same(anew, seeds, 0, 0, 0);
	all_same(anew, seeds, 150, 200, 0);
	named(memcmp(first[number], first[number + 1],
		     sizeof(first[0])) != 0,
	      "a new start of the differences at some steps ends with other "
	      "weights");
}

int
main(void)
{
	fixture_begin(&fixture, model);
	all_same("float32", 60, 0, 0, 0);
	all_same("float32", 60, 100, 0, 0);
	all_same("float32", 60, 0, 150, 0);
	all_same("float32", 60, 150, 200, 0);
	all_same("float32", 60, 0, 0, 1000);
	all_same("float32", 60, 300, 500, 1500);
	codec = &codec_bfloat16;
	all_same("bfloat16", 60, 0, 0, 0);
	all_same("bfloat16", 60, 300, 500, 1500);
	named(memcmp(first[0], first[1], sizeof(first[0])) != 0,
	      "bfloat16 ends with other weights than floats");
	codec = &codec_float32;
	replicas = 8;
	all_same("eight replicas", 10, 0, 0, 0);
	replicas = 4;
	batches = 2;
	all_same("four replicas of two batches", 20, 0, 0, 0);
	replicas = 1;
	batches = 8;
	all_same("one replica of eight batches", 20, 0, 0, 0);
	all_same("one replica of eight batches", 20, 300, 500, 1500);
	known[CODECS] = false;
	replicas = 6;
	batches = 1;
	all_same("six replicas", 10, 0, 0, 0);
	replicas = 3;
	batches = 2;
	all_same("three replicas of two batches", 60, 300, 500, 1500);
	fixture_end(&fixture);

	fixture_begin(&fixture, large);
	replicas = REPLICAS;
	batches = 1;
	known[0] = false;
	all_same("a larger model", 10, 0, 0, 0);
	codec = &codec_int8;
	all_same("int8", 60, 0, 0, 0);
	all_same("int8", 60, 300, 500, 1500);
	named(memcmp(first[0], first[codec_number(codec)],
		     sizeof(first[0])) != 0,
	      "int8 ends with other weights than floats");
	differ("differences in int8", "differences in int8, begun anew",
	       &codec_int8, 60);
	differ("differences in onebit", "differences in onebit, begun anew",
	       &codec_onebit, 20);
	differ("differences in topk", "differences in topk, begun anew",
	       &codec_topk, 20);
	fixture_end(&fixture);
	return tap_done();
}
