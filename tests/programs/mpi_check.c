/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A ring and an all-reduce whose every byte is checked, for openmpi.py (built there with mpicc).
 * Messages go round the ring in all sizes at once and one after the other; each rank knows what
 * each other must have sent. Usage: mpi_check LARGEST_BYTES ROUNDS
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int rank;
static int count;

static void fail(const char *what, long at)
{
	fprintf(stderr, "rank %d: wrong data in %s at %ld\n", rank, what, at);
	MPI_Abort(MPI_COMM_WORLD, 3);
}

static uint8_t byte_of(int origin, long round, long at)
{
	return (uint8_t)((unsigned long)origin * 97u + (unsigned long)round * 31u +
			 (unsigned long)at * 7u + (unsigned long)(at >> 8));
}

static void fill(uint8_t *buffer, long bytes, int origin, long round)
{
	for (long i = 0; i < bytes; i++)
		buffer[i] = byte_of(origin, round, i);
}

static void check(const uint8_t *buffer, long bytes, int origin, long round)
{
	for (long i = 0; i < bytes; i++) {
		if (buffer[i] != byte_of(origin, round, i))
			fail("ring", i);
	}
}

/* What the left neighbour passes on has gone through `step` ranks by then. */
static void ring(uint8_t *out, uint8_t *in, long bytes, long round)
{
	int right = (rank + 1) % count;
	int left = (rank + count - 1) % count;

	fill(out, bytes, rank, round);
	for (int step = 1; step <= count; step++) {
		int origin = (rank + count * 2 - step) % count;
		uint8_t *swap = out;

		MPI_Sendrecv(out, (int)bytes, MPI_BYTE, right, step, in, (int)bytes, MPI_BYTE, left,
			     step, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		check(in, bytes, origin, round);
		out = in;
		in = swap;
	}
}

static void all_reduce(int64_t *out, int64_t *in, long values, long round)
{
	for (long i = 0; i < values; i++)
		out[i] = (int64_t)(rank + 1) * (i + round);
	MPI_Allreduce(out, in, (int)values, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
	for (long i = 0; i < values; i++) {
		if (in[i] != (int64_t)count * (count + 1) / 2 * (i + round))
			fail("all-reduce", i);
	}
}

int main(int argc, char **argv)
{
	long largest = argc == 3 ? atol(argv[1]) : 0;
	long rounds = argc == 3 ? atol(argv[2]) : 0;
	long done = 0;
	void *out;
	void *in;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &count);
	out = malloc((size_t)largest + 8);
	in = malloc((size_t)largest + 8);
	if (largest < 8 || rounds < 1 || !out || !in)
		MPI_Abort(MPI_COMM_WORLD, 2);
	for (long round = 0; round < rounds; round++) {
		for (long bytes = 1; bytes <= largest; bytes *= 4, done++) {
			ring(out, in, bytes, round);
			all_reduce(out, in, (bytes + 7) / 8, round);
		}
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0)
		printf("%d ranks, %ld rings and all-reduces, all right\n", count, done);
	free(out);
	free(in);
	MPI_Finalize();
	return 0;
}
