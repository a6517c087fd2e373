/* SPDX-License-Identifier: MIT */
/* The backend's entry in the registry, with rdma-core or without. */
#include <errno.h>
#include <stdio.h>

#include "verbs/backend.h"

#if HAVE_RDMA_CORE
#include "efa.h"
#include "hw_config.h"

static void backend_version(char *text, size_t size)
{
	char library[32];

	hw_libefa_version(library, sizeof(library));
	snprintf(text, size, "rdma-core %s, built with %s", library, SRD_RDMA_CORE_VERSION);
}

static uint32_t backend_can(void)
{
	return hw_lab_can();
}
#else
static const char reason[] = "srdlab was built without rdma-core: install the development "
			     "files of libibverbs and libefa (libibverbs-dev, or rdma-core-devel) "
			     "and build it again";

static int hw_open(const struct srd_backend_options *options, struct srd_verbs **out,
		   struct srd_error *error)
{
	return srd_error_set(error, -ENODEV, "%s", reason);
}

static int hw_devices(struct srd_device_info *list, int max, struct srd_error *error)
{
	srd_error_set(error, -ENODEV, "%s", reason);
	return 0;
}

static void backend_version(char *text, size_t size)
{
	snprintf(text, size, "no rdma-core");
}

static uint32_t backend_can(void)
{
	return 0;
}
#endif

static struct srd_backend efa = {
	.name = "efa",
	.summary = "a real EFA device, through rdma-core",
	.open = hw_open,
	.devices = hw_devices,
	.version = backend_version,
};

__attribute__((constructor)) static void efa_register(void)
{
	efa.can = backend_can();
	srd_backend_register(&efa);
}
