/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"
#include "verbs/alloc.h"
#include "verbs/nearest.h"
#include "verbs/units.h"

#define MAX_OPTIONS 64
#define HELP        MAX_OPTIONS
#define FIRST_LONG  0x100 /* getopt's values for long options: above every letter */

int srd_cli_list_add(struct srd_cli_list *list, const char *text)
{
	char **items = srd_reallocarray(list->items, list->count + 1, sizeof(*items));

	if (!items)
		return -ENOMEM;
	list->items = items;
	items[list->count] = srd_strdup(text);
	if (!items[list->count])
		return -ENOMEM;
	list->count++;
	return 0;
}

void srd_cli_list_release(struct srd_cli_list *list)
{
	for (int i = 0; i < list->count; i++)
		srd_free(list->items[i]);
	srd_free(list->items);
	*list = (struct srd_cli_list){0};
}

static int set_number(const struct srd_cli_option *o, enum srd_unit_kind kind, const char *what,
		      const char *text, uint64_t *out, struct srd_error *error)
{
	char min[24], max[24];
	int rc = srd_units_parse(kind, text, out);

	/* A bare number of time would be nanoseconds, which nobody means here. */
	if (kind == SRD_UNIT_TIME && !rc && text[strspn(text, "0123456789")] == '\0')
		rc = -EINVAL;
	if (!rc && *out >= o->min && *out <= o->max)
		return 0;
	return srd_error_set(error, -EINVAL, "--%s takes %s from %s to %s, not \"%s\"", o->name,
			     what, srd_units_format(kind, o->min, min, sizeof(min)),
			     srd_units_format(kind, o->max, max, sizeof(max)), text);
}

static int set_seeds(const struct srd_cli_option *o, const char *text, struct srd_cli_seeds *seeds,
		     struct srd_error *error)
{
	const char *dots = strstr(text, "..");
	char first[32];

	if (!dots || (size_t)(dots - text) >= sizeof(first))
		goto bad;
	memcpy(first, text, dots - text);
	first[dots - text] = '\0';
	if (srd_units_parse(SRD_UNIT_NONE, first, &seeds->first) ||
	    srd_units_parse(SRD_UNIT_NONE, dots + 2, &seeds->last) || seeds->last > INT64_MAX)
		goto bad;
	if (seeds->first > seeds->last)
		return srd_error_set(error, -EINVAL,
				     "--%s %s is reversed: the first seed must not be above the "
				     "last; %" PRIu64 "..%" PRIu64 " would be right",
				     o->name, text, seeds->last, seeds->first);
	seeds->set = true;
	return 0;
bad:
	return srd_error_set(error, -EINVAL,
			     "--%s takes a range of seeds such as 1..100, not \"%s\"", o->name,
			     text);
}

static int set_flag(const struct srd_cli_option *o, const char *text, bool *out,
		    struct srd_error *error)
{
	*out = !strcmp(text, "1");
	if (*out || !strcmp(text, "0"))
		return 0;
	return srd_error_set(error, -EINVAL, "%s is 1 or 0, not \"%s\"", o->env, text);
}

static int set(const struct srd_cli_option *o, const char *text, void *options,
	       struct srd_error *error)
{
	void *at = (char *)options + o->offset;

	switch (o->kind) {
	case SRD_CLI_FLAG:
		return set_flag(o, text, at, error);
	case SRD_CLI_TEXT:
		*(const char **)at = text;
		return 0;
	case SRD_CLI_LIST:
		if (srd_cli_list_add(at, text))
			return srd_error_set(error, -ENOMEM, "out of memory");
		return 0;
	case SRD_CLI_NUMBER:
		return set_number(o, SRD_UNIT_NONE, "a number", text, at, error);
	case SRD_CLI_SIZE:
		return set_number(o, SRD_UNIT_SIZE, "a size", text, at, error);
	case SRD_CLI_TIME:
		return set_number(o, SRD_UNIT_TIME, "a time with its unit", text, at, error);
	case SRD_CLI_SEEDS:
		return set_seeds(o, text, at, error);
	}
	return -EINVAL;
}

/* In the environment a list holds its parts with commas between. */
static int set_env(const struct srd_cli_option *o, const char *text, void *options,
		   struct srd_error *error)
{
	char *copy, *rest, *part;
	int rc = 0;

	if (o->kind != SRD_CLI_LIST)
		return set(o, text, options, error);
	rest = copy = srd_strdup(text);
	if (!copy)
		return srd_error_set(error, -ENOMEM, "out of memory");
	while (!rc && (part = strsep(&rest, ",")))
		rc = set(o, part, options, error);
	srd_free(copy);
	return rc;
}

struct names {
	char text[4 * MAX_OPTIONS];
	struct option longs[MAX_OPTIONS + 2];
};

static void names_fill(struct names *names, const struct srd_cli_command *command)
{
	char *letter = names->text;
	int i;

	if (command->program)
		*letter++ = '+';
	*letter++ = ':'; /* a missing argument is told from an unknown option */
	for (i = 0; i < command->num_options; i++) {
		const struct srd_cli_option *o = &command->options[i];
		bool takes = o->kind != SRD_CLI_FLAG;

		names->longs[i] = (struct option){o->name, takes, NULL, FIRST_LONG + i};
		if (o->letter) {
			*letter++ = o->letter;
			if (takes)
				*letter++ = ':';
		}
	}
	names->longs[i++] = (struct option){"help", 0, NULL, FIRST_LONG + HELP};
	names->longs[i] = (struct option){NULL, 0, NULL, 0};
	*letter++ = 'h';
	*letter = '\0';
}

static int find(const struct srd_cli_command *command, int value)
{
	if (value >= FIRST_LONG)
		return value - FIRST_LONG;
	if (value == 'h')
		return HELP;
	for (int i = 0; i < command->num_options; i++)
		if (command->options[i].letter == value)
			return i;
	return -1;
}

/* Of all long options, the one that NAME is most like. */
static const char *nearest(const struct srd_cli_command *command, const char *name)
{
	const char *names[MAX_OPTIONS + 1];

	for (int i = 0; i < command->num_options; i++)
		names[i] = command->options[i].name;
	names[command->num_options] = "help";
	return srd_nearest(name, names, command->num_options + 1);
}

/* optopt is a letter, the value of a long option, or 0 for a long option that is unknown. */
static int refuse(const struct srd_cli_command *command, int got, const char *word,
		  struct srd_error *error)
{
	const char *like;
	char name[64];

	if (optopt >= FIRST_LONG)
		return srd_error_set(error, -EINVAL, "--%s %s",
				     optopt == FIRST_LONG + HELP
					     ? "help"
					     : command->options[optopt - FIRST_LONG].name,
				     got == ':' ? "needs an argument" : "takes no argument");
	if (optopt)
		return srd_error_set(error, -EINVAL,
				     got == ':' ? "-%c needs an argument" : "unknown option -%c",
				     optopt);
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
	like = nearest(command, name + 2);
	if (like)
		return srd_error_set(error, -EINVAL, "unknown option %s; did you mean --%s?", name,
				     like);
	return srd_error_set(error, -EINVAL, "unknown option %s", name);
}

/* The command line; bits of *GIVEN say which options it has. */
static int parse_words(const struct srd_cli_command *command, int argc, char **argv, void *options,
		       uint64_t *given, struct srd_error *error)
{
	struct names names;
	int rc;

	names_fill(&names, command);
	optind = 0; /* glibc: start afresh */
	opterr = 0;
	for (;;) {
		int i, got = getopt_long(argc, argv, names.text, names.longs, NULL);

		if (got < 0)
			return 0;
		if (got == '?' || got == ':')
			return refuse(command, got, argv[optind - 1], error);
		i = find(command, got);
		if (i == HELP)
			return 1;
		rc = set(&command->options[i], optarg ? optarg : "1", options, error);
		if (rc)
			return rc;
		*given |= UINT64_C(1) << i;
	}
}

/* What the command line left open: the environment, then the default. */
static int parse_rest(const struct srd_cli_command *command, void *options, uint64_t given,
		      struct srd_error *error)
{
	for (int i = 0; i < command->num_options; i++) {
		const struct srd_cli_option *o = &command->options[i];
		bool beaten = o->conflict >= 0 && given >> o->conflict & 1;
		const char *env = o->env && !beaten ? getenv(o->env) : NULL;
		int rc = 0;

		if (given >> i & 1)
			continue;
		if (env && *env)
			rc = set_env(o, env, options, error);
		else if (o->value)
			rc = set(o, o->value, options, error);
		if (rc)
			return rc;
	}
	return 0;
}

static int check_conflicts(const struct srd_cli_command *command, uint64_t given,
			   struct srd_error *error)
{
	for (int i = 0; i < command->num_options; i++) {
		int other = command->options[i].conflict;

		if (other >= 0 && given >> i & 1 && given >> other & 1)
			return srd_error_set(error, -EINVAL, "--%s and --%s exclude each other",
					     command->options[i].name,
					     command->options[other].name);
	}
	return 0;
}

int srd_cli_parse(const struct srd_cli_command *command, int argc, char **argv, void *options,
		  struct srd_error *error)
{
	struct srd_cli_list *arguments = (void *)((char *)options + command->arguments);
	uint64_t given = 0;
	int rc;

	memset(options, 0, command->size);
	rc = parse_words(command, argc, argv, options, &given, error);
	if (!rc)
		rc = check_conflicts(command, given, error);
	if (!rc)
		rc = parse_rest(command, options, given, error);
	for (int i = optind; !rc && i < argc; i++)
		if (srd_cli_list_add(arguments, argv[i]))
			rc = srd_error_set(error, -ENOMEM, "out of memory");
	if (rc)
		return rc;
	if (arguments->count < command->min_arguments)
		return srd_error_set(error, -EINVAL, "%s is missing", command->what);
	if (command->max_arguments >= 0 && arguments->count > command->max_arguments)
		return srd_error_set(error, -EINVAL, "one argument too many: \"%s\"",
				     arguments->items[command->max_arguments]);
	return 0;
}

void srd_cli_release(const struct srd_cli_command *command, void *options)
{
	for (int i = 0; i < command->num_options; i++)
		if (command->options[i].kind == SRD_CLI_LIST)
			srd_cli_list_release(
				(void *)((char *)options + command->options[i].offset));
	srd_cli_list_release((void *)((char *)options + command->arguments));
}
