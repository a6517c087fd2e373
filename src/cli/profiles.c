/* SPDX-License-Identifier: MIT */
/* srdlab profiles: the built-in ones, or the fields of some. */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/profile_json.h"
#include "verbs/profile.h"

static int put_json(const struct srd_profile *profile)
{
	json_t *object = srd_cli_profile_json(profile);

	if (!object) {
		srd_cli_error("out of memory");
		return SRD_EXIT_INTERNAL;
	}
	json_dumpf(object, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(object);
	return SRD_EXIT_PASSED;
}

static int put(const struct srd_cli_profiles_options *options, const char *name)
{
	struct srd_error error = {0};
	struct srd_profile profile;

	if (srd_profile_open(name, &profile, &error))
		return srd_cli_refuse("%s", error.message);
	if (options->json)
		return put_json(&profile);
	printf("%s\n", profile.name);
	srd_profile_print(&profile, stdout);
	return SRD_EXIT_PASSED;
}

int srd_cli_profiles(const struct srd_cli_profiles_options *options)
{
	int status = SRD_EXIT_PASSED;

	if (options->json && options->arguments.count != 1)
		return srd_cli_refuse("--json takes one profile");
	for (int i = 0; i < SRD_NUM_PROFILES && !options->arguments.count; i++)
		printf("%-18s  %s\n", srd_profiles[i].name, srd_profile_docs[i]);
	for (int i = 0; i < options->arguments.count; i++) {
		int rc = put(options, options->arguments.items[i]);

		status = rc ? rc : status;
	}
	return status;
}
