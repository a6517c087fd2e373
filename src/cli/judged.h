/* SPDX-License-Identifier: MIT */
/* What a whole run did not need: rules that no scenario judged, suppressions that none used. */
#ifndef SRD_CLI_JUDGED_H
#define SRD_CLI_JUDGED_H

#include "lua/scenario.h"

/* All zeros: nothing has run yet. */
struct srd_cli_judged {
	bool any;
	uint64_t not_judged[2]; /* as in struct srd_scenario_result: by no scenario so far */
	uint64_t suppressions;
};

void srd_cli_judged_add(struct srd_cli_judged *judged, const struct srd_scenario_result *result);
/*
 * Warn of suppressions in the file SUPPRESSIONS (NULL: none) that nothing needed, and where
 * ALL is set of rules that were not judged. Nothing is said of a run of nothing.
 */
void srd_cli_judged_warn(const struct srd_cli_judged *judged, const char *suppressions, bool all);

#endif
