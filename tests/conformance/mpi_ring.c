/* SPDX-License-Identifier: MIT */
/*
 * Every rank hands messages of each size to the next one, around the ring, and gets those of the
 * one before; then all add up a vector. What arrives is looked at to the byte. Rank 0 says how
 * many bytes the ring has moved.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 3
#define VECTOR 1000

static const int sizes[] = {8, 4096, 65536, 1 << 20};

static unsigned char byte_of(int rank, int round, int i)
{
	return (unsigned char)(rank * 37 + round * 11 + i * 7 + i / 256);
}

static int wrong(const char *what, int rank)
{
	fprintf(stderr, "rank %d: %s is wrong\n", rank, what);
	MPI_Abort(MPI_COMM_WORLD, 1);
	return 1;
}

static void exchange(int rank, int ranks, int size)
{
	int before = (rank + ranks - 1) % ranks;
	unsigned char *out = malloc((size_t)size), *in = calloc(1, (size_t)size);

	for (int round = 0; out && in && round < ROUNDS; round++) {
		for (int i = 0; i < size; i++)
			out[i] = byte_of(rank, round, i);
		MPI_Sendrecv(out, size, MPI_BYTE, (rank + 1) % ranks, size, in, size, MPI_BYTE,
			     before, size, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		for (int i = 0; i < size; i++)
			if (in[i] != byte_of(before, round, i))
				wrong("a message", rank);
	}
	free(out);
	free(in);
}

int main(int argc, char **argv)
{
	double mine[VECTOR], sum[VECTOR];
	long moved = 0;
	int rank, ranks;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		exchange(rank, ranks, sizes[i]);
		moved += (long)ROUNDS * ranks * sizes[i];
	}
	for (int i = 0; i < VECTOR; i++)
		mine[i] = rank + i;
	MPI_Allreduce(mine, sum, VECTOR, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	for (int i = 0; i < VECTOR; i++)
		if (sum[i] != ranks * (ranks - 1) / 2 + (double)ranks * i)
			wrong("the sum", rank);
	if (!rank)
		printf("%d ranks moved %ld\n", ranks, moved);
	MPI_Finalize();
	return 0;
}
