/* SPDX-License-Identifier: MIT */
/* srdlab rules: every rule with its statement, some explained, a trace judged, or all proven. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/plants.h"
#include "cli/program.h"
#include "rules/rules.h"
#include "verbs/alloc.h"
#include "verbs/nearest.h"

static const char *class_name(enum srd_rule_class rule_class)
{
	switch (rule_class) {
	case SRD_RULE_LAW:
		return "law";
	case SRD_RULE_CONTRACT:
		return "contract";
	case SRD_RULE_ADVICE:
		return "advice";
	}
	return "";
}

static void put_line(const struct srd_rule_info *rule)
{
	printf("%-26s %-9s %s\n", rule->id, class_name(rule->rule_class), rule->statement);
}

static void put_needs(const struct srd_rule_info *rule)
{
	const char *before = "    It is judged where there are events of the types ";

	for (int type = 0; type < SRD_NUM_EVENT_TYPES; type++) {
		if (!(rule->needs >> type & 1))
			continue;
		printf("%s%s", before, srd_event_infos[type].name);
		before = ", ";
	}
	if (rule->needs)
		printf(".\n");
}

static void put_all_of(const struct srd_rule_info *rule)
{
	printf("%s (%s)\n    %s\n    Where it is broken: %s\n", rule->id,
	       class_name(rule->rule_class), rule->statement, rule->why);
	printf("    Its evidence: %s.\n", rule->evidence);
	put_needs(rule);
	printf("    A defect that it finds is planted in tests/planted/%s.c.\n", rule->family);
}

/* A family or a class is a list of lines, one rule a full account. False: no such thing. */
static bool put(const char *name)
{
	int rule = srd_rule_find(name);
	bool any = false;

	if (rule >= 0) {
		put_all_of(&srd_rule_infos[rule]);
		return true;
	}
	for (int i = 0; i < srd_num_rules; i++) {
		const struct srd_rule_info *info = &srd_rule_infos[i];

		if (strcmp(info->family, name) && strcmp(class_name(info->rule_class), name))
			continue;
		put_line(info);
		any = true;
	}
	return any;
}

static int refuse(const char *name)
{
	const char **ids = srd_calloc((size_t)srd_num_rules, sizeof(*ids));
	const char *like = NULL;

	for (int i = 0; ids && i < srd_num_rules; i++)
		ids[i] = srd_rule_infos[i].id;
	if (ids)
		like = srd_nearest(name, ids, srd_num_rules);
	srd_free(ids);
	if (like)
		return srd_cli_refuse("no rule, family or class is called \"%s\"; did you mean %s?",
				      name, like);
	return srd_cli_refuse("no rule, family or class is called \"%s\"", name);
}

int srd_cli_rules(const struct srd_cli_rules_options *options)
{
	int status = SRD_EXIT_PASSED;

	if (options->check)
		return srd_cli_plants_check(options);
	for (int i = 0; i < srd_num_rules && !options->arguments.count; i++)
		put_line(&srd_rule_infos[i]);
	for (int i = 0; i < options->arguments.count; i++)
		if (!put(options->arguments.items[i])) {
			const char *name = options->arguments.items[i];
			int one = srd_cli_is_file(name) ? srd_cli_judge_trace(&options->judge, name)
							: refuse(name);

			status = one ? one : status;
		}
	return status;
}
