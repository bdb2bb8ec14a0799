/*
 * keys - 10 M sorted 64-bit keys with a float each are pushed, then pulled,
 * compared with the bare path with raw keys and an array of rows; and the bytes
 * a key, compared with the bare path and with one whose answers repeat the
 * keys.
 *
 * As a worker's push does, a push refers to the pull of its rows, here the pull
 * of the previous pass.  Keys of hashed rows are any 64 bits, so the
 * differences of sorted keys are large and pack badly.
 */
#include "serve.h"
#include "path.h"
#include "base/hash.h"
#include "wire/keys.h"

#define MODEL \
	"input    x id rows=%s\n" \
	"label    y float\n" \
	"out    = linear x use_bias=false\n" \
	"loss     mean_squared_error out\n" \
	"optimizer sgd\n"

#define REQUEST		((size_t)128 << 10)	/* keys in a request */
#define IN_FLIGHT	4

struct work {
	size_t keys;
	uint64_t *key, *raw;	/* as ours, and the bare path, knows them */
	float *gradient, *value;
	double bytes;		/* of ours, both ways, in one pass */
};

static int
by_key(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void
work_begin(struct work *w, size_t rows, size_t keys, bool hash)
{
	struct rng rng = { .seed = 7 };

	*w = (struct work){ .keys = keys };
	w->key = mem_alloc(keys, sizeof(uint64_t));
	w->raw = mem_alloc(keys, sizeof(uint64_t));
	w->gradient = mem_alloc(keys, sizeof(float));
	w->value = mem_alloc(keys, sizeof(float));
	for (size_t i = 0; i < keys; i++) {
		w->raw[i] = i * (rows / keys) + rng_below(&rng, rows / keys);
		w->key[i] = hash ? hash_mix(w->raw[i]) : w->raw[i];
		w->gradient[i] = 1e-3f * (float)(i % 7);
		w->value[i] = 0;
	}
	if (hash)
		qsort(w->key, keys, sizeof(uint64_t), by_key);
}

static void
work_end(struct work *w)
{
	free(w->key);
	free(w->raw);
	free(w->gradient);
	free(w->value);
}

static size_t
keys_at(const struct work *w, size_t at)
{
	return w->keys - at < REQUEST ? w->keys - at : REQUEST;
}

/* Returns the number of keys of each pass. */
static size_t
requests(const struct work *w)
{
	return (w->keys + REQUEST - 1) / REQUEST;
}

static void
ask(struct serve *s, struct work *w, enum message_kind kind, size_t at,
    uint64_t step)
{
	struct message m = serve_message(s, kind, 0, step);
	const size_t n = keys_at(w, at);
	static struct pack keys;

	pack_reset(&keys);
	if (kind == MESSAGE_PUSH && step >= requests(w))
		m.push.back = requests(w);
	else
		keys_write(&keys, w->key + at, n, 0);
	m.frame[m.frames++] = (struct frame){ keys.data, keys.size, NULL };
	if (kind == MESSAGE_PUSH)
		m.frame[m.frames++] = (struct frame){
			w->gradient + at, n * sizeof(float), NULL };
	w->bytes += (double)(keys.size + n * sizeof(float));
	net_send(s->net, s->worker, &m);
}

static void
take(struct serve *s, struct work *w, enum message_kind kind)
{
	struct net_event e;
	const struct frame *values = &e.message.frame[0];
	size_t at;

	serve_await(s, s->worker, MESSAGE_VALUES, &e);
	at = e.message.request % requests(w) * REQUEST;
	if (kind == MESSAGE_PUSH) {
		if (e.message.values.outcome != OUTCOME_APPLIED)
			bench_die("a push was not applied");
		return;
	}
	if (values->size != keys_at(w, at) * sizeof(float))
		bench_die("not the values that were asked for");
	memcpy(w->value + at, values->data, values->size);
}

static void
all_ours(struct serve *s, struct work *w, enum message_kind kind,
	 uint64_t *step)
{
	size_t asked = 0, under_way = 0;

	while (asked < w->keys || under_way > 0) {
		if (asked < w->keys && under_way < IN_FLIGHT) {
			ask(s, w, kind, asked, (*step)++);
			asked += keys_at(w, asked);
			under_way++;
			continue;
		}
		take(s, w, kind);
		under_way--;
	}
	serve_mark(s, *step);
}

static void
measure_ours(struct serve *s, struct work *w, uint64_t *step,
	     struct series *to)
{
	const struct watch began = watch_read(s->pid);

	w->bytes = 0;
	all_ours(s, w, MESSAGE_PUSH, step);
	all_ours(s, w, MESSAGE_PULL, step);
	series_add(to, (double)w->keys, began, s->pid);
}

static void
all_bare(struct path *p, struct work *w, enum path_op op)
{
	size_t asked = 0, under_way = 0;

	while (asked < w->keys || under_way > 0) {
		struct path_header h = { .op = op, .width = 1, .at = asked };

		if (asked < w->keys && under_way < IN_FLIGHT) {
			h.count = keys_at(w, asked);
			path_ask(p, &h, w->raw + asked, op == PATH_PUSH ?
				 w->gradient + asked : NULL, h.count);
			asked += h.count;
			under_way++;
			continue;
		}
		path_take(p, &h, w->value, true);
		under_way--;
	}
}

static void
measure_bare(struct path *p, struct work *w, struct series *to)
{
	const struct watch began = watch_read(p->pid);

	all_bare(p, w, PATH_PUSH);
	all_bare(p, w, PATH_PULL);
	series_add(to, (double)w->keys, began, p->pid);
}

/* Prints the bytes a key.  On the bare path a value travels in each direction,
   and its raw key this many times. */
static void
print_bytes(const struct work *w, bool hash, const char *against,
	    double times, double most)
{
	const double ours = w->bytes / (double)w->keys;
	const double raw = 2 * sizeof(float) + times * sizeof(uint64_t);

	printf("{\"bench\":\"keys\",\"case\":\"bytes on the wire, %s\","
	       "\"figure\":%.4g,\"unit\":\"B/key\",\"against\":\"%s\","
	       "\"peer_figure\":%.4g,\"ratio\":%.3f",
	       hash ? "hash rows" : "flat", ours, against, raw, ours / raw);
	if (most > 0)
		printf(",\"most\":%.4g", most);
	puts("}");
}

static void
compare(size_t keys, bool hash)
{
	const size_t rows = 4 * keys;
	struct series ours = { 0 }, bare = { 0 };
	char model[512], number[32];
	struct serve serve;
	struct path path;
	struct work work;
	uint64_t step = 0;

	snprintf(number, sizeof(number), "%zu", rows);
	snprintf(model, sizeof(model), MODEL, hash ? "hash" : number);
	work_begin(&work, rows, keys, hash);
	serve_begin(&serve, model, BENCH_TCP);
	path_begin(&path, rows, BENCH_TCP);
	/* All rows must exist before the clock starts. */
	measure_ours(&serve, &work, &step, &(struct series){ 0 });
	for (size_t i = 0; i < bench_runs(); i++) {
		measure_ours(&serve, &work, &step, &ours);
		measure_bare(&path, &work, &bare);
	}
	bench_print(&(struct claim){ "keys", hash ?
				     "push, then pull, hash rows" :
				     "push, then pull, flat", "keys/s",
				     "the bare path", hash ? .5 : 1 },
		    &ours, &bare);
	print_bytes(&work, hash, "raw keys, twice", 2, 0);
	print_bytes(&work, hash, "raw keys, also in answers", 3,
		    hash ? 0 : 1.0 / 3);
	serve_end(&serve);
	path_end(&path);
	work_end(&work);
}

int
main(void)
{
	const size_t keys = bench_scale(10000, 10000000, 10000000);

	compare(keys, false);
	compare(keys, true);
	return 0;
}
