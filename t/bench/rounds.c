/*
 * rounds - the gradients of a round summed as a tree, compared with a loop that
 * adds them to zeros in the order of their replicas.
 *
 * The gradients are those of dense parts of 512 KB, and of tables of which each
 * replica has half of 20,000 rows.  Figures are the GB/s of gradients that come
 * in.
 */
#include "wire/gradient_tree.h"

#include "base/mem.h"
#include "base/rng.h"
#include "tensor/kernels.h"
#include "wire/keys.h"

#include "bench.h"

#define MOST	16		/* replicas */
#define ROWS	20000

struct pushes {
	struct piece piece;
	struct part part;
	struct plan plan;
	size_t replicas, bytes;
	struct pack keys[MOST];
	float *value[MOST];
	struct frame key_frame[MOST], value_frame[MOST];
	struct gradient_leaf leaf[MOST];
};

static void
begin(struct pushes *p, bool table, size_t count, size_t width, size_t replicas)
{
	uint64_t *row = mem_alloc(count, sizeof(*row));
	struct rng rng = { .seed = 3 };

	*p = (struct pushes){ .replicas = replicas };
	p->piece = (struct piece){ .table = table, .count = count,
				   .width = width };
	p->part.count = 1;
	p->plan.pieces = p->plan.parts = 1;
	p->plan.piece = &p->piece;
	p->plan.part = &p->part;
	for (size_t k = 0; k < replicas; k++) {
		size_t rows = 0;

		for (size_t i = 0; i < count; i++)
			if (!table || rng_below(&rng, 2) == 0)
				row[rows++] = i;
		if (table)
			keys_write(&p->keys[k], row, rows, 0);
		p->value[k] = mem_alloc(rows * width, sizeof(float));
		for (size_t i = 0; i < rows * width; i++)
			p->value[k][i] = 1e-3f * (float)(i % 100);
		p->key_frame[k] = (struct frame){ p->keys[k].data,
						  p->keys[k].size, NULL };
		p->value_frame[k] = (struct frame){ p->value[k],
			rows * width * sizeof(float), NULL };
		p->leaf[k] = (struct gradient_leaf){ k, &p->key_frame[k],
			&p->value_frame[k], { NULL, 0 } };
		p->bytes += p->value_frame[k].size;
	}
	free(row);
}

static void
end(struct pushes *p)
{
	for (size_t k = 0; k < p->replicas; k++) {
		pack_release(&p->keys[k]);
		free(p->value[k]);
	}
}

/* Merges two lists of rows, each sorted and unique, into one that is too. */
static void
unite(struct row_list *rows, const struct row_list *with)
{
	const uint64_t *more = with->row;
	size_t n = with->count, a = rows->count, k = a + n;
	const size_t end = k;
	uint64_t *all;

	if (end > rows->room) {
		rows->room = end;
		rows->row = mem_resize(rows->row, end, sizeof(*all));
	}
	all = rows->row;
	while (n > 0) {
		if (a > 0 && all[a - 1] >= more[n - 1]) {
			n -= all[a - 1] == more[n - 1];
			all[--k] = all[--a];
		} else {
			all[--k] = more[--n];
		}
	}
	memmove(all + a, all + k, (end - k) * sizeof(*all));
	rows->count = a + end - k;
}

static void
add_in_order(const struct pushes *p, struct row_list *all,
	     struct row_list *own, float *sum)
{
	const size_t width = p->piece.width;

	all->count = p->piece.table ? 0 : p->piece.count;
	for (size_t k = 0; k < p->replicas; k++) {
		struct unpack u = unpack_from(p->keys[k].data,
					      p->keys[k].size);

		row_list_read(&own[k], &u, &p->piece);
		if (p->piece.table)
			unite(all, &own[k]);
	}
	memset(sum, 0, all->count * width * sizeof(*sum));
	for (size_t k = 0; k < p->replicas; k++) {
		const float *from = p->value[k];

		if (!p->piece.table) {
			kernel_add_loose(sum, from, p->piece.count);
			continue;
		}
		for (size_t i = 0, at = 0; i < own[k].count; i++, at++) {
			while (all->row[at] != own[k].row[i])
				at++;
			for (size_t j = 0; j < width; j++)
				sum[at * width + j] += from[i * width + j];
		}
	}
}

static void
one(const char *label, bool table, size_t count, size_t width,
    size_t replicas)
{
	const struct claim claim = { "rounds", label, "GB/s", "in order", 0.9 };
	const size_t times = bench_scale(1, 200, 1000);
	struct gradient_tree *tree;
	struct row_list rows = { 0 }, all = { 0 }, own[MOST] = { 0 };
	float *sum, *other = mem_alloc(count * width, sizeof(*other));
	struct series ours = { 0 }, bare = { 0 };
	struct pushes p;
	double gb;

	begin(&p, table, count, width, replicas);
	gb = (double)p.bytes * (double)times / 1e9;
	tree = gradient_tree_new(&p.plan);
	for (size_t run = 0; run < bench_runs(); run++) {
		struct watch since = watch_read(0);

		for (size_t k = 0; k < times; k++)
			add_in_order(&p, &all, own, other);
		series_add(&bare, gb, since, 0);
		since = watch_read(0);
		for (size_t k = 0; k < times; k++)
			gradient_tree_sum(tree, 0, p.leaf, replicas, &rows,
					  &sum);
		series_add(&ours, gb, since, 0);
	}
	bench_print(&claim, &ours, &bare);
	gradient_tree_free(tree);
	for (size_t k = 0; k < replicas; k++)
		free(own[k].row);
	free(rows.row);
	free(all.row);
	free(other);
	end(&p);
}

int
main(void)
{
	const size_t replicas[] = { 1, 2, 3, 4, 8, MOST };
	const size_t width[] = { 1, 8, 64 };
	char label[64];

	for (size_t k = 0; k < sizeof(replicas) / sizeof(*replicas); k++) {
		snprintf(label, sizeof(label), "%zu dense", replicas[k]);
		one(label, false, 128 << 10, 1, replicas[k]);
		for (size_t w = 0; w < sizeof(width) / sizeof(*width); w++) {
			snprintf(label, sizeof(label), "%zu, rows of %zu",
				 replicas[k], width[w]);
			one(label, true, ROWS, width[w], replicas[k]);
		}
	}
	return 0;
}
