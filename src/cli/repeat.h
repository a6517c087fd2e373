/* SPDX-License-Identifier: MIT */
/* How a failure can be had again: by a command, and from a replay file. */
#ifndef SRD_CLI_REPEAT_H
#define SRD_CLI_REPEAT_H

#include <jansson.h>
#include <srdlab/profile.h>

#include "cli/execute.h"
#include "cli/plan.h"

/* The command line that runs ITEM alone; NULL: out of memory. Release with free. */
char *srd_cli_repeat_command(const struct srd_cli_run_options *options,
			     const struct srd_cli_item *item);

/*
 * Write the replay file of ITEM, which had OUTCOME, into options->replay_dir. *PATH is its
 * path, for srd_free. 0, or a negative errno with *error.
 */
int srd_cli_replay_write(const struct srd_cli_run_options *options,
			 const struct srd_run_config *config, const struct srd_cli_item *item,
			 const struct srd_cli_outcome *outcome, char **path,
			 struct srd_error *error);

/* The same as text, for the process of a plug-in; NULL with *error. Release with free. */
char *srd_cli_replay_text(const struct srd_cli_run_options *options,
			  const struct srd_run_config *config, const struct srd_cli_item *item,
			  struct srd_error *error);

/* What a replay file holds; texts belong to ROOT. */
struct srd_cli_replay_file {
	json_t *root;
	const char *path; /* of the file, for messages; the caller's */
	const char *version;
	const char *script_path;
	const char *script_text;
	size_t script_length;
	const char *name;
	int index;
	uint64_t seed;
	const char *backend;
	const char *device; /* NULL: none was named */
	struct srd_profile profile;
	const char *queue_pair; /* path of a plug-in; NULL: srdlab's own */
	const char *scheduler;
	const char *rules;
	const char *suppressions;  /* the file's text; NULL: there was none */
	const char *order;         /* of its messages; NULL: all, or its own */
	uint32_t orders_max;       /* 0: as the scenario says */
	uint64_t memory;           /* bytes */
	uint64_t scenario_timeout; /* ns */
	bool unsafe_lua;
	uint64_t trace_hash;
};

/*
 * What ROOT holds, of the file PATH. 0, or a negative errno with *error. ROOT is *OUT's then;
 * release *OUT in either case.
 */
int srd_cli_replay_unpack(const char *path, json_t *root, struct srd_cli_replay_file *out,
			  struct srd_error *error);
void srd_cli_replay_release(struct srd_cli_replay_file *file);

#endif
