/*
 * sparse - keys a second: rows of a table are pushed and pulled, with 4
 * requests in flight, compared with the bare path with raw keys and an array of
 * rows.
 *
 * As a worker's request does, a request pushes to the rows that an earlier one
 * pulled, and refers to that one; on the bare path it has a list of keys.
 */
#include "serve.h"
#include "path.h"
#include "base/hash.h"
#include "wire/keys.h"

#define MODEL \
	"input    x id rows=%s\n" \
	"label    y float\n" \
	"emb    = embedding x dim=%zu\n" \
	"out    = reduce_sum emb\n" \
	"loss     mean_squared_error out\n" \
	"optimizer sgd\n"

#define IN_FLIGHT	4
#define SETS		16	/* sets of keys, used in turn */
#define MARK		1024

struct work {
	size_t rows, keys, width;
	uint64_t *key[SETS];	/* sorted, each once */
	uint64_t *raw[SETS];	/* as the bare path knows them */
	float *gradient, *value;
};

static int
by_key(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Each id is drawn from a range of its own, so ids are sorted and unique. */
static void
work_begin(struct work *w, size_t rows, size_t keys, size_t width, bool hash)
{
	struct rng rng = { .seed = 7 };
	const size_t floats = keys * width;

	*w = (struct work){ .rows = rows, .keys = keys, .width = width };
	for (size_t s = 0; s < SETS; s++) {
		w->key[s] = mem_alloc(keys, sizeof(uint64_t));
		w->raw[s] = mem_alloc(keys, sizeof(uint64_t));
		for (size_t i = 0; i < keys; i++) {
			w->raw[s][i] = i * (rows / keys) +
				rng_below(&rng, rows / keys);
			w->key[s][i] = hash ? hash_mix(w->raw[s][i]) :
				w->raw[s][i];
		}
		if (hash)
			qsort(w->key[s], keys, sizeof(uint64_t), by_key);
	}
	w->gradient = mem_alloc(floats, sizeof(float));
	w->value = mem_alloc(floats, sizeof(float));
	for (size_t i = 0; i < floats; i++)
		w->gradient[i] = 1e-3f * (float)(i % 7);
}

static void
work_end(struct work *w)
{
	for (size_t s = 0; s < SETS; s++) {
		free(w->key[s]);
		free(w->raw[s]);
	}
	free(w->gradient);
	free(w->value);
}

/* Returns the number of the table's only part. */
static uint64_t
part_of_table(const struct serve *s)
{
	for (size_t i = 0; i < s->plan.parts; i++)
		if (s->plan.piece[s->plan.part[i].first].table &&
		    s->plan.part[i].count == 1)
			return i;
	bench_die("the table shares its part");
}

static void
ask(struct serve *s, const struct work *w, uint64_t part, uint64_t step)
{
	struct message m = serve_message(s, MESSAGE_PUSHPULL, part, step);
	static struct pack keys;

	pack_reset(&keys);
	keys_write(&keys, w->key[step % SETS], w->keys, 0);
	m.frames = 3;
	m.frame[0] = m.frame[1] = (struct frame){ keys.data, keys.size,
						  NULL };
	if (step >= IN_FLIGHT && keys.size >= WIRE_RECALL) {
		m.push.back = IN_FLIGHT;
		m.frame[0].size = 0;
	}
	m.frame[2] = (struct frame){ w->gradient, w->keys * w->width *
				     sizeof(float), NULL };
	net_send(s->net, s->worker, &m);
	if (step % MARK == MARK - 1)
		serve_mark(s, step - IN_FLIGHT);
}

static void
take(struct serve *s, struct work *w)
{
	struct net_event e;

	serve_await(s, s->worker, MESSAGE_VALUES, &e);
	if (e.message.values.outcome != OUTCOME_APPLIED)
		bench_die("a push was not applied");
	memcpy(w->value, e.message.frame[0].data, e.message.frame[0].size);
}

static void
measure_ours(struct serve *s, struct work *w, uint64_t *step,
	     struct series *to, size_t count)
{
	const uint64_t part = part_of_table(s);
	const struct watch began = watch_read(s->pid);

	for (size_t i = 0; i < count + IN_FLIGHT; i++) {
		if (i >= IN_FLIGHT)
			take(s, w);
		if (i < count)
			ask(s, w, part, (*step)++);
	}
	series_add(to, (double)(count * w->keys), began, s->pid);
}

static void
measure_bare(struct path *p, struct work *w, struct series *to, size_t count)
{
	const struct watch began = watch_read(p->pid);
	struct path_header h;

	for (size_t i = 0; i < count + IN_FLIGHT; i++) {
		if (i >= IN_FLIGHT)
			path_take(p, &h, w->value, false);
		h = (struct path_header){ .op = PATH_PUSHPULL,
					  .width = (uint32_t)w->width,
					  .count = w->keys };
		if (i < count)
			path_ask(p, &h, w->raw[i % SETS], w->gradient,
				 w->keys * w->width);
	}
	series_add(to, (double)(count * w->keys), began, p->pid);
}

static void
compare(size_t rows, size_t keys, size_t width, bool hash, size_t count)
{
	struct series ours = { 0 }, bare = { 0 };
	struct serve serve;
	struct path path;
	struct work work;
	char model[512], what[64], number[32];
	uint64_t step = 0;

	snprintf(number, sizeof(number), "%zu", rows);
	snprintf(model, sizeof(model), MODEL, hash ? "hash" : number, width);
	snprintf(what, sizeof(what), "%zu x %zu, %s", keys, width,
		 hash ? "hash rows" : "flat");
	work_begin(&work, rows, keys, width, hash);
	serve_begin(&serve, model, BENCH_TCP);
	path_begin(&path, rows * width, BENCH_TCP);
	/* All rows must exist before the clock starts. */
	measure_ours(&serve, &work, &step, &(struct series){ 0 }, SETS);
	for (size_t i = 0; i < bench_runs(); i++) {
		measure_ours(&serve, &work, &step, &ours, count);
		measure_bare(&path, &work, &bare, count);
	}
	bench_print(&(struct claim){ "sparse", what, "keys/s",
				     "the bare path", hash ? 0.5 : 0.9 },
		    &ours, &bare);
	serve_end(&serve);
	path_end(&path);
	work_end(&work);
}

int
main(void)
{
	const size_t rows = bench_scale(100000, 1000000, 1000000);

	for (int hash = 0; hash < 2; hash++) {
		compare(rows, bench_scale(1000, 10000, 10000), 1, hash,
			bench_scale(10, 1500, 20000));
		compare(rows, 1000, 16, hash, bench_scale(10, 3000, 50000));
	}
	return 0;
}
