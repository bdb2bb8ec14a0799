/*
 * dense - a model of 64 MB is pushed and pulled in one exchange, and SGD or
 * Adam applied, compared with the bare path at its best size of parts.
 */
#include "serve.h"
#include "path.h"

#define MODEL \
	"input    x float[%zu]\n" \
	"label    y float\n" \
	"wide   = dense x units=%zu\n" \
	"out    = dense wide units=1\n" \
	"loss     mean_squared_error out\n" \
	"optimizer %s\n"

/* ---- ours ---- */

struct run {
	struct serve serve;
	struct client *client;
	uint64_t step;
	double bytes;		/* of the model */
};

static void
receive(struct run *r)
{
	struct net_event e;
	struct fail f;

	serve_next(&r->serve, &e);
	if (!client_knows(r->client, e.peer))
		return;
	if (e.kind == NET_UP)
		client_up(r->client, e.peer, clock_ms());
	if (e.kind == NET_MESSAGE &&
	    client_receive(r->client, e.peer, &e.message, clock_ms(), &f) < 0)
		bench_die("%s", f.text);
}

static void
run_begin(struct run *r, size_t side, const char *optimizer,
	  enum bench_way way)
{
	struct rng rng = { .seed = 1 };
	char model[512];
	struct fail f;

	snprintf(model, sizeof(model), MODEL, side, side, optimizer);
	*r = (struct run){ 0 };
	serve_begin(&r->serve, model, way);
	fixture_add_example(&r->serve.fixture, &rng);
	compute_begin(r->serve.fixture.compute, &r->serve.fixture.batch);
	for (size_t v = 0; v < r->serve.fixture.variables; v++) {
		const size_t n = shape_size(r->serve.fixture.variable[v].shape);
		float *g = compute_gradient(r->serve.fixture.compute, v);

		for (size_t i = 0; i < n; i++)
			g[i] = 1e-3f * (float)(i % 7);
		r->bytes += (double)(n * sizeof(float));
	}
	r->client = client_new(&r->serve.plan, r->serve.fixture.model,
			       ROLE_WORKER, 2, &r->serve.outbox, clock_ms(),
			       &f);
	if (!r->client)
		bench_die("%s", f.text);
	while (!client_ready(r->client))
		receive(r);
}

static void
exchange(struct run *r)
{
	struct compute *c = r->serve.fixture.compute;
	const struct exchange x = { .push = c, .pull = c, .examples = 1,
				    .step = r->step++, .cut = WIRE_NONE };

	client_exchange(r->client, &x, clock_ms());
	while (!client_idle(r->client))
		receive(r);
	if (client_exchanged(r->client)->applied != r->serve.plan.parts)
		bench_die("not all was applied");
}

static void
run_measure(struct run *r, struct series *to, size_t times)
{
	exchange(r);

	const struct watch began = watch_read(r->serve.pid);

	for (size_t i = 0; i < times; i++)
		exchange(r);
	series_add(to, r->bytes * (double)times / 1e9, began, r->serve.pid);
}

static void
run_end(struct run *r)
{
	client_free(r->client);
	serve_end(&r->serve);
}

/* ---- the bare path ---- */

struct bare {
	struct path path;
	float *value, *gradient;
	size_t floats;
};

static void
bare_begin(struct bare *b, size_t floats, enum bench_way way)
{
	path_begin(&b->path, floats, way);
	b->floats = floats;
	b->value = calloc(floats, sizeof(float));
	b->gradient = calloc(floats, sizeof(float));
	for (size_t i = 0; i < floats; i++)
		b->gradient[i] = 1e-3f * (float)(i % 7);
}

static void
bare_exchange(struct bare *b, size_t part, size_t in_flight)
{
	struct path_header h;
	size_t asked = 0, answered = 0, under_way = 0;

	while (answered < b->floats) {
		while (asked < b->floats && under_way < in_flight) {
			h = (struct path_header){ .op = PATH_PUSHPULL,
						  .at = asked };
			h.count = b->floats - asked < part ?
				b->floats - asked : part;
			path_ask(&b->path, &h, NULL, b->gradient + asked,
				 h.count);
			asked += h.count;
			under_way++;
		}
		path_take(&b->path, &h, b->value, true);
		answered += h.count;
		under_way--;
	}
}

static double
bare_measure(struct bare *b, struct series *to, size_t part,
	     size_t in_flight, size_t times)
{
	bare_exchange(b, part, in_flight);

	const struct watch began = watch_read(b->path.pid);

	for (size_t i = 0; i < times; i++)
		bare_exchange(b, part, in_flight);
	series_add(to, (double)(b->floats * sizeof(float) * times) / 1e9,
		   began, b->path.pid);
	return to->figure[to->runs - 1];
}

/* pskit is compared with the fastest of these. */
static const struct {
	size_t part, in_flight;
} ways[] = {
	{ 256 << 10, 4 }, { 256 << 10, 8 }, { 512 << 10, 4 },
	{ 512 << 10, 8 }, { 1 << 20, 4 }, { 1 << 20, 8 }
};

static size_t
best_way(struct bare *b, size_t times)
{
	double best = 0;
	size_t way = 0;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct series s = { 0 };
		const double figure = bare_measure(b, &s, ways[i].part / 4,
						   ways[i].in_flight, times);

		if (figure > best) {
			best = figure;
			way = i;
		}
	}
	return way;
}

static void
compare(enum bench_way way, const char *sgd_case, const char *adam_case)
{
	const size_t side = bench_scale(64, 4096, 4096);
	const size_t times = bench_scale(1, 5, 50);
	struct series sgd = { 0 }, adam = { 0 }, bare = { 0 };
	struct run with_sgd, with_adam;
	struct bare b;

	run_begin(&with_sgd, side, "sgd", way);
	run_begin(&with_adam, side, "adam", way);
	bare_begin(&b, (size_t)(with_sgd.bytes / sizeof(float)), way);

	const size_t best = best_way(&b, times);

	for (size_t i = 0; i < bench_runs(); i++) {
		run_measure(&with_sgd, &sgd, times);
		bare_measure(&b, &bare, ways[best].part / 4,
			     ways[best].in_flight, times);
		run_measure(&with_adam, &adam, times);
	}
	bench_print(&(struct claim){ "dense", sgd_case, "GB/s",
				     "the bare path", 1.0 }, &sgd, &bare);
	bench_print(&(struct claim){ "dense", adam_case, "GB/s",
				     "the bare path", 0.8 }, &adam, &bare);
	run_end(&with_sgd);
	run_end(&with_adam);
	path_end(&b.path);
	free(b.value);
	free(b.gradient);
}

int
main(void)
{
	compare(BENCH_TCP, "sgd, tcp", "adam, tcp");
	compare(BENCH_IPC, "sgd, one host", "adam, one host");
	return 0;
}
