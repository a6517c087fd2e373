/* SPDX-License-Identifier: MIT */
/* From the options of a command to what a scenario runs on and is judged by. */
#ifndef SRD_CLI_LAB_H
#define SRD_CLI_LAB_H

#include <srdlab/profile.h>

#include "cli/commands.h"
#include "lua/scenario.h"

/*
 * Fill in the parts of *CONFIG that the options decide; *PROFILE is where it will point to.
 * A negative errno with *error where one is wrong: always the user's fault, but -ENOMEM.
 */
int srd_cli_lab(const struct srd_cli_lab *lab, const struct srd_cli_judge *judge,
		struct srd_profile *profile, struct srd_run_config *config,
		struct srd_error *error);

/* The name of the profile; NULL where a real device makes it meaningless. */
const char *srd_cli_profile_name(const struct srd_run_config *config);

/* The profile NAME with single fields changed. 0 or a negative errno with *error. */
int srd_cli_profile(const char *name, const struct srd_cli_list *define,
		    struct srd_profile *profile, struct srd_error *error);

/* The backend NAME; NULL with *error that names what there is. */
const struct srd_backend *srd_cli_backend(const char *name, struct srd_error *error);

#endif
