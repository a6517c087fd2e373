/* SPDX-License-Identifier: MIT */
/* What a run will do: items in the order of script, scenario, seed. */
#ifndef SRD_CLI_PLAN_H
#define SRD_CLI_PLAN_H

#include "cli/scripts.h"

struct srd_cli_entry {
	const struct srd_cli_script *script;
	int scenario;   /* -1: the script could not be loaded, which is an item too */
	uint64_t first; /* number of its first item */
};

struct srd_cli_plan {
	struct srd_cli_entry *entries;
	int num_entries;
	uint64_t first_seed;
	uint64_t last_seed;
	uint64_t count; /* items */
};

struct srd_cli_item {
	const struct srd_cli_entry *entry;
	uint64_t seed;
};

/* 0 or -ENOMEM. Keeps pointers into SCRIPTS. Release it in either case. */
int srd_cli_plan_make(const struct srd_cli_scripts *scripts, const struct srd_cli_list *patterns,
		      uint64_t first_seed, uint64_t last_seed, struct srd_cli_plan *plan);
void srd_cli_plan_release(struct srd_cli_plan *plan);
struct srd_cli_item srd_cli_plan_item(const struct srd_cli_plan *plan, uint64_t number);

#endif
