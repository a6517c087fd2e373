/* SPDX-License-Identifier: MIT */
/* One run of a program on the software device, by srdlab exec or from a log of its decisions. */
#ifndef SRD_CLI_EXECUTION_H
#define SRD_CLI_EXECUTION_H

#include "cli/program.h"
#include "verbs/launch.h"

struct srd_cli_execution {
	struct srd_profile profile;
	uint64_t seed;
	uint32_t devices;
	uint32_t clock, memory, doorbell; /* numbers of what was chosen */
	const char *group;                /* NULL: none */
	char **argv;                      /* ends with NULL */
	const char *script;               /* path; NULL: there is none */
	const char *script_text;          /* NULL: it is read from its path */
	size_t script_length;
	struct srd_cli_program_options watch;
	struct srd_launch_log *log; /* of decisions; NULL: none is wanted */
	bool replay;                /* it is followed, else it is filled */
};

/* The exit status, and how often a rule was broken; what goes wrong is said. */
int srd_cli_execution_run(const struct srd_cli_execution *execution, uint64_t *violations);

/*
 * The decisions of a run in a file, with all else that it was a function of, but for the
 * program's own files and environment. A negative errno with *error.
 */
int srd_cli_decisions_write(const char *path, const struct srd_cli_execution *execution,
			    struct srd_error *error);

/* What such a file holds; the texts belong to ROOT. */
struct srd_cli_decisions {
	void *root;
	struct srd_launch_log log;
	struct srd_cli_execution execution;
};

/* Whether the text begins as such a file does. */
bool srd_cli_decisions_probe(const char *path);
/* Release *OUT in either case. */
int srd_cli_decisions_read(const char *path, struct srd_cli_decisions *out,
			   struct srd_error *error);
void srd_cli_decisions_release(struct srd_cli_decisions *decisions);

#endif
