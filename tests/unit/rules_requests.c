/* SPDX-License-Identifier: MIT */
/* The table of requests in flight against a plain list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "alloc.h"
#include "rules/requests.h"

#define MOST 400

struct kept {
	uint64_t wr_id;
	uint64_t ordinal;
};

static struct kept list[MOST];
static uint32_t count;
static uint64_t state;

static uint64_t random_below(uint64_t limit)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (state >> 33) % limit;
}

/* Each request of the list is in the table, once, and nothing else. */
static void same(const struct srd_requests *table)
{
	const struct srd_request *request = NULL;
	uint32_t n = 0;

	while ((request = srd_requests_next(table, request))) {
		uint32_t at = 0;

		while (at < count && list[at].ordinal != request->ordinal)
			at++;
		assert_true(at < count);
		assert_int_equal(list[at].wr_id, request->wr_id);
		n++;
	}
	assert_int_equal(n, count);
}

static void add(struct srd_requests *table, uint64_t wr_id, uint64_t ordinal)
{
	struct srd_request *request = srd_requests_add(table, wr_id, 16);

	assert_non_null(request);
	request->ordinal = ordinal;
	list[count++] = (struct kept){wr_id, ordinal};
}

/* Of those that have the id the oldest. */
static void take(struct srd_requests *table, uint64_t wr_id)
{
	struct srd_request *request = srd_requests_find(table, wr_id);
	uint32_t at = 0;

	assert_non_null(request);
	assert_int_equal(request->wr_id, wr_id);
	for (uint32_t i = 0; i < count; i++) {
		assert_true(list[i].wr_id != wr_id || list[i].ordinal >= request->ordinal);
		if (list[i].ordinal == request->ordinal)
			at = i;
	}
	list[at] = list[--count];
	srd_requests_remove(table, request);
}

/* Ids that are consecutive, that collide in their low bits, and that come twice. */
static void any_ids_are_found_again(void **arg)
{
	static const uint64_t strides[] = {1, 64, UINT64_C(1) << 40};

	for (size_t s = 0; s < 3; s++) {
		struct srd_requests table = {0};

		count = 0;
		state = s;
		assert_null(srd_requests_find(&table, 0));
		assert_null(srd_requests_next(&table, NULL));
		for (uint64_t i = 0; i < 3000; i++) {
			if (count && (count == MOST || random_below(5) < 2))
				take(&table, list[random_below(count)].wr_id);
			else
				add(&table, strides[s] * random_below(i + 1), i);
			if (i % 50 == 0)
				same(&table);
		}
		assert_null(srd_requests_find(&table, strides[s] * 5000));
		while (count)
			take(&table, list[0].wr_id);
		same(&table);
		srd_requests_release(&table);
	}
	assert_int_equal(srd_alloc_live(), 0);
}

/* A dropped request is found only where no other has its id. */
static void dropped_ones_come_last(void **arg)
{
	struct srd_requests table = {0};
	struct srd_request *request;

	for (uint64_t i = 0; i < 3; i++) {
		count = 0;
		add(&table, 7, i);
		srd_requests_find(&table, 7)->dropped = true;
	}
	assert_true(srd_requests_find(&table, 7)->dropped);
	add(&table, 7, 99);
	request = srd_requests_find(&table, 7);
	assert_false(request->dropped);
	assert_int_equal(request->ordinal, 99);
	srd_requests_remove(&table, request);
	assert_true(srd_requests_find(&table, 7)->dropped);
	srd_requests_release(&table);
}

static void out_of_memory_is_told(void **arg)
{
	struct srd_requests table = {0};

	srd_alloc_fail_at(1);
	assert_null(srd_requests_add(&table, 1, 16));
	srd_alloc_fail_at(0);
	assert_non_null(srd_requests_add(&table, 1, 16));
	/* One more of its id is hashed: slots, and lists of them. */
	for (uint64_t n = 1; n <= 2; n++) {
		srd_alloc_fail_at(n);
		assert_null(srd_requests_add(&table, 1, 16));
	}
	srd_alloc_fail_at(0);
	assert_non_null(srd_requests_add(&table, 1, 16));
	srd_requests_release(&table);
	assert_int_equal(srd_alloc_live(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_ids_are_found_again),
		cmocka_unit_test(dropped_ones_come_last),
		cmocka_unit_test(out_of_memory_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
