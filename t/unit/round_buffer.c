/*
 * Rounds on servers: for any order of pushes and any number of servers, the sum
 * is that of the chosen attempts in the order of their replicas, to the last
 * bit.
 */
#include "server/round_buffer.h"

#include "wire/gradient_tree.h"
#include "wire/keys.h"

#include "code_all.h"
#include "model_fixture.h"
#include "tap.h"

#define ROWS	40
#define REPLICAS	4
#define SERVERS	5

static const char model[] =
	"input i id[2] rows=40\ninput x float[3]\nlabel y float\n"
	"e = embedding i dim=3 combiner=sum\nf = embedding i dim=2 "
	"combiner=sum\nd = dense x units=4\ng = dense x units=5\n"
	"a = concat e f d g\np = dense a units=1\n"
	"loss mean_squared_error p\noptimizer adam learning_rate=0.1\n"
	"mode async for=g/*\n";

static struct model_fixture fixture;

/* Some servers, and their round buffers. */
struct fleet_of {
	struct plan plan;
	struct shard *shard[SERVERS];
	struct round_buffer *round_buffer[SERVERS];
};

static void
fleet_begin(struct fleet_of *fl, size_t servers)
{
	static char *endpoint[] = { (char *)"a", (char *)"b", (char *)"c",
				    (char *)"d", (char *)"e" };
	const struct partitioner cut = { .kind = PARTITION_FIXED, .shards = 3 };
	struct place *place;
	size_t places;

	*fl = (struct fleet_of){ .plan.seed = 1 };
	place = partition_plan(fixture.variable, fixture.variables, &cut,
			       &placement_round_robin, servers, &places);
	plan_make(&fl->plan, fixture.model, place, places, endpoint, servers);
	code_all(&fl->plan, fixture.model, &codec_bfloat16);
	free(place);
	for (size_t s = 0; s < servers; s++) {
		fl->shard[s] = shard_new(&fl->plan, fixture.model, s, NULL);
		fl->round_buffer[s] = round_buffer_new(&fl->plan, fixture.model,
						       s, fl->shard[s], 7);
	}
}

static void
fleet_end(struct fleet_of *fl)
{
	for (size_t s = 0; s < fl->plan.servers; s++) {
		round_buffer_free(fl->round_buffer[s]);
		shard_free(fl->shard[s]);
	}
	plan_release(&fl->plan);
}

static const struct encoding as_floats = { NULL, 0 };

/* The codec of gradients, in which the gradients of this test are exact. */
static const struct codec *codec = &codec_float32;
static bool rounded;

static float
round_off(float x)
{
	uint16_t half;

	if (rounded) {
		codec_bfloat16.encode(&half, &x, codec_elements(1));
		codec_bfloat16.decode(&x, &half, codec_elements(1));
	}
	return x;
}

/* Returns a gradient, which depends only on replica, attempt, variable and
   element. */
static float
gradient(size_t replica, uint64_t attempt, size_t variable, size_t element)
{
	struct rng rng = { .seed = replica * 1000003 + attempt * 7919 +
			   variable * 131 + element * 17 };

	return round_off(fixture_random(&rng) * (replica == 1 ? 1e4f : 1e-3f));
}

/* Does the batch of this replica have this row? */
static bool
met(size_t replica, size_t row)
{
	return (row * 7 + replica * 3) % 5 < 2;
}

struct push {
	struct pack keys;
	float value[1024], sent[1024];
	struct frame key_frame, value_frame;
	struct shard_push push;
};

static void
make_push(struct push *p, const struct plan *plan, size_t part, size_t replica,
	  uint64_t attempt)
{
	const struct part *of = &plan->part[part];
	size_t n = 0;

	pack_reset(&p->keys);
	for (size_t i = of->first; i < of->first + of->count; i++) {
		const struct piece *piece = &plan->piece[i];
		uint64_t row[ROWS];
		size_t rows = 0;

		for (size_t k = piece->first; k < piece->first + piece->count;
		     k++) {
			if (piece->table && !met(replica, k))
				continue;
			if (piece->table)
				row[rows++] = k;
			for (size_t j = 0; j < piece->width; j++)
				p->value[n++] = gradient(replica, attempt,
					piece->variable,
					k * piece->width + j);
		}
		if (piece->table)
			keys_write(&p->keys, row, rows, piece->first);
	}
	p->key_frame = (struct frame){ p->keys.data, p->keys.size, NULL };
	codec_encode(codec, p->sent, p->value, codec_elements(n));
	p->value_frame = (struct frame){ p->sent, codec_size(codec, n), NULL };
	p->push = (struct shard_push){ &p->key_frame, &p->value_frame,
				       3 + replica, 0, 7,
				       { codec->exact ? NULL :
					 plan->codings, 7 }, 0 };
}

static enum outcome
push_to(struct fleet_of *fl, size_t part, uint64_t step, size_t replica,
	uint64_t attempt)
{
	static struct push p;
	enum outcome outcome = OUTCOME_NONE;
	struct fail f;

	make_push(&p, &fl->plan, part, replica, attempt);
	if (round_buffer_push(fl->round_buffer[fl->plan.part[part].server],
			      part, step, replica, attempt, &p.push, &outcome,
			      &f) < 0)
		return OUTCOME_NONE;
	return outcome;
}

static bool
async_part(const struct fleet_of *fl, size_t part)
{
	return fixture.variable[fl->plan.piece[fl->plan.part[part].first]
			    .variable].async;
}

/* Pushes two attempts at every replica, in an order drawn from a seed. */
static bool
push_all(struct fleet_of *fl, uint64_t seed)
{
	const size_t count = fl->plan.parts * REPLICAS * 2;
	size_t *order = mem_alloc(count, sizeof(*order));
	struct rng rng = { .seed = seed };
	bool good = true;

	for (size_t i = 0; i < count; i++) {
		const size_t j = rng_below(&rng, i + 1);

		order[i] = order[j];
		order[j] = i;
	}
	for (size_t i = 0; i < count; i++) {
		const size_t part = order[i] / (REPLICAS * 2);
		const size_t replica = order[i] / 2 % REPLICAS;
		const enum outcome o = push_to(fl, part, 7, replica,
					       1 + order[i] % 2);

		good = good && (async_part(fl, part) ?
				o == OUTCOME_APPLIED || o == OUTCOME_DUP :
				o == OUTCOME_STAGED);
	}
	free(order);
	return good;
}

static int
commit(struct fleet_of *fl, size_t server, uint64_t step,
       const uint64_t *attempt, size_t replicas, struct fail *f)
{
	struct pack p = { 0 };
	int status;

	pack_array(&p, replicas);
	for (size_t k = 0; k < replicas; k++)
		pack_uint(&p, attempt[k]);
	status = round_buffer_commit(fl->round_buffer[server], step,
				     &(struct frame){
				     p.data, p.size, NULL }, f);
	pack_release(&p);
	return status;
}

/* Reads all variables, one after the other: those of mode async, or the
   others. */
static size_t
read_all(struct fleet_of *fl, float *to, bool async)
{
	size_t base[16] = { 0 }, total = 0;
	uint64_t row[ROWS];

	for (size_t v = 0; v < fixture.variables; v++) {
		base[v] = total;
		total += fixture.variable[v].async == async ?
			shape_size(fixture.variable[v].shape) : 0;
	}
	for (size_t k = 0; k < ROWS; k++)
		row[k] = k;
	for (size_t i = 0; i < fl->plan.parts; i++) {
		const struct part *part = &fl->plan.part[i];
		struct pack keys = { 0 };
		struct frame values;
		const float *from;
		struct fail f;

		if (async_part(fl, i) != async)
			continue;
		for (size_t k = 0; k < part->count; k++)
			if (fl->plan.piece[part->first + k].table)
				keys_write(&keys, row, fl->plan.piece[
					   part->first + k].count, 0);
		ok(shard_pull(fl->shard[part->server], i, &(struct frame){
			      keys.data, keys.size, NULL }, NULL,
			      as_floats, &values, &f) == 0);
		from = values.data;
		for (size_t k = 0; k < part->count; k++) {
			const struct piece *piece =
				&fl->plan.piece[part->first + k];
			const size_t n = piece->count * piece->width;

			memcpy(to + base[piece->variable] +
			       piece->first * piece->width, from,
			       n * sizeof(float));
			from += n;
		}
		pack_release(&keys);
	}
	return total;
}

static const uint64_t chosen[REPLICAS] = { 1, 2, 2, 1 };

static void
same_sums(bool narrow)
{
	static float first[4096], again[4096];
	bool good = true, same = true;

	rounded = narrow;
	for (uint64_t seed = 1; seed <= 30; seed++) {
		const size_t servers = seed % 3 == 0 ? 5 : seed % 3;
		struct fleet_of fl;
		struct fail f;
		size_t n = 0;

		/* The first seed has the same floats in twice the bytes. */
		codec = narrow && seed > 1 ? &codec_bfloat16 : &codec_float32;
		fleet_begin(&fl, servers);
		good = push_all(&fl, seed) && good;
		for (size_t s = 0; s < servers; s++)
			good = commit(&fl, s, 7, chosen, REPLICAS, &f) == 0 &&
				round_buffer_step(fl.round_buffer[s]) == 8 &&
				good;
		n = read_all(&fl, seed == 1 ? first : again, false);
		same = same && (seed == 1 || memcmp(first, again,
						    n * sizeof(float)) == 0);
		fleet_end(&fl);
	}
	ok(good);
	named(same,
	      "any order of pushes, on any number of servers, gives the same "
	      "sum");
	codec = &codec_float32;
	rounded = false;
}

static void
nothing_to_do(void)
{
	const uint64_t without[REPLICAS] = { 1, 2, 2, 0 };
	static float some[4096], fewer[4096];
	struct fleet_of fl;
	struct fail f;
	size_t n;

	fleet_begin(&fl, 1);
	ok(push_all(&fl, 3) && commit(&fl, 0, 7, without, REPLICAS, &f) == 0);
	read_all(&fl, some, false);
	fleet_end(&fl);
	fleet_begin(&fl, 1);
	ok(push_all(&fl, 3) && commit(&fl, 0, 7, without, REPLICAS - 1,
				      &f) == 0);
	n = read_all(&fl, fewer, false);
	fleet_end(&fl);
	named(same_floats(some, fewer, n),
	      "a replica without work adds nothing");
}

static void
outcomes(void)
{
	const uint64_t missing[REPLICAS] = { 1, 2, 3, 1 };
	static float before[4096], after[4096];
	struct window voided = { 0 };
	struct fleet_of fl;
	struct fail f;
	size_t n, part = 0, async = 0;

	fleet_begin(&fl, 1);
	while (async_part(&fl, part))
		part++;
	while (!async_part(&fl, async))
		async++;
	equals(push_to(&fl, part, 6, 0, 1), OUTCOME_DUP);
	equals(push_to(&fl, part, 8, 0, 1), OUTCOME_LATER);
	ok(push_all(&fl, 3));
	equals(push_to(&fl, part, 7, 0, 1), OUTCOME_STAGED);
	named_equals(push_to(&fl, async, 7, 0, 9), OUTCOME_DUP,
		     "a part outside rounds applies each replica's push once");
	n = read_all(&fl, before, false);
	named(commit(&fl, 0, 7, missing, REPLICAS, &f) < 0 &&
	      strcmp(f.text, "replica 2 of step 7, attempt 3, is not "
		     "staged") == 0,
	      "the commit of an incomplete round is refused");
	ok(commit(&fl, 0, 8, chosen, REPLICAS, &f) < 0);
	ok(commit(&fl, 0, 7, chosen, 0, &f) < 0);
	ok(commit(&fl, 0, 7, (uint64_t[]){ 0, 0, 0, 0 }, REPLICAS, &f) < 0);
	read_all(&fl, after, false);
	named(same_floats(after, before, n),
	      "a refused commit changes nothing");
	/* The two newest attempts at a replica are kept. */
	equals(push_to(&fl, part, 7, 1, 3), OUTCOME_STAGED);
	equals(push_to(&fl, part, 7, 1, 1), OUTCOME_VOID);
	equals(commit(&fl, 0, 7, chosen, REPLICAS, &f), 0);
	read_all(&fl, before, false);
	equals(commit(&fl, 0, 7, chosen, REPLICAS, &f), 0);
	read_all(&fl, after, false);
	named(same_floats(after, before, n),
	      "a second commit of a round changes nothing");
	equals(push_to(&fl, part, 7, 0, 1), OUTCOME_DUP);
	equals(push_to(&fl, part, 8, 0, 1), OUTCOME_STAGED);
	window_add(&voided, 8);
	window_add(&voided, 9);
	ok(round_buffer_advance(fl.round_buffer[0], 8, &voided) &&
	   round_buffer_step(fl.round_buffer[0]) == 10 &&
	   !round_buffer_advance(fl.round_buffer[0], 9, &voided));
	equals(push_to(&fl, part, 8, 0, 1), OUTCOME_DUP);
	window_release(&voided);
	fleet_end(&fl);
}

/* Pushes attempt 1 at each replica of a round. */
static bool
push_round(struct fleet_of *fl, uint64_t step)
{
	bool good = true;

	for (size_t i = 0; i < fl->plan.parts; i++)
		for (size_t k = 0; k < REPLICAS && !async_part(fl, i); k++)
			good = push_to(fl, i, step, k, 1) == OUTCOME_STAGED &&
				good;
	return good;
}

/* A second attempt at every replica, and then rounds with one. */
static void
memory(void)
{
	const uint64_t ones[REPLICAS] = { 1, 1, 1, 1 };
	size_t once, twice;
	struct fleet_of fl;
	struct fail f;

	fleet_begin(&fl, 1);
	ok(push_round(&fl, 7));
	once = round_buffer_bytes(fl.round_buffer[0]);
	ok(push_all(&fl, 3));
	twice = round_buffer_bytes(fl.round_buffer[0]);
	ok(once > 0 && twice > once && push_all(&fl, 4));
	equals(round_buffer_bytes(fl.round_buffer[0]), twice);
	ok(commit(&fl, 0, 7, ones, REPLICAS, &f) == 0 && push_round(&fl, 8) &&
	   commit(&fl, 0, 8, ones, REPLICAS, &f) == 0);
	named(round_buffer_bytes(fl.round_buffer[0]) == once,
	      "memory that a round did not need is given back");
	round_buffer_reset(fl.round_buffer[0], 9);
	equals(round_buffer_bytes(fl.round_buffer[0]), 0);
	fleet_end(&fl);
}

static bool
has_table(const struct fleet_of *fl, size_t part)
{
	const struct part *of = &fl->plan.part[part];

	for (size_t i = of->first; i < of->first + of->count; i++)
		if (fl->plan.piece[i].table)
			return true;
	return false;
}

/* Returns the first value of a part, as it is, or as it is computed ahead. */
static float
value_of(struct fleet_of *fl, size_t part, bool ahead)
{
	const struct frame none = { 0 };
	struct shard_news news;
	struct fail f;

	if (ahead)
		round_buffer_pull_ahead(fl->round_buffer[0], part,
					as_floats, 0, &news);
	else if (shard_pull(fl->shard[0], part, &none, NULL, as_floats,
			    &news.values, &f) < 0)
		return 0;
	return *(const float *)news.values.data;
}

/* Computes ahead; are these the parts that can be? */
static bool
run_ahead(struct fleet_of *fl, uint64_t *number)
{
	bool good = true;

	for (size_t i = 0; i < fl->plan.parts; i++) {
		number[i] = round_buffer_run_ahead(fl->round_buffer[0], i);
		good = good && (number[i] > 0) == !(has_table(fl, i) ||
						    async_part(fl, i));
	}
	return good;
}

/* One server computes rounds ahead, another one does not. */
static void
ahead(void)
{
	static const uint64_t ones[REPLICAS] = { 1, 1, 1, 1 };
	static const uint64_t other[REPLICAS] = { 1, 2, 1, 1 };
	static float a[4096], b[4096];
	uint64_t number[64], again[64];
	struct fleet_of fl, plain;
	struct round_buffer *rounds;
	struct shard_snapshot *snapshot;
	float was, will;
	size_t n, part = 0;
	struct fail f;

	fleet_begin(&fl, 1);
	fleet_begin(&plain, 1);
	rounds = fl.round_buffer[0];
	while (async_part(&fl, part) || has_table(&fl, part))
		part++;
	ok(fl.plan.parts <= 64 && push_round(&fl, 7) && push_round(&plain, 7));
	named_equals(round_buffer_run_ahead(rounds, part), 0,
		     "nothing is computed ahead in the first round, whose "
		     "number of replicas is unknown");
	ok(commit(&fl, 0, 7, ones, REPLICAS, &f) == 0 &&
	   commit(&plain, 0, 7, ones, REPLICAS, &f) == 0);
	for (size_t k = 0; k < REPLICAS - 1; k++)
		equals(push_to(&fl, part, 8, k, 1), OUTCOME_STAGED);
	named_equals(round_buffer_run_ahead(rounds, part), 0,
		     "nothing is computed ahead before all replicas are "
		     "pushed");
	ok(push_round(&fl, 8) && push_round(&plain, 8));
	was = value_of(&fl, part, false);
	named(run_ahead(&fl, number),
	      "all parts without tables are computed ahead");
	will = value_of(&fl, part, true);
	named(will != was && value_of(&fl, part, false) == was,
	      "a value that is computed ahead does not change the current "
	      "one");
	ok(push_to(&fl, part, 8, 1, 2) == OUTCOME_STAGED &&
	   push_to(&plain, part, 8, 1, 2) == OUTCOME_STAGED &&
	   run_ahead(&fl, again) && number[part] == again[part] &&
	   !round_buffer_came_to(rounds, part, number[part]));
	snapshot = shard_snapshot_below(fl.shard[0], 7);
	ok(commit(&fl, 0, 8, ones, REPLICAS, &f) == 0 &&
	   commit(&plain, 0, 8, ones, REPLICAS, &f) == 0);
	named(round_buffer_came_to(rounds, part, number[part]) &&
	      !round_buffer_came_to(rounds, part, 0) &&
	      value_of(&fl, part, false) == will,
	      "the commit takes the values that were computed ahead");
	n = read_all(&fl, a, false);
	read_all(&plain, b, false);
	named(same_floats(a, b, n) &&
	      shard_version(fl.shard[0], part) ==
	      shard_version(plain.shard[0], part),
	      "a server that computes ahead has the same bits as one that "
	      "does not");
	{
		const struct frame none = { 0 };
		struct frame values;

		ok(shard_pull(fl.shard[0], part, &none, snapshot,
			      as_floats, &values, &f) == 0);
		named_equals(*(const float *)values.data, was,
			     "a snapshot keeps the values of before the "
			     "commit");
	}
	shard_snapshot_free(snapshot);

	ok(push_round(&fl, 9) && push_round(&plain, 9) &&
	   run_ahead(&fl, number));
	for (size_t i = 0; i < fl.plan.parts; i++)
		ok(async_part(&fl, i) ||
		   (push_to(&fl, i, 9, 1, 2) == OUTCOME_STAGED &&
		    push_to(&plain, i, 9, 1, 2) == OUTCOME_STAGED));
	ok(commit(&fl, 0, 9, other, REPLICAS, &f) == 0 &&
	   commit(&plain, 0, 9, other, REPLICAS, &f) == 0);
	read_all(&fl, a, false);
	read_all(&plain, b, false);
	named(!round_buffer_came_to(rounds, part, number[part]) &&
	      same_floats(a, b, n),
	      "values computed ahead from other attempts are not taken");
	fleet_end(&fl);
	fleet_end(&plain);
}

/* ---- pushes that a relay has added up ---- */

/* Pushes the sum of one attempt at all replicas of a node, as floats. */
static enum outcome
push_sum(struct fleet_of *fl, size_t part, uint64_t step, size_t first,
	 unsigned level, uint64_t attempt)
{
	static struct push of[REPLICAS];
	const struct part *at = &fl->plan.part[part];
	struct gradient_tree *tree = gradient_tree_new(&fl->plan);
	struct row_list *rows = mem_alloc(at->count, sizeof(*rows));
	struct gradient_leaf leaf[REPLICAS];
	struct pack keys = { 0 };
	struct frame key_frame, value_frame;
	struct shard_push push = { .keys = &key_frame, .values = &value_frame,
				   .step = step };
	enum outcome outcome = OUTCOME_NONE;
	size_t floats;
	float *sum;
	struct fail f;

	for (size_t k = 0; k < (size_t)1 << level; k++) {
		make_push(&of[k], &fl->plan, part, first + k, attempt);
		leaf[k] = (struct gradient_leaf){
			first + k, &of[k].key_frame, &of[k].value_frame,
			of[k].push.encoding
		};
		push.examples += of[k].push.examples;
		if (!gradient_leaf_is_sound(&fl->plan, part, &leaf[k]))
			return OUTCOME_NONE;
	}
	floats = gradient_tree_sum(tree, part, leaf, (size_t)1 << level, rows,
				   &sum);
	for (size_t i = 0; i < at->count; i++) {
		const struct piece *piece = &fl->plan.piece[at->first + i];

		if (piece->table)
			row_list_write(&rows[i], &keys, piece);
		free(rows[i].row);
	}
	key_frame = (struct frame){ keys.data, keys.size, NULL };
	value_frame = (struct frame){ sum, floats * sizeof(*sum), NULL };
	if (round_buffer_push(fl->round_buffer[at->server], part, step,
			      message_node(first, level), attempt, &push,
			      &outcome, &f) < 0)
		outcome = OUTCOME_NONE;
	pack_release(&keys);
	free(rows);
	gradient_tree_free(tree);
	return outcome;
}

/* The levels of the nodes in which the replicas of a part are pushed. */
static const unsigned *const came[] = {
	(const unsigned[]){ 0, 0, 0, 0 }, (const unsigned[]){ 1, 0, 1, 0 },
	(const unsigned[]){ 2, 0, 0, 0 }, (const unsigned[]){ 1, 0, 0, 0 },
	(const unsigned[]){ 0, 0, 1, 0 }
};
#define WAYS_TO_COME	(sizeof(came) / sizeof(*came))

static bool
push_nodes(struct fleet_of *fl, size_t part, uint64_t step, size_t way)
{
	bool good = true;

	for (size_t k = 0; k < REPLICAS;) {
		const unsigned level = came[way][k];

		good = (level > 0 ? push_sum(fl, part, step, k, level, 1) :
			push_to(fl, part, step, k, 1)) == OUTCOME_STAGED &&
			good;
		k += (size_t)1 << level;
	}
	return good;
}

/* Pushes each part in another way, and some parts in two ways. */
static bool
push_ways(struct fleet_of *fl, uint64_t step, size_t way)
{
	bool good = true;

	for (size_t i = 0; i < fl->plan.parts; i++)
		if (!async_part(fl, i))
			good = push_nodes(fl, i, step,
					  (way + i) % WAYS_TO_COME) &&
				(way % 3 || push_nodes(fl, i, step,
						       i % WAYS_TO_COME)) &&
				good;
	return good;
}

/* Returns the replicas that a server lacks, as text. */
static const char *
missing(struct fleet_of *fl, size_t server, uint64_t step,
	const uint64_t *attempt)
{
	static char text[sizeof(struct fail)];
	struct pack keys = { 0 }, slots = { 0 };
	struct frame frame;
	struct unpack u;
	struct fail f;

	pack_array(&keys, REPLICAS);
	for (size_t k = 0; k < REPLICAS; k++)
		pack_uint(&keys, attempt[k]);
	frame = (struct frame){ keys.data, keys.size, NULL };
	*text = '\0';
	if (round_buffer_check(fl->round_buffer[server], step, &frame, &slots,
			       &f) < 0) {
		snprintf(text, sizeof(text), "%s", f.text);
	} else {
		u = unpack_from(slots.data, slots.size);
		for (uint32_t n = unpack_array(&u); n > 0; n--)
			snprintf(text + strlen(text), sizeof(text) -
				 strlen(text), "%d ", (int)unpack_uint(&u));
	}
	pack_release(&keys);
	pack_release(&slots);
	return text;
}

static void
nodes(void)
{
	static const uint64_t ones[REPLICAS] = { 1, 1, 1, 1 };
	static const uint64_t again[REPLICAS] = { 1, 1, 2, 1 };
	static float plain[4096], summed[4096];
	bool same = true, good = true;
	uint64_t number[64];
	struct fleet_of fl;
	struct fail f;
	size_t n, part = 0;

	codec = &codec_bfloat16;
	rounded = true;
	fleet_begin(&fl, 1);
	good = push_round(&fl, 7) && commit(&fl, 0, 7, ones, REPLICAS, &f) == 0;
	n = read_all(&fl, plain, false);
	fleet_end(&fl);
	for (size_t way = 0; way < 3 * WAYS_TO_COME; way++) {
		const size_t servers = 1 + way % 3;

		codec = way % 2 ? &codec_bfloat16 : &codec_float32;
		fleet_begin(&fl, servers);
		good = push_ways(&fl, 7, way) && good;
		for (size_t s = 0; s < servers; s++)
			good = !*missing(&fl, s, 7, ones) &&
				commit(&fl, s, 7, ones, REPLICAS, &f) == 0 &&
				good;
		read_all(&fl, summed, false);
		same = same && same_floats(summed, plain, n);
		fleet_end(&fl);
	}
	ok(good);
	named(same, "sums of nodes give the same bits as their replicas");

	codec = &codec_float32;
	fleet_begin(&fl, 1);
	ok(push_ways(&fl, 7, 2));
	while (async_part(&fl, part))
		part++;
	equals(missing(&fl, 0, 7, ones), "");
	equals(missing(&fl, 0, 7, again), "0 1 2 3 ");
	for (size_t i = 0; i < fl.plan.parts; i++)
		ok(async_part(&fl, i) || push_to(&fl, i, 7, 2, 2) ==
		   OUTCOME_STAGED);
	equals(missing(&fl, 0, 7, again), "0 1 3 ");
	ok(commit(&fl, 0, 7, again, REPLICAS, &f) < 0);
	named(strstr(f.text, "attempt 1, is not staged") &&
	      round_buffer_step(fl.round_buffer[0]) == 7,
	      "an attempt within a sum does not count for a single replica");
	for (size_t i = 0; i < fl.plan.parts; i++)
		for (size_t k = 0; k < REPLICAS && !async_part(&fl, i); k++)
			push_to(&fl, i, 7, k, 1);
	equals(missing(&fl, 0, 7, again), "");
	equals(missing(&fl, 0, 8, again), "COMMIT of step 8, but step 7 comes "
	       "first");
	equals(missing(&fl, 0, 6, again), "");
	ok(commit(&fl, 0, 7, again, REPLICAS, &f) == 0);
	ok(push_sum(&fl, part, 7, 0, 1, 1) == OUTCOME_DUP &&
	   push_sum(&fl, part, 9, 0, 1, 1) == OUTCOME_LATER);
	ok(push_ways(&fl, 8, 1));
	named(run_ahead(&fl, number), "sums of nodes are computed ahead");
	ok(commit(&fl, 0, 8, ones, REPLICAS, &f) == 0);
	for (part = 0; has_table(&fl, part) || async_part(&fl, part);)
		part++;
	named(round_buffer_came_to(fl.round_buffer[0], part, number[part]),
	      "the commit takes the sums that were computed ahead");
	while (part < fl.plan.parts && !async_part(&fl, part))
		part++;
	if (part == fl.plan.parts)
		for (part = 0; !async_part(&fl, part);)
			part++;
	named_equals(push_sum(&fl, part, 9, 0, 1, 1), OUTCOME_NONE,
		     "a part outside rounds takes no sums");
	fleet_end(&fl);
	codec = &codec_float32;
	rounded = false;
}

int
main(void)
{
	fixture_begin(&fixture, model);
	nodes();
	ahead();
	same_sums(false);
	same_sums(true);
	nothing_to_do();
	outcomes();
	memory();
	fixture_end(&fixture);
	return tap_done();
}
