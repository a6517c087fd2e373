/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "qp/chunk.h"

#define GIB (UINT64_C(1) << 30)

static void counts_at_every_boundary(void **state)
{
	assert_int_equal(srd_chunk_count(0, 1000), 1);
	assert_int_equal(srd_chunk_count(1, 1000), 1);
	assert_int_equal(srd_chunk_count(999, 1000), 1);
	assert_int_equal(srd_chunk_count(1000, 1000), 1);
	assert_int_equal(srd_chunk_count(1001, 1000), 2);
	assert_int_equal(srd_chunk_count(2000, 1000), 2);
	assert_int_equal(srd_chunk_count(2001, 1000), 3);
	assert_int_equal(srd_chunk_count(GIB, (uint32_t)GIB), 1);
	assert_int_equal(srd_chunk_count(GIB + 1, (uint32_t)GIB), 2);
}

/* Cut to 32 bits these would be 0 and 5. */
static void counts_beyond_32_bits(void **state)
{
	assert_int_equal(srd_chunk_count(UINT64_C(1) << 32, 1), UINT64_C(1) << 32);
	assert_int_equal(srd_chunk_count((UINT64_C(1) << 32) + 5, 1), (UINT64_C(1) << 32) + 5);
	assert_int_equal(srd_chunk_count(UINT64_MAX, 1), UINT64_MAX);
	assert_int_equal(srd_chunk_count(UINT64_MAX, UINT32_MAX), (UINT64_C(1) << 32) + 1);
}

/* The plan covers both ranges exactly, in order, each chunk but the last being full. */
static void plan_check(uint64_t size, uint32_t max)
{
	const uint64_t local = 0x1000, remote = 0x70000001;
	struct srd_chunk_plan plan;
	struct srd_chunk chunk;
	uint64_t at = 0, count = 0;

	assert_int_equal(srd_chunk_plan_start(&plan, local, remote, size, max), 0);
	assert_int_equal(plan.num_left, srd_chunk_count(size, max));
	while (srd_chunk_plan_next(&plan, &chunk)) {
		assert_int_equal(chunk.local, local + at);
		assert_int_equal(chunk.remote, remote + at);
		assert_true(chunk.length <= max);
		if (plan.num_left)
			assert_int_equal(chunk.length, max);
		else if (size)
			assert_true(chunk.length > 0);
		at += chunk.length;
		count++;
	}
	assert_int_equal(at, size);
	assert_int_equal(count, srd_chunk_count(size, max));
	assert_false(srd_chunk_plan_next(&plan, &chunk));
}

static void plans_every_small_transfer(void **state)
{
	for (uint32_t max = 1; max <= 9; max++)
		for (uint64_t size = 0; size <= 40; size++)
			plan_check(size, max);
	plan_check(8192, 4096);
	plan_check(8193, 4096);
	plan_check(5 * (uint64_t)UINT32_MAX + 7, UINT32_MAX);
	plan_check(4096 * GIB, (uint32_t)GIB);
}

static void an_empty_transfer_is_one_empty_chunk(void **state)
{
	struct srd_chunk_plan plan;
	struct srd_chunk chunk;

	assert_int_equal(srd_chunk_plan_start(&plan, UINT64_MAX, UINT64_MAX, 0, 1), 0);
	assert_true(srd_chunk_plan_next(&plan, &chunk));
	assert_int_equal(chunk.length, 0);
	assert_int_equal(chunk.local, UINT64_MAX);
	assert_false(srd_chunk_plan_next(&plan, &chunk));
}

static void a_range_may_end_at_the_last_address_only(void **state)
{
	struct srd_chunk_plan plan;

	assert_int_equal(srd_chunk_plan_start(&plan, 0, UINT64_MAX - 99, 100, 64), 0);
	assert_int_equal(srd_chunk_plan_start(&plan, 0, UINT64_MAX, 1, 64), 0);
	assert_int_equal(srd_chunk_plan_start(&plan, 0, 0, UINT64_MAX, 64), 0);
	assert_int_equal(srd_chunk_plan_start(&plan, 0, UINT64_MAX - 99, 101, 64), -EOVERFLOW);
	assert_int_equal(srd_chunk_plan_start(&plan, UINT64_MAX, 0, 2, 64), -EOVERFLOW);
}

static void chunks_of_nothing_are_refused(void **state)
{
	struct srd_chunk_plan plan;

	assert_int_equal(srd_chunk_plan_start(&plan, 0, 0, 1, 0), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_at_every_boundary),
		cmocka_unit_test(counts_beyond_32_bits),
		cmocka_unit_test(plans_every_small_transfer),
		cmocka_unit_test(an_empty_transfer_is_one_empty_chunk),
		cmocka_unit_test(a_range_may_end_at_the_last_address_only),
		cmocka_unit_test(chunks_of_nothing_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
