/* SPDX-License-Identifier: MIT */
/* The files that --trace and --timeline ask for: readers of the stream of every scenario. */
#ifndef SRD_CLI_STREAMS_H
#define SRD_CLI_STREAMS_H

#include "cli/commands.h"
#include "lua/scenario.h"
#include "report/timeline.h"
#include "report/trace.h"

struct srd_cli_streams {
	struct srd_trace *trace;
	struct srd_timeline *timeline;
};

/*
 * Open what OPTIONS name and add it to the readers of CONFIG. A negative errno with *error: a
 * file cannot be written, which is the user's fault, or -ENOMEM. Close them in either case.
 */
int srd_cli_streams_open(const struct srd_cli_trace *options, const struct srd_trace_run *run,
			 struct srd_cli_streams *streams, struct srd_run_config *config,
			 struct srd_error *error);
/* Whether there are any: then one process runs all. */
bool srd_cli_streams_wanted(const struct srd_cli_trace *options);
/* A negative errno with *error where something could not be written to its end. */
int srd_cli_streams_close(struct srd_cli_streams *streams, struct srd_error *error);

#endif
