/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "cli/plan.h"
#include "verbs/alloc.h"

static int append(struct srd_cli_plan *plan, const struct srd_cli_script *script, int scenario)
{
	uint64_t seeds = scenario < 0 ? 1 : plan->last_seed - plan->first_seed + 1;
	struct srd_cli_entry *entries =
		srd_reallocarray(plan->entries, (size_t)plan->num_entries + 1, sizeof(*entries));

	if (!entries)
		return -ENOMEM;
	plan->entries = entries;
	entries[plan->num_entries++] = (struct srd_cli_entry){script, scenario, plan->count};
	plan->count += seeds;
	return 0;
}

int srd_cli_plan_make(const struct srd_cli_scripts *scripts, const struct srd_cli_list *patterns,
		      uint64_t first_seed, uint64_t last_seed, struct srd_cli_plan *plan)
{
	int rc = 0;

	*plan = (struct srd_cli_plan){.first_seed = first_seed, .last_seed = last_seed};
	for (int i = 0; !rc && i < scripts->count; i++) {
		const struct srd_cli_script *script = &scripts->items[i];

		if (!script->script) {
			rc = append(plan, script, -1);
			continue;
		}
		for (int s = 0; !rc && s < srd_script_count(script->script); s++)
			if (srd_cli_selected(script, s, patterns))
				rc = append(plan, script, s);
	}
	return rc;
}

void srd_cli_plan_release(struct srd_cli_plan *plan)
{
	srd_free(plan->entries);
	*plan = (struct srd_cli_plan){0};
}

struct srd_cli_item srd_cli_plan_item(const struct srd_cli_plan *plan, uint64_t number)
{
	int low = 0, high = plan->num_entries - 1;

	/* The last entry that begins at or before it. */
	while (low < high) {
		int middle = (low + high + 1) / 2;

		if (plan->entries[middle].first <= number)
			low = middle;
		else
			high = middle - 1;
	}
	return (struct srd_cli_item){
		.entry = &plan->entries[low],
		.seed = plan->first_seed + (number - plan->entries[low].first),
	};
}
