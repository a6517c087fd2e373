/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "verbs/backend.h"

static int mock_open(const struct srd_backend_options *options, struct srd_verbs **out,
		     struct srd_error *error)
{
	return srd_error_set(error, -ENODEV, "the mock is not built yet");
}

static int mock_devices(struct srd_device_info *list, int max, struct srd_error *error)
{
	return 0;
}

static struct srd_backend mock = {
	.name = "mock",
	.summary = "a deterministic model of an EFA device",
	.open = mock_open,
	.devices = mock_devices,
};

__attribute__((constructor)) static void mock_register(void)
{
	srd_backend_register(&mock);
}
