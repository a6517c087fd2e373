/* SPDX-License-Identifier: MIT */
/* The files that a command writes: none may be another one, or one that it reads. */
#ifndef SRD_CLI_WRITTEN_H
#define SRD_CLI_WRITTEN_H

#include "cli/options.h"

struct srd_cli_written {
	const char *option; /* "--junit" */
	const char *path;   /* NULL: not asked for; "-" is standard output, and nobody's file */
};

/*
 * Before any of FILES is opened, since that empties it. READ are the arguments of the
 * command, files or FILE:LINE. 0, or -EINVAL with *error.
 */
int srd_cli_written_check(const struct srd_cli_written *files, int count,
			  const struct srd_cli_list *read, struct srd_error *error);

#endif
