/* SPDX-License-Identifier: MIT */
/* The scripts that the arguments of a command name: files, FILE:LINE, and folders. */
#ifndef SRD_CLI_SCRIPTS_H
#define SRD_CLI_SCRIPTS_H

#include <stdio.h>

#include "cli/commands.h"
#include "lua/scenario.h"

struct srd_cli_script {
	char *path;
	char *text; /* of the file; NULL: it could not be read. */
	size_t length;
	int line;                  /* only the scenario that stands there; 0: all */
	struct srd_script *script; /* NULL: it could not be loaded */
	struct srd_error error;    /* why; the place is taken off its message */
	int error_line;            /* 0: unknown */
};

struct srd_cli_scripts {
	struct srd_cli_script *items; /* in the order of the arguments, a folder's by name */
	int count;
	int num_loaded;
};

/*
 * Find and load them. A path that is missing or a script that is wrong is an item with an
 * error, so that the others can still run. 0 or -ENOMEM. Release them in either case.
 */
int srd_cli_scripts_load(const struct srd_cli_list *arguments, const struct srd_sandbox *sandbox,
			 struct srd_cli_scripts *scripts);
void srd_cli_scripts_release(struct srd_cli_scripts *scripts);

/* By its name, as a folder is searched. */
bool srd_cli_is_script(const char *path);

/*
 * "PATH:12: text" of *error becomes the text, fit for a terminal; the line, 0: there is none.
 */
int srd_cli_split_place(const char *path, struct srd_error *error);
/* "PATH:12: error: text", as compilers write it, so that editors find the place. */
void srd_cli_put_place(FILE *file, const char *path, int line, const char *message);

struct srd_sandbox srd_cli_sandbox(const struct srd_cli_sandbox *options);

/*
 * Whether the scenario of SCRIPT with number INDEX is wanted: by the script's line, and by
 * any of the patterns. A pattern is a part of the name, or a glob over all of it; tag:GLOB
 * looks at the tags; a leading ! takes away what the rest selects.
 */
bool srd_cli_selected(const struct srd_cli_script *script, int index,
		      const struct srd_cli_list *patterns);

#endif
