/*
 * Batches are the same with and without a cache, bit for bit, in every state of
 * the cache: it is made, read, stale, damaged, being made by another program,
 * or cannot be made.
 */
#include "data/reader.h"
#include "data/cache_file.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/rng.h"

#include "examples.h"
#include "files.h"
#include "tap.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define ROWS	3000

static struct input in[6], label;
static size_t inputs;
static char *files[2];
static size_t count;	/* of files */
static struct fail why;

/* ---- inputs ---- */

static struct input *
add(const char *name, enum input_kind kind, uint64_t rows, size_t width)
{
	in[inputs] = examples_input(name, kind, rows, width);
	return &in[inputs++];
}

static void
forget(void)
{
	for (size_t i = 0; i < inputs; i++) {
		lookup_free(in[i].lookup);
		free(in[i].name);
	}
	inputs = 0;
}

static void
use(const char *first, const char *second)
{
	static char names[2][40];

	snprintf(names[0], sizeof(names[0]), "%s", first);
	snprintf(names[1], sizeof(names[1]), "%s", second);
	files[0] = names[0];
	files[1] = names[1];
	count = *second ? 2 : 1;
}

/* Writes an svmlight file.  weight: the format of values; NULL: each is 1. */
static void
put_svmlight(const char *name, size_t rows, const char *weight)
{
	struct rng rng = { .seed = 3 };
	struct text t = { 0 };

	for (size_t i = 0; i < rows; i++) {
		uint64_t id = 0;

		text_add(&t, "%d", (int)rng_below(&rng, 2));
		for (uint64_t n = rng_below(&rng, 40); n > 0; n--) {
			id += 1 + rng_below(&rng, 20);
			text_add(&t, " %llu:", (unsigned long long)id);
			if (weight)
				text_add(&t, "%g", (double)
					 rng_below(&rng, 100000) / 777 - 9);
			else
				text_add(&t, "1");
		}
		text_add(&t, "\n");
	}
	files_put(name, t.data, t.size);
	text_release(&t);
}

static void
put_table(const char *name, size_t rows, char separator)
{
	struct rng rng = { .seed = 4 };
	struct text t = { 0 };

	text_add(&t, "y%cx%cword%cbag%cpairs%cany%cname\n", separator,
		 separator, separator, separator, separator, separator);
	for (size_t i = 0; i < rows; i++) {
		text_add(&t, "%d%c%g%cw%d%c", (int)rng_below(&rng, 2),
			 separator, (double)rng_below(&rng, 1000) / 7,
			 separator, (int)rng_below(&rng, 50), separator);
		for (uint64_t n = rng_below(&rng, 4); n > 0; n--)
			text_add(&t, "%d%s", (int)rng_below(&rng, 9),
				 n > 1 ? "|" : "");
		text_add(&t, "%c", separator);
		for (uint64_t n = rng_below(&rng, 4); n > 0; n--)
			text_add(&t, " %d:%d", (int)rng_below(&rng, 99),
				 (int)rng_below(&rng, 3));
		text_add(&t, "%c%llu%cn%d\n", separator, (unsigned long long)
			 rng_below(&rng, UINT64_MAX), separator,
			 (int)rng_below(&rng, 50));
	}
	files_put(name, t.data, t.size);
	text_release(&t);
}

static void
add_table(void)
{
	struct input *x;

	add("x", INPUT_FLOAT, 0, 1);
	x = add("word", INPUT_STRING, 1000, 1);
	x->lookup = lookup_hashing(1000);
	x = add("bag", INPUT_ID, (uint64_t)1 << 40, 1);
	x->ragged = true;
	x->separator = '|';
	x = add("pairs", INPUT_SPARSE, 100, 1);
	x->separator = ' ';
	x = add("any", INPUT_ID, 0, 1);
	x->hashed = true;
	x = add("name", INPUT_STRING, 0, 1);
	x->hashed = true;
	x->lookup = lookup_hashing(UINT64_MAX);
}

static void
put_idx(size_t rows)
{
	struct rng rng = { .seed = 5 };
	struct text x = { 0 }, y = { 0 };
	const unsigned char high = (unsigned char)(rows >> 8);
	const unsigned char low = (unsigned char)rows;
	const unsigned char x_head[] = {
		0, 0, 8, 2, 0, 0, high, low, 0, 0, 0, 200
	};
	const unsigned char y_head[] = { 0, 0, 8, 1, 0, 0, high, low };

	text_add_bytes(&x, x_head, sizeof(x_head));
	text_add_bytes(&y, y_head, sizeof(y_head));
	for (size_t i = 0; i < 201 * rows; i++) {
		const unsigned char c = (unsigned char)rng_below(&rng, 2);

		text_add_bytes(i % 201 ? &x : &y, &c, 1);
	}
	files_put("x.idx", x.data, x.size);
	files_put("y.idx", y.data, y.size);
	text_release(&x);
	text_release(&y);
}

/* ---- reading ---- */

static void
add_feature(struct hash *h, const struct feature *x, size_t examples)
{
	const size_t width = input_width(x->input);
	const size_t n = feature_count(x, examples);
	const float one = 1;

	if (!width)
		hash_add(h, x->offset, (examples + 1) * sizeof(*x->offset));
	if (x->input->kind == INPUT_FLOAT)
		hash_add(h, x->value, n * sizeof(*x->value));
	for (size_t i = 0; x->input->kind != INPUT_FLOAT && i < n; i++) {
		const uint64_t id = feature_id(x, i);

		hash_add(h, &id, sizeof(id));
	}
	for (size_t i = 0; x->input->kind == INPUT_SPARSE && i < n; i++)
		hash_add(h, x->weight ? &x->weight[i] : &one, sizeof(one));
}

static void
add_batch(struct hash *h, const struct batch *b)
{
	hash_add(h, &b->examples, sizeof(b->examples));
	for (size_t i = 0; i < b->features; i++)
		add_feature(h, &b->feature[i], b->examples);
	if (b->label.input)
		add_feature(h, &b->label, b->examples);
}

/* Reads up to this many batches; returns a hash of all their bits as text, to
   be freed. */
static char *
read_all(const struct reader_options *o, size_t size, size_t batches)
{
	struct reader *r = reader_open(files, count, o, in, inputs, &label,
				       &why);
	struct hash *h = hash_new();
	struct batch b;
	char text[HASH_TEXT];
	int got = r ? 1 : -1;

	batch_begin(&b, in, inputs, &label);
	while (got > 0 && batches-- > 0) {
		got = reader_next(r, size, &b, &why);
		if (got > 0)
			add_batch(h, &b);
	}
	if (got < 0)
		hash_add(h, why.text, strlen(why.text));
	hash_text(h, text);
	hash_free(h);
	batch_release(&b);
	reader_close(r);
	return mem_text(text);
}

static bool
same(const struct reader_options *o, const char *cache, size_t size,
     size_t batches)
{
	struct reader_options with = *o;
	char *plain = read_all(o, size, batches), *kept;
	bool equal;

	with.cache = cache;
	kept = read_all(&with, size, batches);
	equal = strcmp(plain, kept) == 0;
	free(plain);
	free(kept);
	return equal;
}

/* ---- the caches ---- */

static char found[300];

/* Returns the number of caches in a folder; found is one of them. */
static size_t
caches(const char *folder, const char *suffix)
{
	DIR *dir = opendir(folder);
	struct dirent *e;
	size_t n = 0, end = strlen(suffix);

	while (dir && (e = readdir(dir))) {
		const size_t size = strlen(e->d_name);

		if (size < end || strcmp(e->d_name + size - end, suffix) != 0)
			continue;
		snprintf(found, sizeof(found), "%s/%.255s", folder,
			 e->d_name);
		n++;
	}
	if (dir)
		closedir(dir);
	return n;
}

static void
remove_caches(void)
{
	while (caches(".", ".pscache") > 0)
		unlink(found);
}

/* Returns the bytes of the only cache. */
static char *
cache_bytes(size_t *size)
{
	*size = 0;
	return caches(".", ".pscache") == 1 ? files_get(found, size) :
	       mem_text("");
}

/* ---- tests ---- */

/*
 * Reads an input in every way, without a cache, while one is made and from it:
 * in batches of the cache's size, large enough to be kept gathered or not, and
 * in batches of another size.
 */
static void
test_same(const char *name, size_t rows)
{
	const size_t sizes[][3] = {
		{ 64, 1 + rows / 7, 64 }, { 1 + rows / 5, 1 + rows / 5, 64 }
	};
	static const size_t shards[][2] = { { 0, 0 }, { 0, 3 }, { 2, 3 } };
	size_t right = 0, tried = 0;

	for (int way = 0; way < 24; way++) {
		const struct reader_options o = {
			.shard = shards[way % 3][0],
			.shards = shards[way % 3][1],
			.shuffle = way / 3 % 2 ? 300 : 0, .seed = 9,
			.repeat = way / 6 % 2
		};
		const size_t *size = sizes[way / 12];
		const size_t batches = o.repeat ? rows * 5 / 2 / *size : rows;

		remove_caches();
		for (int pass = 0; pass < 3; pass++, tried++)
			right += same(&o, "", size[pass], batches) &&
				caches(".", ".pscache") == 1;
	}
	named_for(right == tried,
		  "%s: batches are the same with and without a cache", name);
	remove_caches();
}

static void
test_formats(void)
{
	size_t size;
	char *bytes;

	label = examples_input("y", INPUT_FLOAT, 0, 1);
	label.binary = true;
	put_svmlight("a.svm", ROWS, "%g");
	put_svmlight("ones.svm", ROWS, NULL);
	use("a.svm", "");
	add("x", INPUT_SPARSE, 1000, 1);
	test_same("svmlight, sparse", ROWS);
	use("ones.svm", "");
	test_same("svmlight, sparse, without weights", ROWS);
	use("a.svm", "ones.svm");
	files[1] = files[0];	/* twice the same; both have one cache */
	test_same("svmlight, the same file twice", 2 * ROWS);
	bytes = files_get("a.svm", &size);
	files_packed("a.svm.gz", "gzip", bytes, size);
	free(bytes);
	use("a.svm.gz", "");
	test_same("svmlight, compressed", ROWS);
	forget();
	add("x", INPUT_FLOAT, 0, 1000);
	put_svmlight("small.svm", 500, "%g");
	use("small.svm", "");
	test_same("svmlight, dense", 500);
	forget();
	add_table();
	put_table("a.csv", ROWS, ',');
	use("a.csv", "");
	test_same("csv of every kind", ROWS);
	put_table("a.tsv", ROWS, '\t');
	use("a.tsv", "");
	test_same("tsv of every kind", ROWS);
	forget();
	add("x", INPUT_FLOAT, 0, 200);
	put_idx(700);
	use("x.idx", "y.idx");
	for (int i = 0; i < 2; i++) {
		const struct reader_options o = { .cache = i ? "" : NULL };

		ok(same(&o, "", 64, 1000));
	}
	remove_caches();
	forget();
}

/* Are the gathered ids of the cache equal to those of the input? */
static bool
gathered_alike(const struct feature *kept, const struct feature *x, size_t n)
{
	struct unique_ids g = { 0 };
	struct sorter sorter = { 0 };
	bool alike;

	input_gather(x->input, &g, &sorter, (struct ids){ x->id, x->high }, n);
	alike = kept->is_gathered && !x->is_gathered &&
		kept->gathered.count == g.count &&
		memcmp(kept->gathered.id, g.id, g.count * sizeof(*g.id)) ==
		0 && memcmp(kept->gathered.row, g.row, n * sizeof(*g.row)) ==
		0;
	unique_ids_release(&g);
	sorter_release(&sorter);
	return alike;
}

/* A batch of the size that the cache was made with has its ids gathered. */
static void
test_gathered(size_t size, size_t rows)
{
	struct reader_options o = { 0 };
	struct reader *plain, *kept;
	struct batch a, b;
	size_t right = 0, read = 0, other = 0;

	put_table("g.csv", rows, ',');
	use("g.csv", "");
	add_table();
	ok(same(&o, "", size, rows));
	batch_begin(&a, in, inputs, &label);
	batch_begin(&b, in, inputs, &label);
	plain = reader_open(files, count, &o, in, inputs, &label, &why);
	o.cache = "";
	kept = reader_open(files, count, &o, in, inputs, &label, &why);
	while (reader_next(plain, size, &a, &why) > 0 &&
	       reader_next(kept, size, &b, &why) > 0) {
		read++;
		for (size_t i = 1; i < inputs; i++)
			right += gathered_alike(&b.feature[i], &a.feature[i],
				feature_count(&a.feature[i], a.examples));
		other += a.examples < size;
	}
	ok(read > 1 && other == (rows % size > 0) &&
	   right == (read - other) * (inputs - 1));
	reader_close(plain);
	reader_close(kept);
	batch_release(&a);
	batch_release(&b);
	remove_caches();
	forget();
}

/* When the input or an option changes, another cache is made, or none is
   used. */
static void
test_stale(void)
{
	struct reader_options o = { 0 };
	struct timespec old[2] = { { .tv_sec = 5 }, { .tv_sec = 5 } };
	char *first, *again;
	size_t size, size_again;

	put_svmlight("s.svm", 100, "%g");
	use("s.svm", "");
	add("x", INPUT_SPARSE, 1000, 1);
	ok(same(&o, "", 7, 100) && caches(".", ".pscache") == 1);
	first = cache_bytes(&size);

	/* The input is not read again: the cache is. */
	again = files_get(found, &size_again);
	ok(same(&o, "", 7, 100) && size == size_again &&
	   memcmp(first, again, size) == 0);
	free(again);

	/* The input is longer; it has its length but a later time; it has other
	   records and an earlier time. */
	put_svmlight("s.svm", 101, "%g");
	ok(same(&o, "", 7, 100) && caches(".", ".pscache") == 1);
	put_svmlight("s.svm", 101, NULL);
	ok(same(&o, "", 7, 100));
	utimensat(AT_FDCWD, "s.svm", old, 0);
	ok(same(&o, "", 7, 100) && caches(".", ".pscache") == 1);
	again = cache_bytes(&size_again);
	utimensat(AT_FDCWD, "s.svm", old, 0);	/* but it has been touched */
	free(first);
	ok(same(&o, "", 7, 100));
	first = cache_bytes(&size);
	ok(size == size_again && memcmp(first, again, size) != 0);
	free(first);
	free(again);

	/* Another option makes another cache, and the first one stays. */
	in[0].rows = 2000;
	ok(same(&o, "", 7, 100) && caches(".", ".pscache") == 2);
	o.unlabelled = true;
	ok(same(&o, "", 7, 100) && caches(".", ".pscache") == 3);
	o.unlabelled = false;
	label.binary = false;
	ok(same(&o, "", 7, 100) && caches(".", ".pscache") == 4);
	label.binary = true;
	remove_caches();
	forget();

	/* The vocabulary changes. */
	char a[] = "w1", b[] = "w2", *words[] = { a, b };

	put_table("w.csv", 50, ',');
	use("w.csv", "");
	struct input *x = add("word", INPUT_STRING, 3, 1);

	x->lookup = lookup_vocabulary(words, 2, 1, NULL, &why);
	ok(same(&o, "", 7, 100) && caches(".", ".pscache") == 1);
	lookup_free(x->lookup);
	words[0] = b;
	words[1] = a;
	x->lookup = lookup_vocabulary(words, 2, 1, NULL, &why);
	ok(same(&o, "", 7, 100) && caches(".", ".pscache") == 2);
	forget();

	/* The first line is a header, or a record. */
	files_text("h.csv", "1,2\n3,4\n");
	use("h.csv", "");
	char one[] = "1", two[] = "2", *first_column[] = { one };
	char *second_column[] = { two };

	x = add("x", INPUT_FLOAT, 0, 1);
	x->columns = first_column;
	label.columns = second_column;
	x->column_count = label.column_count = 1;
	label.binary = false;
	ok(same(&o, "", 7, 100));
	o.no_header = true;
	ok(same(&o, "", 7, 100));
	label.columns = NULL;
	label.column_count = 0;
	label.binary = true;
	remove_caches();
	forget();
}

/* Is a cache with these bytes ignored, and made again? */
static bool
refused(const char *bytes, size_t size, const char *good, size_t good_size,
	size_t batch)
{
	const struct reader_options o = { 0 };
	char path[sizeof(found)], *now;
	bool equal;
	size_t n;

	strcpy(path, found);
	files_put(path, bytes, size);
	equal = same(&o, "", batch, 1000);	/* may fail at its end, */
	equal = equal && same(&o, "", batch, 1000);	/* but is made again */
	now = cache_bytes(&n);
	equal = equal && n == good_size && memcmp(now, good, n) == 0;
	free(now);
	return equal;
}

static void
test_damage(size_t rows, size_t step, size_t batch)
{
	const struct reader_options o = { 0 };
	size_t size, right = 0, tried = 0;
	char *good, *bad;

	put_svmlight("d.svm", rows, "%g");
	use("d.svm", "");
	add("x", INPUT_SPARSE, 1000, 1);
	ok(same(&o, "", batch, 1000));
	good = cache_bytes(&size);
	bad = mem_copy(good, size);
	ok(size > rows && caches(".", ".pscache") == 1);
	for (size_t i = 0; i < size; i += step, tried += 2) {
		right += refused(good, i, good, size, batch);
		bad[i] ^= (char)(1 << i % 8);
		right += refused(bad, size, good, size, batch);
		bad[i] = good[i];
	}
	equals(right, tried);
	ok(refused("", 0, good, size, batch));
	free(good);
	free(bad);
	remove_caches();
	forget();
}

/* ---- a cache with false sizes ---- */

#define BLOCK	128	/* offset of the first block */

/* Is a cache with false sizes refused by a process with little memory? */
static bool
refused_in_little(const char *bytes, size_t size, const char *good,
		  size_t good_size)
{
	const struct rlimit little = { (size_t)96 << 20, (size_t)96 << 20 };
	int status = 1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
#ifndef PS_DEV
		setrlimit(RLIMIT_DATA, &little);
#endif
		(void)little;
		_exit(!refused(bytes, size, good, good_size, 10));
	}
	equals(waitpid(pid, &status, 0), pid);
	return status == 0;
}

/* Writes the header of a good cache and one block of size bytes, whose header
   has the size "says". */
static size_t
put_block(char *to, const char *good, uint32_t says, const char *bytes,
	  size_t size)
{
	struct cache_block b = { .records = 1, .size = says,
				 .data_sum = hash64(bytes, size) };

	b.sum = hash64(&b, offsetof(struct cache_block, sum));
	memcpy(to, good, BLOCK);
	memcpy(to + BLOCK, &b, sizeof(b));
	memcpy(to + BLOCK + sizeof(b), bytes, size);
	return BLOCK + sizeof(b) + size;
}

/* Writes one example of one id, with 16 million keys in 131,072 empty
   blocks. */
static size_t
many_keys(char *to)
{
	const uint32_t one = 1, keys = 4 + (1 << 17), none = 0;
	const float label_value = 1;
	char *at = to;

	memcpy(at, &one, sizeof(one));
	memcpy(at + 4, &keys, sizeof(keys));
	memset(at + 8, 0, keys);
	memcpy(at + 8, "\x80\x80\x80\x08", 4);
	at += 8 + keys;
	memcpy(at, &none, sizeof(none));	/* its place */
	memcpy(at + 4, &none, sizeof(none));	/* no weights */
	memcpy(at + 8, &label_value, sizeof(label_value));
	return (size_t)(at + 12 - to);
}

static void
test_sizes(void)
{
	const struct reader_options o = { 0 };
	char *good, *bad = mem_alloc(1 << 18, 1), *block;
	size_t size, n;

	put_svmlight("m.svm", 10, "%g");
	use("m.svm", "");
	add("x", INPUT_SPARSE, (uint64_t)1 << 30, 1);
	ok(same(&o, "", 10, 1000));
	good = cache_bytes(&size);
	n = put_block(bad, good, 1 << 30, "", 0);
	named(refused_in_little(bad, n, good, size),
	      "a block whose size exceeds the file is refused in little "
	      "memory");
	block = mem_alloc(1 << 18, 1);
	n = many_keys(block);
	n = put_block(bad, good, (uint32_t)n, block, n);
	named(refused_in_little(bad, n, good, size),
	      "keys of more ids than the block has bytes for are refused in "
	      "little memory");
	free(block);
	free(bad);
	free(good);
	remove_caches();
	forget();
}

/* Opens a reader, and reads one batch. */
static struct reader *
begin(struct batch *b)
{
	const struct reader_options o = { .cache = "" };
	struct reader *r = reader_open(files, count, &o, in, inputs, &label,
				       &why);

	batch_begin(b, in, inputs, &label);
	if (!r || reader_next(r, 10, b, &why) <= 0)
		exit(1);
	return r;
}

static bool
finish(struct reader *r, struct batch *b)
{
	int got;

	do {
		got = reader_next(r, 100, b, &why);
	} while (got > 0);
	batch_release(b);
	reader_close(r);
	return got == 0;
}

static void
test_makers(void)
{
	const struct reader_options o = { 0 };
	struct reader *r, *second;
	struct batch b, c;
	char path[sizeof(found) + 8];
	FILE *file;

	put_svmlight("m.svm", 2 * ROWS, "%g");
	use("m.svm", "");
	add("x", INPUT_SPARSE, 1000, 1);

	/* One reader makes the cache; others read the input meanwhile. */
	r = begin(&b);
	second = begin(&c);
	ok(finish(second, &c) && caches(".", ".pscache") == 1);
	ok(strstr(found, "/.tmp-") && same(&o, "", 64, 1000));
	ok(finish(r, &b) && caches(".", ".pscache") == 1);
	ok(!strstr(found, "/.tmp-") && same(&o, "", 64, 1000));

	/* A reader that stops before the end leaves no cache. */
	remove_caches();
	r = begin(&b);
	batch_release(&b);
	reader_close(r);
	equals(caches(".", ".pscache"), 0);

	/* The file of a killed reader is overwritten. */
	same(&o, "", 64, 1000);
	caches(".", ".pscache");
	snprintf(path, sizeof(path), "./.tmp-%s", found + 2);
	remove_caches();
	put_table(path, 3 * ROWS, ',');
	ok(same(&o, "", 64, 1000) && caches(".", ".pscache") == 1 &&
	   same(&o, "", 64, 1000));

	/* A file that changes meanwhile gets no cache. */
	remove_caches();
	r = begin(&b);
	file = fopen("m.svm", "a");
	fputs("1 1:1\n", file);
	fclose(file);
	ok(finish(r, &b) && caches(".", ".pscache") == 0);

	/* Nor does a file with a bad record, even in another reader's part. */
	put_svmlight("bad.svm", 50, "%g");
	file = fopen("bad.svm", "a");
	fputs("1 2:1 1:1\n", file);
	fclose(file);
	use("bad.svm", "");
	ok(same(&o, "", 64, 1000) && caches(".", ".pscache") == 0 &&
	   strcmp(why.text, "bad.svm:51: id 1 after 2; they must ascend") ==
	   0);
	forget();
}

static void
test_trouble(void)
{
	const struct reader_options o = { 0 };
	const struct rlimit small = { 100000, RLIM_INFINITY };
	const struct rlimit large = { RLIM_INFINITY, RLIM_INFINITY };
	struct commands commands = { 0 };
	struct reader_options piped = { .commands = &commands };

	put_svmlight("t.svm", ROWS, "%g");
	use("t.svm", "");
	add("x", INPUT_SPARSE, 1000, 1);

	/* The disk has no room for the cache. */
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &small);
	ok(same(&o, "", 64, 1000) && caches(".", ".pscache") == 0);
	setrlimit(RLIMIT_FSIZE, &large);

	/* The folder does not exist; then the cache has a folder of its own. */
	ok(same(&o, "nowhere", 64, 1000) && caches(".", ".pscache") == 0);
	mkdir("kept", 0777);
	ok(same(&o, "kept", 64, 1000) && caches("kept", ".pscache") == 1 &&
	   caches(".", ".pscache") == 0 && same(&o, "kept", 64, 1000));
	put_svmlight("kept/t.svm", 7, "%g");	/* another of that name */
	use("kept/t.svm", "");
	ok(same(&o, "kept", 64, 1000) && caches("kept", ".pscache") == 2);
	while (caches("kept", "t.svm") + caches("kept", ".pscache") > 0)
		unlink(found);

	/* The output of a command gets no cache. */
	use("pipe:cat t.svm", "");
	ok(same(&piped, "", 64, 1000) && caches(".", ".pscache") == 0);
	use("none.svm", "");
	ok(same(&o, "", 64, 1000) && why.kind == FAIL_NOINPUT);
	files_text("empty.svm", "# nothing\n");
	use("empty.svm", "");
	ok(same(&o, "", 64, 1000) && same(&o, "", 64, 1000) &&
	   why.kind == FAIL_NOINPUT);
	remove_caches();
	rmdir("kept");
	forget();
}

int
main(void)
{
	files_begin();
	log_begin("cache", LOG_QUIET, NULL, &why);
	test_formats();
	test_stale();
	test_gathered(1000, ROWS);
	test_gathered(2500, 2 * ROWS);
	test_gathered(70000, 140000);	/* of more different ids */
	test_damage(12, 1, 64);
	test_damage(ROWS, 70001, 64);
	test_damage(ROWS, 30011, 1000);
	test_sizes();
	test_makers();
	test_trouble();
	free(label.name);
	files_end();
	return tap_done();
}
