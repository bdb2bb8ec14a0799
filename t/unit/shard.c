/*
 * The values that servers hold: initial values do not depend on the servers,
 * gradients are applied to the last bit or not at all, cuts stay unchanged,
 * checkpoints can be restored under any other plan.
 */
#include "shard/shard.h"
#include "shard/shard_private.h"

#include "store/rows.h"
#include "tensor/kernels.h"
#include "wire/keys.h"

#include "code_all.h"
#include "model_fixture.h"
#include "tap.h"

#include <math.h>
#include <unistd.h>

#define RATE	.5f
#define SERVERS	3

/* A kernel of 840 KB, which is cut into pieces in the middle of a row. */
static const char model[] =
	"input  id id rows=37\n"
	"input  x float[3]\n"
	"label  y float\n"
	"e  = embedding id dim=3\n"
	"m  = add e x\n"
	"h  = dense m units=70001\n"
	"p  = dense h units=1\n"
	"loss mean_squared_error p\n"
	"optimizer sgd learning_rate=0.5 momentum=0\n";

static const struct encoding as_floats = { NULL, 0 };

struct fixture {
	struct model_fixture fixture;	/* its w: what the values should be */
	struct plan plan;
	struct shard *shard[SERVERS];
	struct pack keys;
};

static struct fail f;

static void
begin(struct fixture *x, const char *text, const char *partitioner,
      size_t servers)
{
	static char *endpoint[SERVERS];
	struct partitioner how;
	struct place *place;
	size_t places;

	*x = (struct fixture){ .plan.number = 1 };
	fixture_begin(&x->fixture, text);
	partitioner_parse(&how, partitioner, &f);
	place = partition_plan(x->fixture.variable, x->fixture.variables, &how,
			       &placement_balanced, servers, &places);
	for (size_t i = 0; i < servers; i++)
		endpoint[i] = (char *)"ipc://x";
	plan_make(&x->plan, x->fixture.model, place, places, endpoint, servers);
	code_all(&x->plan, x->fixture.model, &codec_bfloat16);
	free(place);
	x->plan.seed = 7;
	for (size_t i = 0; i < servers; i++)
		x->shard[i] = shard_new(&x->plan, x->fixture.model, i, NULL);
}

static void
end(struct fixture *x)
{
	for (size_t i = 0; i < SERVERS; i++)
		shard_free(x->shard[i]);
	plan_release(&x->plan);
	pack_release(&x->keys);
	fixture_end(&x->fixture);
}

static struct shard *
holder(const struct fixture *x, size_t part)
{
	return x->shard[x->plan.part[part].server];
}

/* Returns the keys of every row, or of every third one. */
static struct frame
keys_of(struct fixture *x, size_t part, size_t stride)
{
	const struct part *p = &x->plan.part[part];
	uint64_t row[64];

	pack_reset(&x->keys);
	for (size_t i = p->first; i < p->first + p->count; i++) {
		const struct piece *piece = &x->plan.piece[i];
		size_t n = 0;

		for (size_t k = 0; piece->table && k < piece->count;
		     k += stride)
			row[n++] = piece->first + k;
		if (piece->table)
			keys_write(&x->keys, row, n, piece->first);
	}
	return (struct frame){ x->keys.data, x->keys.size, NULL };
}

static int
restore(struct shard *shard, struct checkpoint *from)
{
	return shard_restore(shard, from, &checkpoint_reader, &f);
}

/* Lists the addresses in w of the floats of a part that such keys name, in
   order; returns their number. */
static size_t
walk(const struct fixture *x, size_t part, size_t stride,
     float **at, float *const *w)
{
	const struct part *p = &x->plan.part[part];
	size_t n = 0;

	for (size_t i = p->first; i < p->first + p->count; i++) {
		const struct piece *piece = &x->plan.piece[i];
		float *from = w[piece->variable] + piece->first *
			piece->width;

		for (size_t k = 0; k < piece->count;
		     k += piece->table ? stride : 1)
			for (size_t j = 0; j < piece->width; j++)
				at[n++] = from + k * piece->width + j;
	}
	return n;
}

static bool
pull(struct fixture *x, size_t part, const struct shard_snapshot *cut,
     const struct frame *keys, struct frame *values)
{
	return shard_pull(holder(x, part), part, keys, cut, as_floats,
			  values, &f) == 0;
}

/* Do pulls of all shards give the values of w?  cut: the snapshots to pull
   from, one for each server, or NULL. */
static bool
say(struct fixture *x, struct shard_snapshot *const *cut, float *const *w)
{
	float **at = mem_alloc(500000, sizeof(*at));
	bool same = true;

	for (size_t i = 0; i < x->plan.parts; i++) {
		const struct frame keys = keys_of(x, i, 1);
		const size_t n = walk(x, i, 1, at, w);
		struct frame v;

		same = same && pull(x, i, cut ?
				    cut[x->plan.part[i].server] : NULL, &keys,
				    &v) && v.size == n * sizeof(float);
		for (size_t k = 0; same && k < n; k++)
			same = memcmp((const char *)v.data + 4 * k, at[k],
				      4) == 0;
	}
	free(at);
	return same;
}

static void
first_values(struct fixture *x)
{
	for (size_t v = 0; v < x->fixture.variables; v++) {
		const struct variable *var = &x->fixture.variable[v];

		initializer_fill(&var->initializer, var->name, var->shape, 7,
				 0, x->fixture.w[v], shape_size(var->shape));
	}
}

/* Pushes a gradient, and applies it to w: w - rate * (g / examples). */
static bool
push_all(struct fixture *x, size_t stride, float rate)
{
	struct rng rng = { .seed = 8 };
	float **at = mem_alloc(500000, sizeof(*at));
	float *g = mem_alloc(500000, sizeof(*g));
	bool good = true;

	for (size_t i = 0; i < x->plan.parts; i++) {
		const struct frame keys = keys_of(x, i, stride);
		const size_t n = walk(x, i, stride, at, x->fixture.w);
		const struct frame values = { g, n * sizeof(*g), NULL };
		const struct shard_push push = { &keys, &values, 3, rate, 0,
						 as_floats, 0 };
		const uint64_t before = shard_version(holder(x, i), i);

		for (size_t k = 0; k < n; k++) {
			g[k] = fixture_random(&rng);
			*at[k] -= (rate > 0 ? rate : RATE) * (g[k] / 3);
		}
		good = good && shard_push(holder(x, i), i, &push, &f) == 0 &&
			shard_version(holder(x, i), i) == before + 1;
	}
	free(at);
	free(g);
	return good;
}

/* A push that is wrong in some way changes nothing. */
static bool
refused(struct fixture *x, size_t part, const struct frame *keys,
	const struct frame *values, enum fail_kind kind, const char *why)
{
	const struct shard_push push = { keys, values, 1, 0, 0,
					 as_floats, 0 };
	const uint64_t before = shard_version(holder(x, part), part);

	return shard_push(holder(x, part), part, &push, &f) < 0 &&
		f.kind == kind && strstr(f.text, why) &&
		shard_version(holder(x, part), part) == before;
}

static void
bad_pushes(struct fixture *x)
{
	float *g = mem_alloc(500000, sizeof(*g));
	float **at = mem_alloc(500000, sizeof(*at));
	bool sizes = true, finite = true, short_keys = true, pulls = true;

	for (size_t i = 0; i < x->plan.parts; i++) {
		struct frame keys = keys_of(x, i, 1);
		const size_t n = walk(x, i, 1, at, x->fixture.w);
		struct frame v = { g, n * sizeof(*g), NULL };

		v.size -= 1;
		sizes = sizes && refused(x, i, &keys, &v, FAIL_PROTOCOL,
					 "bytes of gradient");
		v.size += 5;
		sizes = sizes && refused(x, i, &keys, &v, FAIL_PROTOCOL,
					 "bytes of gradient");
		v.size -= 4;
		g[n - 1] = i % 2 ? NAN : -INFINITY;
		finite = finite && refused(x, i, &keys, &v, FAIL_DATA,
					   "not finite");
		g[n - 1] = 0;
		pack_uint(&x->keys, 1);		/* one byte too many */
		keys = (struct frame){ x->keys.data, x->keys.size, NULL };
		short_keys = short_keys && refused(x, i, &keys, &v,
			FAIL_PROTOCOL, "malformed keys");
		pulls = pulls && !pull(x, i, NULL, &keys, &v) &&
			strcmp(f.text, "malformed keys") == 0;
	}
	free(g);
	free(at);
	named(sizes, "a gradient of another size is refused");
	named(finite, "a gradient that is not finite is refused");
	named(short_keys, "a gradient with malformed keys is refused");
	named(pulls, "a pull with malformed keys is refused");
	named(say(x, NULL, x->fixture.w), "refused requests change nothing");
}

/* Does a pull in bfloat16 give the nearest values? */
static bool
pull_narrow(struct fixture *x, size_t part, float *const *at, size_t n)
{
	const struct frame keys = keys_of(x, part, 3);
	uint16_t *half = mem_alloc(n, sizeof(*half));
	struct frame v = { NULL, 0, NULL };
	bool good = shard_pull(holder(x, part), part, &keys, NULL,
			       plan_encoding(&x->plan, 0), &v, &f) == 0;

	for (size_t k = 0; k < n; k++)
		kernel_to_bfloat16(&half[k], at[k], 1);
	good = good && v.size == 2 * n && memcmp(v.data, half, 2 * n) == 0;
	free(half);
	return good;
}

static bool
push_narrow(struct fixture *x, size_t part, const void *values, size_t size)
{
	const struct frame keys = keys_of(x, part, 3);
	const struct frame v = { values, size, NULL };
	const struct shard_push push = { &keys, &v, 3, 0, 0,
					 plan_encoding(&x->plan, 0), 0 };

	return shard_push(holder(x, part), part, &push, &f) == 0;
}

/* A push in bfloat16 is applied as its floats, from any address. */
static void
narrow(struct fixture *x)
{
	struct rng rng = { .seed = 9 };
	float **at = mem_alloc(500000, sizeof(*at));
	char *bytes = mem_alloc(2000001, 1);
	bool pulls = true, pushes = true, sizes = true, finite = true;

	for (size_t i = 0; i < x->plan.parts; i++) {
		const size_t n = walk(x, i, 3, at, x->fixture.w);
		char *half = bytes + i % 2;

		pulls = pulls && pull_narrow(x, i, at, n);
		for (size_t k = 0; k < n; k++) {
			const float g = fixture_random(&rng);
			float as_read;
			uint16_t one;

			kernel_to_bfloat16(&one, &g, 1);
			kernel_from_bfloat16(&as_read, &one, 1);
			memcpy(half + 2 * k, &one, 2);
			*at[k] -= RATE * (as_read / 3);
		}
		sizes = sizes && !push_narrow(x, i, half, 2 * n - 1) &&
			!push_narrow(x, i, half, 2 * n + 1) &&
			!push_narrow(x, i, half, 4 * n) &&
			f.kind == FAIL_PROTOCOL &&
			strstr(f.text, "bytes of gradient do not fit");
		pushes = push_narrow(x, i, half, 2 * n) && pushes;
		memcpy(half + 2 * n - 2, i % 2 ? "\x80\x7f" : "\x81\x7f", 2);
		finite = finite && !push_narrow(x, i, half, 2 * n) &&
			strcmp(f.text, "a gradient is not finite") == 0;
	}
	free(at);
	free(bytes);
	named(pulls, "pulled values are rounded to bfloat16");
	named(sizes && finite,
	      "a bfloat16 gradient of another size, or not finite, is "
	      "refused");
	named(pushes && say(x, NULL, x->fixture.w),
	      "a bfloat16 gradient is applied as its floats");
}

/* Do the arrays of a snapshot for a checkpoint have the rows of w? */
static bool
arrays_are(const struct fixture *x, struct shard_snapshot *const *cut,
	   float *const *w, size_t servers)
{
	size_t floats = 0, all = 0;

	for (size_t s = 0; s < servers; s++) {
		size_t count;
		const struct checkpoint_array *a =
			shard_snapshot_arrays(cut[s], &count);

		for (size_t i = 0; i < count; i++) {
			size_t v = 0, n = 0;

			while (strcmp(x->fixture.variable[v].name,
				      a[i].variable) != 0)
				v++;

			const size_t width = shape_width(a[i].shape);
			const float *at = w[v] + a[i].rows.first * width;

			for (size_t p = 0; p < a[i].pieces; p++) {
				if (memcmp(a[i].piece[p].data, at + n,
					   a[i].piece[p].count *
					   sizeof(*at)) != 0)
					return false;
				n += a[i].piece[p].count;
			}
			if (n != a[i].rows.count * width)
				return false;
			floats += n;
		}
	}
	for (size_t v = 0; v < x->fixture.variables; v++)
		all += shape_size(x->fixture.variable[v].shape);
	return floats == all;
}

static void
cuts(struct fixture *x, size_t servers)
{
	struct shard_snapshot *cut[SERVERS] = { NULL };
	float **then = mem_alloc(x->fixture.variables, sizeof(*then));

	for (size_t s = 0; s < servers; s++)
		cut[s] = shard_snapshot_new(x->shard[s]);
	for (size_t v = 0; v < x->fixture.variables; v++)
		then[v] = mem_copy(x->fixture.w[v], sizeof(float) *
				   shape_size(x->fixture.variable[v].shape));
	push_all(x, 1, 0);
	push_all(x, 3, .25f);
	named(say(x, cut, then), "a cut keeps its values during training");
	named(say(x, NULL, x->fixture.w),
	      "the values beside a cut have all updates");
	named(arrays_are(x, cut, then, servers),
	      "a checkpoint of a cut has the cut's rows");
	for (size_t s = 0; s < servers; s++)
		shard_snapshot_free(cut[s]);
	push_all(x, 1, 0);
	named(say(x, NULL, x->fixture.w),
	      "the values after the cut's release have all updates");
	for (size_t v = 0; v < x->fixture.variables; v++)
		free(then[v]);
	free(then);
}

static void
one_plan(const char *partitioner, size_t servers)
{
	struct fixture x;

	printf("# %s, %zu servers\n", partitioner, servers);
	begin(&x, model, partitioner, servers);
	first_values(&x);
	named(say(&x, NULL, x.fixture.w),
	      "initial values are the same for any number of servers");
	named(push_all(&x, 1, 0) && push_all(&x, 3, 0) &&
	      push_all(&x, 1, .125f), "every push is applied");
	named(say(&x, NULL, x.fixture.w),
	      "the values equal those of the exact arithmetic");
	bad_pushes(&x);
	narrow(&x);
	cuts(&x, servers);
	end(&x);
}

/* ---- restoring ---- */

static const char with_slots[] =
	"input  id id rows=37\n"
	"label  y float\n"
	"e  = embedding id dim=3\n"
	"p  = dense e units=1\n"
	"loss mean_squared_error p\n"
	"optimizer adam learning_rate=0.01\n";

/* Pulled values do not change while they wait to be sent. */
static void
narrow_stays(void)
{
	enum { MANY = 100 };
	static struct frame v[MANY];
	static char *was[MANY];
	struct fixture x;
	bool same = true;

	begin(&x, with_slots, "none", 1);
	for (size_t i = 0; i < MANY; i++) {
		const struct frame keys = keys_of(&x, 0, 1);

		shard_pull(x.shard[0], 0, &keys, NULL,
			   plan_encoding(&x.plan, 0), &v[i], &f);
		refcount_take(v[i].hold);
		was[i] = mem_copy(v[i].data, v[i].size);
		push_all(&x, 1, 0);
	}
	for (size_t i = MANY; i-- > 0; ) {
		same = same && memcmp(was[i], v[i].data, v[i].size) == 0 &&
			(i == 0 || memcmp(was[i], was[0], v[0].size) != 0);
		refcount_drop(v[i].hold);
		free(was[i]);
	}
	named(same, "pulled values that wait to be sent do not change");
	end(&x);
}

static void
save(struct fixture *x, const char *dir, size_t servers)
{
	struct checkpoint_part part[SERVERS];
	const struct checkpoint_info info = { .step = 5, .run = "00" };
	char name[CHECKPOINT_NAME];

	checkpoint_name(5, name);
	for (size_t s = 0; s < servers; s++) {
		struct shard_snapshot *cut = shard_snapshot_new(x->shard[s]);
		size_t count;
		const struct checkpoint_array *a =
			shard_snapshot_arrays(cut, &count);

		ok(checkpoint_write_part(dir, name, s, servers, a, count,
					 &part[s], &f) == 0);
		shard_snapshot_free(cut);
	}
	ok(checkpoint_publish(dir, name, &info, &x->fixture.source, part,
			      servers, &f) == 0);
}

/* Have both the same values, also after a push, and so the same slots? */
static bool
same_shards(struct fixture *x, struct fixture *y)
{
	float **at = mem_alloc(10000, sizeof(*at));
	bool same = true;

	for (size_t i = 0; i < x->plan.parts; i++) {
		const struct frame keys = keys_of(x, i, 1);
		const size_t n = walk(x, i, 1, at, x->fixture.w);
		struct frame v;

		same = same && pull(x, i, NULL, &keys, &v);
		for (size_t k = 0; same && k < n; k++)
			memcpy(at[k], (const char *)v.data + 4 * k, 4);
	}
	free(at);
	return same && say(y, NULL, x->fixture.w);
}

static void
push_ones(struct fixture *x)
{
	static const float g[500] = { 1, -1, 2, 3, -4, 5, 1, 1 };
	float *at[500];

	for (size_t i = 0; i < x->plan.parts; i++) {
		const struct frame keys = keys_of(x, i, 1);
		const struct frame v = { g, walk(x, i, 1, at, x->fixture.w) *
					 sizeof(*g), NULL };
		const struct shard_push push = { &keys, &v, 1, 0, 0,
						 as_floats, 0 };

		shard_push(holder(x, i), i, &push, &f);
	}
}

static void
restores(void)
{
	char dir[] = "/tmp/shard.XXXXXX";
	char path[128];
	struct fixture x, y;
	struct checkpoint *from;

	if (!mkdtemp(dir))
		return;
	begin(&x, with_slots, "none", 1);
	begin(&y, with_slots, "none", 1);
	push_ones(&x);
	push_ones(&x);
	ok(!same_shards(&x, &y));
	save(&x, dir, 1);
	snprintf(path, sizeof(path), "%s/ckpt-00000005", dir);
	from = checkpoint_open(path, true, &f);
	ok(from && restore(y.shard[0], from) == 0);
	named(same_shards(&x, &y), "a restored shard equals the saved one");
	push_ones(&x);
	push_ones(&y);
	named(same_shards(&x, &y),
	      "a restored shard has its slots, and trains on alike");
	end(&y);

	begin(&y, with_slots, "fixed:4", 3);
	for (size_t s = 0; s < 3; s++)
		ok(from && restore(y.shard[s], from) == 0);
	end(&x);
	begin(&x, with_slots, "none", 1);
	ok(from && restore(x.shard[0], from) == 0);
	named(same_shards(&x, &y),
	      "a checkpoint can be restored under another plan");
	end(&x);
	end(&y);

	begin(&y, model, "none", 1);
	named(from && restore(y.shard[0], from) < 0 &&
	      f.kind == FAIL_DATA, "a checkpoint of another model is refused");
	end(&y);
	checkpoint_close(from);
	equals(checkpoint_remove(dir, "ckpt-00000005", &f), 0);
	rmdir(dir);
}

/* ---- cuts of steps ---- */

/* A model with all state on which a step may depend: slots, t, the schedule,
   rows that are evicted. */
static const char with_all[] =
	"input  u id rows=hash\n"
	"input  v id rows=37\n"
	"label  y float\n"
	"e  = embedding u dim=2 admit=2 evict=age:9,rows:5\n"
	"f  = embedding v dim=2\n"
	"m  = add e f\n"
	"p  = dense m units=1\n"
	"loss mean_squared_error p\n"
	"optimizer adam learning_rate=0.1 schedule=exponential_decay "
	"decay_steps=2 decay_rate=0.5\n";

#define STEPS	40

/* Pushes a step, which depends only on its number: some rows of each table, any
   gradient. */
static void
push_step(struct fixture *x, uint64_t step)
{
	for (size_t i = 0; i < x->plan.parts; i++) {
		const struct part *p = &x->plan.part[i];
		struct rng rng = { step + 1, i };
		size_t floats = 0;
		float g[512];

		pack_reset(&x->keys);
		for (size_t k = p->first; k < p->first + p->count; k++) {
			const struct piece *piece = &x->plan.piece[k];
			uint64_t row[37];
			size_t n = piece->table ? 0 : piece->count;

			for (uint64_t r = 0; piece->table && r < 12; r++)
				if (rng_below(&rng, 3) == 0)
					row[n++] = piece->first + r;
			if (piece->table)
				keys_write(&x->keys, row, n, piece->first);
			floats += n * piece->width;
		}
		for (size_t k = 0; k < floats; k++)
			g[k] = fixture_random(&rng);

		const struct frame keys = { x->keys.data, x->keys.size, NULL };
		const struct frame v = { g, floats * sizeof(*g), NULL };
		const struct shard_push push = { &keys, &v, 1, 0, step,
						 as_floats, 0 };

		if (shard_push(holder(x, i), i, &push, &f) < 0)
			printf("# %s\n", f.text);
	}
}

/* Would checkpoints of both snapshots be the same, to the last bit? */
static bool
same_cuts(struct shard_snapshot *x, struct shard_snapshot *y)
{
	size_t count, others;
	const struct checkpoint_array *a = shard_snapshot_arrays(x, &count);
	const struct checkpoint_array *b = shard_snapshot_arrays(y, &others);
	bool same = count == others && count > 0;

	for (size_t i = 0; same && i < count; i++) {
		same = a[i].updates == b[i].updates &&
			a[i].pieces == b[i].pieces &&
			a[i].rows.count == b[i].rows.count;
		for (size_t p = 0; same && p < a[i].pieces; p++)
			same = a[i].piece[p].count == b[i].piece[p].count &&
				memcmp(a[i].piece[p].data, b[i].piece[p].data,
				       a[i].piece[p].count *
				       sizeof(float)) == 0;
	}
	shard_snapshot_free(x);
	shard_snapshot_free(y);
	return same;
}

/*
 * Steps come in any order: each of two cuts has the state of a shard that only
 * got the steps below the cut, and the shard that of all steps.
 */
static void
late_steps(void)
{
	bool below = true, all = true;

	for (uint64_t seed = 0; seed < 20; seed++) {
		struct fixture x, one, other, every;
		struct rng rng = { seed, 0 };
		bool pushed[STEPS] = { false };
		struct shard_snapshot *cut[2];

		begin(&x, with_all, "none", 1);
		begin(&one, with_all, "none", 1);
		begin(&other, with_all, "none", 1);
		begin(&every, with_all, "none", 1);
		cut[0] = shard_snapshot_below(x.shard[0], STEPS / 4);
		cut[1] = shard_snapshot_below(x.shard[0], STEPS / 2);
		for (uint64_t left = STEPS, low = 0; left > 0; left--) {
			uint64_t s;

			do	/* not far from the lowest that is missing */
				s = low + rng_below(&rng, 12);
			while (s >= STEPS || pushed[s]);
			pushed[s] = true;
			push_step(&x, s);
			push_step(&every, s);
			if (s < STEPS / 4)
				push_step(&one, s);
			if (s < STEPS / 2)
				push_step(&other, s);
			while (low < STEPS && pushed[low])
				low++;
		}
		below = below &&
			same_cuts(cut[0], shard_snapshot_new(one.shard[0])) &&
			same_cuts(cut[1], shard_snapshot_new(other.shard[0]));
		all = all && same_cuts(shard_snapshot_new(x.shard[0]),
				       shard_snapshot_new(every.shard[0]));
		end(&x);
		end(&one);
		end(&other);
		end(&every);
	}
	named(below,
	      "a cut has exactly the steps below it, whenever they come");
	named(all, "the shard beside the cuts has all steps");
}

/* A table of several chunks, of which the last one is smaller. */
#define TABLE_ROWS	40000
#define TABLE_WIDTH	3	/* at most */
static const char large_table[] =
	"input  id id rows=40000\n"
	"label  y float\n"
	"e  = embedding id dim=%zu\n"
	"p  = reduce_sum e\n"
	"loss mean_squared_error p\n"
	"optimizer sgd momentum=0.5\n";

/*
 * Pulls some rows, near or far, and some of the last ones, then pushes to them;
 * are the values of the pull those of that moment?
 */
static bool
push_some(struct fixture *x, struct rng *rng, float *momentum, float *value)
{
	static uint64_t row[TABLE_ROWS];
	static float g[TABLE_ROWS * TABLE_WIDTH];
	const size_t width = x->plan.piece[0].width;
	const uint64_t one_of = 1 + rng_below(rng, rng_below(rng, 2) ? 4 :
					      1000);
	struct pack keys = { 0 };
	struct frame v = { g, 0, NULL };
	bool same = true;
	size_t n = 0;

	for (uint64_t r = 0; r < TABLE_ROWS; r++)
		if (rng_below(rng, one_of) == 0 || r == TABLE_ROWS - 1)
			row[n++] = r;
	keys_write(&keys, row, n, 0);
	for (size_t k = 0; k < n * width; k++) {
		const size_t at = row[k / width] * width + k % width;

		g[k] = fixture_random(rng);
		momentum[at] = .5f * momentum[at] - .25f * g[k];
		value[at] += momentum[at];
	}
	v.size = n * width * sizeof(*g);

	const struct frame named_rows = { keys.data, keys.size, NULL };
	const struct shard_push push = { &named_rows, &v, 1, .25f, 0,
					 as_floats, 0 };

	struct shard_rows *rows = shard_rows_new(x->shard[0]);

	same = shard_rows_read(rows, 0, &named_rows, &f) == 0 &&
		shard_push(x->shard[0], 0, &push, &f) == 0;
	shard_rows_pull(x->shard[0], rows, NULL, as_floats, &v);
	shard_rows_free(rows);
	same = same && v.size == n * width * sizeof(*g);
	for (size_t k = 0; same && k < n; k++)
		same = memcmp((const float *)v.data + k * width,
			      &value[row[k] * width],
			      width * sizeof(*value)) == 0;
	pack_release(&keys);
	return same;
}

static bool
cut_is(struct shard_snapshot *cut, const float *then, size_t floats)
{
	size_t count, done = 0;
	const struct checkpoint_array *a = shard_snapshot_arrays(cut, &count);
	bool same = count == 2;

	for (size_t i = 0; i < a->pieces; done += a->piece[i++].count)
		same = same && memcmp(a->piece[i].data, then + done,
				      a->piece[i].count * sizeof(*then)) == 0;
	return same && done == floats;
}

static void
several_chunks(size_t width)
{
	const size_t floats = TABLE_ROWS * width;
	float *momentum = mem_alloc(floats, sizeof(*momentum));
	float *value, *then;
	struct rng rng = { .seed = 9 };
	struct fixture x;
	struct shard_snapshot *cut;
	bool good = true;
	char text[256];

	snprintf(text, sizeof(text), large_table, width);
	begin(&x, text, "none", 1);
	first_values(&x);
	value = x.fixture.w[x.plan.piece[0].variable];
	for (int i = 0; i < 10; i++)
		good = good && push_some(&x, &rng, momentum, value);
	named(good,
	      "pulled rows have their newest values, although the keys came "
	      "before the updates");
	cut = shard_snapshot_new(x.shard[0]);
	then = mem_copy(value, floats * sizeof(*then));
	for (int i = 0; i < 10; i++)
		good = good && push_some(&x, &rng, momentum, value);
	named(good, "rows in every chunk have their newest values");
	named(cut_is(cut, then, floats),
	      "a cut keeps its values in all chunks");
	shard_snapshot_free(cut);
	free(then);
	free(momentum);
	end(&x);
}

/* Of two shards the first has more updates; both are restored into one. */
static void
counts(void)
{
	char dir[] = "/tmp/shard.XXXXXX";
	const struct frame keys = { "", 1, NULL }, none = { "", 0, NULL };
	const struct shard_push push = { &keys, &none, 1, .25f, 0,
					 as_floats, 0 };
	struct checkpoint *from;
	struct fixture x, y;
	char text[256], path[128];
	struct shard_snapshot *cut;
	size_t count;

	if (!mkdtemp(dir))
		return;
	snprintf(text, sizeof(text), large_table, (size_t)1);
	begin(&x, text, "fixed:2", 2);
	begin(&y, text, "none", 1);
	for (size_t i = 0; i < 3; i++)
		equals(shard_push(holder(&x, i / 2), i / 2, &push, &f), 0);
	save(&x, dir, 2);
	snprintf(path, sizeof(path), "%s/ckpt-00000005", dir);
	from = checkpoint_open(path, true, &f);
	ok(from && restore(y.shard[0], from) == 0);
	cut = shard_snapshot_new(y.shard[0]);
	named_equals(shard_snapshot_arrays(cut, &count)->updates, 2,
		     "of joined shards the larger number of updates counts");
	shard_snapshot_free(cut);
	checkpoint_close(from);
	equals(checkpoint_remove(dir, "ckpt-00000005", &f), 0);
	rmdir(dir);
	end(&x);
	end(&y);
}

/* A few bytes may name so many keys that their values exceed a frame: they are
   refused. */
static void
too_many(void)
{
	const size_t rows = ((size_t)64 << 20) / sizeof(float) / 4;
	struct fixture x;

	begin(&x, "input  id id rows=hash\nlabel  y float\n"
	      "e  = embedding id dim=4\np  = dense e units=1\n"
	      "loss mean_squared_error p\noptimizer sgd\n", "none", 1);

	uint64_t *row = mem_alloc(rows + 1, sizeof(*row));
	const size_t part = x.plan.piece[0].table ? 0 : 1;

	for (size_t i = 0; i <= rows; i++)
		row[i] = i;
	keys_write(&x.keys, row, rows, 0);

	struct frame keys = { x.keys.data, x.keys.size, NULL };
	struct shard_rows *read = shard_rows_new(x.shard[0]);

	equals(shard_rows_read(read, part, &keys, &f), 0);
	named(read->list[0].room >= rows, "millions of keys are read");
	shard_rows_forget(read);
	named_equals(read->list[0].room, 0,
		     "the memory of millions of keys is returned");
	pack_reset(&x.keys);
	keys_write(&x.keys, row, rows + 1, 0);
	keys.data = x.keys.data;
	keys.size = x.keys.size;
	ok(shard_rows_read(read, part, &keys, &f) < 0 &&
	   f.kind == FAIL_PROTOCOL &&
	   strcmp(f.text, "rows of more than 64 MiB") == 0);
	named_equals(read->list[0].room, 0,
		     "keys of too many rows take no memory");
	shard_rows_free(read);
	free(row);
	end(&x);
}

int
main(void)
{
	one_plan("none", 1);
	one_plan("none", 3);
	one_plan("fixed:5", 2);
	one_plan("max:100000", 3);
	restores();
	narrow_stays();
	late_steps();
	several_chunks(1);
	several_chunks(TABLE_WIDTH);
	counts();
	too_many();
	return tap_done();
}
