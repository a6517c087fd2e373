/* SPDX-License-Identifier: MIT */
/* The files that a command writes: none may be another one, a script, or one that it reads. */
#ifndef SRD_CLI_WRITTEN_H
#define SRD_CLI_WRITTEN_H

#include <stdbool.h>

#include <srdlab/error.h>

struct srd_cli_written {
	const char *option; /* "--junit" */
	const char *path;   /* NULL: not asked for */
	bool standard;      /* "-" is standard output, and nobody's file; else it is refused */
};

/*
 * Before any of FILES is opened, since that empties it: none is another one, and none is a
 * script, which somebody wrote by hand. 0, or -EINVAL with *error.
 */
int srd_cli_written_check(const struct srd_cli_written *files, int count, struct srd_error *error);

/* The same against READ, a file that the command reads, or any text; NULL is allowed. */
int srd_cli_written_spare(const struct srd_cli_written *files, int count, const char *read,
			  struct srd_error *error);

#endif
