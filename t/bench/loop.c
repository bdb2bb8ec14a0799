/*
 * loop - sparse logistic regression as a bare loop: one thread parses svmlight
 * and updates an array by Adagrad, in one pass.  This is the limit of "lr".
 *
 *	loop FEATURES RATE TRAIN [TEST]
 *
 * Prints the wall and processor seconds of training; with TEST, the log loss on
 * that file instead.
 */
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#define MOST	1024		/* features of a row */

struct row {
	float label;
	size_t count;
	uint32_t id[MOST];
	float value[MOST];
};

/* Weight and sum of squares, side by side. */
static float (*weight)[2];
static size_t features;

static const char *
read_number(const char *at, float *value)
{
	static const float scale[] = { 1, 1e-1f, 1e-2f, 1e-3f, 1e-4f, 1e-5f,
				       1e-6f, 1e-7f, 1e-8f };
	uint32_t digits = 0, behind = 0;

	for (; *at >= '0' && *at <= '9'; at++)
		digits = 10 * digits + (uint32_t)(*at - '0');
	if (*at == '.')
		for (at++; *at >= '0' && *at <= '9' && behind < 8;
		     at++, behind++)
			digits = 10 * digits + (uint32_t)(*at - '0');
	*value = (float)digits * scale[behind];
	return at;
}

static const char *
read_row(const char *at, struct row *r)
{
	r->label = *at != '-';
	while (*at != ' ' && *at != '\n')
		at++;
	for (r->count = 0; *at != '\n' && r->count < MOST; r->count++) {
		uint32_t id = 0;

		for (at++; *at != ':'; at++)
			id = 10 * id + (uint32_t)(*at - '0');
		if (id >= features)
			exit(65);
		r->id[r->count] = id;
		at = read_number(at + 1, &r->value[r->count]);
	}
	return at + 1;
}

static float
score(const struct row *r)
{
	float sum = 0;

	for (size_t i = 0; i < r->count; i++)
		sum += weight[r->id[i]][0] * r->value[i];
	return sum;
}

static void
learn(const struct row *r, float rate)
{
	const float error = 1 / (1 + expf(-score(r))) - r->label;

	for (size_t i = 0; i < r->count; i++) {
		float *w = weight[r->id[i]];
		const float g = error * r->value[i];

		w[1] += g * g;
		w[0] -= rate * g / sqrtf(w[1] + 1e-7f);
	}
}

/* Returns the sum of the loss over the rows of a file; with a rate above 0 also
   trains on them. */
static double
pass(const char *path, float rate, size_t *rows)
{
	const int fd = open(path, O_RDONLY);
	struct stat info;
	static struct row r;
	double loss = 0;

	if (fd < 0 || fstat(fd, &info) < 0) {
		perror(path);
		exit(66);
	}
	const char *at = mmap(NULL, (size_t)info.st_size, PROT_READ,
			      MAP_PRIVATE, fd, 0);
	const char *end = at + info.st_size;

	for (*rows = 0; at < end; ++*rows) {
		at = read_row(at, &r);
		if (rate > 0)
			learn(&r, rate);
		else
			loss += log1p(exp((double)score(&r) *
					  (r.label > 0 ? -1 : 1)));
	}
	return loss;
}

static double
seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int
main(int argc, char **argv)
{
	const double wall = seconds(CLOCK_MONOTONIC);
	size_t rows;

	if (argc < 4) {
		fprintf(stderr, "usage: loop features rate train [test]\n");
		return 64;
	}
	features = strtoull(argv[1], NULL, 10);
	weight = calloc(features, sizeof(*weight));
	for (size_t i = 0; i < features; i++)
		weight[i][1] = 0.1f;
	pass(argv[3], strtof(argv[2], NULL), &rows);
	if (argc > 4) {
		const double loss = pass(argv[4], 0, &rows);

		printf("%.4f\n", loss / (double)rows);
	} else {
		printf("%.6f %.6f\n", seconds(CLOCK_MONOTONIC) - wall,
		       seconds(CLOCK_PROCESS_CPUTIME_ID));
	}
	return 0;
}
