/* SPDX-License-Identifier: MIT */
/* Which device the EFA backend takes, and what it says where it takes none. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "efa.h"
#include "hw_config.h"
#include "hw_fake.h"

static const struct srd_backend *efa;

static int setup(void **state)
{
	fake_reset();
	efa = srd_backend_find("efa");
	return efa ? 0 : -1;
}

static int nothing_left(void **state)
{
	return fake.live;
}

static void refuses(const char *name, const char *message)
{
	struct srd_backend_options options = {.device = name};
	struct srd_verbs *verbs = NULL;
	struct srd_error error = {0};

	assert_int_equal(efa->open(&options, &verbs, &error), -ENODEV);
	assert_int_equal(error.code, -ENODEV);
	assert_string_equal(error.message, message);
	assert_null(verbs);
	assert_int_equal(fake.live, 0);
}

static void takes(const char *name, const char *expected)
{
	struct srd_backend_options options = {.device = name};
	struct srd_verbs *verbs = NULL;
	struct srd_context *context;

	assert_int_equal(efa->open(&options, &verbs, NULL), 0);
	context = verbs->open_device(verbs, 3, NULL);
	assert_non_null(context);
	assert_string_equal(context->name, expected);
	assert_int_equal(context->host, 3);
	verbs->close(verbs);
	assert_int_equal(fake.live, 0);
}

static void no_rdma_in_the_kernel(void **state)
{
	fake.list_error = ENOSYS;
	refuses(NULL, "no EFA device was found: this machine has no RDMA devices "
		      "(ibv_get_device_list: Function not implemented)");
}

static void no_devices(void **state)
{
	fake.num_devices = 0;
	refuses(NULL, "no EFA device was found: this machine has no RDMA devices");
	refuses("efa_0", "no EFA device was found: this machine has no RDMA devices");
}

static void none_is_efa(void **state)
{
	fake.devices[0] = (struct fake_device){.name = "mlx5_0"};
	fake.devices[1] = (struct fake_device){.name = "rxe0"};
	fake.num_devices = 2;
	refuses(NULL, "no EFA device was found: the RDMA devices of this machine are not EFA: "
		      "mlx5_0, rxe0 (efadv_query_device: Operation not supported); one that is "
		      "named is used with its reliable-connected queue pairs");
}

/* Asked for by its name, another vendor's device is as good as it can be. */
static void another_vendors_by_name(void **state)
{
	struct srd_backend_options options = {.device = "mlx5_0"};
	struct srd_error error = {0};
	struct srd_efa_device_attr attr;
	struct srd_context *context;
	struct srd_verbs *verbs;

	fake.devices[1] = (struct fake_device){.name = "mlx5_0"};
	fake.num_devices = 2;
	assert_int_equal(efa->open(&options, &verbs, &error), 0);
	assert_true(verbs->can & SRD_VERBS_IS_RC);
	context = verbs->open_device(verbs, 0, NULL);
	assert_string_equal(context->name, "mlx5_0");
	assert_int_equal(verbs->efa_query_device(verbs, context, &attr), EOPNOTSUPP);
	verbs->close(verbs);
	assert_int_equal(fake.live, 0);
}

static void none_of_that_name(void **state)
{
	fake.devices[1] = (struct fake_device){.name = "rxe0"};
	fake.num_devices = 2;
	refuses("efa_7",
		"no EFA device was found: there is no RDMA device \"efa_7\", only efa_0, rxe0");
}

static void may_not_be_opened(void **state)
{
	fake.devices[0].open_error = EACCES;
	refuses(NULL, "no EFA device was found: the RDMA device efa_0 cannot be opened: "
		      "ibv_open_device: Permission denied (may this user read and write "
		      "/dev/infiniband/uverbs0?)");
}

static void lacks_write(void **state)
{
	fake.devices[0].caps = 0x7;
	refuses(NULL,
		"the EFA device efa_0 cannot be used: of RDMA read and write its capabilities "
		"0x7 lack write (libefa of rdma-core 56.1; srdlab was built "
		"with " SRD_RDMA_CORE_VERSION ")");
	fake.devices[0].caps = 0x6;
	refuses("efa_0",
		"the EFA device efa_0 cannot be used: of RDMA read and write its capabilities "
		"0x6 lack read and write (libefa of rdma-core 56.1; srdlab was built "
		"with " SRD_RDMA_CORE_VERSION ")");
	fake.devices[0].caps = 0xe;
	refuses("efa_0",
		"the EFA device efa_0 cannot be used: of RDMA read and write its capabilities "
		"0xe lack read (libefa of rdma-core 56.1; srdlab was built "
		"with " SRD_RDMA_CORE_VERSION ")");
}

static void has_no_rdma_size(void **state)
{
	fake.devices[0].max_rdma_size = 0;
	refuses(NULL, "the EFA device efa_0 cannot be used: its largest RDMA transfer is 0 bytes");
}

static void library_is_too_old(void **state)
{
	fake.libefa = "44.0";
	fake.devices[0].caps = 0x7;
	refuses(NULL,
		"the EFA device efa_0 cannot be used: RDMA write came with rdma-core 46.0, and "
		"the libefa that runs is of 44.0 (srdlab was built with " SRD_RDMA_CORE_VERSION
		"; the capabilities are 0x7)");
}

/* The reason that is told is that of the device that came nearest. */
static void tells_the_nearest(void **state)
{
	fake.devices[1] = fake.devices[0];
	fake.devices[0] = (struct fake_device){.name = "mlx5_0"};
	fake.devices[1].open_error = EPERM;
	fake.num_devices = 2;
	refuses(NULL, "no EFA device was found: the RDMA device efa_0 cannot be opened: "
		      "ibv_open_device: Operation not permitted (may this user read and write "
		      "/dev/infiniband/uverbs1?)");
}

static void takes_the_first_usable(void **state)
{
	fake.devices[3] = fake.devices[2] = fake.devices[1] = fake.devices[0];
	fake.devices[0] = (struct fake_device){.name = "mlx5_0"};
	fake.devices[1].caps = 0x7;
	fake.devices[1].name = "efa_old";
	fake.devices[3].name = "efa_1";
	fake.num_devices = 4;
	takes(NULL, "efa_0");
	takes("efa_1", "efa_1");
	takes("efa_0", "efa_0");
}

static void contexts_are_of_one_device(void **state)
{
	struct srd_backend_options options = {0};
	struct srd_verbs *verbs;

	assert_int_equal(efa->open(&options, &verbs, NULL), 0);
	assert_non_null(verbs->open_device(verbs, 0, "efa_0"));
	errno = 0;
	assert_null(verbs->open_device(verbs, 0, "efa_1"));
	assert_int_equal(errno, ENODEV);
	assert_int_equal(verbs->can, 0);
	verbs->close(verbs);
}

static void lists_the_usable(void **state)
{
	struct srd_device_info list[4] = {0};
	struct srd_error error = {0};

	fake.devices[1] = (struct fake_device){.name = "mlx5_0"};
	fake.devices[2] = fake.devices[0];
	fake.devices[2].name = "efa_1";
	fake.num_devices = 3;
	assert_int_equal(efa->devices(list, 1, &error), 2);
	assert_string_equal(list[0].name, "efa_0");
	assert_string_equal(list[0].detail,
			    "EFA 0xefa1, capabilities 0xf, RDMA up to 1073741824 bytes, "
			    "4096 sends and 32768 receives a queue pair");
	assert_string_equal(list[1].name, "");
	assert_int_equal(efa->devices(list, 4, &error), 2);
	assert_string_equal(list[1].name, "efa_1");
	assert_int_equal(error.code, 0);
}

static void lists_none_with_the_reason(void **state)
{
	struct srd_device_info list[1];
	struct srd_error error = {0};

	fake.num_devices = 0;
	assert_int_equal(efa->devices(list, 1, &error), 0);
	assert_string_equal(error.message,
			    "no EFA device was found: this machine has no RDMA devices");
	fake.list_error = ENOSYS;
	assert_int_equal(efa->devices(list, 1, &error), 0);
	assert_int_equal(error.code, -ENODEV);
}

static void version_is_in_the_file_name(void **state)
{
	static const struct {
		const char *path, *version;
		bool has_write;
	} cases[] = {
		{"/usr/lib/x86_64-linux-gnu/libefa.so.1.2.44.0", "44.0", false},
		{"libefa.so.1.2.45.9", "45.9", false},
		{"/opt/libefa.so.1.2.46.0", "46.0", true},
		{"/opt/libefa.so.1.3.56.1", "56.1", true},
		{"/usr/bin/srdlab", "unknown", true},
		{"/libefa.so.1.2.44.0/srdlab", "unknown", true},
		{"", "unknown", true},
	};
	char version[32];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		hw_version_of_file(cases[i].path, version, sizeof(version));
		assert_string_equal(version, cases[i].version);
		assert_int_equal(hw_version_has_rdma_write(version), cases[i].has_write);
	}
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, nothing_left)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(another_vendors_by_name),
		CASE(no_rdma_in_the_kernel),
		CASE(no_devices),
		CASE(none_is_efa),
		CASE(none_of_that_name),
		CASE(may_not_be_opened),
		CASE(lacks_write),
		CASE(has_no_rdma_size),
		CASE(library_is_too_old),
		CASE(tells_the_nearest),
		CASE(takes_the_first_usable),
		CASE(contexts_are_of_one_device),
		CASE(lists_the_usable),
		CASE(lists_none_with_the_reason),
		CASE(version_is_in_the_file_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
