/*
 * allreduce COUNT BYTES - rounds a second of bare data-parallel SGD by MPI.
 *
 * Each rank has a gradient of so many bytes of floats; a round sums them by
 * Allreduce and adds the mean, times a learning rate, to the variables.  Two
 * rounds are not counted.  Rank 0 prints the rate.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void
sgd(float *w, const float *g, int n, float rate)
{
	for (int i = 0; i < n; i++)
		w[i] -= rate * g[i];
}

int
main(int argc, char **argv)
{
	const int count = argc > 1 ? atoi(argv[1]) : 1;
	const int n = (argc > 2 ? atoi(argv[2]) : 16000000) / 4;
	float *w = calloc(n, sizeof(*w)), *g = calloc(n, sizeof(*g));
	float *sum = calloc(n, sizeof(*sum));
	double began = 0;
	int rank, ranks;

	if (!w || !g || !sum || MPI_Init(&argc, &argv) != MPI_SUCCESS)
		return 1;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int i = 0; i < n; i++)
		g[i] = (float)(i % 7) - 3;
	for (int r = -2; r < count; r++) {
		if (r == 0)
			began = MPI_Wtime();
		MPI_Allreduce(g, sum, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
		sgd(w, sum, n, 0.0001f / (float)ranks);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0)
		printf("%g\n", count / (MPI_Wtime() - began));
	MPI_Finalize();
	free(w);
	free(g);
	free(sum);
	return 0;
}
