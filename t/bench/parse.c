/*
 * parse - how fast svmlight and CSV become batches, in one thread.
 *
 *	parse [ROWS]
 *
 * Two other loops read the same file in turn with it: one of getline() and
 * strtof(), the parser that is easy to write; and one that only searches line
 * ends by memchr(), the least that reading can cost.  Figures are the medians
 * of five rounds, in megabytes a CPU second; each comparison is a JSON line.
 */
#include "data/reader.h"

#include "text.h"

#include <fcntl.h>
#include <string.h>

#define COLUMNS		20	/* of CSV */
#define BATCH		512
#define BLOCK		(256 << 10)
#define CPU		CLOCK_PROCESS_CPUTIME_ID

static float sink[64 * PAIRS];	/* so that no loop is dropped as useless */

static void
write_csv(size_t rows, const char *format, double low)
{
	struct rng rng = { .seed = 1 };
	FILE *out = fopen(file, "w");

	check(out != NULL);
	fputs("y", out);
	for (int k = 0; k < COLUMNS; k++)
		fprintf(out, ",x%d", k);
	for (size_t i = 0; i < rows; i++) {
		fprintf(out, "\n%d", (int)rng_below(&rng, 2));
		for (int k = 0; k < COLUMNS; k++) {
			fputc(',', out);
			fprintf(out, format, low + (1 - low) *
				(double)rng_below(&rng, 1 << 30) * 0x1p-30);
		}
	}
	fputc('\n', out);
	check(fclose(out) == 0);
}

/* ---- the loops that are measured: each reads the file once ---- */

static struct input in, label;
static const char *format;

static void
ours(void)
{
	const struct reader_options o = { .format = format };
	char *const files[] = { file };
	struct fail f;
	struct batch b;
	struct reader *r = reader_open(files, 1, &o, &in, 1, &label, &f);
	int got = r ? 1 : -1;

	batch_begin(&b, &in, 1, &label);
	while (got > 0)
		got = reader_next(r, BATCH, &b, &f);
	if (got < 0)
		fprintf(stderr, "parse: %s\n", f.text);
	check(got == 0);
	batch_release(&b);
	reader_close(r);
}

static void
strtof_pairs(char *p, float *value)
{
	char *end;
	size_t n = 0;

	value[n++] = strtof(p, &end);
	for (p = end; *p == ' '; p = end) {
		value[n++] = (float)strtoull(p + 1, &end, 10);
		value[n++] = strtof(end + 1, &end);
	}
}

static void
strtof_fields(char *p, float *value)
{
	size_t n = 0;

	for (char *end; *p; p = end + (*end == ','))
		value[n++] = strtof(p, &end), *end == '\n' ? end++ : end;
}

static void
strtof_loop(void)
{
	FILE *text = fopen(file, "r");
	char *line = NULL;
	size_t room = 0;
	bool header = strcmp(format, "csv") == 0;

	check(text != NULL);
	while (getline(&line, &room, text) > 0) {
		if (strcmp(format, "svmlight") == 0)
			strtof_pairs(line, sink);
		else if (!header)
			strtof_fields(line, sink);
		header = false;
	}
	fclose(text);
	free(line);
}

static void
memchr_loop(void)
{
	static char block[BLOCK];
	const int fd = open(file, O_RDONLY);
	ssize_t n;

	check(fd >= 0);
	while ((n = read(fd, block, BLOCK)) > 0)
		for (char *p = block; p; sink[0]++) {
			p = memchr(p, '\n', (size_t)(block + n - p));
			p += p != NULL;
		}
	close(fd);
}

/* ---- rounds ---- */

static void
print(const char *what, const char *against, double ours_rate,
      double their_rate, double target)
{
	printf("{\"bench\":\"parse\",\"case\":\"%s\",\"figure\":%.0f,"
	       "\"unit\":\"MB/CPU s\",\"against\":\"%s\","
	       "\"peer_figure\":%.0f,\"ratio\":%.2f,\"target\":%g}\n",
	       what, ours_rate, against, their_rate, ours_rate / their_rate,
	       target);
	fflush(stdout);
}

static void
compare(const char *what)
{
	double mine[ROUNDS], theirs[ROUNDS], limit[ROUNDS];
	FILE *f = fopen(file, "r");
	double mb;

	check(f != NULL && fseek(f, 0, SEEK_END) == 0);
	mb = (double)ftell(f) * 1e-6;
	fclose(f);
	for (int i = 0; i < ROUNDS; i++) {
		limit[i] = seconds(memchr_loop, CPU);
		mine[i] = seconds(ours, CPU);
		theirs[i] = seconds(strtof_loop, CPU);
	}

	const double rate = mb / median(mine);

	print(what, "strtof", rate, mb / median(theirs), 4);
	print(what, "memchr", rate, mb / median(limit), 0.3);
}

int
main(int argc, char **argv)
{
	const size_t rows = argc > 1 ? strtoul(argv[1], NULL, 10) :
		bench_rows(250000);
	char name[] = "x", y[] = "y", pattern[] = "x*";
	char *columns[] = { pattern };

	make_file();
	label = (struct input){ .name = y, .binary = true };

	format = "svmlight";
	in = (struct input){ .name = name, .kind = INPUT_SPARSE,
			     .rows = FEATURES };
	write_svmlight(rows, "%.3f", 0);
	compare("svmlight");
	write_svmlight(rows, "%.6g", -1);
	compare("svmlight signed %.6g");

	format = "csv";
	in = (struct input){ .name = name, .kind = INPUT_FLOAT,
			     .shape = { 1, { COLUMNS } },
			     .columns = columns, .column_count = 1 };
	write_csv(rows, "%.4f", 0);
	compare("csv");
	unlink(file);
	return 0;
}
