/* SPDX-License-Identifier: MIT */
/* srdlab check: load scripts and look at what they declare. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/scripts.h"
#include "rules/rules.h"

struct check {
	int problems;
	int scenarios;
};

static void problem(struct check *check, const char *path, int line, const char *what,
		    const char *name)
{
	check->problems++;
	if (line)
		printf("%s:%d: error: ", path, line);
	else
		printf("%s: error: ", path);
	printf("%s%s%s%s\n", what, name ? " \"" : "", name ? name : "", name ? "\"" : "");
}

/* Two of one name cannot be told apart in a report. */
static bool repeats_a_name(const struct srd_script *script, int index)
{
	const char *name = srd_script_scenario(script, index)->name;

	for (int i = 0; i < index; i++)
		if (!strcmp(srd_script_scenario(script, i)->name, name))
			return true;
	return false;
}

static void check_script(struct check *check, const struct srd_cli_script *item)
{
	const struct srd_script *script = item->script;

	if (!script) {
		problem(check, item->path, item->error_line, item->error.message, NULL);
		return;
	}
	if (!srd_script_count(script))
		problem(check, item->path, 0, "it holds no scenario", NULL);
	for (int i = 0; i < srd_script_count(script); i++) {
		const struct srd_scenario_info *info = srd_script_scenario(script, i);

		check->scenarios++;
		if (repeats_a_name(script, i))
			problem(check, item->path, info->line,
				"another scenario of this file has the same name:", info->name);
		if (info->violates && srd_rule_find(info->violates) < 0)
			problem(check, item->path, info->line,
				"violates names a rule that does not exist:", info->violates);
	}
}

int srd_cli_check(const struct srd_cli_check_options *options)
{
	struct srd_sandbox sandbox = srd_cli_sandbox(&options->sandbox);
	struct srd_cli_scripts scripts;
	struct check check = {0};
	int status;

	if (srd_cli_scripts_load(&options->arguments, &sandbox, &scripts)) {
		srd_cli_error("out of memory");
		status = SRD_EXIT_INTERNAL;
		goto release;
	}
	for (int i = 0; i < scripts.count; i++)
		check_script(&check, &scripts.items[i]);
	printf("%d files, %d scenarios, %d problems\n", scripts.count, check.scenarios,
	       check.problems);
	status = !check.problems           ? SRD_EXIT_PASSED
		 : scripts.num_loaded == 0 ? SRD_EXIT_USAGE
					   : SRD_EXIT_FAILED;
release:
	srd_cli_scripts_release(&scripts);
	return status;
}
