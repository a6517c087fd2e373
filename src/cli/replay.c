/* SPDX-License-Identifier: MIT */
/* srdlab replay: the run of a replay file once more, and whether it was the same. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <srdlab/version.h>

#include "cli/cli.h"
#include "cli/execution.h"
#include "cli/fields.h"
#include "cli/lab.h"
#include "cli/plug_in.h"
#include "cli/recorded.h"
#include "cli/streams.h"
#include "cli/stuck.h"
#include "cli/written.h"
#include "report/report.h"
#include "verbs/alloc.h"
#include "verbs/file.h"

struct replay {
	const struct srd_cli_replay_options *options;
	struct srd_cli_replay_file file;
	struct srd_cli_recorded recorded;
	struct srd_cli_streams streams;
	struct srd_cli_outcome outcome;
};

/* A script is at most 16 MiB, longer in JSON; a log of decisions the same again and more. */
#define FILE_LIMIT ((size_t)256 << 20)

static int read_file(struct replay *replay, json_t *root, struct srd_error *error)
{
	const char *path = replay->options->arguments.items[0];
	struct srd_sandbox sandbox;
	int rc = srd_cli_replay_unpack(path, root, &replay->file, error);

	if (rc)
		return rc;
	sandbox = (struct srd_sandbox){
		.memory_limit = replay->file.memory,
		.time_limit = replay->file.scenario_timeout,
	};
	if (replay->file.unsafe_lua && !replay->options->unsafe_lua)
		return srd_error_set(error, -EPERM,
				     "this run had --unsafe-lua: look at the script in the file, "
				     "then give --unsafe-lua here too");
	return srd_cli_plug_in_probe(replay->file.queue_pair, replay->file.scheduler, &sandbox,
				     error);
}

static int open_streams(struct replay *replay, struct srd_error *error)
{
	const struct srd_cli_written files[] = {
		{"--trace", replay->options->trace.trace},
		{"--timeline", replay->options->trace.timeline},
	};
	const struct srd_trace_run what = {
		.script = replay->file.script_path,
		.backend = replay->file.backend,
		.profile = replay->file.profile.name,
		.seed = replay->file.seed,
	};
	const char *const read[] = {
		replay->options->arguments.items[0],
		replay->file.script_path,
		replay->file.queue_pair,
		replay->file.scheduler,
	};
	int rc = srd_cli_written_check(files, 2, error);

	for (int i = 0; !rc && i < 4; i++)
		rc = srd_cli_written_spare(files, 2, read[i], error);
	if (rc)
		return rc;
	return srd_cli_streams_open(&replay->options->trace, &what, &replay->streams,
				    &replay->recorded.config, error);
}

static void note_version(const char *version)
{
	if (strcmp(version, SRDLAB_VERSION))
		srd_cli_warning("it was recorded by srdlab %s, and this is %s", version,
				SRDLAB_VERSION);
}

static void note_changes(const struct srd_cli_replay_file *file)
{
	size_t length;
	char *text;

	note_version(file->version);
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

	if (!(replay->recorded.config.backend->can & SRD_VERBS_CAN_VIRTUAL_TIME))
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
		srd_script_scenario(replay->recorded.script, replay->file.index);
	const struct srd_scenario_result *result = &replay->outcome.result;
	struct srd_report_head head = {
		.backend = replay->recorded.config.backend->name,
		.profile = srd_cli_profile_name(&replay->recorded.config),
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

/* The outcome as text; NULL: out of memory. */
static char *execute(struct replay *replay)
{
	const struct srd_cli_replay_file *file = &replay->file;
	const struct srd_scenario_info *info =
		srd_script_scenario(replay->recorded.script, file->index);
	char *request, *text;

	if (!file->queue_pair && !file->scheduler)
		return srd_cli_execute(replay->recorded.script, file->index,
				       &replay->recorded.config);
	request = json_dumps(file->root, JSON_COMPACT);
	text = request ? srd_cli_plug_in_execute(request, file->script_path, info->line,
						 &replay->recorded.config)
		       : NULL;
	free(request);
	return text;
}

static int run(struct replay *replay)
{
	char *text = execute(replay);
	int rc = text ? srd_cli_outcome_read(text, &replay->outcome) : -ENOMEM;

	free(text);
	if (!rc)
		rc = report(replay);
	if (!rc)
		return status(&replay->outcome);
	srd_cli_error("out of memory");
	return SRD_EXIT_INTERNAL;
}

static int run_scenario(const struct srd_cli_replay_options *options, json_t *root)
{
	struct replay replay = {.options = options, .recorded = {.suppressions = -1}};
	struct srd_error error = {0};
	int rc = read_file(&replay, root, &error);

	srd_cli_stuck(replay.file.script_path, SRD_EXIT_FAILED);
	if (!rc)
		rc = srd_cli_recorded_open(&replay.file, &replay.recorded, &error);
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
	srd_cli_outcome_release(&replay.outcome);
	srd_cli_recorded_release(&replay.recorded);
	srd_cli_replay_release(&replay.file);
	return rc;
}

/* The file is a log of decisions: its program runs again. */
static int run_program(const struct srd_cli_replay_options *options, json_t *root)
{
	const char *path = options->arguments.items[0];
	const struct srd_cli_written files[] = {
		{"--trace", options->trace.trace},
		{"--timeline", options->trace.timeline},
	};
	struct srd_cli_decisions decisions;
	struct srd_trace_run trace_run = {.backend = "exec"};
	struct srd_error error = {0};
	uint64_t violations;
	int rc = srd_cli_decisions_unpack(path, root, &decisions, &error), status;

	if (!rc && !srd_launcher_get())
		rc = srd_error_set(&error, -ENOTSUP,
				   "this srdlab was built without rdma-core, and so without a "
				   "device");
	if (!rc)
		rc = srd_cli_written_check(files, 2, &error);
	if (!rc)
		rc = srd_cli_written_spare(files, 2, path, &error);
	if (rc) {
		srd_cli_error("%s", error.message);
		status = rc == -ENOMEM || rc == -ENOTSUP ? SRD_EXIT_INTERNAL : SRD_EXIT_USAGE;
	} else {
		trace_run.script = decisions.execution.argv[0];
		trace_run.profile = decisions.execution.profile.name;
		trace_run.seed = decisions.execution.seed;
		decisions.execution.watch.trace = options->trace.trace;
		decisions.execution.watch.timeline = options->trace.timeline;
		decisions.execution.watch.run = &trace_run;
		note_version(decisions.version);
		status = srd_cli_execution_run(&decisions.execution, &violations);
		if (decisions.log.followed && options->verbose)
			fprintf(stderr, "the same run: %" PRIu64 " decisions were followed\n",
				decisions.log.num);
		if (!decisions.log.followed && !status)
			status = SRD_EXIT_FAILED;
	}
	srd_cli_decisions_release(&decisions);
	return status;
}

int srd_cli_replay(const struct srd_cli_replay_options *options)
{
	struct srd_error error = {0};
	json_t *root;
	int rc = srd_cli_fields_load(options->arguments.items[0], FILE_LIMIT, &root, &error);

	if (rc) {
		srd_cli_error("%s", error.message);
		return rc == -ENOMEM ? SRD_EXIT_INTERNAL : SRD_EXIT_USAGE;
	}
	return srd_cli_fields_are(root, SRD_CLI_DECISIONS) ? run_program(options, root)
							   : run_scenario(options, root);
}
