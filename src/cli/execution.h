/* SPDX-License-Identifier: MIT */
/* One run of a program on the software device, by srdlab exec or from a log of its decisions. */
#ifndef SRD_CLI_EXECUTION_H
#define SRD_CLI_EXECUTION_H

#include <stdio.h>

#include <jansson.h>

#include "cli/program.h"
#include "verbs/launch.h"

struct srd_cli_execution {
	struct srd_profile profile;
	uint64_t seed;
	uint32_t devices;
	uint32_t clock, memory, doorbell; /* numbers of what was chosen */
	const char *group;                /* NULL: none */
	const char *first;                /* options of a group's first program; NULL: none */
	char **argv;                      /* ends with NULL */
	const char *script;               /* path; NULL: there is none */
	const char *script_text;          /* NULL: it is read from SCRIPT */
	size_t script_length;
	struct srd_cli_program_options watch;
	struct srd_launch_log *log; /* of decisions; NULL: none is wanted */
	bool replay;                /* it is followed, else it is filled */
};

/* In the environment of the program: the command before it, in a shell's words. */
#define SRD_CLI_ENV_EXEC "SRDLAB_EXEC_COMMAND"

/* The exit status, and how often a rule was broken; what goes wrong is said. */
int srd_cli_execution_run(const struct srd_cli_execution *execution, uint64_t *violations);

/* How the file of a log of decisions begins: its field "format". */
#define SRD_CLI_DECISIONS "srdlab-decisions"

/*
 * The file for the decisions of a run, before it; a negative errno with *error. CLOSE writes them
 * to it, with all else that the run is a function of, but for the program's own files and
 * environment.
 */
int srd_cli_decisions_open(const char *path, const struct srd_cli_execution *execution, FILE **file,
			   struct srd_error *error);
int srd_cli_decisions_close(FILE *file, const char *path, const struct srd_cli_execution *execution,
			    struct srd_error *error);

/* What such a file holds; the texts belong to ROOT. */
struct srd_cli_decisions {
	json_t *root;
	const char *version; /* of the srdlab that wrote it */
	struct srd_launch_log log;
	struct srd_cli_execution execution;
};

/* ROOT is that of the file PATH, and *OUT's then; release *OUT in either case. */
int srd_cli_decisions_unpack(const char *path, json_t *root, struct srd_cli_decisions *out,
			     struct srd_error *error);
void srd_cli_decisions_release(struct srd_cli_decisions *decisions);

#endif
