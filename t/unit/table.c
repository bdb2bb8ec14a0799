/* A table equals an array of rows with an array of ids, for all pushes, copies,
   evictions and admissions, and at any size. */
#include "tensor/table.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"

#include "tap.h"

#include <stdlib.h>
#include <string.h>

#define IDS	6000

static void
start(const void *data, uint64_t id, float *row)
{
	const struct table_kind *kind = data;

	for (size_t i = 0; i < kind->width * (1 + kind->slots); i++)
		row[i] = (float)(id % 1000) + (float)i / 4;
}

/* The expected state of each id. */
struct expected {
	uint64_t id, update, pushes;
	bool there;
	float *row;
};

struct model {
	struct table_kind kind;
	size_t floats;
	struct table *table;
	struct expected of[IDS];
	uint64_t updates;
};

static struct model *
begin(struct table_kind kind, uint64_t seed)
{
	struct model *m = mem_alloc(1, sizeof(*m));
	struct rng rng = { .seed = seed };

	m->kind = kind;
	m->kind.start = start;
	m->kind.data = &m->kind;
	m->floats = kind.width * (1 + kind.slots);
	m->table = table_new(&m->kind);
	for (size_t i = 0; i < IDS; i++) {
		m->of[i].id = i < 5 ? i : i < 10 ? UINT64_MAX - i :
			i % 2 ? i : rng_next(&rng);
		m->of[i].row = mem_alloc(m->floats, sizeof(float));
	}
	return m;
}

static void
end(struct model *m)
{
	for (size_t i = 0; i < IDS; i++)
		free(m->of[i].row);
	table_free(m->table);
	free(m);
}

static uint64_t
rows_of(const struct model *m)
{
	uint64_t n = 0;

	for (size_t i = 0; i < IDS; i++)
		n += m->of[i].there;
	return n;
}

/* Removes the rows that were not updated since this update. */
static void
forget(struct model *m, uint64_t oldest)
{
	for (size_t i = 0; i < IDS; i++) {
		struct expected *e = &m->of[i];

		if (e->update >= oldest)
			continue;
		e->there = false;
		e->pushes = 0;
	}
}

static void
begin_update(struct model *m)
{
	const uint64_t now = ++m->updates;

	table_update(m->table, now);
	if (m->kind.most == 0)
		return;
	for (uint64_t oldest = 0; rows_of(m) > m->kind.most; oldest++)
		for (size_t i = 0; i < IDS; i++)
			if (m->of[i].update < oldest)
				m->of[i].there = false;
}

/* Ends an update, and removes the rows that have become too old. */
static void
end_update(struct model *m)
{
	table_end_update(m->table);
	if (m->kind.age > 0 && m->updates >= m->kind.age)
		forget(m, m->updates - m->kind.age + 1);
}

/* Adds 1 to the first float of some rows and .5 to the last. */
static bool
push(struct model *m, struct rng *rng, uint64_t below, size_t count)
{
	uint64_t key[TABLE_BATCH];
	struct expected *e[TABLE_BATCH];
	float *row[TABLE_BATCH];
	bool good = true;

	begin_update(m);
	for (size_t k = 0; k < count; k++) {
		e[k] = &m->of[rng_below(rng, below)];
		for (size_t j = 0; j < k; j++)
			if (e[j] == e[k]) {	/* once in an update */
				k--;
				break;
			}
	}
	for (size_t k = 0; k < count; k++)
		key[k] = hash_mix(e[k]->id);
	table_touch(m->table, key, count, row);
	for (size_t k = 0; k < count; k++) {
		e[k]->update = m->updates;
		if (!e[k]->there && ++e[k]->pushes < m->kind.admit) {
			good = good && !row[k];
			continue;
		}
		if (!e[k]->there)
			start(&m->kind, e[k]->id, e[k]->row);
		e[k]->there = true;
		e[k]->pushes = 0;
		e[k]->row[0] += 1;
		e[k]->row[m->floats - 1] += .5f;
		if (!row[k])
			return false;
		row[k][0] += 1;
		row[k][m->floats - 1] += .5f;
	}
	end_update(m);
	return good;
}

/* Has the table the expected rows, when it is pulled, counted and walked
   over? */
static bool
holds(const struct model *m, const struct table *t)
{
	struct table_walk walk = { 0 };
	uint64_t *key = mem_alloc(IDS, sizeof(*key)), last = 0, seen = 0;
	float *values = mem_alloc(IDS * m->kind.width, sizeof(*values));
	float *first = mem_alloc(m->floats, sizeof(*first));
	const size_t bytes = m->kind.width * sizeof(float);
	bool good = table_rows(t) == rows_of(m);

	for (size_t i = 0; i < IDS; i++)
		key[i] = hash_mix(m->of[i].id);
	table_pull(t, key, IDS, values);
	for (size_t i = 0; i < IDS; i++) {
		start(&m->kind, m->of[i].id, first);
		good = good && memcmp(values + i * m->kind.width,
				      m->of[i].there ? m->of[i].row : first,
				      bytes) == 0;
	}
	for (; table_next(t, &walk); seen++, last = walk.key)
		good = good && (seen == 0 || walk.key > last);
	good = good && seen == rows_of(m);
	free(first);
	free(values);
	free(key);
	return good;
}

/* Returns a copy of the table, made by a walk. */
static struct table *
again(const struct model *m, const struct table *from)
{
	struct table *to = table_new(&m->kind);
	struct table_walk walk = { 0 };

	table_update(to, m->updates);
	table_end_update(to);
	while (table_next(from, &walk))
		table_put(to, walk.key, walk.row, walk.update);
	while (table_waiting(from) &&
	       table_next(table_waiting(from), &walk))
		table_put(table_waiting(to), walk.key, walk.row, walk.update);
	return to;
}

static void
one_kind(const char *name, struct table_kind kind)
{
	struct model *m = begin(kind, 3);
	struct rng rng = { .seed = 4 };
	bool pushed = true, held = true, kept = true, put = true;

	for (int round = 0; round < 12; round++) {
		struct table *cut, *copy;
		struct model *then;

		for (int i = 0; i < 30; i++)
			pushed = pushed && push(m, &rng, IDS >> round % 3,
						1 + rng_below(&rng, 128));
		held = held && holds(m, m->table);

		/* A snapshot does not change while pushes continue. */
		then = mem_copy(m, sizeof(*m));
		for (size_t i = 0; i < IDS; i++)
			then->of[i].row = mem_copy(m->of[i].row, m->floats *
						   sizeof(float));
		cut = table_share(m->table);
		for (int i = 0; i < 20; i++)
			pushed = pushed && push(m, &rng, IDS, 100);
		kept = kept && holds(then, cut);
		then->table = cut;
		end(then);
		held = held && holds(m, m->table);

		/* A table that was saved and restored continues as the
		   original. */
		copy = again(m, m->table);
		table_free(m->table);
		m->table = copy;
		put = put && holds(m, m->table);
	}
	printf("# %s: %llu rows, %llu bytes\n", name,
	       (unsigned long long)table_rows(m->table),
	       (unsigned long long)table_bytes(m->table));
	named(pushed, "rows exist once they are pushed often enough");
	named(held, "rows hold the values that were pushed");
	named(kept, "a cut keeps its values");
	named(put, "a copy continues as its original");
	end(m);
}

/* Does a pull find this value of a row of 3, between updates of other rows? */
static void
one_row(uint64_t age, const float *want, size_t updates)
{
	struct table_kind kind = { .width = 1, .start = start, .age = age };
	const uint64_t key[] = { hash_mix(3), hash_mix(4) };
	struct table *t;
	bool good = true;

	kind.data = &kind;
	t = table_new(&kind);
	for (uint64_t now = 1; now <= updates; now++) {
		float *row[1], pulled;

		table_update(t, now);
		table_touch(t, &key[now > 1], 1, row);
		*row[0] += 10;
		table_end_update(t);
		table_pull(t, key, 1, &pulled);
		good = good && pulled == want[now - 1] &&
			table_rows(t) == (uint64_t)(now > 1) + (pulled > 3);
	}
	table_free(t);
	named(good, "a row is kept for as many updates as it may be old");
}

/* Keys that are made up to collide take little memory. */
static void
made_up(void)
{
	const struct table_kind kind = { .width = 1 };
	struct table *t = table_new(&kind);
	uint64_t key[TABLE_BATCH];
	float *row[TABLE_BATCH];

	for (uint64_t n = 0; n < 1000; n++) {
		for (size_t k = 0; k < TABLE_BATCH; k++)
			key[k] = n * TABLE_BATCH + k;
		table_touch(t, key, TABLE_BATCH, row);
	}
	named(table_rows(t) < 1000 * TABLE_BATCH &&
	      table_bytes(t) < (size_t)8 << 20,
	      "keys that are made to collide take bounded memory");
	named(row[0] == NULL, "a key that finds no room gets no row");
	table_free(t);
}

/* Copies a table of made-up keys, in the order of keys, into one that begins
   with few pages. */
static void
made_up_and_put(void)
{
	const struct table_kind kind = { .width = 1 };
	struct table *t = table_new(&kind), *copy = table_new(&kind);
	struct table_walk w = { 0 };
	uint64_t key[TABLE_BATCH];
	float *row[TABLE_BATCH];

	for (uint64_t n = 0; n < 1000; n++) {
		for (size_t k = 0; k < TABLE_BATCH; k++)
			key[k] = hash_mix(n * TABLE_BATCH + k);
		table_touch(t, key, TABLE_BATCH, row);
	}
	/* Add some keys whose first 16 bits are the same. */
	for (uint64_t n = 0; n < 20; n++) {
		for (size_t k = 0; k < TABLE_BATCH; k++)
			key[k] = (uint64_t)1 << 48 |
				hash_mix(n * TABLE_BATCH + k) >> 16;
		table_touch(t, key, TABLE_BATCH, row);
	}
	ok(table_rows(t) == 1020 * TABLE_BATCH);
	while (table_next(t, &w))
		table_put(copy, w.key, w.row, w.update);
	table_walk_release(&w);
	named_equals(table_rows(copy), table_rows(t),
		     "a copy has room for all rows of the original");
	table_free(copy);
	table_free(t);
}

static uint64_t
bytes_filled(size_t rows, size_t rounds)
{
	const struct table_kind kind = { .width = 1 };
	struct table *t = table_new(&kind);
	uint64_t key[TABLE_BATCH], bytes;
	float *row[TABLE_BATCH];

	for (size_t round = 0; round < rounds; round++)
		for (size_t i = round, n = 0; i < rows; i += rounds) {
			key[n++] = UINT64_MAX / rows * i + 1;
			if (n < TABLE_BATCH && i + rounds < rows)
				continue;
			table_touch(t, key, n, row);
			n = 0;
		}
	bytes = table_rows(t) == rows ? table_bytes(t) : UINT64_MAX;
	table_free(t);
	return bytes;
}

/* Rows come in order, as from a checkpoint, so that consecutive ones fall into
   the same page. */
static void
in_order(void)
{
	named(bytes_filled(200000, 1) <= bytes_filled(200000, 50),
	      "rows that come in order take no more memory than others");
}

/*
 * All keys of the last page belong to its last group: they are after that
 * group, and then from the front of the page on.
 */
static void
at_the_end(void)
{
	const struct table_kind kind = { .width = 1 };
	struct table *t = table_new(&kind);
	uint64_t key[TABLE_BATCH];
	float value[TABLE_BATCH], *row[TABLE_BATCH];
	bool same = true;

	for (size_t k = 0; k < TABLE_BATCH; k++)
		key[k] = UINT64_MAX - TABLE_BATCH + 1 + k;
	table_touch(t, key, TABLE_BATCH, row);
	for (size_t k = 0; k < TABLE_BATCH; k++)
		*row[k] = (float)k + 1;
	table_pull(t, key, TABLE_BATCH, value);
	for (size_t k = 0; k < TABLE_BATCH; k++)
		same = same && value[k] == (float)k + 1;
	named(same, "a row that lies beyond the last page's end is found");
	table_pull(t, &(uint64_t){ 0 }, 1, value);
	named_equals(value[0], 0,
		     "a row at the front of the last page is not taken for key "
		     "0");
	table_free(t);
}

int
main(void)
{
	struct rng rng = { .seed = 1 };
	bool back = hash_unmix(hash_mix(0)) == 0 &&
		hash_unmix(hash_mix(UINT64_MAX)) == UINT64_MAX;

	for (int i = 0; i < 1000; i++) {
		const uint64_t id = rng_next(&rng);

		back = back && hash_unmix(hash_mix(id)) == id;
	}
	named(back, "an id is recovered from its key");

	one_kind("small rows", (struct table_kind){ .width = 1, .slots = 1 });
	one_kind("rows", (struct table_kind){ .width = 16, .slots = 2 });
	one_kind("odd rows", (struct table_kind){ .width = 3 });
	one_kind("large rows", (struct table_kind){ .width = 600 });
	one_kind("admitted", (struct table_kind){ .width = 2, .admit = 3 });
	one_kind("aging", (struct table_kind){ .width = 5, .slots = 1,
					       .age = 9 });
	one_kind("at most so many", (struct table_kind){ .width = 1,
							 .most = 700 });
	one_kind("all of it", (struct table_kind){ .width = 4, .admit = 2,
						   .age = 30 });
	one_row(1, (const float []){ 13, 3, 3 }, 3);
	one_row(2, (const float []){ 13, 13, 3, 3 }, 4);
	one_row(9, (const float []){ 13, 13, 13 }, 3);
	made_up();
	made_up_and_put();
	in_order();
	at_the_end();
	return tap_done();
}
