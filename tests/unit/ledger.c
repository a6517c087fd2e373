/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "alloc.h"
#include "qp/ledger.h"

static struct srd_ledger ledger;

static int teardown(void **state)
{
	srd_ledger_release(&ledger);
	assert_int_equal(srd_alloc_live(), 0);
	return 0;
}

static void an_empty_ledger_has_nothing(void **state)
{
	assert_int_equal(srd_ledger_take(&ledger, 0), SRD_LEDGER_NONE);
	assert_int_equal(srd_ledger_reserve(&ledger, 1), 0);
	assert_int_equal(srd_ledger_take(&ledger, 0), SRD_LEDGER_NONE);
}

/* Put COUNT ids, the i-th being id(i); take them in the order of a walk with STEP. */
static void all_come_back(uint64_t (*id)(uint64_t), uint32_t count, uint32_t step)
{
	assert_int_equal(srd_ledger_reserve(&ledger, count), 0);
	for (uint32_t i = 0; i < count; i++)
		srd_ledger_put(&ledger, id(i), i);
	assert_int_equal(ledger.count, count);
	for (uint32_t i = 0, at = 0; i < count; i++, at = (at + step) % count) {
		assert_int_equal(srd_ledger_take(&ledger, id(at)), at);
		assert_int_equal(srd_ledger_take(&ledger, id(at)), SRD_LEDGER_NONE);
	}
	assert_int_equal(ledger.count, 0);
}

static uint64_t consecutive(uint64_t i)
{
	return i;
}

static uint64_t late(uint64_t i)
{
	return UINT64_MAX - 700 + i;
}

static uint64_t scattered(uint64_t i)
{
	return i * 0x9e3779b97f4a7c15u;
}

/* All of the same low bits, as a counter in the upper half would be. */
static uint64_t high(uint64_t i)
{
	return i << 32;
}

static void any_ids_come_back_in_any_order(void **state)
{
	uint64_t (*const kinds[])(uint64_t) = {consecutive, late, scattered, high};

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		all_come_back(kinds[k], 1, 1);
		all_come_back(kinds[k], 512, 1);
		all_come_back(kinds[k], 512, 511);
		all_come_back(kinds[k], 1009, 357);
	}
}

/* A straggler among a million: the table stays as large as the window. */
static void a_moving_window_does_not_grow_it(void **state)
{
	uint32_t mask;

	assert_int_equal(srd_ledger_reserve(&ledger, 16), 0);
	mask = ledger.mask;
	srd_ledger_put(&ledger, 3, 77);
	for (uint64_t i = 4; i < 1000000; i++) {
		assert_int_equal(srd_ledger_reserve(&ledger, 16), 0);
		srd_ledger_put(&ledger, i, (uint32_t)i);
		if (i >= 18)
			assert_int_equal(srd_ledger_take(&ledger, i - 14), i - 14);
	}
	assert_int_equal(ledger.mask, mask);
	assert_int_equal(srd_ledger_take(&ledger, 3), 77);
}

static void growing_keeps_what_is_there(void **state)
{
	for (uint64_t i = 0; i < 3000; i++) {
		assert_int_equal(srd_ledger_reserve(&ledger, i + 1), 0);
		srd_ledger_put(&ledger, scattered(i), (uint32_t)i);
	}
	for (uint64_t i = 0; i < 3000; i++)
		assert_int_equal(srd_ledger_take(&ledger, scattered(i)), i);
}

static void an_id_may_be_there_twice(void **state)
{
	assert_int_equal(srd_ledger_reserve(&ledger, 3), 0);
	srd_ledger_put(&ledger, 5, 1);
	srd_ledger_put(&ledger, 6, 2);
	srd_ledger_put(&ledger, 5, 1);
	assert_int_equal(srd_ledger_take(&ledger, 5), 1);
	assert_int_equal(srd_ledger_take(&ledger, 5), 1);
	assert_int_equal(srd_ledger_take(&ledger, 5), SRD_LEDGER_NONE);
	assert_int_equal(srd_ledger_take(&ledger, 6), 2);
}

static void without_memory_it_stays_as_it_is(void **state)
{
	assert_int_equal(srd_ledger_reserve(&ledger, 2), 0);
	srd_ledger_put(&ledger, 1, 10);
	srd_alloc_fail_at(1);
	assert_int_equal(srd_ledger_reserve(&ledger, 1000), -ENOMEM);
	assert_int_equal(srd_ledger_reserve(&ledger, UINT64_C(1) << 40), -ENOMEM);
	assert_int_equal(srd_ledger_take(&ledger, 1), 10);
}

#define TEST(test) cmocka_unit_test_teardown(test, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_empty_ledger_has_nothing),      TEST(any_ids_come_back_in_any_order),
		TEST(a_moving_window_does_not_grow_it), TEST(growing_keeps_what_is_there),
		TEST(an_id_may_be_there_twice),         TEST(without_memory_it_stays_as_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
