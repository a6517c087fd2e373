/* SPDX-License-Identifier: MIT */
/* A program under srdlab exec, or a trace of one, as it is judged: its violations and their end. */
#ifndef SRD_CLI_PROGRAM_H
#define SRD_CLI_PROGRAM_H

#include "cli/commands.h"
#include "cli/stacks.h"
#include "report/timeline.h"
#include "report/trace.h"
#include "rules/rules.h"
#include "verbs/launch.h"

struct srd_cli_program {
	struct srd_stream stream;
	struct srd_launch_record record;
	struct srd_rules *rules; /* NULL: nothing is judged */
	struct srd_trace *trace;
	struct srd_timeline *timeline;
	struct srd_cli_stacks stacks;
	const char *line; /* what the line of an event is: "line", or "stack" of a program */
	bool unmet;       /* no process had a device: there is nothing to judge */
	int num_looked;   /* violations that were looked at */
	int num_shown;    /* those that are printed, by what makes them different */
	struct srd_cli_shown {
		int rule;
		uint32_t qp, object;
		const char *object_kind;
	} shown[SRD_MAX_VIOLATIONS];
};

struct srd_cli_program_options {
	const char *rules; /* NULL: none */
	const char *suppressions;
	const char *trace;
	const char *timeline;
	const struct srd_trace_run *run;
	bool script; /* events are of a script: they have its lines */
};

/* Open the readers that OPTIONS name. A negative errno with *error; close it in either case. */
int srd_cli_program_open(struct srd_cli_program *program,
			 const struct srd_cli_program_options *options, struct srd_error *error);
/* EVENT to every reader. */
void srd_cli_program_event(struct srd_cli_program *program, const struct srd_event *event);
/* Whether there is any reader. */
bool srd_cli_program_wanted(const struct srd_cli_program *program);
/*
 * The stream is over: judge what is left, print that and a summary to standard error, close.
 * *VIOLATIONS: how many there were. A negative errno with *error.
 */
int srd_cli_program_close(struct srd_cli_program *program, uint64_t *violations,
			  struct srd_error *error);

/* Whether PATH may be a trace. */
bool srd_cli_is_file(const char *path);
/* Judge the trace in PATH, each scenario of it by itself. Returns the exit status. */
int srd_cli_judge_trace(const struct srd_cli_judge *options, const char *path);

#endif
