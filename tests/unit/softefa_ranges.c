/* SPDX-License-Identifier: MIT */
/* Ranges of addresses against a plain array of what they stand for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "model/rng.h"
#include "softefa/ranges.h"

#define SPACE 200u

static void against_an_array(void **state)
{
	struct soft_ranges ranges = {0};
	bool has[SPACE] = {0};
	struct srd_rng rng;

	srd_rng_seed(&rng, 1, 0);
	for (int step = 0; step < 20000; step++) {
		uint32_t start = (uint32_t)srd_rng_below(&rng, SPACE);
		uint32_t end = start + 1 + (uint32_t)srd_rng_below(&rng, 12);
		bool adds = srd_rng_next(&rng) & 1, all = true;

		end = end < SPACE ? end : SPACE;
		if (adds)
			soft_ranges_add(&ranges, start, end);
		else
			soft_ranges_remove(&ranges, start, end);
		memset(&has[start], adds, end - start);
		for (uint32_t i = 0; i < ranges.num; i++) {
			assert_true(ranges.at[i].start < ranges.at[i].end);
			if (i)
				assert_true(ranges.at[i - 1].end < ranges.at[i].start);
		}
		start = (uint32_t)srd_rng_below(&rng, SPACE - 3);
		for (uint32_t i = start; i < start + 3; i++)
			all = all && has[i];
		assert_int_equal(soft_ranges_find(&ranges, start, start + 3) >= 0, all);
	}
	assert_true(ranges.num > 1);
}

/* A range that wraps lies in none; where there is no room for two halves one goes too. */
static void at_the_edges(void **state)
{
	struct soft_ranges ranges = {0};

	for (uint64_t i = 0; i < SOFT_MAX_RANGES; i++)
		soft_ranges_add(&ranges, i * 100, i * 100 + 50);
	assert_false(soft_ranges_fit(&ranges));
	assert_int_equal(soft_ranges_find(&ranges, 110, 150), 1);
	assert_int_equal(soft_ranges_find(&ranges, 110, 10), -1);
	soft_ranges_remove(&ranges, 110, 120);
	assert_int_equal(ranges.num, SOFT_MAX_RANGES);
	assert_int_equal(soft_ranges_find(&ranges, 110, 111), -1);
	assert_int_equal(soft_ranges_find(&ranges, 200, 250), 2);
	/* What touches becomes one. */
	for (uint64_t i = 0; i < SOFT_MAX_RANGES; i++)
		soft_ranges_remove(&ranges, i * 100, i * 100 + 50);
	assert_int_equal(ranges.num, 0);
	soft_ranges_add(&ranges, 10, 20);
	soft_ranges_add(&ranges, 30, 40);
	soft_ranges_add(&ranges, 20, 30);
	assert_int_equal(ranges.num, 1);
	assert_int_equal(soft_ranges_find(&ranges, 10, 40), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(against_an_array),
		cmocka_unit_test(at_the_edges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
