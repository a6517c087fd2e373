/* SPDX-License-Identifier: MIT */
/*
 * The planted defects: plug-ins with one defect each, and a manifest that says which rule
 * raises it first. Each is run, in a process of its own, against every scenario with the tag
 * contract.
 */
#ifndef SRD_CLI_PLANTS_H
#define SRD_CLI_PLANTS_H

#include <jansson.h>

#include "cli/commands.h"
#include "lua/scenario.h"

/* srdlab rules --check; the exit status. */
int srd_cli_plants_check(const struct srd_cli_rules_options *options);

/*
 * In the process of a plant: run what REQUEST says, the plug-ins being CONFIG's, and answer.
 * 0, or a negative errno with *error.
 */
int srd_cli_plants_run(json_t *request, struct srd_run_config *config, struct srd_error *error);

#endif
