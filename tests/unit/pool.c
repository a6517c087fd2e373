/* SPDX-License-Identifier: MIT */
/* Work in several processes: order, death, and early ends. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/pool.h"

#define MANY 3000 /* more than the pool lets run ahead */

struct test {
	uint64_t next;
	uint64_t deaths;
	uint64_t stop_at; /* done answers -EIO there */
	bool gaps;        /* items may be left out */
	char death[128];
	int pipe; /* where the processes say what they do */
};

static volatile sig_atomic_t stop;

static char *echo(void *arg, uint64_t item)
{
	char *text = NULL;

	return asprintf(&text, "item %llu", (unsigned long long)item) < 0 ? NULL : text;
}

static int check(void *arg, uint64_t item, char *text, const char *death)
{
	struct test *test = arg;
	char expected[32];

	if (test->gaps)
		assert_true(item >= test->next);
	else
		assert_int_equal(item, test->next);
	test->next = item + 1;
	if (!text) {
		test->deaths++;
		snprintf(test->death, sizeof(test->death), "%s", death);
		return 0;
	}
	assert_null(death);
	snprintf(expected, sizeof(expected), "item %llu", (unsigned long long)item);
	assert_string_equal(text, expected);
	return test->stop_at && item == test->stop_at ? -EIO : 0;
}

static void in_order(void **state)
{
	static const int jobs[] = {1, 2, 5};

	for (int i = 0; i < 3; i++) {
		struct test test = {0};
		struct srd_error error = {0};
		struct srd_cli_pool pool = {
			.count = MANY, .jobs = jobs[i], .arg = &test, .run = echo, .done = check};

		assert_int_equal(srd_cli_pool_run(&pool, &error), SRD_POOL_DONE);
		assert_int_equal(test.next, MANY);
		assert_int_equal(test.deaths, 0);
		assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nobody is left behind */
	}
}

static void nothing_to_do(void **state)
{
	struct srd_error error = {0};
	struct srd_cli_pool pool = {.count = 0, .jobs = 4, .run = echo, .done = check};

	assert_int_equal(srd_cli_pool_run(&pool, &error), SRD_POOL_DONE);
	pool.jobs = 1;
	assert_int_equal(srd_cli_pool_run(&pool, &error), SRD_POOL_DONE);
}

/* The first item takes longer than all the others: they wait for it to be handed on. */
static char *slow_first(void *arg, uint64_t item)
{
	if (item == 0)
		usleep(50000);
	return echo(arg, item);
}

static void late_first(void **state)
{
	struct test test = {0};
	struct srd_error error = {0};
	struct srd_cli_pool pool = {
		.count = MANY, .jobs = 2, .arg = &test, .run = slow_first, .done = check};

	assert_int_equal(srd_cli_pool_run(&pool, &error), SRD_POOL_DONE);
	assert_int_equal(test.next, MANY);
}

static char *die_at_times(void *arg, uint64_t item)
{
	if (item % 7 == 3)
		kill(getpid(), SIGKILL);
	if (item % 7 == 5)
		_exit(9);
	return echo(arg, item);
}

static void deaths(void **state)
{
	struct test test = {0};
	struct srd_error error = {0};
	struct srd_cli_pool pool = {
		.count = 70, .jobs = 3, .arg = &test, .run = die_at_times, .done = check};

	assert_int_equal(srd_cli_pool_run(&pool, &error), SRD_POOL_DONE);
	assert_int_equal(test.next, 70);
	assert_int_equal(test.deaths, 20);
}

static void words_of_deaths(void **state)
{
	struct test test = {0};
	struct srd_error error = {0};
	struct srd_cli_pool pool = {
		.count = 4, .jobs = 2, .arg = &test, .run = die_at_times, .done = check};

	assert_int_equal(srd_cli_pool_run(&pool, &error), SRD_POOL_DONE);
	assert_string_equal(test.death, "its process was killed by signal 9 (Killed)");
	test = (struct test){0};
	pool.count = 6;
	assert_int_equal(srd_cli_pool_run(&pool, &error), SRD_POOL_DONE);
	assert_string_equal(test.death, "its process ended by itself with status 9");
}

static char *never_third(void *arg, uint64_t item)
{
	if (item == 2)
		pause(); /* until it is asked to stop */
	return echo(arg, item);
}

static void out_of_time(void **state)
{
	struct test test = {.gaps = true};
	struct srd_error error = {0};
	struct srd_cli_pool pool = {.count = 6,
				    .jobs = 2,
				    .arg = &test,
				    .run = never_third,
				    .done = check,
				    .deadline = srd_cli_now() + 300000000};

	assert_int_equal(srd_cli_pool_run(&pool, &error), SRD_POOL_OUT_OF_TIME);
	assert_int_equal(test.next, 6); /* 3, 4 and 5 were done by the other */
	assert_int_equal(test.deaths, 0);
	test = (struct test){0};
	pool.jobs = 1;
	pool.deadline = 1;
	assert_int_equal(srd_cli_pool_run(&pool, &error), SRD_POOL_OUT_OF_TIME);
	assert_int_equal(test.next, 0);
}

static int stop_soon(void *arg, uint64_t item, char *text, const char *death)
{
	if (item == 3)
		stop = 1;
	return check(arg, item, text, death);
}

static void stopped(void **state)
{
	for (int jobs = 1; jobs <= 2; jobs++) {
		struct test test = {.gaps = true};
		struct srd_error error = {0};
		struct srd_cli_pool pool = {.count = MANY,
					    .jobs = jobs,
					    .arg = &test,
					    .run = echo,
					    .done = stop_soon,
					    .stop = &stop};

		stop = 0;
		assert_int_equal(srd_cli_pool_run(&pool, &error), SRD_POOL_STOPPED);
		assert_in_range(test.next, 4, MANY - 1);
	}
}

static void refused(void **state)
{
	for (int jobs = 1; jobs <= 2; jobs++) {
		struct test test = {.stop_at = 5};
		struct srd_error error = {0};
		struct srd_cli_pool pool = {
			.count = 100, .jobs = jobs, .arg = &test, .run = echo, .done = check};

		assert_int_equal(srd_cli_pool_run(&pool, &error), -EIO);
		assert_string_equal(error.message, "Input/output error");
		assert_int_equal(test.next, 6);
	}
}

static bool note_start(void *arg)
{
	return ((struct test *)arg)->pipe < 0 || write(((struct test *)arg)->pipe, "e", 1) == 1;
}

static bool note_end(void *arg)
{
	return write(((struct test *)arg)->pipe, "l", 1) == 1;
}

/* Each process enters and leaves once, one that had to be stopped too. */
static void enters_and_leaves(void **state)
{
	int ends[2];
	char text[16] = "";
	struct test test = {.gaps = true};
	struct srd_error error = {0};
	struct srd_cli_pool pool = {.count = 3,
				    .jobs = 1,
				    .arg = &test,
				    .enter = note_start,
				    .leave = note_end,
				    .run = echo,
				    .done = check};

	assert_int_equal(pipe(ends), 0);
	test.pipe = ends[1];
	assert_int_equal(srd_cli_pool_run(&pool, &error), SRD_POOL_DONE);
	assert_int_equal(test.next, 3);
	pool.run = never_third;
	pool.deadline = srd_cli_now() + 200000000;
	test.next = 0;
	assert_int_equal(srd_cli_pool_run(&pool, &error), SRD_POOL_OUT_OF_TIME);
	assert_int_equal(test.next, 2);
	assert_int_equal(read(ends[0], text, sizeof(text)), 4);
	assert_string_equal(text, "elel");
	close(ends[0]);
	close(ends[1]);
}

/* What goes wrong after the last item is no item's, and yet is told. */
static void ends_badly(void **state)
{
	struct test test = {.pipe = -1};
	struct srd_error error = {0};
	struct srd_cli_pool pool = {
		.count = 3, .jobs = 2, .arg = &test, .leave = note_end, .run = echo, .done = check};

	assert_int_equal(srd_cli_pool_run(&pool, &error), -ECHILD);
	assert_string_equal(error.message, "a process that ran scenarios did not end well");
	assert_int_equal(test.next, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_order),          cmocka_unit_test(nothing_to_do),
		cmocka_unit_test(late_first),        cmocka_unit_test(deaths),
		cmocka_unit_test(words_of_deaths),   cmocka_unit_test(out_of_time),
		cmocka_unit_test(stopped),           cmocka_unit_test(refused),
		cmocka_unit_test(enters_and_leaves), cmocka_unit_test(ends_badly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
