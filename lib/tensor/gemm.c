/*
 * gemm - what CBLAS does for kernels, apart from them: a program that has
 * layers but computes nothing does without the library, which takes longer to
 * load than all others.
 */
#include "tensor/kernels.h"

#include <assert.h>
#include <cblas.h>
#include <limits.h>

/* OpenBLAS's; other libraries have one thread anyway. */
extern void openblas_set_num_threads(int) __attribute__((weak));

void
kernel_one_thread(void)
{
	if (openblas_set_num_threads)
		openblas_set_num_threads(1);
}

void
kernel_gemm(struct gemm g, const float *a, const float *b, float *c)
{
	if (g.m == 0 || g.n == 0)
		return;
	assert(g.m <= INT_MAX && g.n <= INT_MAX && g.k <= INT_MAX);

	const int m = (int)g.m, n = (int)g.n, k = (int)g.k;

	cblas_sgemm(CblasRowMajor,
		    g.transpose_a ? CblasTrans : CblasNoTrans,
		    g.transpose_b ? CblasTrans : CblasNoTrans,
		    m, n, k, 1, a, g.transpose_a ? m : k,
		    b, g.transpose_b ? k : n, g.add ? 1 : 0, c, n);
}
