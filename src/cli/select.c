/* SPDX-License-Identifier: MIT */
#include <fnmatch.h>
#include <string.h>

#include "cli/scripts.h"

static bool matches(const struct srd_scenario_info *info, const char *pattern)
{
	if (strncmp(pattern, "tag:", 4))
		return strpbrk(pattern, "*?[\\") ? !fnmatch(pattern, info->name, 0)
						 : strstr(info->name, pattern) != NULL;
	for (const char *const *tag = info->tags; *tag; tag++)
		if (!fnmatch(pattern + 4, *tag, 0))
			return true;
	return false;
}

/* The scenario at LINE is the last one that begins at or above it. */
static bool stands_at(const struct srd_script *script, int index, int line)
{
	int at = srd_script_scenario(script, index)->line;

	if (at > line)
		return false;
	for (int i = 0; i < srd_script_count(script); i++) {
		int other = srd_script_scenario(script, i)->line;

		if (other > at && other <= line)
			return false;
	}
	return true;
}

bool srd_cli_selected(const struct srd_cli_script *script, int index,
		      const struct srd_cli_list *patterns)
{
	const struct srd_scenario_info *info = srd_script_scenario(script->script, index);
	bool any = false, wanted = false;

	if (script->line && !stands_at(script->script, index, script->line))
		return false;
	for (int i = 0; i < patterns->count; i++) {
		const char *pattern = patterns->items[i];

		if (*pattern == '!') {
			if (matches(info, pattern + 1))
				return false;
			continue;
		}
		any = true;
		wanted = wanted || matches(info, pattern);
	}
	return wanted || !any;
}
