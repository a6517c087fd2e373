/* SPDX-License-Identifier: MIT */
/*
 * Which rdma-core this is. Neither libibverbs nor libefa has a call that says so, but their
 * files are named after the release: libefa.so.1.3.56.1 is ABI 1.3 of rdma-core 56.1.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "efa.h"

/* rdma-core commit c4a2ed065, first released in 46.0. */
#define FIRST_WITH_RDMA_WRITE 46

void hw_version_of_file(const char *path, char *version, size_t size)
{
	const char *file = strrchr(path, '/');
	unsigned int major, minor;

	file = file ? file + 1 : path;
	if (sscanf(file, "libefa.so.%*u.%*u.%u.%u", &major, &minor) == 2)
		snprintf(version, size, "%u.%u", major, minor);
	else
		snprintf(version, size, "unknown");
}

void hw_libefa_version(char *version, size_t size)
{
	void *symbol = dlsym(RTLD_DEFAULT, "efadv_query_device");
	char *path = NULL;
	Dl_info info;

	if (symbol && dladdr(symbol, &info) && info.dli_fname)
		path = realpath(info.dli_fname, NULL);
	hw_version_of_file(path ? path : "", version, size);
	free(path);
}

bool hw_version_has_rdma_write(const char *version)
{
	unsigned int major;

	return sscanf(version, "%u.", &major) != 1 || major >= FIRST_WITH_RDMA_WRITE;
}
