/*
 * A hashed table that any number of servers wrote is one array, its rows in
 * the order of their keys; parts that do not fit together are refused.
 */
#include "store/whole.h"

#include "base/mem.h"
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

/* The ids from 0 on; the values of a row are its id. */
static struct table *
fill(struct rows ranges)
{
	struct table *t = table_new(&(struct table_kind){ .width = WIDTH });

	for (uint64_t id = 0; id < IDS; id++) {
		const float row[WIDTH] = { (float)id, (float)id, (float)id };
		const size_t range = (size_t)(hash_mix(id) >>
					      (64 - HASHED_BITS));

		if (range >= ranges.first &&
		    range - ranges.first < ranges.count)
			table_put(t, hash_mix(id), row, 0);
	}
	return t;
}

/* One part, with a slot m or without. */
static int
save_part(const char *dir, size_t i, size_t servers, bool slot,
	  struct checkpoint_part *part)
{
	const struct rows ranges = partition_rows(HASHED_RANGES, servers, i);
	struct table *t = fill(ranges);
	struct checkpoint_array a[ROWS_ARRAYS];
	const size_t n = rows_arrays(&variable, t, ranges, 1, a);
	int r;

	a[n] = a[0];
	a[n].slot = "m";
	r = checkpoint_write_part(dir, "ckpt-00000001", i, servers, a,
				  n + slot, part, &f);
	for (size_t k = 0; k < n; k++)
		free((char *)(uintptr_t)a[k].variable);
	table_free(t);
	return r;
}

/* With slots of so many of the servers. */
static struct checkpoint *
save(size_t servers, size_t slots)
{
	const struct checkpoint_info info = { .step = 1,
		.run = "0123456789abcdef0123456789abcdef" };
	struct checkpoint_part part[16];
	char path[64];

	for (size_t i = 0; i < servers; i++)
		if (save_part(root, i, servers, i < slots, &part[i]) < 0)
			return NULL;
	if (checkpoint_publish(root, "ckpt-00000001", &info, &model, part,
			       servers, &f) < 0)
		return NULL;
	snprintf(path, sizeof(path), "%s/ckpt-00000001", root);
	return checkpoint_open(path, true, &f);
}

/* In steps of so many rows, which know nothing of parts. */
static bool
reads_in_order(const struct whole *w, size_t step)
{
	const struct whole_array *values = whole_find(w, "e/embeddings", "");
	const struct whole_array *ids = whole_find(w, "e/embeddings", "id");
	uint64_t id[IDS], last = 0;
	float row[IDS][WIDTH];
	bool good = values && ids;

	for (size_t at = 0; good && at < IDS; at += step) {
		const struct rows rows = { at, IDS - at < step ? IDS - at :
					       step };

		good = whole_read(w, ids, rows, id, &f) == 0 &&
			whole_read(w, values, rows, row, &f) == 0;
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
	struct checkpoint *c = save(servers, servers);
	struct whole w;

	ok(c && whole_open(&w, c, &f) == 0);
	ok(w.count == 4 && !whole_find(&w, "e/embeddings", "n") &&
	   !whole_find(&w, "e/embeddings/keys-0-65535", ""));
	for (size_t i = 0; i < w.count; i++) {
		char *name = whole_name(&w.array[i]);
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
	whole_release(&w);
	checkpoint_close(c);
}

static void
test_misfit(void)
{
	struct checkpoint *c = save(3, 2);
	struct whole w;

	ok(c && whole_open(&w, c, &f) < 0 && f.kind == FAIL_DATA &&
	   strstr(f.text, "'e/embeddings' has no m for each row"));
	whole_release(&w);
	checkpoint_close(c);
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

	ok(strcmp(name, "a/b/waiting-7-9") == 0);
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
	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command) == 0 ? tap_done() : 1;
}
