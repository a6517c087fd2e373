/* SPDX-License-Identifier: MIT */
/* One scenario, run; and its outcome as text, to travel between processes. */
#ifndef SRD_CLI_EXECUTE_H
#define SRD_CLI_EXECUTE_H

#include <stdbool.h>

#include "lua/scenario.h"

struct srd_cli_outcome {
	struct srd_scenario_result result;
	char *log;   /* what the script logged; NULL: nothing */
	bool broken; /* it failed because the tool did */
};

/*
 * Run scenario INDEX of SCRIPT. The outcome as JSON for free(); NULL: out of memory. Where
 * the tool itself failed, the outcome says so.
 */
char *srd_cli_execute(const struct srd_script *script, int index,
		      const struct srd_run_config *config);

/* The outcome that is one failure at FILE:LINE, in the same form; BROKEN: the tool's. */
char *srd_cli_outcome_text(const char *file, int line, const char *message, bool broken);
/* The outcome of a scenario that was not run. */
char *srd_cli_outcome_skip(const char *reason);
/* The outcome TEXT with one failure more. */
char *srd_cli_outcome_fail(char *text, const char *file, int line, const char *message);

/* 0, -ENOMEM or -EPROTO. Release *OUT in either case. */
int srd_cli_outcome_read(const char *text, struct srd_cli_outcome *out);
void srd_cli_outcome_release(struct srd_cli_outcome *outcome);

#endif
