/*
 * cache - reading an input again out of its cache, beside reading its text.
 *
 *	cache [ROWS]
 *
 * One thread reads the same svmlight file in three ways, in turn: from the
 * text, with no cache; from the text while the cache is made; from the cache.
 * Each pass finds the unique ids of each batch, as a worker does.  Figures are
 * the medians of five rounds, in examples a second of wall time; "making" is
 * the ratio of the first two.
 */
#include "data/reader.h"

#include "text.h"

#include <dirent.h>
#include <string.h>

#define BATCH	512

static struct input in, label;
static const char *folder;	/* folder of the caches, or NULL */

static void
read_all(void)
{
	const struct reader_options o = { .cache = folder };
	char *const files[] = { file };
	struct fail f;
	struct sorter sorter = { 0 };
	struct batch b;
	struct reader *r = reader_open(files, 1, &o, &in, 1, &label, &f);
	int got = r ? 1 : -1;

	batch_begin(&b, &in, 1, &label);
	while (got > 0) {
		got = reader_next(r, BATCH, &b, &f);
		if (got > 0 && !b.feature[0].is_gathered)
			feature_gather(&b.feature[0], b.examples, &sorter);
	}
	if (got < 0)
		fprintf(stderr, "cache: %s\n", f.text);
	check(got == 0);
	sorter_release(&sorter);
	batch_release(&b);
	reader_close(r);
}

static void
remove_caches(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	check(d != NULL);
	while ((e = readdir(d)))
		unlinkat(dirfd(d), e->d_name, 0);
	closedir(d);
}

int
main(int argc, char **argv)
{
	const size_t rows = argc > 1 ? strtoul(argv[1], NULL, 10) :
		bench_rows(250000);
	double text[ROUNDS], made[ROUNDS], kept[ROUNDS];
	char name[] = "x", y[] = "y", dir[sizeof(file) + 8];

	make_file();
	snprintf(dir, sizeof(dir), "%s.XXXXXX", file);
	check(mkdtemp(dir) != NULL);
	label = (struct input){ .name = y, .binary = true };
	in = (struct input){ .name = name, .kind = INPUT_SPARSE,
			     .rows = FEATURES };
	write_svmlight(rows, "%.3f", 0);
	for (int i = 0; i < ROUNDS; i++) {
		remove_caches(dir);
		folder = NULL;
		text[i] = seconds(read_all, CLOCK_MONOTONIC);
		folder = dir;
		made[i] = seconds(read_all, CLOCK_MONOTONIC);
		kept[i] = seconds(read_all, CLOCK_MONOTONIC);
	}

	const double first = median(text), second = median(kept);

	printf("{\"bench\":\"cache\",\"case\":\"second epoch\","
	       "\"figure\":%.0f,\"unit\":\"examples/s\","
	       "\"against\":\"text\",\"peer_figure\":%.0f,"
	       "\"ratio\":%.3f,\"target\":2.5}\n", (double)rows / second,
	       (double)rows / first, first / second);
	printf("{\"bench\":\"cache\",\"case\":\"first epoch, made\","
	       "\"figure\":%.0f,\"unit\":\"examples/s\","
	       "\"against\":\"text\",\"peer_figure\":%.0f,"
	       "\"ratio\":%.3f}\n", (double)rows / median(made),
	       (double)rows / first, first / median(made));
	remove_caches(dir);
	rmdir(dir);
	unlink(file);
	return 0;
}
