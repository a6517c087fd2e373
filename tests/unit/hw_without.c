/* SPDX-License-Identifier: MIT */
/* A build without rdma-core has the backend, which says why it cannot be used. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "verbs/backend.h"

static void says_why(void **state)
{
	const struct srd_backend *efa = srd_backend_find("efa");
	struct srd_backend_options options = {0};
	struct srd_verbs *verbs = NULL;
	struct srd_device_info info;
	struct srd_error error = {0};

	assert_non_null(efa);
	assert_int_equal(efa->can, 0);
	assert_int_equal(efa->open(&options, &verbs, &error), -ENODEV);
	assert_non_null(strstr(error.message, "srdlab was built without rdma-core"));
	assert_null(verbs);
	memset(&error, 0, sizeof(error));
	assert_int_equal(efa->devices(&info, 1, &error), 0);
	assert_int_equal(error.code, -ENODEV);
	assert_non_null(strstr(error.message, "libibverbs-dev"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(says_why)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
