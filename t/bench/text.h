/* text - files of examples for benchmarks, the same in every run. */
#ifndef PS_BENCH_TEXT_H
#define PS_BENCH_TEXT_H

#include "base/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FEATURES	1000000
#define PAIRS		30	/* of a row */
#define ROUNDS		5

static char file[4096];

static inline void
check(int good)
{
	if (good)
		return;
	perror("benchmark");
	exit(1);
}

/* Returns the number of rows for BENCH_SIZE; see t/bench/bench.h. */
static inline size_t
bench_rows(size_t normal)
{
	const char *size = getenv("BENCH_SIZE");

	return size && strcmp(size, "tiny") == 0 ? 1000 : normal;
}

static inline int
by_number(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Writes PAIRS pairs of an id and a value; ids are ascending and unique. */
static inline void
write_pairs(FILE *out, struct rng *rng, const char *format, double low)
{
	uint32_t id[PAIRS];

	for (size_t i = 0; i < PAIRS; i++)
		id[i] = (uint32_t)rng_below(rng, FEATURES - PAIRS);
	qsort(id, PAIRS, sizeof(*id), by_number);
	for (uint32_t i = 0; i < PAIRS; i++) {
		fprintf(out, " %u:", id[i] + i + 1);
		fprintf(out, format, low + (1 - low) *
			(double)rng_below(rng, 1 << 30) * 0x1p-30);
	}
}

static inline void
write_svmlight(size_t rows, const char *format, double low)
{
	struct rng rng = { .seed = 1 };
	FILE *out = fopen(file, "w");

	check(out != NULL);
	for (size_t i = 0; i < rows; i++) {
		fputs(rng_below(&rng, 2) ? "+1" : "-1", out);
		write_pairs(out, &rng, format, low);
		fputc('\n', out);
	}
	check(fclose(out) == 0);
}

/* Makes a new file in $TMPDIR. */
static inline void
make_file(void)
{
	const char *dir = getenv("TMPDIR");
	int fd;

	snprintf(file, sizeof(file), "%s/bench.XXXXXX", dir ? dir : "/tmp");
	fd = mkstemp(file);
	check(fd >= 0);
	close(fd);
}

/* Returns the seconds that a call takes by this clock. */
static inline double
seconds(void (*work)(void), clockid_t clock)
{
	struct timespec from, to;

	clock_gettime(clock, &from);
	work();
	clock_gettime(clock, &to);
	return (double)(to.tv_sec - from.tv_sec) +
	       (double)(to.tv_nsec - from.tv_nsec) * 1e-9;
}

static inline int
by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static inline double
median(double *x)
{
	qsort(x, ROUNDS, sizeof(*x), by_size);
	return x[ROUNDS / 2];
}

#endif
