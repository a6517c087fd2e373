/* SPDX-License-Identifier: MIT */
/* srdlab replay: the run of a replay file once more, and whether it was the same. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <srdlab/version.h>

#include "cli/cli.h"
#include "cli/lab.h"
#include "cli/repeat.h"
#include "cli/streams.h"
#include "report/report.h"
#include "verbs/alloc.h"
#include "verbs/file.h"

struct replay {
	const struct srd_cli_replay_options *options;
	struct srd_cli_replay_file file;
	struct srd_script *script;
	struct srd_run_config config;
	struct srd_cli_streams streams;
	struct srd_cli_outcome outcome;
	int suppressions; /* a file in memory; -1: none */
	char suppressions_path[32];
};

/* The rules read suppressions from a path, so their text becomes a file without a name. */
static int open_suppressions(struct replay *replay, struct srd_error *error)
{
	const char *text = replay->file.suppressions;
	size_t length = text ? strlen(text) : 0;

	if (!text)
		return 0;
	replay->suppressions = memfd_create("suppressions", MFD_CLOEXEC);
	if (replay->suppressions < 0 ||
	    write(replay->suppressions, text, length) != (ssize_t)length)
		return srd_error_set(error, -EIO, "no room for the suppressions: %m");
	snprintf(replay->suppressions_path, sizeof(replay->suppressions_path), "/proc/self/fd/%d",
		 replay->suppressions);
	replay->config.suppressions = replay->suppressions_path;
	return 0;
}

static int configure(struct replay *replay, struct srd_error *error)
{
	const struct srd_cli_replay_file *file = &replay->file;
	struct srd_run_config *config = &replay->config;

	if (file->unsafe_lua && !replay->options->unsafe_lua)
		return srd_error_set(error, -EPERM,
				     "this run had --unsafe-lua: look at the script in the file, "
				     "then give --unsafe-lua here too");
	config->backend = srd_cli_backend(file->backend, error);
	if (!config->backend)
		return error->code;
	config->profile = &file->profile;
	config->device = file->device;
	config->seed = file->seed;
	config->rules = file->rules;
	config->hash = true;
	config->sandbox = (struct srd_sandbox){
		.memory_limit = file->memory,
		.time_limit = file->scenario_timeout,
		.unsafe = file->unsafe_lua,
	};
	return open_suppressions(replay, error);
}

static int load(struct replay *replay, struct srd_error *error)
{
	const struct srd_cli_replay_file *file = &replay->file;
	int rc = srd_script_load_text(file->script_path, file->script_text, file->script_length,
				      &replay->config.sandbox, &replay->script, error);
	const struct srd_scenario_info *info;

	if (rc)
		return rc;
	info = file->index < 0 || file->index >= srd_script_count(replay->script)
		       ? NULL
		       : srd_script_scenario(replay->script, file->index);
	if (!info || strcmp(info->name, file->name))
		return srd_error_set(error, -EPROTO, "its script holds no scenario \"%s\"",
				     file->name);
	return 0;
}

static int open_streams(struct replay *replay, struct srd_error *error)
{
	const struct srd_trace_run what = {
		.script = replay->file.script_path,
		.backend = replay->file.backend,
		.profile = replay->file.profile.name,
		.seed = replay->file.seed,
	};

	return srd_cli_streams_open(&replay->options->trace, &what, &replay->streams,
				    &replay->config, error);
}

static void note_changes(const struct srd_cli_replay_file *file)
{
	size_t length;
	char *text;

	if (strcmp(file->version, SRDLAB_VERSION))
		srd_cli_warning("it was recorded by srdlab %s, and this is %s", file->version,
				SRDLAB_VERSION);
	if (srd_file_read(file->script_path, file->script_length + 1, &text, &length, NULL) &&
	    access(file->script_path, F_OK))
		return;
	if (length != file->script_length || memcmp(text, file->script_text, length))
		srd_cli_warning("%s has changed since; what was recorded runs", file->script_path);
	srd_free(text);
}

static void put_comparison(const struct replay *replay)
{
	uint64_t then = replay->file.trace_hash, now = replay->outcome.result.trace_hash;

	if (!(replay->config.backend->can & SRD_VERBS_CAN_VIRTUAL_TIME))
		printf("a device does not repeat itself: the traces are not compared\n\n");
	else if (then == now)
		printf("the same run, event by event: trace %016" PRIx64 "\n\n", now);
	else
		printf("another run: trace %016" PRIx64 ", recorded was %016" PRIx64 "\n\n", now,
		       then);
}

static int report(const struct replay *replay)
{
	const struct srd_scenario_info *info =
		srd_script_scenario(replay->script, replay->file.index);
	const struct srd_scenario_result *result = &replay->outcome.result;
	struct srd_report_head head = {
		.backend = replay->config.backend->name,
		.profile = srd_cli_profile_name(&replay->config),
		.first_seed = replay->file.seed,
		.last_seed = replay->file.seed,
		.num_cases = 1,
		.file_width = (int)strlen(replay->file.script_path),
	};
	struct srd_report_case one = {
		.file = replay->file.script_path,
		.name = info->name,
		.line = info->line,
		.seed = replay->file.seed,
		.broken = replay->outcome.broken,
		.result = result,
		.log = replay->outcome.log,
	};
	struct srd_report_tail tail = {
		.passed = result->verdict == SRD_PASSED,
		.failed = result->verdict == SRD_FAILED,
		.skipped = result->verdict == SRD_SKIPPED,
		.wall_time = result->wall_time,
	};
	struct srd_terminal_options options = {
		.colours = srd_cli_colours(stdout),
		.verbose = replay->options->verbose,
	};
	struct srd_report *terminal = srd_report_terminal(stdout, &options);
	int rc = terminal ? terminal->ops->begin(terminal, &head) : -ENOMEM;

	if (!rc)
		rc = terminal->ops->add(terminal, &one);
	if (!rc) {
		put_comparison(replay);
		rc = terminal->ops->end(terminal, &tail);
	}
	if (terminal)
		terminal->ops->destroy(terminal);
	return rc;
}

static int status(const struct srd_cli_outcome *outcome)
{
	if (outcome->broken)
		return SRD_EXIT_INTERNAL;
	switch (outcome->result.verdict) {
	case SRD_PASSED:
		return SRD_EXIT_PASSED;
	case SRD_FAILED:
		return SRD_EXIT_FAILED;
	case SRD_SKIPPED:
		return SRD_EXIT_SKIPPED;
	}
	return SRD_EXIT_INTERNAL;
}

static int run(struct replay *replay)
{
	char *text = srd_cli_execute(replay->script, replay->file.index, &replay->config);
	int rc = text ? srd_cli_outcome_read(text, &replay->outcome) : -ENOMEM;

	free(text);
	if (!rc)
		rc = report(replay);
	if (!rc)
		return status(&replay->outcome);
	srd_cli_error("out of memory");
	return SRD_EXIT_INTERNAL;
}

int srd_cli_replay(const struct srd_cli_replay_options *options)
{
	const char *path = options->arguments.items[0];
	struct replay replay = {.options = options, .suppressions = -1};
	struct srd_error error = {0};
	int rc = srd_cli_replay_read(path, &replay.file, &error);

	if (!rc)
		rc = configure(&replay, &error);
	if (!rc)
		rc = load(&replay, &error);
	if (!rc)
		rc = open_streams(&replay, &error);
	if (rc) {
		srd_cli_error("%s", error.message);
		rc = rc == -ENOMEM ? SRD_EXIT_INTERNAL : SRD_EXIT_USAGE;
	} else {
		note_changes(&replay.file);
		rc = run(&replay);
	}
	if (srd_cli_streams_close(&replay.streams, &error)) {
		srd_cli_error("%s", error.message);
		rc = SRD_EXIT_INTERNAL;
	}
	if (replay.suppressions >= 0)
		close(replay.suppressions);
	srd_cli_outcome_release(&replay.outcome);
	srd_script_free(replay.script);
	srd_cli_replay_release(&replay.file);
	return rc;
}
