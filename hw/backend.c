/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "verbs/backend.h"

static int efa_open(const struct srd_backend_options *options, struct srd_verbs **out,
		     struct srd_error *error)
{
	return srd_error_set(error, -ENODEV, "the EFA backend is not built yet");
}

static int efa_devices(struct srd_device_info *list, int max, struct srd_error *error)
{
	return 0;
}

static struct srd_backend efa = {
	.name = "efa",
	.summary = "rdma-core: libibverbs and libefa",
	.open = efa_open,
	.devices = efa_devices,
};

__attribute__((constructor)) static void efa_register(void)
{
	srd_backend_register(&efa);
}
