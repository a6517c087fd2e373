/* SPDX-License-Identifier: MIT */
/* Which rules are on: "law,credit,-credit.idle". */
#include <errno.h>
#include <string.h>

#include "verbs/alloc.h"
#include "verbs/nearest.h"

#include "judge.h"

static bool is_class(const struct srd_rule_info *info, const char *name)
{
	switch (info->rule_class) {
	case SRD_RULE_LAW:
		return !strcmp(name, "law");
	case SRD_RULE_CONTRACT:
		return !strcmp(name, "contract");
	case SRD_RULE_ADVICE:
		return !strcmp(name, "advice");
	}
	return false;
}

static bool names(const struct srd_rule_info *info, const char *name)
{
	return !strcmp(name, "all") || !strcmp(name, info->id) || !strcmp(name, info->family) ||
	       is_class(info, name);
}

static int unknown(const char *name, struct srd_error *error)
{
	const char *ids[SRD_NUM_RULES], *nearest, *family = "";
	char families[160] = "";

	for (int i = 0; i < SRD_NUM_RULES; i++) {
		ids[i] = srd_rule_infos[i].id;
		if (strcmp(srd_rule_infos[i].family, family)) {
			family = srd_rule_infos[i].family;
			strcat(strcat(families, *families ? ", " : ""), family);
		}
	}
	nearest = srd_nearest(name, ids, SRD_NUM_RULES);
	return srd_error_set(error, -EINVAL,
			     "no rule, family or class is named \"%s\"%s%s%s; there are all, none, "
			     "law, contract, advice, the families %s, and their rules",
			     name, nearest ? "; did you mean " : "", nearest ? nearest : "",
			     nearest ? "?" : "", families);
}

static int select_one(const char *name, bool selected[SRD_NUM_RULES], struct srd_error *error)
{
	bool on = *name != '-', found = false;

	if (!on)
		name++;
	if (!strcmp(name, "none")) {
		memset(selected, !on, SRD_NUM_RULES * sizeof(*selected));
		return 0;
	}
	for (int i = 0; i < SRD_NUM_RULES; i++) {
		if (!names(&srd_rule_infos[i], name))
			continue;
		selected[i] = on;
		found = true;
	}
	return found ? 0 : unknown(name, error);
}

int srd_select_parse(const char *select, bool selected[SRD_NUM_RULES], struct srd_error *error)
{
	char *text = srd_strdup(select), *rest = text, *name;
	int result = 0;

	if (!text)
		return srd_error_set(error, -ENOMEM, "out of memory for the selection of rules");
	if (!text[strspn(text, ",")]) {
		srd_free(text);
		return srd_error_set(error, -EINVAL,
				     "the selection of rules is empty: none judges by no rule");
	}
	memset(selected, 0, SRD_NUM_RULES * sizeof(*selected));
	/* "-advice" alone takes away from what is on without any selection. */
	if (*text == '-')
		result = select_one("law", selected, error) |
			 select_one("contract", selected, error);
	while (!result && (name = strsep(&rest, ",")) != NULL)
		if (*name)
			result = select_one(name, selected, error);
	srd_free(text);
	return result;
}
