/* SPDX-License-Identifier: MIT */
/* What the subcommands share: how they talk to the user. */
#ifndef SRD_CLI_CLI_H
#define SRD_CLI_CLI_H

#include "cli/commands.h"

/* The program as it was called, such as "build/srdlab", for commands that are printed. */
extern const char *srd_cli_program;

/* The subcommand that runs; NULL before there is one. */
extern const struct srd_cli_command *srd_cli_command;

/* Whether FILE is a terminal whose user wants colours. */
bool srd_cli_colours(FILE *file);

/* To standard error: "srdlab run: error: ..." or "warning". A line break is added. */
void srd_cli_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void srd_cli_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* An error of usage, with the way to help. Returns SRD_EXIT_USAGE. */
int srd_cli_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
