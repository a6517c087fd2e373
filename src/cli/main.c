/* SPDX-License-Identifier: MIT */
/* The srdlab command: finds the subcommand and hands it its options. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/plug_in.h"
#include "plugin/process.h"
#include "verbs/alloc.h"
#include "verbs/nearest.h"

static const struct srd_cli_command *find(const char *name)
{
	for (int i = 0; i < SRD_NUM_CLI_COMMANDS; i++)
		if (!strcmp(srd_cli_commands[i].name, name))
			return &srd_cli_commands[i];
	return NULL;
}

static int unknown(const char *name)
{
	const char *names[SRD_NUM_CLI_COMMANDS];
	const char *like;

	for (int i = 0; i < SRD_NUM_CLI_COMMANDS; i++)
		names[i] = srd_cli_commands[i].name;
	like = srd_nearest(name, names, SRD_NUM_CLI_COMMANDS);
	if (like)
		return srd_cli_refuse("unknown command \"%s\"; did you mean %s?", name, like);
	return srd_cli_refuse("unknown command \"%s\"", name);
}

static int run(const struct srd_cli_command *command, int argc, char **argv)
{
	void *options = srd_calloc(1, command->size);
	struct srd_error error = {0};
	int rc;

	srd_cli_command = command;
	if (!options) {
		srd_cli_error("out of memory");
		return SRD_EXIT_INTERNAL;
	}
	rc = srd_cli_parse(command, argc, argv, options, &error);
	if (rc == 1) {
		fputs(command->help, stdout);
		rc = SRD_EXIT_PASSED;
	} else if (rc == -ENOMEM) {
		srd_cli_error("%s", error.message);
		rc = SRD_EXIT_INTERNAL;
	} else if (rc) {
		rc = srd_cli_refuse("%s", error.message);
	} else {
		rc = command->call(options);
	}
	srd_cli_release(command, options);
	srd_free(options);
	return rc;
}

static int help(const char *name)
{
	const struct srd_cli_command *command = name ? find(name) : NULL;

	if (name && !command)
		return unknown(name);
	fputs(command ? command->help : srd_cli_help, stdout);
	return SRD_EXIT_PASSED;
}

static int dispatch(int argc, char **argv)
{
	const char *word = argv[1];

	if (argc < 2) {
		fputs(srd_cli_help, stderr);
		return SRD_EXIT_USAGE;
	}
	if (!strcmp(word, "help") || !strcmp(word, "--help") || !strcmp(word, "-h"))
		return help(argc > 2 ? argv[2] : NULL);
	if (!strcmp(word, "--version") || !strcmp(word, "-V"))
		word = "version";
	if (word[0] == '-')
		return srd_cli_refuse("unknown option %s; options come after a command", word);
	return find(word) ? run(find(word), argc - 1, argv + 1) : unknown(word);
}

int main(int argc, char **argv)
{
	int status;

	if (argc > 0 && !strcmp(argv[0], SRD_PLUGIN_PROCESS))
		return srd_cli_plug_in_main(argc, argv);
	if (argc > 0)
		srd_cli_program = argv[0];
	status = dispatch(argc, argv);
	if (fflush(stdout) || ferror(stdout)) {
		srd_cli_error("cannot write to standard output: %m");
		return SRD_EXIT_INTERNAL;
	}
	return status;
}
