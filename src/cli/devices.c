/* SPDX-License-Identifier: MIT */
/* srdlab devices: what each backend could run on. */
#include <stdio.h>

#include "cli/cli.h"
#include "verbs/alloc.h"
#include "verbs/backend.h"

static int print(const struct srd_backend *backend)
{
	struct srd_error error = {0};
	struct srd_device_info *list;
	int count = backend->devices(NULL, 0, &error);

	printf("%s: %s\n", backend->name, backend->summary);
	if (count <= 0) {
		printf("    none%s%s\n", error.code ? ": " : "", error.message);
		return SRD_EXIT_PASSED;
	}
	list = srd_calloc(count, sizeof(*list));
	if (!list) {
		srd_cli_error("out of memory");
		return SRD_EXIT_INTERNAL;
	}
	/* A device may have come or gone since they were counted. */
	int now = backend->devices(list, count, &error);

	for (int i = 0; i < now && i < count; i++)
		printf("    %-16s %s\n", list[i].name, list[i].detail);
	srd_free(list);
	return SRD_EXIT_PASSED;
}

int srd_cli_devices(const struct srd_cli_devices_options *options)
{
	int status = SRD_EXIT_PASSED;

	for (const struct srd_backend *b = srd_backend_first(); b; b = b->next)
		if (print(b))
			status = SRD_EXIT_INTERNAL;
	return status;
}
