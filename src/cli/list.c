/* SPDX-License-Identifier: MIT */
/* srdlab list: the scenarios of files and folders. */
#include <errno.h>
#include <stdio.h>

#include <jansson.h>

#include "cli/cli.h"
#include "cli/plan.h"

static void put_words(const char *what, const char *const *words)
{
	if (!*words)
		return;
	printf("    %s:", what);
	for (; *words; words++)
		printf(" %s", *words);
	putchar('\n');
}

static void put_text(const char *path, const struct srd_scenario_info *info, bool verbose)
{
	printf("%s:%d  %s\n", path, info->line, info->name);
	if (!verbose)
		return;
	if (*info->description)
		printf("    %s\n", info->description);
	put_words("tags", info->tags);
	put_words("needs", info->needs);
	if (info->violates)
		printf("    violates: %s\n", info->violates);
	if (info->fails)
		printf("    fails: %s\n", info->fails);
	if (info->bug)
		printf("    bug: %s, %s form\n", info->bug, info->is_broken ? "broken" : "right");
}

static json_t *words_json(const char *const *words)
{
	json_t *list = json_array();

	for (; *words; words++)
		json_array_append_new(list, json_string(*words));
	return list;
}

static json_t *scenario_json(const char *path, const struct srd_scenario_info *info)
{
	const char *form = info->is_broken ? "broken" : "right";

	return json_pack("{s:s, s:i, s:s, s:s, s:o, s:o, s:s?, s:s?, s:s?, s:s?}", "file", path,
			 "line", info->line, "name", info->name, "description", info->description,
			 "tags", words_json(info->tags), "needs", words_json(info->needs),
			 "violates", info->violates, "fails", info->fails, "bug", info->bug, "form",
			 info->bug ? form : NULL);
}

static int put_json(const struct srd_cli_plan *plan)
{
	json_t *list = json_array();
	int rc = list ? 0 : -ENOMEM;

	for (int i = 0; !rc && i < plan->num_entries; i++) {
		const struct srd_cli_entry *entry = &plan->entries[i];

		if (entry->scenario >= 0 &&
		    json_array_append_new(list,
					  scenario_json(entry->script->path,
							srd_script_scenario(entry->script->script,
									    entry->scenario))))
			rc = -ENOMEM;
	}
	if (!rc) {
		json_dumpf(list, stdout, JSON_INDENT(2));
		putchar('\n');
	}
	json_decref(list);
	return rc;
}

static int put(const struct srd_cli_list_options *options, const struct srd_cli_plan *plan)
{
	for (int i = 0; i < plan->num_entries; i++) {
		const struct srd_cli_entry *entry = &plan->entries[i];
		const struct srd_cli_script *script = entry->script;

		if (entry->scenario >= 0 && !options->json)
			put_text(script->path, srd_script_scenario(script->script, entry->scenario),
				 options->verbose);
		else if (entry->scenario < 0)
			srd_cli_put_place(stderr, script->path, script->error_line,
					  script->error.message);
	}
	return options->json ? put_json(plan) : 0;
}

int srd_cli_list(const struct srd_cli_list_options *options)
{
	struct srd_sandbox sandbox = srd_cli_sandbox(&options->sandbox);
	struct srd_cli_scripts scripts;
	struct srd_cli_plan plan = {0};
	int status = SRD_EXIT_PASSED;
	int rc = srd_cli_scripts_load(&options->arguments, &sandbox, &scripts);

	if (!rc)
		rc = srd_cli_plan_make(&scripts, &options->filter.filter, 0, 0, &plan);
	if (!rc)
		rc = put(options, &plan);
	if (rc) {
		srd_cli_error("out of memory, or a name is not UTF-8");
		status = SRD_EXIT_INTERNAL;
	} else if (scripts.count && !scripts.num_loaded) {
		status = SRD_EXIT_USAGE;
	} else if (scripts.num_loaded < scripts.count) {
		status = SRD_EXIT_FAILED;
	} else if (!plan.count) {
		srd_cli_error("no scenario was selected");
		status = SRD_EXIT_NONE;
	}
	srd_cli_plan_release(&plan);
	srd_cli_scripts_release(&scripts);
	return status;
}
