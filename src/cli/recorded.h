/* SPDX-License-Identifier: MIT */
/* What a replay file holds, made ready to be executed. */
#ifndef SRD_CLI_RECORDED_H
#define SRD_CLI_RECORDED_H

#include "cli/repeat.h"

struct srd_cli_recorded {
	const struct srd_cli_replay_file *file;
	struct srd_script *script;
	struct srd_run_config config;
	int suppressions; /* a file in memory; -1: none */
	char suppressions_path[32];
};

/* 0, or a negative errno with *error. Release *OUT in either case, before FILE. */
int srd_cli_recorded_open(const struct srd_cli_replay_file *file, struct srd_cli_recorded *out,
			  struct srd_error *error);
void srd_cli_recorded_release(struct srd_cli_recorded *recorded);

#endif
