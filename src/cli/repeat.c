/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/execution.h"
#include "cli/repeat.h"

/* Scenarios that a loop makes stand at one line: the name tells them apart. */
static bool alone_at_its_line(const struct srd_script *script, int index)
{
	int line = srd_script_scenario(script, index)->line;

	for (int i = 0; i < srd_script_count(script); i++)
		if (i != index && srd_script_scenario(script, i)->line == line)
			return false;
	return true;
}

/* NAME as a pattern of --filter that matches it and nothing longer. */
static char *pattern(const char *name)
{
	size_t size;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (const char *at = name; *at; at++) {
		bool special = strchr("*?[\\", *at) ||
			       (at == name && (*at == '!' || !strncmp(at, "tag:", 4)));

		fprintf(out, "%s%c", special ? "\\" : "", *at);
	}
	return fclose(out) ? NULL : text;
}

char *srd_cli_repeat_command(const struct srd_cli_run_options *options,
			     const struct srd_cli_item *item)
{
	const struct srd_script *script = item->entry->script->script;
	const struct srd_scenario_info *info = srd_script_scenario(script, item->entry->scenario);
	const char *before = getenv(SRD_CLI_ENV_EXEC);
	char *text = NULL, *filter, *place = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	/* On the device of srdlab exec it needs that again. */
	if (before && *before)
		fprintf(out, "%s ", before);
	fprintf(out, "%s run", srd_cli_program);
	srd_cli_put_repeated(out, srd_cli_command, options);
	fprintf(out, " --seed %" PRIu64, item->seed);
	if (!alone_at_its_line(script, item->entry->scenario)) {
		filter = pattern(info->name);
		fputs(" --filter", out);
		srd_cli_put_word(out, filter ? filter : info->name);
		free(filter);
	}
	if (asprintf(&place, "%s:%d", item->entry->script->path, info->line) > 0)
		srd_cli_put_word(out, place);
	free(place);
	return fclose(out) ? NULL : text;
}
