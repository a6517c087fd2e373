/* SPDX-License-Identifier: MIT */
/*
 * The command line, parsed by getopt_long into the structures that are generated from
 * scripts/spec/options.lua (cli/commands.h).
 */
#ifndef SRD_CLI_OPTIONS_H
#define SRD_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <srdlab/error.h>

struct srd_cli_list {
	char **items;
	int count;
};

/* Seeds from first to last, both included; set: the option was given. */
struct srd_cli_seeds {
	bool set;
	uint64_t first;
	uint64_t last;
};

enum srd_cli_kind {
	SRD_CLI_FLAG,
	SRD_CLI_TEXT,
	SRD_CLI_LIST,
	SRD_CLI_NUMBER,
	SRD_CLI_SIZE,
	SRD_CLI_TIME,
	SRD_CLI_SEEDS,
};

struct srd_cli_option {
	const char *name;
	char letter; /* 0: none */
	enum srd_cli_kind kind;
	uint16_t offset;   /* of the value in the command's structure */
	int conflict;      /* number of the option that cannot stand beside it; -1: none */
	const char *env;   /* NULL: none */
	const char *value; /* unless given; NULL: zero */
	uint64_t min;
	uint64_t max;
	bool repeated; /* it decides what a scenario does */
};

struct srd_cli_command {
	const char *name;
	const char *summary;
	const char *help;
	const struct srd_cli_option *options;
	int num_options;
	size_t size; /* of the structure with its options */
	uint16_t arguments;
	int min_arguments;
	int max_arguments; /* -1: any number */
	bool program;      /* options end where the arguments begin */
	const char *what;  /* the arguments, in words; NULL where none are needed */
	int (*call)(const void *options);
};

/*
 * Parse ARGV[1..] into OPTIONS, a structure of command->size bytes: the command line first,
 * then the environment, then the defaults. 0; 1: --help was asked for; -EINVAL with *error.
 * Release OPTIONS in any case. Changes getopt's global state.
 */
int srd_cli_parse(const struct srd_cli_command *command, int argc, char **argv, void *options,
		  struct srd_error *error);
void srd_cli_release(const struct srd_cli_command *command, void *options);

/*
 * Write the repeated options of OPTIONS that are not at their defaults as words of a shell,
 * each with a space before it.
 */
void srd_cli_put_repeated(FILE *out, const struct srd_cli_command *command, const void *options);

/* WORD for a shell, quoted where it must be, with a space before it. */
void srd_cli_put_word(FILE *out, const char *word);

/* Appends a copy of TEXT. 0 or -ENOMEM. */
int srd_cli_list_add(struct srd_cli_list *list, const char *text);
void srd_cli_list_release(struct srd_cli_list *list);

#endif
