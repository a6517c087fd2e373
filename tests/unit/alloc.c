/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"

static void counts_live_blocks(void **state)
{
	int64_t before = srd_alloc_live();
	char *grown = srd_realloc(NULL, 10);
	char *text = srd_strdup("srd");
	char *number = srd_asprintf("%d", 42);
	uint64_t *zeros = srd_calloc(4, sizeof(*zeros));

	assert_string_equal(text, "srd");
	assert_string_equal(number, "42");
	assert_int_equal(zeros[3], 0);
	grown = srd_reallocarray(grown, 3, 10);
	assert_non_null(grown);
	assert_int_equal(srd_alloc_live(), before + 4);
	srd_free(grown);
	srd_free(text);
	srd_free(number);
	srd_free(zeros);
	srd_free(NULL);
	assert_int_equal(srd_alloc_live(), before);
}

static void fails_the_nth(void **state)
{
	int64_t before = srd_alloc_live();
	void *a, *b;

	srd_alloc_fail_at(2);
	a = srd_malloc(1);
	assert_non_null(a);
	errno = 0;
	assert_null(srd_strdup("x"));
	assert_int_equal(errno, ENOMEM);
	b = srd_malloc(1);
	assert_non_null(b);
	assert_int_equal(srd_alloc_count(), 3);
	srd_alloc_fail_at(1);
	assert_null(srd_asprintf("x"));
	srd_alloc_fail_at(1);
	assert_null(srd_calloc(1, 1));
	srd_alloc_fail_at(1);
	assert_null(srd_realloc(a, 100)); /* a stays */
	srd_alloc_fail_at(0);
	srd_free(a);
	srd_free(b);
	assert_int_equal(srd_alloc_live(), before);
}

static void refuses_a_product_that_overflows(void **state)
{
	assert_null(srd_reallocarray(NULL, SIZE_MAX / 2, 4));
	assert_int_equal(errno, ENOMEM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_live_blocks),
		cmocka_unit_test(fails_the_nth),
		cmocka_unit_test(refuses_a_product_that_overflows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
