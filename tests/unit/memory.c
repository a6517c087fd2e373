/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <srdlab/pattern.h>

#include "alloc.h"
#include "memory.h"
#include "model/rng.h"
#include "origin.h"

#define TIB ((uint64_t)1 << 40)
#define MIB ((uint64_t)1 << 20)

static int setup(void **state)
{
	*state = srd_memory_create();
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	srd_memory_destroy(*state);
	return 0;
}

static uint64_t alloc(struct srd_memory *m, uint32_t host, uint64_t length,
		      enum srd_buffer_kind kind)
{
	uint64_t addr = 0;

	assert_int_equal(srd_memory_alloc(m, host, length, kind, &addr), 0);
	return addr;
}

static void pattern_is_any_slice_of_itself(void **state)
{
	uint8_t whole[100], part[100];

	srd_pattern_bytes(9, 1000, whole, sizeof(whole));
	for (uint32_t i = 0; i < sizeof(whole); i++) {
		assert_int_equal(whole[i], srd_pattern_byte(9, 1000 + i));
		srd_pattern_bytes(9, 1000 + i, part, sizeof(whole) - i);
		assert_memory_equal(part, whole + i, sizeof(whole) - i);
	}
	srd_pattern_bytes(0, 5, whole, sizeof(whole));
	for (uint32_t i = 0; i < sizeof(whole); i++)
		assert_int_equal(whole[i], 0);
}

static void addresses_are_distinct_and_never_reused(void **state)
{
	struct srd_memory *m = *state;
	uint64_t a = alloc(m, 0, 1, SRD_BUFFER_REAL), b = alloc(m, 0, 65536, SRD_BUFFER_ORIGIN);
	uint64_t other = alloc(m, 1, 1, SRD_BUFFER_REAL), again;

	assert_int_equal(a % SRD_MEMORY_PAGE, 0);
	assert_int_equal(b % SRD_MEMORY_PAGE, 0);
	assert_true(b >= a + 2 * SRD_MEMORY_PAGE);
	assert_int_not_equal(a, other);
	assert_int_equal(srd_memory_check(m, 1, a, 1), EFAULT);
	assert_int_equal(srd_memory_check(m, 0, other, 1), EFAULT);
	assert_int_equal(srd_memory_free(m, 0, b), 0);
	again = alloc(m, 0, 65536, SRD_BUFFER_ORIGIN);
	assert_true(again > b);
	assert_int_equal(srd_memory_check(m, 0, b, 1), EFAULT);
	assert_int_equal(srd_memory_check(m, 0, a, 1), 0);
	assert_int_equal(srd_memory_check(m, 0, again + 65535, 1), 0);
	assert_int_equal(srd_memory_free(m, 0, b), EFAULT);
	assert_int_equal(srd_memory_free(m, 0, again + 1), EFAULT);
	assert_int_equal(srd_memory_free(m, 5, again), EFAULT);
}

static void impossible_allocations(void **state)
{
	struct srd_memory *m = *state;
	uint64_t addr;

	assert_int_equal(srd_memory_alloc(m, SRD_MEMORY_HOSTS, 1, SRD_BUFFER_REAL, &addr), EINVAL);
	assert_int_equal(srd_memory_alloc(m, 0, TIB, SRD_BUFFER_REAL, &addr), ENOMEM);
	assert_int_equal(srd_memory_alloc(m, 0, UINT64_MAX, SRD_BUFFER_ORIGIN, &addr), ENOMEM);
	assert_int_equal(srd_memory_alloc(m, 0, TIB << 8, SRD_BUFFER_ORIGIN, &addr), ENOMEM);
	/* The host's addresses run out before they collide. */
	for (int i = 0; i < 63; i++)
		alloc(m, 0, 4 * TIB, SRD_BUFFER_ORIGIN);
	assert_int_equal(srd_memory_alloc(m, 0, 4 * TIB, SRD_BUFFER_ORIGIN, &addr), ENOMEM);
	assert_int_equal(srd_memory_alloc(m, 1, 4 * TIB, SRD_BUFFER_ORIGIN, &addr), 0);
}

static void outside_a_buffer_faults_and_changes_nothing(void **state)
{
	struct srd_memory *m = *state;
	static const enum srd_buffer_kind kinds[] = {SRD_BUFFER_REAL, SRD_BUFFER_ORIGIN};

	for (int k = 0; k < 2; k++) {
		uint64_t a = alloc(m, 0, 100, kinds[k]), b = alloc(m, 1, 100, kinds[k]), diff;
		uint8_t bytes[200] = {1}, zeros[100] = {0};

		assert_int_equal(srd_memory_fill(m, 0, a, 101, 3, 0), EFAULT);
		assert_int_equal(srd_memory_fill(m, 0, a - 1, 2, 3, 0), EFAULT);
		assert_int_equal(srd_memory_fill(m, 0, a + 100, 1, 3, 0), EFAULT);
		assert_int_equal(srd_memory_write(m, 0, a + 50, bytes, 51), EFAULT);
		assert_int_equal(srd_memory_read(m, 0, a + 50, bytes, 51), EFAULT);
		assert_int_equal(srd_memory_read(m, 0, a, bytes, UINT64_MAX), EFAULT);
		assert_int_equal(srd_memory_fill(m, 1, b, 100, 7, 0), 0);
		assert_int_equal(srd_memory_copy(m, 0, a + 1, 1, b, 100), EFAULT);
		assert_int_equal(srd_memory_copy(m, 0, a, 1, b + 1, 100), EFAULT);
		assert_int_equal(srd_memory_copy(m, 9, a, 1, b, 100), EFAULT);
		assert_int_equal(srd_memory_copy(m, UINT32_MAX, a, 1, b, 100), EFAULT);
		assert_int_equal(srd_memory_compare(m, 0, a, 1, b + 1, 100, &diff), EFAULT);
		assert_int_equal(srd_memory_read(m, 0, a, bytes, 100), 0);
		assert_memory_equal(bytes, zeros, 100);
		/* No bytes: no access. */
		assert_int_equal(srd_memory_check(m, 0, 12345, 0), 0);
		assert_int_equal(srd_memory_copy(m, 0, 12345, 9, 54321, 0), 0);
		assert_int_equal(srd_memory_compare(m, 0, 0, 0, 0, 0, &diff), 0);
		assert_int_equal(diff, 0);
	}
}

/* Each operation on buffers of both kinds, and on arrays; all must stay the same. */
#define SHADOWS 4
#define SIZE    700

struct shadow {
	uint32_t host;
	uint64_t addr;
	uint8_t bytes[SIZE];
};

static struct shadow shadows[SHADOWS];

static void check_all(struct srd_memory *m)
{
	uint8_t bytes[SIZE];

	for (int i = 0; i < SHADOWS; i++) {
		assert_int_equal(srd_memory_read(m, shadows[i].host, shadows[i].addr, bytes, SIZE),
				 0);
		assert_memory_equal(bytes, shadows[i].bytes, SIZE);
	}
}

static void check_difference(struct srd_memory *m, struct srd_rng *rng)
{
	struct shadow *a = &shadows[srd_rng_below(rng, SHADOWS)];
	struct shadow *b = &shadows[srd_rng_below(rng, SHADOWS)];
	uint64_t length = srd_rng_below(rng, SIZE + 1), got, want = 0;
	uint64_t x = srd_rng_below(rng, SIZE - length + 1);
	uint64_t y = srd_rng_below(rng, 2) ? x : srd_rng_below(rng, SIZE - length + 1);

	while (want < length && a->bytes[x + want] == b->bytes[y + want])
		want++;
	assert_int_equal(
		srd_memory_compare(m, a->host, a->addr + x, b->host, b->addr + y, length, &got), 0);
	assert_int_equal(got, want);
}

/* Returns 0 or ENOMEM, which must leave everything as it was. */
static int random_operation(struct srd_memory *m, struct srd_rng *rng)
{
	struct shadow *to = &shadows[srd_rng_below(rng, SHADOWS)];
	struct shadow *from = &shadows[srd_rng_below(rng, SHADOWS)];
	uint64_t length = srd_rng_below(rng, srd_rng_below(rng, 4) ? 40 : SIZE + 1);
	uint64_t x = srd_rng_below(rng, SIZE - length + 1);
	uint64_t y = srd_rng_below(rng, 2) ? x : srd_rng_below(rng, SIZE - length + 1);
	uint64_t seed = srd_rng_below(rng, 3);
	uint8_t bytes[SIZE];
	int error;

	switch (srd_rng_below(rng, 5)) {
	case 0:
		srd_pattern_bytes(seed, y, bytes, length);
		error = srd_memory_fill(m, to->host, to->addr + x, length, seed, y);
		break;
	case 1:
		for (uint64_t i = 0; i < length; i++)
			bytes[i] = (uint8_t)srd_rng_next(rng);
		error = srd_memory_write(m, to->host, to->addr + x, bytes, length);
		break;
	default:
		memcpy(bytes, from->bytes + y, length);
		error = srd_memory_copy(m, to->host, to->addr + x, from->host, from->addr + y,
					length);
		break;
	}
	if (!error)
		memcpy(to->bytes + x, bytes, length);
	return error;
}

static int make_shadows(struct srd_memory *m, uint32_t real)
{
	int error = 0;

	for (uint32_t i = 0; i < SHADOWS && !error; i++) {
		shadows[i].host = i % 3;
		memset(shadows[i].bytes, 0, SIZE);
		error = srd_memory_alloc(m, i % 3, SIZE,
					 i == real ? SRD_BUFFER_REAL : SRD_BUFFER_ORIGIN,
					 &shadows[i].addr);
	}
	return error;
}

static void kinds_agree_under_random_operations(void **state)
{
	struct srd_memory *m = *state;
	struct srd_rng rng;

	for (uint32_t seed = 0; seed < 4; seed++) {
		srd_rng_seed(&rng, seed, 0);
		assert_int_equal(make_shadows(m, seed), 0);
		for (int i = 0; i < 3000; i++) {
			assert_int_equal(random_operation(m, &rng), 0);
			check_difference(m, &rng);
			if (i % 8 == 0)
				check_all(m);
		}
	}
}

/* The N-th allocation fails; whether it came to that. */
static bool run_without_memory(uint64_t n)
{
	struct srd_memory *m;
	struct srd_rng rng;
	bool failed;
	int error;

	srd_rng_seed(&rng, 8, 0);
	srd_alloc_fail_at(n);
	m = srd_memory_create();
	if (!m)
		return true;
	error = make_shadows(m, 0);
	for (int i = 0; i < 200 && !error; i++)
		error = random_operation(m, &rng);
	failed = srd_alloc_count() >= n;
	assert_int_equal(error, failed ? ENOMEM : 0);
	if (shadows[SHADOWS - 1].addr)
		check_all(m);
	srd_memory_destroy(m);
	return failed;
}

static void without_memory_nothing_changes(void **state)
{
	int64_t live = srd_alloc_live();
	uint64_t n = 1;

	for (int i = 0; i < SHADOWS; i++)
		shadows[i].addr = 0;
	while (run_without_memory(n)) {
		assert_int_equal(srd_alloc_live(), live);
		n++;
	}
	assert_true(n > 50);
	srd_alloc_fail_at(0);
}

/* The N-th allocation fails while a map grows to several leaves and gets a literal. */
static bool grow_without_memory(uint64_t n)
{
	enum { BLOCKS = 300 };
	struct srd_origin map;
	struct srd_run run;
	uint32_t filled = 0;
	int error;

	srd_alloc_fail_at(n);
	error = srd_origin_init(&map, 2 * BLOCKS);
	if (error) {
		assert_int_equal(error, ENOMEM);
		return true;
	}
	while (filled < BLOCKS && !error) {
		error = srd_origin_fill(&map, 2 * filled, 1, 1 + filled, 0);
		filled += !error;
	}
	assert_int_equal(srd_origin_ranges(&map), 2 * filled + !filled);
	for (uint32_t i = 0; i < filled; i++) {
		srd_origin_run(&map, 2 * i, &run);
		assert_int_equal(run.seed, 1 + i);
	}
	assert_int_equal(error, srd_alloc_count() >= n ? ENOMEM : 0);
	srd_origin_release(&map);
	return error == ENOMEM;
}

static void growth_without_memory(void **state)
{
	int64_t live = srd_alloc_live();
	uint64_t n = 1;

	while (grow_without_memory(n)) {
		assert_int_equal(srd_alloc_live(), live);
		n++;
	}
	assert_true(n > 10);
	srd_alloc_fail_at(0);
	srd_memory_destroy(NULL);
}

/* Blocks that all differ make a map of many leaves; then it shrinks to one range again. */
static void map_grows_and_shrinks(void **state)
{
	enum { BLOCKS = 5000, BLOCK = 16 };
	struct srd_origin map;
	struct srd_rng rng;
	static uint8_t at[BLOCKS];
	struct srd_run run;

	assert_int_equal(srd_origin_init(&map, BLOCKS * BLOCK), 0);
	srd_rng_seed(&rng, 5, 0);
	memset(at, 0, sizeof(at));
	for (int i = 0; i < 40000; i++) {
		uint32_t b = (uint32_t)srd_rng_below(&rng, BLOCKS);
		uint8_t seed = (uint8_t)(1 + srd_rng_below(&rng, 200));

		at[b] = seed;
		assert_int_equal(srd_origin_fill(&map, b * BLOCK, BLOCK, seed, 0), 0);
	}
	for (uint32_t b = 0; b < BLOCKS; b++) {
		srd_origin_run(&map, b * BLOCK + 3, &run);
		assert_int_equal(run.seed, at[b]);
		assert_int_equal(run.at, at[b] ? 3 : 0);
		assert_null(run.bytes);
		if (at[b])
			assert_int_equal(run.length, BLOCK - 3);
	}
	assert_true(srd_origin_ranges(&map) > BLOCKS - 10);
	for (uint32_t b = 0; b < BLOCKS; b++) {
		uint32_t i = (uint32_t)((uint64_t)b * 3571 % BLOCKS); /* coprime: visits all */

		assert_int_equal(srd_origin_fill(&map, i * BLOCK, BLOCK, 7, i * BLOCK), 0);
	}
	assert_int_equal(srd_origin_ranges(&map), 1);
	assert_int_equal(map.num_leaves, 1);
	/* Many ranges give way to few in one step. */
	for (uint32_t b = 0; b < BLOCKS; b++)
		assert_int_equal(srd_origin_fill(&map, b * BLOCK, BLOCK, 1 + b, 0), 0);
	assert_int_equal(srd_origin_fill(&map, 5, BLOCKS * BLOCK - 10, 9, 0), 0);
	assert_int_equal(srd_origin_ranges(&map), 3);
	srd_origin_release(&map);
}

/* Copies of many ranges between maps and inside one, against plain bytes. */
static void many_ranges_are_copied(void **state)
{
	enum { LENGTH = 20000 };
	static uint8_t want[2][LENGTH], got[LENGTH];
	struct srd_memory *m = *state;
	uint64_t addr[2];
	struct srd_rng rng;

	srd_rng_seed(&rng, 6, 0);
	for (int i = 0; i < 2; i++)
		addr[i] = alloc(m, 0, LENGTH, SRD_BUFFER_ORIGIN);
	memset(want, 0, sizeof(want));
	for (uint32_t i = 0; i < LENGTH; i += 10) {
		uint8_t bytes[10] = {(uint8_t)i, (uint8_t)(i >> 8), 1};

		memcpy(want[0] + i, bytes, 10);
		assert_int_equal(srd_memory_write(m, 0, addr[0] + i, bytes, 10), 0);
	}
	for (int i = 0; i < 200; i++) {
		int to = (int)srd_rng_below(&rng, 2), from = (int)srd_rng_below(&rng, 2);
		uint64_t n = srd_rng_below(&rng, LENGTH), x = srd_rng_below(&rng, LENGTH - n);
		uint64_t y = srd_rng_below(&rng, LENGTH - n);

		memmove(want[to] + x, want[from] + y, n);
		assert_int_equal(srd_memory_copy(m, 0, addr[to] + x, 0, addr[from] + y, n), 0);
		assert_int_equal(srd_memory_read(m, 0, addr[to], got, LENGTH), 0);
		assert_memory_equal(got, want[to], LENGTH);
	}
}

/* In any order of arrival the chunks of one stream become one range. */
static void stream_of_chunks_becomes_one_range(void **state)
{
	struct srd_memory *m = *state;
	uint64_t a = alloc(m, 0, 4 * TIB, SRD_BUFFER_ORIGIN);
	uint64_t b = alloc(m, 1, 4 * TIB, SRD_BUFFER_ORIGIN), diff, chunks = 4096;
	uint64_t size = 4 * TIB / chunks;

	assert_int_equal(srd_memory_fill(m, 0, a, 4 * TIB, 11, 0), 0);
	for (uint64_t i = 0; i < chunks; i++) {
		uint64_t offset = i * 1531 % chunks * size;

		assert_int_equal(srd_memory_copy(m, 1, b + offset, 0, a + offset, size), 0);
	}
	assert_int_equal(srd_memory_compare(m, 0, a, 1, b, 4 * TIB, &diff), 0);
	assert_int_equal(diff, 4 * TIB);
	/* One wrong byte far out is found exactly. */
	assert_int_equal(srd_memory_write(m, 1, b + 3 * TIB + 12345, "", 1), 0);
	if (srd_pattern_byte(11, 3 * TIB + 12345) != 0) {
		assert_int_equal(srd_memory_compare(m, 0, a, 1, b, 4 * TIB, &diff), 0);
		assert_int_equal(diff, 3 * TIB + 12345);
	}
	/* A chunk at the wrong place differs. */
	assert_int_equal(srd_memory_copy(m, 1, b + MIB, 0, a, MIB), 0);
	assert_int_equal(srd_memory_compare(m, 0, a, 1, b, 4 * TIB, &diff), 0);
	assert_in_range(diff, MIB, MIB + 8);
}

static void literals_live_as_long_as_a_byte_of_them(void **state)
{
	struct srd_memory *m = *state;
	uint64_t a = alloc(m, 0, 1000, SRD_BUFFER_ORIGIN), b = alloc(m, 0, 1000, SRD_BUFFER_ORIGIN);
	char text[6];

	assert_int_equal(srd_memory_write(m, 0, a + 10, "hello world", 11), 0);
	assert_int_equal(srd_memory_copy(m, 0, b + 500, 0, a + 16, 5), 0);
	assert_int_equal(srd_memory_fill(m, 0, a, 1000, 0, 0), 0);
	assert_int_equal(srd_memory_free(m, 0, a), 0);
	assert_int_equal(srd_memory_read(m, 0, b + 500, text, 5), 0);
	assert_memory_equal(text, "world", 5);
	/* Cut in two, then overwritten. */
	assert_int_equal(srd_memory_write(m, 0, b + 502, "-", 1), 0);
	assert_int_equal(srd_memory_read(m, 0, b + 500, text, 5), 0);
	assert_memory_equal(text, "wo-ld", 5);
	assert_int_equal(srd_memory_fill(m, 0, b + 400, 200, 0, 0), 0);
	assert_int_equal(srd_memory_read(m, 0, b + 500, text, 5), 0);
	assert_memory_equal(text, "\0\0\0\0", 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pattern_is_any_slice_of_itself),
		cmocka_unit_test_setup_teardown(addresses_are_distinct_and_never_reused, setup,
						teardown),
		cmocka_unit_test_setup_teardown(impossible_allocations, setup, teardown),
		cmocka_unit_test_setup_teardown(outside_a_buffer_faults_and_changes_nothing, setup,
						teardown),
		cmocka_unit_test_setup_teardown(kinds_agree_under_random_operations, setup,
						teardown),
		cmocka_unit_test(without_memory_nothing_changes),
		cmocka_unit_test(growth_without_memory),
		cmocka_unit_test(map_grows_and_shrinks),
		cmocka_unit_test_setup_teardown(many_ranges_are_copied, setup, teardown),
		cmocka_unit_test_setup_teardown(stream_of_chunks_becomes_one_range, setup,
						teardown),
		cmocka_unit_test_setup_teardown(literals_live_as_long_as_a_byte_of_them, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
