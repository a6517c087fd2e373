/* SPDX-License-Identifier: MIT */
/* srdlab version: of this program and of what it stands on. */
#include <stdio.h>

#include <lua.h>
#include <srdlab/version.h>

#include "cli/cli.h"
#include "report/trace.h"
#include "verbs/backend.h"

int srd_cli_version(const struct srd_cli_version_options *options)
{
	printf("srdlab %s\n", SRDLAB_VERSION);
	printf("%s.%s\n", LUA_VERSION, LUA_VERSION_RELEASE);
	printf("trace format %d\n", SRD_TRACE_VERSION);
	for (const struct srd_backend *b = srd_backend_first(); b; b = b->next) {
		char text[128];

		if (!b->version)
			continue;
		b->version(text, sizeof(text));
		printf("%s\n", text);
	}
	return SRD_EXIT_PASSED;
}
