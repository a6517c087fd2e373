/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "nearest.h"
#include "units.h"

static void numbers(void **state)
{
	uint64_t n;

	assert_int_equal(srd_units_parse(SRD_UNIT_NONE, "0", &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(srd_units_parse(SRD_UNIT_NONE, "0x10", &n), 0);
	assert_int_equal(n, 16);
	assert_int_equal(srd_units_parse(SRD_UNIT_NONE, "010", &n), 0);
	assert_int_equal(n, 10);
	assert_int_equal(srd_units_parse(SRD_UNIT_NONE, "18446744073709551615", &n), 0);
	assert_true(n == UINT64_MAX);
	assert_int_equal(srd_units_parse(SRD_UNIT_NONE, "18446744073709551616", &n), -ERANGE);
	assert_int_equal(srd_units_parse(SRD_UNIT_NONE, "", &n), -EINVAL);
	assert_int_equal(srd_units_parse(SRD_UNIT_NONE, "-1", &n), -EINVAL);
	assert_int_equal(srd_units_parse(SRD_UNIT_NONE, " 1", &n), -EINVAL);
	assert_int_equal(srd_units_parse(SRD_UNIT_NONE, "1KiB", &n), -EINVAL);
	assert_int_equal(srd_units_parse(SRD_UNIT_NONE, "1.5", &n), -EINVAL);
}

static void sizes_and_times(void **state)
{
	uint64_t n;

	assert_int_equal(srd_units_parse(SRD_UNIT_SIZE, "4KiB", &n), 0);
	assert_int_equal(n, 4096);
	assert_int_equal(srd_units_parse(SRD_UNIT_SIZE, "4 TiB", &n), 0);
	assert_true(n == UINT64_C(4) << 40);
	assert_int_equal(srd_units_parse(SRD_UNIT_SIZE, "12", &n), 0);
	assert_int_equal(n, 12);
	assert_int_equal(srd_units_parse(SRD_UNIT_SIZE, "16777216TiB", &n), -ERANGE);
	assert_int_equal(srd_units_parse(SRD_UNIT_SIZE, "4us", &n), -EINVAL);
	assert_int_equal(srd_units_parse(SRD_UNIT_SIZE, "4 KiB ", &n), -EINVAL);
	assert_int_equal(srd_units_parse(SRD_UNIT_TIME, "12us", &n), 0);
	assert_int_equal(n, 12000);
	assert_int_equal(srd_units_parse(SRD_UNIT_TIME, "2min", &n), 0);
	assert_true(n == UINT64_C(120000000000));
	assert_int_equal(srd_units_parse(SRD_UNIT_TIME, "2m", &n), -EINVAL);
}

static void formats_round_trip(void **state)
{
	static const char *const texts[] = {"0", "1", "4KiB", "1025", "3MiB", "16777215TiB"};
	static const char *const spans[] = {"1ns", "1500ns", "12us", "2s", "90s", "2min", "1h"};
	char text[24];
	uint64_t n;

	for (unsigned int i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_int_equal(srd_units_parse(SRD_UNIT_SIZE, texts[i], &n), 0);
		assert_string_equal(srd_units_format(SRD_UNIT_SIZE, n, text, sizeof(text)),
				    texts[i]);
	}
	for (unsigned int i = 0; i < sizeof(spans) / sizeof(spans[0]); i++) {
		assert_int_equal(srd_units_parse(SRD_UNIT_TIME, spans[i], &n), 0);
		assert_string_equal(srd_units_format(SRD_UNIT_TIME, n, text, sizeof(text)),
				    spans[i]);
	}
	assert_string_equal(srd_units_format(SRD_UNIT_NONE, UINT64_MAX, text, sizeof(text)),
			    "18446744073709551615");
}

static void nearest(void **state)
{
	static const char *const names[] = {"filter", "fail-on-skip", "seed", "seeds"};

	assert_string_equal(srd_nearest("fitler", names, 4), "filter");
	assert_string_equal(srd_nearest("sed", names, 4), "seed");
	assert_string_equal(srd_nearest("seedss", names, 4), "seeds");
	assert_string_equal(srd_nearest("fail-onskip", names, 4), "fail-on-skip");
	assert_null(srd_nearest("colour", names, 4));
	assert_null(srd_nearest("", names, 4));
	assert_null(srd_nearest("a-word-that-is-far-longer-than-any-name-there-is", names, 4));
	assert_null(srd_nearest("seed", names, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(sizes_and_times),
		cmocka_unit_test(formats_round_trip),
		cmocka_unit_test(nearest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
