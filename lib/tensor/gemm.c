/*
 * gemm - the two functions of kernels.h that need CBLAS.
 *
 * They are in a file of their own so that a program which knows layers but
 * computes nothing is not linked with that library: it takes longer to load
 * than all others together.
 */
#include "tensor/kernels.h"

#include <assert.h>
#include <cblas.h>
#include <limits.h>

/* A sum of more than LONG products is added up in parts of PART products. */
#define LONG	8192
#define PART	1024

/* OpenBLAS has this function; other libraries have one thread anyway. */
extern void openblas_set_num_threads(int) __attribute__((weak));

void
kernel_one_thread(void)
{
	if (openblas_set_num_threads)
		openblas_set_num_threads(1);
}

/*
 * Long sums are cut because of rounding.  OpenBLAS adds up hundreds of products
 * before it adds them to the result, but where the result is small its kernels
 * for AVX-512 add up all products in one float: a sum of 300,000 equal products
 * loses 0.1 %.
 */
void
kernel_gemm(struct gemm g, const float *a, const float *b, float *c)
{
	if (g.m == 0 || g.n == 0)
		return;
	assert(g.m <= INT_MAX && g.n <= INT_MAX && g.k <= INT_MAX);

	const int m = (int)g.m, n = (int)g.n, k = (int)g.k;
	const size_t part = g.k > LONG ? PART : g.k;
	size_t from = 0;

	do {
		const size_t rest = g.k - from;

		cblas_sgemm(CblasRowMajor,
			    g.transpose_a ? CblasTrans : CblasNoTrans,
			    g.transpose_b ? CblasTrans : CblasNoTrans,
			    m, n, (int)(rest < part ? rest : part), 1,
			    a + from * (g.transpose_a ? g.m : 1),
			    g.transpose_a ? m : k,
			    b + from * (g.transpose_b ? 1 : g.n),
			    g.transpose_b ? k : n,
			    g.add || from > 0 ? 1 : 0, c, n);
		from += part;
	} while (from < g.k);
}
