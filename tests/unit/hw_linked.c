/* SPDX-License-Identifier: MIT */
/* The EFA backend with the real libraries: what can be seen of them without a device. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "efa.h"
#include "hw_config.h"

static void the_library_that_runs_is_known(void **state)
{
	char version[32];

	hw_libefa_version(version, sizeof(version));
	assert_string_equal(version, SRD_RDMA_CORE_VERSION);
}

/* A machine that has one opens it. */
static void no_device_is_no_crash(void **state)
{
	struct srd_backend_options options = {0};
	struct srd_verbs *verbs = NULL;
	struct srd_error error = {0};
	int rc = srd_backend_find("efa")->open(&options, &verbs, &error);

	if (!rc) {
		assert_non_null(verbs);
		verbs->close(verbs);
		return;
	}
	assert_int_equal(rc, -ENODEV);
	assert_non_null(strstr(error.message, "EFA device"));
}

static void a_device_that_is_not_there(void **state)
{
	struct srd_backend_options options = {.device = "no_such_device"};
	struct srd_verbs *verbs = NULL;
	struct srd_error error = {0};

	assert_int_equal(srd_backend_find("efa")->open(&options, &verbs, &error), -ENODEV);
	assert_non_null(strstr(error.message, "no EFA device was found"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_library_that_runs_is_known),
		cmocka_unit_test(no_device_is_no_crash),
		cmocka_unit_test(a_device_that_is_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
