/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/judged.h"
#include "rules/rules.h"

void srd_cli_judged_add(struct srd_cli_judged *judged, const struct srd_scenario_result *result)
{
	/* Skipped, or never begun. */
	if (!result->num_events)
		return;
	for (int i = 0; i < 2; i++)
		judged->not_judged[i] = judged->any ? judged->not_judged[i] & result->not_judged[i]
						    : result->not_judged[i];
	judged->suppressions |= result->suppressions;
	judged->any = true;
}

static void warn_of_suppressions(const struct srd_cli_judged *judged, const char *path)
{
	const struct srd_suppression *list;
	struct srd_rules *rules;
	int n;

	/* It was read before, and could be. */
	if (srd_rules_create("none", path, &rules, NULL))
		return;
	n = srd_rules_suppressions(rules, &list);
	for (int i = 0; i < n && i < 64; i++)
		if (!(judged->suppressions >> i & 1))
			srd_cli_warning("%s:%u: nothing needed this suppression of %s", path,
					list[i].line, srd_rule_infos[list[i].rule].id);
	srd_rules_destroy(rules);
}

static void warn_of_rules(const struct srd_cli_judged *judged)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return;
	for (int rule = 0; rule < srd_num_rules; rule++)
		if (judged->not_judged[rule / 64] >> rule % 64 & 1)
			fprintf(out, " %s", srd_rule_infos[rule].id);
	if (!fclose(out) && *text)
		srd_cli_warning("not judged, as events that they need never came:%s", text);
	free(text);
}

void srd_cli_judged_warn(const struct srd_cli_judged *judged, const char *suppressions, bool all)
{
	if (!judged->any)
		return;
	if (suppressions)
		warn_of_suppressions(judged, suppressions);
	if (all)
		warn_of_rules(judged);
}
