/* SPDX-License-Identifier: MIT */
/*
 * Whatever the text of a script is, loading and running it ends, within its memory and its
 * time, and leaves nothing behind.
 */
#include <stdlib.h>

#include "lua/scenario.h"
#include "verbs/alloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_SCENARIOS 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct srd_run_config config = {
		.backend = srd_backend_find("mock"),
		.sandbox = {.memory_limit = 4 << 20, .time_limit = 50000000},
	};
	int64_t live = srd_alloc_live();
	struct srd_scenario_result result;
	struct srd_script *script;
	struct srd_error error;

	if (!srd_script_load_text("input.lua", (const char *)data, size, &config.sandbox, &script,
				  &error)) {
		for (int i = 0; i < srd_script_count(script) && i < MAX_SCENARIOS; i++) {
			srd_scenario_run(script, i, &config, &result, &error);
			srd_scenario_result_release(&result);
		}
		srd_script_free(script);
	}
	if (srd_alloc_live() != live)
		abort();
	return 0;
}
