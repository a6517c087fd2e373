/* SPDX-License-Identifier: MIT */
/* srdlab bench: every measurement runs, the report says so, and mistakes are told. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "cli/commands.h"
#include "verbs/alloc.h"

static char path[] = "/tmp/srdlab-bench-XXXXXX";

static int setup(void **state)
{
	int fd = mkstemp(path);

	return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
	assert_int_equal(srd_alloc_live(), 0);
	return unlink(path);
}

/* What it prints is not for the reader of test results. */
static int bench(const struct srd_cli_bench_options *options)
{
	int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO), null = open("/dev/null", O_WRONLY);
	int status;

	fflush(stdout);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	status = srd_cli_bench(options);
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	close(out);
	close(err);
	close(null);
	return status;
}

static void each_measurement_is_reported(void **state)
{
	const struct srd_cli_bench_options options = {.runs = 2, .time = 1000000, .json = path};
	const char *const names[] = {"requests", "requests-rules", "requests-trace",
				     "packets",  "packet-events",  "packet-hosts",
				     "chunks",   "lua-ops",        "scenarios"};
	json_t *report, *lines;

	assert_int_equal(bench(&options), SRD_EXIT_PASSED);
	report = json_load_file(path, 0, NULL);
	assert_non_null(report);
	lines = json_object_get(report, "measurements");
	assert_int_equal(json_array_size(lines), sizeof(names) / sizeof(names[0]));
	for (size_t i = 0; i < json_array_size(lines); i++) {
		const json_t *line = json_array_get(lines, i);

		assert_string_equal(json_string_value(json_object_get(line, "name")), names[i]);
		assert_true(json_real_value(json_object_get(line, "per_second")) > 0);
		assert_true(json_real_value(json_object_get(line, "bare_loops_per_second")) > 0);
		assert_int_equal(json_array_size(json_object_get(line, "runs")), 2);
	}
	assert_true(json_integer_value(json_object_get(report, "resident_bytes")) > 0);
	assert_true(json_is_integer(json_object_get(report, "resident_growth_bytes")));
	json_decref(report);
}

static void one_may_be_named(void **state)
{
	char *items[] = {(char *)"requests"};
	const struct srd_cli_bench_options options = {.runs = 1,
						      .time = 1000000,
						      .json = path,
						      .arguments = {.items = items, .count = 1}};
	json_t *report;

	assert_int_equal(bench(&options), SRD_EXIT_PASSED);
	report = json_load_file(path, 0, NULL);
	assert_int_equal(json_array_size(json_object_get(report, "measurements")), 1);
	assert_null(json_object_get(report, "resident_bytes"));
	json_decref(report);
}

static void an_unknown_name_is_wrong_usage(void **state)
{
	char *items[] = {(char *)"memory", (char *)"speed"};
	const struct srd_cli_bench_options options = {
		.runs = 1, .time = 1000000, .arguments = {.items = items, .count = 2}};

	assert_int_equal(bench(&options), SRD_EXIT_USAGE);
}

static void a_report_that_cannot_be_written_is_told(void **state)
{
	char *items[] = {(char *)"requests"};
	const struct srd_cli_bench_options options = {.runs = 1,
						      .time = 1000000,
						      .json = "/nowhere/at/all",
						      .arguments = {.items = items, .count = 1}};

	assert_int_equal(bench(&options), SRD_EXIT_INTERNAL);
}

/* Each failure of an allocation ends it with the exit status for that. */
static void each_allocation_fails(void **state)
{
	char *items[] = {(char *)"requests-rules"};
	const struct srd_cli_bench_options options = {
		.runs = 1, .time = 1000000, .arguments = {.items = items, .count = 1}};

	for (uint64_t nth = 1; nth <= 20; nth++) {
		int status;

		srd_alloc_fail_at(nth);
		status = bench(&options);
		srd_alloc_fail_at(0);
		assert_true(status == SRD_EXIT_INTERNAL || status == SRD_EXIT_PASSED);
		assert_int_equal(srd_alloc_live(), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_measurement_is_reported),
		cmocka_unit_test(one_may_be_named),
		cmocka_unit_test(an_unknown_name_is_wrong_usage),
		cmocka_unit_test(a_report_that_cannot_be_written_is_told),
		cmocka_unit_test(each_allocation_fails),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
