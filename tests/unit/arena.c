/* SPDX-License-Identifier: MIT */
/* The memory of a Lua state: contents survive every move, and nothing is left behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lua/arena.h"
#include "verbs/alloc.h"

static struct srd_arena arena;

static int teardown(void **state)
{
	srd_arena_release(&arena);
	assert_int_equal(srd_alloc_live(), 0);
	return 0;
}

static void fill(uint8_t *block, size_t size, uint8_t seed)
{
	for (size_t i = 0; i < size; i++)
		block[i] = (uint8_t)(seed + i);
}

static void check(const uint8_t *block, size_t size, uint8_t seed)
{
	for (size_t i = 0; i < size; i++)
		assert_int_equal(block[i], (uint8_t)(seed + i));
}

/* From each of these sizes to each other one, beside neighbours that must not change. */
static void contents_survive(void **state)
{
	static const size_t sizes[] = {1, 15, 16, 17, 100, 496, 497, 511, 512, 513, 514, 5000};
	const size_t count = sizeof(sizes) / sizeof(sizes[0]);

	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < count; j++) {
			size_t kept = sizes[i] < sizes[j] ? sizes[i] : sizes[j];
			uint8_t *before = srd_arena_resize(&arena, NULL, 0, sizes[j]);
			uint8_t *block = srd_arena_resize(&arena, NULL, 0, sizes[i]);
			uint8_t *behind = srd_arena_resize(&arena, NULL, 0, sizes[j]);

			assert_int_equal((uintptr_t)block % SRD_ARENA_STEP, 0);
			fill(before, sizes[j], 1);
			fill(block, sizes[i], 2);
			fill(behind, sizes[j], 3);
			block = srd_arena_resize(&arena, block, sizes[i], sizes[j]);
			check(block, kept, 2);
			fill(block, sizes[j], 4);
			check(before, sizes[j], 1);
			check(behind, sizes[j], 3);
			srd_arena_free(&arena, before, sizes[j]);
			check(block, sizes[j], 4);
			srd_arena_free(&arena, block, sizes[j]);
			check(behind, sizes[j], 3);
			srd_arena_free(&arena, behind, sizes[j]);
		}
	}
	srd_arena_free(&arena, NULL, 0);
}

static void a_freed_block_is_used_again(void **state)
{
	void *block = srd_arena_resize(&arena, NULL, 0, 40), *other;

	srd_arena_free(&arena, block, 40);
	assert_ptr_equal(srd_arena_resize(&arena, NULL, 0, 33), block);
	other = srd_arena_resize(&arena, NULL, 0, 48);
	assert_ptr_not_equal(other, block);
	/* What is rounded up to the same size stays where it is. */
	assert_ptr_equal(srd_arena_resize(&arena, other, 48, 34), other);
	srd_arena_free(&arena, other, 34);
	srd_arena_free(&arena, block, 33);
}

/* Nothing is given to malloc for each small block, and all of it is given back. */
static void small_blocks_share_slabs(void **state)
{
	int64_t before = srd_alloc_live();
	uint8_t *blocks[1000];

	for (int i = 0; i < 1000; i++) {
		blocks[i] = srd_arena_resize(&arena, NULL, 0, 64);
		fill(blocks[i], 64, (uint8_t)i);
	}
	assert_in_range(srd_alloc_live() - before, 2, 3);
	for (int i = 0; i < 1000; i++)
		check(blocks[i], 64, (uint8_t)i);
	for (int i = 0; i < 1000; i++)
		srd_arena_free(&arena, blocks[i], 64);
}

static void growing_fails_where_there_is_no_memory(void **state)
{
	static const size_t from[] = {8, 600}, to[] = {9000, 9000};

	srd_alloc_fail_at(1);
	assert_null(srd_arena_resize(&arena, NULL, 0, 8));
	srd_alloc_fail_at(0);
	for (int i = 0; i < 2; i++) {
		uint8_t *block = srd_arena_resize(&arena, NULL, 0, from[i]);

		fill(block, from[i], 7);
		srd_alloc_fail_at(1);
		assert_null(srd_arena_resize(&arena, block, from[i], to[i]));
		srd_alloc_fail_at(0);
		check(block, from[i], 7);
		srd_arena_free(&arena, block, from[i]);
	}
}

/* A large block that has become small where no slab could be had: it is still malloc's. */
static void shrinking_never_fails(void **state)
{
	static const size_t ends[] = {100, 60, 600};

	for (int i = 0; i < 3; i++) {
		uint8_t *block = srd_arena_resize(&arena, NULL, 0, 1000), *small;

		fill(block, 1000, 9);
		srd_alloc_fail_at(1);
		assert_ptr_equal(srd_arena_resize(&arena, block, 1000, 900), block);
		srd_alloc_fail_at(1);
		assert_ptr_equal(srd_arena_resize(&arena, block, 900, 100), block);
		srd_alloc_fail_at(0);
		small = srd_arena_resize(&arena, NULL, 0, 100);
		fill(small, 100, 11);
		block = srd_arena_resize(&arena, block, 100, ends[i]);
		check(block, ends[i] < 100 ? ends[i] : 100, 9);
		srd_arena_free(&arena, block, ends[i]);
		check(small, 100, 11);
		srd_arena_free(&arena, small, 100);
		assert_int_equal(arena.strays, 0);
		teardown(NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(contents_survive, teardown),
		cmocka_unit_test_teardown(a_freed_block_is_used_again, teardown),
		cmocka_unit_test_teardown(small_blocks_share_slabs, teardown),
		cmocka_unit_test_teardown(growing_fails_where_there_is_no_memory, teardown),
		cmocka_unit_test_teardown(shrinking_never_fails, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
