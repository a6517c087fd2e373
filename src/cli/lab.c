/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/lab.h"
#include "rules/rules.h"
#include "verbs/profile.h"

const struct srd_backend *srd_cli_backend(const char *name, struct srd_error *error)
{
	const struct srd_backend *backend = srd_backend_find(name);
	char names[128] = "";
	size_t used = 0;

	if (backend)
		return backend;
	for (const struct srd_backend *b = srd_backend_first(); b; b = b->next)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
					 used ? ", " : "", b->name);
	srd_error_set(error, -ENOENT, "there is no backend \"%s\"; there are: %s", name, names);
	return NULL;
}

const char *srd_cli_profile_name(const struct srd_run_config *config)
{
	return config->backend->can & SRD_VERBS_CAN_FABRIC ? config->profile->name : NULL;
}

int srd_cli_profile(const char *name, const struct srd_cli_list *define,
		    struct srd_profile *profile, struct srd_error *error)
{
	int rc = srd_profile_open(name, profile, error);

	for (int i = 0; !rc && i < define->count; i++)
		rc = srd_profile_override(profile, define->items[i], error);
	return rc ? rc : srd_profile_check(profile, error);
}

/* So that a wrong selection is told before anything runs, and once. */
static int check_rules(const struct srd_cli_judge *judge, struct srd_error *error)
{
	struct srd_rules *rules;
	int rc = srd_rules_create(judge->rules, judge->suppressions, &rules, error);

	if (!rc)
		srd_rules_destroy(rules);
	return rc;
}

int srd_cli_lab(const struct srd_cli_lab *lab, const struct srd_cli_judge *judge,
		struct srd_profile *profile, struct srd_run_config *config, struct srd_error *error)
{
	int rc;

	config->backend = srd_cli_backend(lab->backend, error);
	if (!config->backend)
		return error->code;
	if (lab->device && config->backend->can & SRD_VERBS_CAN_HOSTS)
		return srd_error_set(
			error, -EINVAL,
			"--device names one that a machine has, and the %s backend makes "
			"its own",
			config->backend->name);
	rc = srd_cli_profile(lab->profile, &lab->define, profile, error);
	if (!rc)
		rc = check_rules(judge, error);
	config->profile = profile;
	config->device = lab->device;
	config->rules = judge->rules;
	config->orders_max = (uint32_t)judge->orders_max;
	config->suppressions = judge->suppressions;
	return rc;
}
