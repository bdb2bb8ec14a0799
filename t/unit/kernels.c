/* The tuned product equals the naive one, on all shapes and transposes. */
#include "tensor/kernels.h"

#include "base/rng.h"

#include "tap.h"

#include <float.h>
#include <math.h>

static float a[4096], b[4096], c[4096], d[4096];

static bool
equal(struct gemm g)
{
	for (size_t i = 0; i < g.m * g.n; i++)
		c[i] = d[i] = (float)i / 64;
	kernel_gemm(g, a, b, c);
	kernel_gemm_naive(g, a, b, d);
	for (size_t i = 0; i < g.m * g.n; i++)
		if (!(fabsf(c[i] - d[i]) <= 1e-5f * (1 + fabsf(d[i])))) {
			printf("# %zu x %zu x %zu: %g, %g\n", g.m, g.n, g.k,
			       (double)c[i], (double)d[i]);
			return false;
		}
	return true;
}

/* Element by element, however many go at a time, and none behind them. */
static bool
multiplies(size_t n)
{
	bool good = true;

	for (size_t i = 0; i <= n; i++)
		c[i] = d[i] = (float)i / 64;
	kernel_multiply(c, a, n);
	kernel_add_product(d, a, b, n);
	for (size_t i = 0; i < n; i++)
		good = good && c[i] == (float)i / 64 * a[i] &&
		       d[i] == (float)i / 64 + a[i] * b[i];
	return good && c[n] == (float)n / 64 && d[n] == (float)n / 64;
}

int
main(void)
{
	static const size_t sizes[] = { 1, 2, 3, 10, 33, 64 };
	struct rng rng = { .seed = 1 };
	bool good[8] = { true, true, true, true, true, true, true, true };

	kernel_one_thread();
	for (size_t i = 0; i < 4096; i++) {
		a[i] = (float)rng_unit(rng_next(&rng)) - .5f;
		b[i] = (float)rng_unit(rng_next(&rng)) - .5f;
	}
	for (size_t i = 0; i < 8 * 6 * 6 * 6; i++) {
		const size_t how = i % 8;

		good[how] = good[how] && equal((struct gemm){
			sizes[i / 8 % 6], sizes[i / 48 % 6], sizes[i / 288],
			how & 1, how & 2, how & 4
		});
	}
	for (size_t how = 0; how < 8; how++)
		ok(good[how]);
	ok(equal((struct gemm){ .m = 0, .n = 3, .k = 3 }));
	ok(equal((struct gemm){ .m = 3, .n = 3, .k = 0, .add = true }));

	bool products = true;

	for (size_t n = 0; n < 70; n++)
		products = products && multiplies(n);
	ok(products);

	const float y[] = { 1, 2, 3, 4, 5 };
	float x[] = { 1, 0, -1, FLT_MAX, -FLT_MAX };

	ok(kernel_finite(x, 5));
	x[2] = INFINITY;
	ok(!kernel_finite(x, 5) && kernel_finite(x, 2));
	x[2] = NAN;
	ok(!kernel_finite(x, 5) && !kernel_finite(x + 2, 1));
	x[2] = x[3] = x[4] = 1;
	kernel_axpy(x, -2, y, 5);
	ok(x[0] == -1 && x[1] == -4 && x[4] == -9);
	kernel_add(x, y, 5);
	ok(x[0] == 0 && x[1] == -2 && x[4] == -4);
	ok(kernel_dot(x, y, 5) == -4 - 2 * 3 - 3 * 4 - 4 * 5);
	return tap_done();
}
