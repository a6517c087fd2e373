/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/alloc.h"

#include "judge.h"

static char *trim(char *text)
{
	char *end;

	while (isspace((unsigned char)*text))
		text++;
	end = text + strlen(text);
	while (end > text && isspace((unsigned char)end[-1]))
		*--end = '\0';
	return text;
}

/* Two parts of TEXT: up to the first space, and what follows it. */
static char *second_word(char *text)
{
	while (*text && !isspace((unsigned char)*text))
		text++;
	if (*text)
		*text++ = '\0';
	return trim(text);
}

/* One line; an empty one, or one that is a comment as a whole, is none: rule is -1. */
static int parse(const char *path, uint32_t line, char *text, struct srd_suppression *out,
		 struct srd_error *error)
{
	char *reason, *id, *match;

	*out = (struct srd_suppression){.rule = -1, .line = line};
	text = trim(text);
	if (!*text || *text == '#')
		return 0;
	reason = strchr(text, '#');
	if (reason)
		*reason++ = '\0';
	reason = reason ? trim(reason) : NULL;
	id = trim(text);
	match = second_word(id);
	if (!reason || !*reason)
		return srd_error_set(error, -EINVAL,
				     "%s:%u: %s is suppressed without a reason; end the line with "
				     "\"# why\"",
				     path, line, id);
	out->rule = srd_rule_find(id);
	if (out->rule < 0)
		return srd_error_set(error, -EINVAL, "%s:%u: there is no rule \"%s\"", path, line,
				     id);
	out->reason = srd_strdup(reason);
	if (*match)
		out->match = srd_strdup(match);
	if (!out->reason || (*match && !out->match)) {
		srd_free(out->reason);
		srd_free(out->match);
		return srd_error_set(error, -ENOMEM, "out of memory for %s", path);
	}
	return 0;
}

static int load(const char *path, FILE *file, struct srd_suppression **list, int *count,
		struct srd_error *error)
{
	char *text = NULL;
	size_t size = 0;
	uint32_t line = 0;
	int result = 0;

	while (!result && getline(&text, &size, file) >= 0) {
		struct srd_suppression one, *longer;

		result = parse(path, ++line, text, &one, error);
		if (result || one.rule < 0)
			continue;
		longer = srd_reallocarray(*list, (size_t)*count + 1, sizeof(**list));
		if (!longer) {
			srd_free(one.reason);
			srd_free(one.match);
			result = srd_error_set(error, -ENOMEM, "out of memory for %s", path);
			continue;
		}
		*list = longer;
		(*list)[(*count)++] = one;
	}
	if (!result && ferror(file))
		result = srd_error_set(error, -EIO, "%s cannot be read", path);
	free(text);
	return result;
}

int srd_suppressions_load(const char *path, struct srd_suppression **list, int *count,
			  struct srd_error *error)
{
	FILE *file = fopen(path, "r");
	int result;

	*list = NULL;
	*count = 0;
	if (!file)
		return srd_error_set(error, -errno, "the suppression file %s cannot be opened: %s",
				     path, strerror(errno));
	result = load(path, file, list, count, error);
	fclose(file);
	if (result) {
		srd_suppressions_free(*list, *count);
		*list = NULL;
		*count = 0;
	}
	return result;
}

void srd_suppressions_free(struct srd_suppression *list, int count)
{
	for (int i = 0; i < count; i++) {
		srd_free(list[i].match);
		srd_free(list[i].reason);
	}
	srd_free(list);
}

/* "put.lua:12" against the script's path and a line of it. */
static bool same_place(const char *match, const char *script, uint32_t line)
{
	const char *colon = strrchr(match, ':');
	size_t name, path;
	char *end;

	if (!colon || !script || !line || strtoul(colon + 1, &end, 10) != line || *end ||
	    end == colon + 1)
		return false;
	name = (size_t)(colon - match);
	path = strlen(script);
	if (!name || name > path || memcmp(script + path - name, match, name))
		return false;
	return name == path || script[path - name - 1] == '/';
}

static bool matches(const struct srd_rules *rules, const struct srd_suppression *s,
		    const struct srd_violation *v)
{
	char qp[24];

	if (s->rule != v->rule)
		return false;
	if (!s->match)
		return true;
	snprintf(qp, sizeof(qp), "qp=%u", v->qp);
	return !strcmp(s->match, qp) || same_place(s->match, rules->script, v->line) ||
	       strstr(v->evidence, s->match);
}

bool srd_suppressions_match(struct srd_rules *rules, const struct srd_violation *violation)
{
	for (int i = 0; i < rules->num_suppressions; i++) {
		if (!matches(rules, &rules->suppressions[i], violation))
			continue;
		rules->suppressions[i].uses++;
		return true;
	}
	return false;
}
