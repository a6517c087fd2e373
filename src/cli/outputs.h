/* SPDX-License-Identifier: MIT */
/* The reports of a run, with the files that they go to. */
#ifndef SRD_CLI_OUTPUTS_H
#define SRD_CLI_OUTPUTS_H

#include "cli/commands.h"
#include "report/report.h"

struct srd_cli_output {
	const char *path; /* NULL: a standard stream */
	FILE *file;
	struct srd_report *report;
};

struct srd_cli_outputs {
	struct srd_cli_output items[4];
	int count;
};

/*
 * Open all of them, before anything runs. A negative errno with *error: a file cannot be
 * written, which is the user's fault, or -ENOMEM. Close them in either case.
 */
int srd_cli_outputs_open(const struct srd_cli_run_options *options, struct srd_cli_outputs *outputs,
			 struct srd_error *error);

/* Each returns 0 or -ENOMEM. */
int srd_cli_outputs_begin(struct srd_cli_outputs *outputs, const struct srd_report_head *head);
int srd_cli_outputs_add(struct srd_cli_outputs *outputs, const struct srd_report_case *one);
int srd_cli_outputs_end(struct srd_cli_outputs *outputs, const struct srd_report_tail *tail);

/* -EIO with *error where something could not be written to the end. */
int srd_cli_outputs_close(struct srd_cli_outputs *outputs, struct srd_error *error);

#endif
