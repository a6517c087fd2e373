/* SPDX-License-Identifier: MIT */
/* Options as words of a shell: the way back from what was parsed. */
#include <string.h>

#include "cli/options.h"
#include "verbs/units.h"

static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
			    "_-./:=,+@%";

void srd_cli_put_word(FILE *out, const char *word)
{
	fputc(' ', out);
	if (*word && word[strspn(word, plain)] == '\0') {
		fputs(word, out);
		return;
	}
	fputc('\'', out);
	for (; *word; word++) {
		if (*word == '\'')
			fputs("'\\''", out);
		else
			fputc(*word, out);
	}
	fputc('\'', out);
}

static void put_value(FILE *out, const struct srd_cli_option *o, const char *value)
{
	fprintf(out, " --%s", o->name);
	srd_cli_put_word(out, value);
}

static void put_number(FILE *out, const struct srd_cli_option *o, enum srd_unit_kind kind,
		       uint64_t value)
{
	uint64_t usual = 0;
	char text[24];

	if (o->value)
		srd_units_parse(kind, o->value, &usual);
	if (value != usual)
		put_value(out, o, srd_units_format(kind, value, text, sizeof(text)));
}

static void put_option(FILE *out, const struct srd_cli_option *o, const void *at)
{
	const struct srd_cli_list *list = at;
	const char *text;

	switch (o->kind) {
	case SRD_CLI_FLAG:
		if (*(const bool *)at)
			fprintf(out, " --%s", o->name);
		break;
	case SRD_CLI_TEXT:
		text = *(const char *const *)at;
		if (text && (!o->value || strcmp(text, o->value)))
			put_value(out, o, text);
		break;
	case SRD_CLI_LIST:
		for (int i = 0; i < list->count; i++)
			put_value(out, o, list->items[i]);
		break;
	case SRD_CLI_NUMBER:
		put_number(out, o, SRD_UNIT_NONE, *(const uint64_t *)at);
		break;
	case SRD_CLI_SIZE:
		put_number(out, o, SRD_UNIT_SIZE, *(const uint64_t *)at);
		break;
	case SRD_CLI_TIME:
		put_number(out, o, SRD_UNIT_TIME, *(const uint64_t *)at);
		break;
	case SRD_CLI_SEEDS: /* a repetition has one seed, which its caller names */
		break;
	}
}

void srd_cli_put_repeated(FILE *out, const struct srd_cli_command *command, const void *options)
{
	for (int i = 0; i < command->num_options; i++) {
		const struct srd_cli_option *o = &command->options[i];

		if (o->repeated)
			put_option(out, o, (const char *)options + o->offset);
	}
}
