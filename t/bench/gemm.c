/*
 * gemm - only the matrix products of a network: the limit of "widedeep".
 *
 *	gemm BATCH SECONDS
 *
 * Two processes, one thread each, compute the products of the dense layers,
 * forward and backward, on batches of BATCH examples.  Prints examples a second
 * of both together, and CPU seconds for one example.
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

/* Computes the forward products, then the gradients of the weights and of the
   inputs. */
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

struct result {
	double rate, cpu;	/* examples a second; seconds for one */
};

/* Runs for this number of seconds, or for one batch. */
static struct result
run(size_t examples, double seconds)
{
	struct layer l[LAYERS];
	double done = 0;

	for (size_t i = 0; i < LAYERS; i++) {
		l[i].in = i ? l[i - 1].out : floats(examples * units[0]);
		l[i].w = floats(units[i] * units[i + 1]);
		l[i].dw = floats(units[i] * units[i + 1]);
		l[i].out = floats(examples * units[i + 1]);
	}
	batch(l, examples);

	const struct watch began = watch_read(0);
	struct watch now;

	do {
		batch(l, examples);
		done += (double)examples;
		now = watch_read(0);
	} while (now.wall - began.wall < seconds);
	return (struct result){ done / (now.wall - began.wall),
				(now.cpu - began.cpu) / done };
}

int
main(int argc, char **argv)
{
	struct result one, all = { 0 };
	int pipes[2];

	if (argc != 3 || pipe(pipes) < 0) {
		fprintf(stderr, "usage: gemm batch seconds\n");
		return 64;
	}
	for (int i = 0; i < 2; i++)
		if (bench_fork() == 0) {
			one = run(strtoul(argv[1], NULL, 10), atof(argv[2]));
			_exit(write(pipes[1], &one, sizeof(one)) < 0);
		}
	for (int i = 0; i < 2; i++) {
		if (read(pipes[0], &one, sizeof(one)) != sizeof(one))
			bench_die("a process is gone");
		all.rate += one.rate;
		all.cpu += one.cpu / 2;
	}
	printf("%.0f %.3g\n", all.rate, all.cpu);
	return 0;
}
