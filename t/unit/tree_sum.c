/*
 * Sums in a tree, compared with the definition to the last bit: of leaves some
 * of which are missing; and of the gradients of a part, some nodes of which
 * were added up before.
 */
#include "tensor/tree_sum.h"
#include "wire/gradient_tree.h"
#include "wire/keys.h"

#include "model_fixture.h"
#include "tap.h"

#define LEAVES	37
#define ROWS	9
#define WIDTH	21

static float leaf[LEAVES][ROWS * WIDTH];
static bool there[LEAVES][ROWS];

/* Computes the node of 2^level leaves from first on, for one row; false: it has
   no leaf. */
static bool
node(size_t row, unsigned level, size_t first, size_t width, float *to)
{
	const size_t half = (size_t)1 << level >> 1;
	float right[WIDTH];
	bool left_has, right_has;

	if (first >= LEAVES)
		return false;
	if (level == 0) {
		memcpy(to, leaf[first] + row * width, width * sizeof(*to));
		return there[first][row];
	}
	left_has = node(row, level - 1, first, width, to);
	right_has = node(row, level - 1, first + half, width, right);
	if (!left_has)
		memcpy(to, right, width * sizeof(*to));
	for (size_t i = 0; left_has && right_has && i < width; i++)
		to[i] += right[i];
	return left_has || right_has;
}

/* Draws leaves, some of them missing, with some zeros of both signs. */
static void
draw(struct rng *rng, size_t width, uint64_t often)
{
	for (size_t k = 0; k < LEAVES; k++) {
		for (size_t r = 0; r < ROWS; r++)
			there[k][r] = rng_below(rng, 8) < often;
		for (size_t i = 0; i < ROWS * width; i++)
			leaf[k][i] = rng_below(rng, 16) == 0 ? -0.0f :
				fixture_random(rng) *
				(rng_below(rng, 4) == 0 ? 1e5f : 1e-3f);
	}
}

static bool
is_definition(struct rng *rng)
{
	const size_t width = 1 + rng_below(rng, WIDTH);
	float sum[WIDTH], want[WIDTH], *room;
	bool same = true;

	room = mem_alloc(tree_levels(LEAVES - 1) * width, sizeof(*room));
	draw(rng, width, 1 + rng_below(rng, 8));
	for (size_t r = 0; r < ROWS; r++) {
		struct tree_leaf some[LEAVES];
		size_t n = 0;

		for (size_t k = 0; k < LEAVES; k++)
			if (there[k][r])
				some[n++] = (struct tree_leaf){
					(uint32_t)k, leaf[k] + r * width
				};
		if (!node(r, 6, 0, width, want))
			continue;
		tree_sum(sum, some, n, width, room);
		same = same && same_floats(sum, want, width);
	}
	free(room);
	return same;
}

static void
definition(void)
{
	struct rng rng = { .seed = 5 };
	bool good = true;

	for (int i = 0; i < 2000; i++)
		good = is_definition(&rng) && good;
	named(good, "a sum over the present leaves equals the definition");
	named(tree_levels(0) == 0 && tree_levels(1) == 0 &&
	      tree_levels(2) == 1 && tree_levels(3) == 1 &&
	      tree_levels(4) == 2 && tree_levels(4095) == 11,
	      "a sum needs one array less than its tree has levels");
}

/* ---- gradients of a part ---- */

static const char model[] =
	"input i id[2] rows=40\ninput x float[3]\nlabel y float\n"
	"e = embedding i dim=3 combiner=sum\nf = embedding i dim=9 "
	"combiner=sum\nd = dense x units=4\n"
	"a = concat e f d\np = dense a units=1\n"
	"loss mean_squared_error p\noptimizer sgd learning_rate=0.1\n";

#define REPLICAS	13
#define ALL		40	/* rows of a table */

static struct model_fixture fixture;
static struct plan plan;

struct pushed {
	struct pack keys;
	float value[2048];
	struct frame key_frame, value_frame;
	struct gradient_leaf leaf;
};

static struct gradient_leaf *
finish(struct pushed *p, uint64_t replica, size_t floats)
{
	p->key_frame = (struct frame){ p->keys.data, p->keys.size, NULL };
	p->value_frame = (struct frame){ p->value, floats * sizeof(float),
					 NULL };
	p->leaf = (struct gradient_leaf){ replica, &p->key_frame,
					  &p->value_frame, { NULL, 0 } };
	return &p->leaf;
}

/* Makes the push of a replica for a part, with some rows of tables. */
static struct gradient_leaf
push(struct pushed *p, size_t part, uint64_t replica, struct rng *rng)
{
	const struct part *of = &plan.part[part];
	size_t n = 0;

	pack_reset(&p->keys);
	for (size_t i = of->first; i < of->first + of->count; i++) {
		const struct piece *piece = &plan.piece[i];
		uint64_t row[ALL];
		size_t rows = 0;

		for (size_t k = 0; k < piece->count; k++) {
			if (piece->table && rng_below(rng, 3) > 0)
				continue;
			row[rows++] = k;
			for (size_t j = 0; j < piece->width; j++)
				p->value[n++] = fixture_random(rng) *
					(rng_below(rng, 4) ? 1e-3f : 1e4f);
		}
		if (piece->table)
			keys_write(&p->keys, row, rows, 0);
	}
	return *finish(p, replica, n);
}

/* Adds up a node, to be pushed in place of its leaves. */
static struct gradient_leaf
fold(struct gradient_tree *t, struct pushed *to, size_t part,
     const struct gradient_leaf *from, size_t count)
{
	const struct part *of = &plan.part[part];
	struct row_list rows[8] = { 0 };
	float *sum;
	const size_t n = gradient_tree_sum(t, part, from, count, rows, &sum);

	pack_reset(&to->keys);
	memcpy(to->value, sum, n * sizeof(*sum));
	for (size_t i = 0; i < of->count; i++) {
		if (plan.piece[of->first + i].table)
			keys_write(&to->keys, rows[i].row, rows[i].count, 0);
		free(rows[i].row);
	}
	return *finish(to, from->replica, n);
}

static bool
same_push(const struct pushed *a, const struct pushed *b)
{
	return a->keys.size == b->keys.size &&
		memcmp(a->keys.data, b->keys.data, a->keys.size) == 0 &&
		a->value_frame.size == b->value_frame.size &&
		memcmp(a->value, b->value, a->value_frame.size) == 0;
}

/* Adds up all nodes of this level; returns their number. */
static size_t
fold_nodes(struct gradient_tree *t, size_t part, unsigned level,
	   const struct gradient_leaf *from, size_t count,
	   struct gradient_leaf *to, struct pushed *room)
{
	size_t nodes = 0;

	for (size_t i = 0, end; i < count; i = end) {
		for (end = i; end < count && from[end].replica >> level ==
		     from[i].replica >> level; end++)
			;
		to[nodes] = fold(t, &room[nodes], part, from + i, end - i);
		nodes++;
	}
	return nodes;
}

static void
nodes(void)
{
	struct gradient_tree *t = gradient_tree_new(&plan);
	struct pushed *p = mem_alloc(2 * REPLICAS + 2, sizeof(*p));
	struct gradient_leaf all[REPLICAS], some[REPLICAS];
	struct rng rng = { .seed = 8 };
	bool same = true;

	for (int i = 0; i < 400; i++) {
		const size_t part = rng_below(&rng, plan.parts);
		const unsigned level = (unsigned)rng_below(&rng, 5);
		size_t count = 0;

		for (uint64_t k = 0; k < REPLICAS; k++)
			if (k == 5 || rng_below(&rng, 4) > 0) {
				all[count] = push(&p[count], part, k, &rng);
				count++;
			}
		fold(t, &p[2 * REPLICAS], part, all, count);
		fold(t, &p[2 * REPLICAS + 1], part, some,
		     fold_nodes(t, part, level, all, count, some,
				p + REPLICAS));
		same = same_push(&p[2 * REPLICAS], &p[2 * REPLICAS + 1]) &&
			same;
	}
	named(same, "nodes that were added up before give the same sum");
	for (size_t k = 0; k < 2 * REPLICAS + 2; k++)
		pack_release(&p[k].keys);
	free(p);
	gradient_tree_free(t);
}

static void
gradients(void)
{
	const struct partitioner cut = { .kind = PARTITION_FIXED, .shards = 2 };
	static char *endpoint[] = { (char *)"a", (char *)"b" };
	struct place *place;
	size_t places;

	fixture_begin(&fixture, model);
	place = partition_plan(fixture.variable, fixture.variables, &cut,
			       &placement_round_robin, 2, &places);
	plan_make(&plan, fixture.model, place, places, endpoint, 2);
	free(place);
	nodes();
	plan_release(&plan);
	fixture_end(&fixture);
}

int
main(void)
{
	definition();
	gradients();
	return tap_done();
}
