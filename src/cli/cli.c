/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

const char *srd_cli_program = "srdlab";
const struct srd_cli_command *srd_cli_command;

bool srd_cli_colours(FILE *file)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(fileno(file)) && !(no && *no) && !(term && !strcmp(term, "dumb"));
}

static void say(const char *what, const char *format, va_list args)
{
	/* Results that came before stay before, where both streams go to one place. */
	fflush(stdout);
	fprintf(stderr, "srdlab%s%s: %s: ", srd_cli_command ? " " : "",
		srd_cli_command ? srd_cli_command->name : "", what);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
}

void srd_cli_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say("error", format, args);
	va_end(args);
}

void srd_cli_warning(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say("warning", format, args);
	va_end(args);
}

int srd_cli_refuse(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say("error", format, args);
	va_end(args);
	fprintf(stderr, "%s%s%s --help tells more\n", srd_cli_program, srd_cli_command ? " " : "",
		srd_cli_command ? srd_cli_command->name : "");
	return SRD_EXIT_USAGE;
}
