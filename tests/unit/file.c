/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "alloc.h"
#include "file.h"

static char path[] = "/tmp/srdlab-test-file-XXXXXX";

static int make(void **state)
{
	int fd = mkstemp(path);

	return fd < 0 ? -1 : close(fd);
}

static int drop(void **state)
{
	return unlink(path);
}

static void fill(size_t size)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	for (size_t i = 0; i < size; i++)
		fputc((int)(i % 256), file);
	assert_int_equal(fclose(file), 0);
}

static void whole_files(void **state)
{
	static const size_t sizes[] = {0, 1, 65535, 65536, 65537, 300000};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct srd_error error = {0};
		size_t length;
		char *text;

		fill(sizes[i]);
		assert_int_equal(srd_file_read(path, 300000, &text, &length, &error), 0);
		assert_int_equal(length, sizes[i]);
		assert_int_equal(text[length], 0);
		for (size_t b = 0; b < length; b++)
			assert_int_equal((unsigned char)text[b], b % 256);
		srd_free(text);
	}
}

static void too_large(void **state)
{
	struct srd_error error = {0};
	size_t length;
	char *text;

	fill(101);
	assert_int_equal(srd_file_read(path, 100, &text, &length, &error), -EFBIG);
	assert_null(text);
	assert_non_null(strstr(error.message, "more than the 100 bytes"));
	fill(100);
	assert_int_equal(srd_file_read(path, 100, &text, &length, &error), 0);
	srd_free(text);
}

static void unreadable(void **state)
{
	struct srd_error error = {0};
	size_t length;
	char *text;

	assert_int_equal(srd_file_read("/nowhere/at/all", 100, &text, &length, &error), -ENOENT);
	assert_string_equal(error.message,
			    "/nowhere/at/all: cannot be read: No such file or directory");
	assert_int_equal(srd_file_read("/tmp", 100, &text, &length, &error), -EISDIR);
	assert_null(text);
}

static void without_memory(void **state)
{
	struct srd_error error = {0};
	size_t length;
	char *text;

	fill(100000);
	for (int n = 1; n <= 2; n++) {
		srd_alloc_fail_at((uint64_t)n);
		assert_int_equal(srd_file_read(path, 300000, &text, &length, &error), -ENOMEM);
		assert_null(text);
		assert_int_equal(srd_alloc_live(), 0);
	}
	srd_alloc_fail_at(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_files),
		cmocka_unit_test(too_large),
		cmocka_unit_test(unreadable),
		cmocka_unit_test(without_memory),
	};

	return cmocka_run_group_tests(tests, make, drop);
}
