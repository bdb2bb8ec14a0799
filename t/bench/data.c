/*
 * data - examples for the benchmarks, the same for the same seed.
 *
 *	data linear ROWS FEATURES NONZEROS SEED	svmlight
 *	data linear-vw ...			the same for Vowpal Wabbit
 *	data clicks ROWS SEED			CSV: label, 13 floats, 26 ids
 *
 * Labels are drawn with the probability that a model of true weights gives.
 */
#include "base/rng.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WEIGHTS		1	/* the seed of the true weights */
#define IDS		((uint64_t)1 << 20)
#define FLOATS		13
#define COLUMNS		26

/* Returns the true weight of an id: nearly normal, of variance 1. */
static double
true_weight(uint64_t id)
{
	double sum = 0;

	for (uint64_t i = 0; i < 4; i++)
		sum += rng_unit(rng_at(WEIGHTS, id, i)) - 0.5;
	return sum * sqrt(3);
}

static bool
draw_label(struct rng *rng, double score)
{
	return rng_unit(rng_next(rng)) < 1 / (1 + exp(-score));
}

/* Each id is drawn from a range of its own, so ids are sorted and unique. */
static void
linear(uint64_t rows, uint64_t features, uint64_t nonzeros, uint64_t seed,
       bool vw)
{
	const uint64_t stretch = features / nonzeros;
	struct rng rng = { .seed = seed };

	for (uint64_t r = 0; r < rows; r++) {
		char line[65536], *to = line;
		double score = 0;

		for (uint64_t k = 0; k < nonzeros && to < line + 60000; k++) {
			const uint64_t id = 1 + k * stretch +
				rng_below(&rng, stretch);
			const unsigned value = 1 +
				(unsigned)rng_below(&rng, 9999);

			score += true_weight(id) * value / 10000;
			to += sprintf(to, " %llu:0.%04u",
				      (unsigned long long)id, value);
		}
		printf("%s%s%s\n", draw_label(&rng, score) ? "1" : "-1",
		       vw ? " |" : "", line);
	}
}

/* A few values of each column are common. */
static uint64_t
draw_id(struct rng *rng, uint64_t column)
{
	const double value = exp(rng_unit(rng_next(rng)) * log(1e6));

	return rng_at(COLUMNS, column, (uint64_t)value) % IDS;
}

static void
clicks(uint64_t rows, uint64_t seed)
{
	struct rng rng = { .seed = seed };

	printf("y");
	for (int i = 1; i <= FLOATS; i++)
		printf(",i%d", i);
	for (int i = 1; i <= COLUMNS; i++)
		printf(",c%d", i);
	putchar('\n');
	for (uint64_t r = 0; r < rows; r++) {
		char line[1024], *to = line;
		double score = 0;

		for (uint64_t i = 0; i < FLOATS; i++) {
			const double x = rng_unit(rng_next(&rng));

			score += true_weight(i) * x;
			to += sprintf(to, ",%.3f", x);
		}
		for (uint64_t i = 1; i <= COLUMNS; i++) {
			const uint64_t id = draw_id(&rng, i);

			score += true_weight(id) / 3;
			to += sprintf(to, ",%llu", (unsigned long long)id);
		}
		printf("%d%s\n", draw_label(&rng, score), line);
	}
}

static uint64_t
number(char **argv, int i)
{
	return argv[i] ? strtoull(argv[i], NULL, 10) : 0;
}

int
main(int argc, char **argv)
{
	if (argc == 6 && strncmp(argv[1], "linear", 6) == 0 &&
	    number(argv, 4) > 0 && number(argv, 4) <= 1000 &&
	    number(argv, 3) >= number(argv, 4)) {
		linear(number(argv, 2), number(argv, 3), number(argv, 4),
		       number(argv, 5), strcmp(argv[1], "linear-vw") == 0);
	} else if (argc == 4 && strcmp(argv[1], "clicks") == 0) {
		clicks(number(argv, 2), number(argv, 3));
	} else {
		fprintf(stderr, "usage: data linear[-vw] rows features "
			"nonzeros seed | clicks rows seed\n");
		return 64;
	}
	return fflush(stdout) == 0 ? 0 : 74;
}
