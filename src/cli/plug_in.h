/* SPDX-License-Identifier: MIT */
/* Scenarios run against somebody else's queue pair or scheduler, each in a process of its own. */
#ifndef SRD_CLI_PLUG_IN_H
#define SRD_CLI_PLUG_IN_H

#include "cli/execute.h"

/*
 * Whether the plug-ins can be loaded, tried in another process. QUEUE_PAIR, SCHEDULER: paths;
 * NULL: srdlab's own. SANDBOX says for how long, but 3 s at least and 10 s at most, and with
 * how much memory. 0, or a negative errno with *error.
 */
int srd_cli_plug_in_probe(const char *queue_pair, const char *scheduler,
			  const struct srd_sandbox *sandbox, struct srd_error *error);

/* Why the scenario says nothing about a plug-in; NULL: it does. */
const char *srd_cli_plug_in_skip(const struct srd_scenario_info *info);

/*
 * Execute the run of REQUEST, the text of a replay file, which is that of the scenario at
 * PATH:LINE; with a virtual clock twice, comparing. CONFIG says for how long, and who reads
 * the events. The outcome as srd_cli_execute gives it; NULL: out of memory.
 */
char *srd_cli_plug_in_execute(const char *request, const char *path, int line,
			      const struct srd_run_config *config);

/* The life of the process that executes it; the exit status. */
int srd_cli_plug_in_main(int argc, char **argv);

#endif
