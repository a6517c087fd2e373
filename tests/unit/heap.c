/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/heap.h"
#include "model/rng.h"

static struct srd_heap *heap_new(uint32_t capacity)
{
	struct srd_heap *heap = malloc(srd_heap_size(capacity));

	assert_non_null(heap);
	srd_heap_init(heap, capacity);
	return heap;
}

static void empty_and_full(void **state)
{
	struct srd_heap *heap = heap_new(3);
	uint64_t time;
	uint32_t payload;

	assert_int_equal(srd_heap_next_time(heap), UINT64_MAX);
	assert_false(srd_heap_pop(heap, &time, &payload));
	assert_true(srd_heap_push(heap, 30, 3));
	assert_true(srd_heap_push(heap, 10, 1));
	assert_true(srd_heap_push(heap, 20, 2));
	assert_false(srd_heap_push(heap, 5, 0));
	assert_int_equal(srd_heap_next_time(heap), 10);
	for (uint32_t i = 1; i <= 3; i++) {
		assert_true(srd_heap_pop(heap, &time, &payload));
		assert_int_equal(payload, i);
		assert_int_equal(time, 10 * i);
	}
	assert_false(srd_heap_pop(heap, &time, &payload));
	free(heap);
}

static void ties_come_in_order_of_arrival(void **state)
{
	struct srd_heap *heap = heap_new(1000);
	uint64_t time;
	uint32_t payload;

	for (uint32_t i = 0; i < 1000; i++)
		assert_true(srd_heap_push(heap, i % 3, i));
	for (uint32_t t = 0; t < 3; t++)
		for (uint32_t i = t; i < 1000; i += 3) {
			assert_true(srd_heap_pop(heap, &time, &payload));
			assert_int_equal(payload, i);
		}
	free(heap);
}

static void extreme_times(void **state)
{
	struct srd_heap *heap = heap_new(4);
	uint64_t time;
	uint32_t payload;

	srd_heap_push(heap, UINT64_MAX, 2);
	srd_heap_push(heap, 0, 0);
	srd_heap_push(heap, UINT64_MAX, 3);
	srd_heap_push(heap, 1ull << 63, 1);
	for (uint32_t i = 0; i < 4; i++) {
		assert_true(srd_heap_pop(heap, &time, &payload));
		assert_int_equal(payload, i);
	}
	free(heap);
}

/* Against a plain list, in which the first of the earliest is looked for. */
struct list {
	uint32_t count;
	struct {
		uint64_t time;
		uint32_t payload;
	} at[200];
};

static uint32_t list_take_first(struct list *list)
{
	uint32_t best = 0, payload;

	for (uint32_t i = 1; i < list->count; i++)
		if (list->at[i].time < list->at[best].time)
			best = i;
	payload = list->at[best].payload;
	list->count--;
	memmove(&list->at[best], &list->at[best + 1], (list->count - best) * sizeof(list->at[0]));
	return payload;
}

static void check_against_list(uint64_t seed, uint32_t first_seq)
{
	struct srd_heap *heap = heap_new(200);
	struct list list = {0};
	uint64_t time;
	uint32_t payload;
	struct srd_rng rng;

	heap->next_seq = first_seq;
	srd_rng_seed(&rng, seed, 0);
	for (uint32_t i = 0; i < 20000; i++) {
		/* The load swings between empty and full. */
		bool push = srd_rng_below(&rng, 100) < (i / 1000 % 2 ? 35u : 65u);

		if (push && list.count < 200) {
			time = srd_rng_below(&rng, 50);
			assert_true(srd_heap_push(heap, time, i));
			list.at[list.count].time = time;
			list.at[list.count++].payload = i;
		} else if (list.count > 0) {
			assert_true(srd_heap_pop(heap, &time, &payload));
			assert_int_equal(payload, list_take_first(&list));
		}
		assert_int_equal(srd_heap_count(heap), list.count);
	}
	free(heap);
}

static void random_operations(void **state)
{
	for (uint64_t seed = 0; seed < 5; seed++)
		check_against_list(seed, 0);
}

static void order_survives_the_wrap_of_the_numbers(void **state)
{
	for (uint32_t before = 0; before < 400; before += 37)
		check_against_list(before, UINT32_MAX - before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_and_full),
		cmocka_unit_test(ties_come_in_order_of_arrival),
		cmocka_unit_test(extreme_times),
		cmocka_unit_test(random_operations),
		cmocka_unit_test(order_survives_the_wrap_of_the_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
