/*
 * gemm - nothing but the matrix products of a network: the limit of
 * "widedeep".
 *
 *	gemm BATCH SECONDS
 *
 * Two processes, one thread each, run the products of the dense layers,
 * forward and backward, on batches of so many examples.  Prints examples a
 * second of both together, and processor seconds for one.
 */
#include "bench.h"

#include <cblas.h>

static const size_t units[] = { 26 * 16 + 13, 256, 128, 64, 1 };

#define LAYERS	(sizeof(units) / sizeof(units[0]) - 1)

struct layer {
	float *in, *w, *out, *dw;
};

static float *
floats(size_t n)
{
	float *x = malloc(n * sizeof(*x));

	for (size_t i = 0; x && i < n; i++)
		x[i] = (float)(i % 13) / 13;
	return x ? x : (bench_die("no memory"), x);
}

static void
product(bool ta, bool tb, size_t m, size_t n, size_t k, const float *a,
	const float *b, float *c)
{
	cblas_sgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans,
		    tb ? CblasTrans : CblasNoTrans, (int)m, (int)n, (int)k, 1,
		    a, (int)(ta ? m : k), b, (int)(tb ? k : n), 0, c, (int)n);
}

/* Forward; then the gradients of the weights and of what came in. */
static void
batch(struct layer *l, size_t examples)
{
	for (size_t i = 0; i < LAYERS; i++)
		product(false, false, examples, units[i + 1], units[i],
			l[i].in, l[i].w, l[i].out);
	for (size_t i = LAYERS; i-- > 0;) {
		product(true, false, units[i], units[i + 1], examples,
			l[i].in, l[i].out, l[i].dw);
		product(false, true, examples, units[i], units[i + 1],
			l[i].out, l[i].w, l[i].in);
	}
}

/* How many examples in so many seconds. */
static double
run(size_t examples, double seconds)
{
	const double began = bench_clock(CLOCK_MONOTONIC);
	struct layer l[LAYERS];
	double done = 0;

	for (size_t i = 0; i < LAYERS; i++) {
		l[i].in = i ? l[i - 1].out : floats(examples * units[0]);
		l[i].w = floats(units[i] * units[i + 1]);
		l[i].dw = floats(units[i] * units[i + 1]);
		l[i].out = floats(examples * units[i + 1]);
	}
	for (; bench_clock(CLOCK_MONOTONIC) - began < seconds;
	     done += (double)examples)
		batch(l, examples);
	return done;
}

int
main(int argc, char **argv)
{
	double all = 0, cpu = 0;
	int result[2];

	if (argc != 3 || pipe(result) < 0) {
		fprintf(stderr, "usage: gemm batch seconds\n");
		return 64;
	}
	for (int i = 0; i < 2; i++)
		if (bench_fork() == 0) {
			const double mine[] = {
				run(strtoul(argv[1], NULL, 10),
				    atof(argv[2])),
				bench_clock(CLOCK_PROCESS_CPUTIME_ID)
			};

			_exit(write(result[1], mine, sizeof(mine)) < 0);
		}
	for (int i = 0; i < 2; i++) {
		double one[2];

		if (read(result[0], one, sizeof(one)) != sizeof(one))
			bench_die("a process is gone");
		all += one[0];
		cpu += one[1];
	}
	printf("%.0f %.3g\n", all / atof(argv[2]), cpu / all);
	return 0;
}
