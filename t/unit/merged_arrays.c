/*
 * A hashed table that any number of servers wrote is read as one array, with
 * its rows in the order of their keys, and is compared with another row by row;
 * parts that do not fit together are refused.
 */
#include "store/merged_arrays.h"

#include "store/compare.h"
#include "store/rows.h"

#include "tap.h"

#include <stdlib.h>
#include <string.h>

#define IDS	1000
#define WIDTH	3

static struct fail f;
static char root[] = "/tmp/whole.XXXXXX";

static const struct variable variable = {
	.name = (char[]){ "e/embeddings" },
	.shape = { 2, { HASHED_RANGES, WIDTH } },
	.table = true, .hashed = true,
};

static const struct model_source model = {
	.file = (struct model_file[]){
		{ (char[]){ "model.ps" }, (char[]){ "loss x\n" }, 7 },
	},
	.count = 1,
};

/* The content of a checkpoint, and its number of servers. */
struct content {
	const char *name;
	size_t servers, slots;		/* slots: servers with a slot m */
	uint64_t first, end;		/* ids */
	float more;			/* added to ids: the values */
	bool swapped;			/* the first and last name */
};

static struct table *
fill(const struct content *x, struct rows ranges)
{
	struct table *t = table_new(&(struct table_kind){ .width = WIDTH });

	for (uint64_t id = x->first; id < x->end; id++) {
		const float value = (float)id + x->more;
		const size_t range = (size_t)(hash_mix(id) >>
					      (64 - HASHED_BITS));

		if (range >= ranges.first &&
		    range - ranges.first < ranges.count)
			table_put(t, hash_mix(id),
				  (float[WIDTH]){ value, value, value }, 0);
	}
	return t;
}

static int
save_part(const struct content *x, size_t i, struct checkpoint_part *part)
{
	const size_t other = x->swapped ? x->servers - 1 - i : i;
	struct table *t = fill(x, partition_rows(HASHED_RANGES, x->servers,
						 other));
	struct checkpoint_array a[ROWS_ARRAYS];
	const size_t n = rows_arrays(&variable, t, partition_rows(
			HASHED_RANGES, x->servers, i), 1, a);
	int r;

	a[n] = a[0];
	a[n].slot = "m";
	r = checkpoint_write_part(root, x->name, i, x->servers, a,
				  n + (i < x->slots), part, &f);
	for (size_t k = 0; k < n; k++)
		free((char *)(uintptr_t)a[k].variable);
	table_free(t);
	return r;
}

static struct checkpoint *
save(const struct content *x)
{
	const struct checkpoint_info info = { .step = 1,
		.run = "0123456789abcdef0123456789abcdef" };
	struct checkpoint_part part[16];
	char path[64];

	for (size_t i = 0; i < x->servers; i++)
		if (save_part(x, i, &part[i]) < 0)
			return NULL;
	if (checkpoint_publish(root, x->name, &info, &model, part,
			       x->servers, &f) < 0)
		return NULL;
	snprintf(path, sizeof(path), "%s/%s", root, x->name);
	return checkpoint_open(path, true, &f);
}

/* Are the rows read in order, in steps of so many rows, across parts? */
static bool
reads_in_order(const struct merged_arrays *w, size_t step)
{
	const struct merged_array *values =
		merged_arrays_find(w, "e/embeddings", "");
	const struct merged_array *ids =
		merged_arrays_find(w, "e/embeddings", "id");
	uint64_t id[IDS], last = 0;
	float row[IDS][WIDTH];
	bool good = values && ids;

	for (size_t at = 0; good && at < IDS; at += step) {
		const struct rows rows = { at, IDS - at < step ? IDS - at :
					       step };

		good = merged_arrays_read(w, ids, rows, id, &f) == 0 &&
			merged_arrays_read(w, values, rows, row, &f) == 0;
		for (size_t i = 0; good && i < rows.count; i++) {
			good = row[i][0] == (float)id[i] &&
				row[i][WIDTH - 1] == (float)id[i] &&
				(at + i == 0 || hash_mix(id[i]) > last);
			last = hash_mix(id[i]);
		}
	}
	return good;
}

static void
test_one(size_t servers)
{
	const struct shape shape = { 2, { IDS, WIDTH } };
	struct checkpoint *c = save(&(struct content){
				    "a", servers, servers, 0, IDS, 0, false });
	struct merged_arrays w;

	ok(c && merged_arrays_open(&w, c, &f) == 0);
	ok(w.count == 4 && !merged_arrays_find(&w, "e/embeddings", "n") &&
	   !merged_arrays_find(&w, "e/embeddings/keys-0-65535", ""));
	for (size_t i = 0; i < w.count; i++) {
		char *name = merged_array_name(&w.array[i]);
		static const char *const names[] = {
			"e/embeddings", "e/embeddings@id", "e/embeddings@m",
			"e/embeddings@update",
		};

		ok(strcmp(name, names[i]) == 0 && w.array[i].hashed &&
		   w.array[i].parts == servers &&
		   w.array[i].numbers == (i % 2 == 1));
		free(name);
	}
	ok(shape_equal(w.array[0].shape, shape));
	ok(reads_in_order(&w, 1) && reads_in_order(&w, 7) &&
	   reads_in_order(&w, IDS));
	merged_arrays_release(&w);
	checkpoint_close(c);
}

static void
test_misfit(void)
{
	struct checkpoint *c = save(&(struct content){
				    "a", 3, 2, 0, IDS, 0, false });
	struct merged_arrays w;

	ok(c && merged_arrays_open(&w, c, &f) < 0 && f.kind == FAIL_DATA &&
	   strstr(f.text, "'e/embeddings' has no m for each row"));
	merged_arrays_release(&w);
	checkpoint_close(c);
}

static struct compare_item *
compare(const struct content *a, const struct content *b, bool slots,
	size_t *count)
{
	struct checkpoint *left = save(a), *right = save(b);
	struct compare_item *item = left && right ?
		compare_checkpoints(left, right, slots, count, &f) : NULL;

	checkpoint_close(right);
	checkpoint_close(left);
	return item;
}

/* Rows are joined by id, on any servers; rows of only one table are counted. */
static void
test_compare(void)
{
	const struct content one = { "a", 1, 1, 0, 1000, 0, false };
	const struct content more = { "b", 7, 7, 10, 1200, 0.25f, false };
	const struct content none = { "b", 3, 0, 1000, 1001, 0, false };
	const struct content bad = { "b", 3, 0, 0, 1000, 0, true };
	struct compare_item *item;
	size_t n;

	item = compare(&one, &more, true, &n);
	ok(item && n == 3 && strcmp(item[0].name, "e/embeddings") == 0 &&
	   strcmp(item[1].name, "e/embeddings@m") == 0 &&
	   strcmp(item[2].name, "e/embeddings@update") == 0);
	for (size_t i = 0; item && i < n; i++)
		ok(!item[i].mismatch && item[i].only[0] == 10 &&
		   item[i].only[1] == 200 &&
		   item[i].largest == (i < 2 ? 0.25 : 0) &&
		   item[i].rms == item[i].largest);
	compare_free(item, n);

	item = compare(&one, &none, true, &n);
	ok(item && n == 3 && strcmp(item[0].mismatch, "no row in both") == 0 &&
	   item[0].only[0] == 1000 && item[0].only[1] == 1 &&
	   strcmp(item[1].mismatch, "only in the first") == 0);
	compare_free(item, n);

	ok(!compare(&one, &bad, false, &n) && f.kind == FAIL_DATA &&
	   strstr(f.text, "/b: rows of 'e/embeddings' are not in the order"));
}

static void
test_names(void)
{
	static const char *const others[] = {
		"keys-0-1", "e/keys", "e/keys-", "e/keys-0", "e/keys-0-",
		"e/keys-0-1x", "e/keys--0-1", "e/keys-0-1/m", "e/key-0-1",
		"e/waitings-0-1", "e/embeddings",
	};
	struct rows_part part;
	char *name = rows_part_name("a/b", true, (struct rows){ 7, 3 });

	equals(name, "a/b/waiting-7-9");
	ok(rows_part(&part, name) && part.table == 3 && part.waits &&
	   part.first == 7);
	ok(rows_part(&part, "a/keys-0-65535") && part.table == 1 &&
	   !part.waits && part.first == 0);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		ok(!rows_part(&part, others[i]));
	free(name);
}

int
main(void)
{
	char command[64];

	if (!mkdtemp(root))
		abort();
	test_names();
	test_one(1);
	test_one(2);
	test_one(15);		/* keys-43690 comes behind keys-8738 */
	test_misfit();
	test_compare();
	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command) == 0 ? tap_done() : 1;
}
