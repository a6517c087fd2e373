/* SPDX-License-Identifier: MIT */
/*
 * The memory of the mock: a tebibyte is copied in chunks of 1 MiB between origin-only
 * buffers, in order, in order but for a window, and in random order; then it is compared.
 * The bare loop copies 64 real bytes instead.
 */
#include <string.h>
#include <sys/resource.h>

#include "bench.h"
#include "memory.h"
#include "model/rng.h"

#define CHUNKS (1u << 20)
#define CHUNK  ((uint64_t)1 << 20)
#define TOTAL  (CHUNKS * CHUNK)

static uint32_t order[CHUNKS];

/* Each entry changes places with one of the WINDOW behind it. */
static void shuffle(uint32_t window)
{
	struct srd_rng rng;

	srd_rng_seed(&rng, 1, 0);
	for (uint32_t i = 0; i < CHUNKS; i++)
		order[i] = i;
	for (uint32_t i = 0; i + 1 < CHUNKS; i++) {
		uint32_t rest = CHUNKS - i < window ? CHUNKS - i : window;
		uint32_t j = i + (uint32_t)srd_rng_below(&rng, rest), kept = order[i];

		order[i] = order[j];
		order[j] = kept;
	}
}

static double bare_loop(void)
{
	static uint8_t bytes[1 << 16];
	double start = bench_now();

	for (uint32_t i = 0; i < CHUNKS; i++) {
		memcpy(&bytes[order[i] % 512 * 64], &bytes[(1 << 15) + i % 512 * 64], 64);
		__asm__ volatile("" ::: "memory");
	}
	return bench_report("bare: copy 64 bytes", CHUNKS, bench_now() - start, 0);
}

static void stream(const char *what, uint32_t window, double bare)
{
	struct srd_memory *memory = srd_memory_create();
	uint64_t from, to, difference;
	double start;

	bench_check(memory);
	bench_check(!srd_memory_alloc(memory, 0, TOTAL, SRD_BUFFER_ORIGIN, &from));
	bench_check(!srd_memory_alloc(memory, 1, TOTAL, SRD_BUFFER_ORIGIN, &to));
	bench_check(!srd_memory_fill(memory, 0, from, TOTAL, 7, 0));
	shuffle(window);
	start = bench_now();
	for (uint32_t i = 0; i < CHUNKS; i++)
		bench_check(!srd_memory_copy(memory, 1, to + order[i] * CHUNK, 0,
					     from + order[i] * CHUNK, CHUNK));
	bench_report(what, CHUNKS, bench_now() - start, bare);
	start = bench_now();
	bench_check(!srd_memory_compare(memory, 0, from, 1, to, TOTAL, &difference));
	printf("    compared in %.1f us\n", (bench_now() - start) * 1e6);
	bench_check(difference == TOTAL);
	srd_memory_destroy(memory);
}

int main(void)
{
	struct rusage usage;
	double bare;

	shuffle(1);
	bare = bare_loop();
	stream("origin copies of 1 MiB, in order", 1, bare);
	stream("origin copies of 1 MiB, random within 64", 64, bare);
	stream("origin copies of 1 MiB, random", CHUNKS, bare);
	getrusage(RUSAGE_SELF, &usage);
	printf("resident at most %ld MiB\n", usage.ru_maxrss / 1024);
	return 0;
}
