/* SPDX-License-Identifier: MIT */
/* srdlab run: what was selected, in other processes, into all reports. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/judged.h"
#include "cli/lab.h"
#include "cli/outputs.h"
#include "cli/plan.h"
#include "cli/plug_in.h"
#include "cli/pool.h"
#include "cli/progress.h"
#include "cli/repeat.h"
#include "cli/streams.h"
#include "cli/written.h"
#include "report/text.h"
#include "verbs/alloc.h"
#include "verbs/profile.h"

struct run {
	const struct srd_cli_run_options *options;
	struct srd_cli_scripts scripts;
	struct srd_cli_plan plan;
	struct srd_profile profile;
	struct srd_run_config config;
	struct srd_cli_outputs outputs;
	struct srd_cli_streams streams;
	struct srd_report_tail tail;
	struct srd_cli_judged judged;
	int jobs;                             /* processes */
	uint64_t done;                        /* items */
	uint64_t unloaded;                    /* items that are files which could not be loaded */
	uint64_t started;                     /* CLOCK_MONOTONIC ns */
	uint64_t deadline;                    /* 0: none */
	bool broken;                          /* the tool itself failed */
	bool cut;                             /* a process died, and with it the streams */
	const struct srd_cli_entry *replayed; /* the last scenario that left a replay file */
};

static volatile sig_atomic_t interrupted;

/* What a person, a CI system and a terminal that goes away end a run with. */
static const int ends[] = {SIGINT, SIGTERM, SIGHUP};

#define NUM_ENDS (sizeof(ends) / sizeof(ends[0]))

/* The second one ends the process: the handler is for the first only. */
static void interrupt(int number)
{
	static const char text[] = "\ninterrupted: once more ends it at once\n";
	ssize_t ignored = write(STDERR_FILENO, text, sizeof(text) - 1);

	(void)ignored;
	interrupted = 1;
}

static bool has_plug_in(const struct srd_cli_run_options *options)
{
	return options->plug_in.queue_pair || options->plug_in.scheduler;
}

/* ITEM against the plug-ins, or why not. */
static char *run_plug_in(const struct run *run, const struct srd_cli_item *item,
			 const struct srd_run_config *config)
{
	const struct srd_cli_script *script = item->entry->script;
	const struct srd_scenario_info *info =
		srd_script_scenario(script->script, item->entry->scenario);
	const char *reason = srd_cli_plug_in_skip(info);
	struct srd_error error = {0};
	char *request, *text;

	if (reason)
		return srd_cli_outcome_skip(reason);
	request = srd_cli_replay_text(run->options, config, item, &error);
	if (!request)
		return srd_cli_outcome_text(script->path, info->line, error.message, true);
	text = srd_cli_plug_in_execute(request, script->path, info->line, config);
	free(request);
	return text;
}

static char *run_item(void *arg, uint64_t number)
{
	struct run *run = arg;
	struct srd_cli_item item = srd_cli_plan_item(&run->plan, number);
	const struct srd_cli_script *script = item.entry->script;
	struct srd_run_config config = run->config;

	if (item.entry->scenario < 0)
		return srd_cli_outcome_text(script->path, script->error_line, script->error.message,
					    false);
	config.seed = item.seed;
	if (has_plug_in(run->options))
		return run_plug_in(run, &item, &config);
	return srd_cli_execute(script->script, item.entry->scenario, &config);
}

static void count(struct run *run, const struct srd_cli_item *item,
		  const struct srd_cli_outcome *outcome)
{
	run->done++;
	run->unloaded += item->entry->scenario < 0;
	run->broken = run->broken || outcome->broken;
	srd_cli_judged_add(&run->judged, &outcome->result);
	switch (outcome->result.verdict) {
	case SRD_PASSED:
		run->tail.passed++;
		break;
	case SRD_FAILED:
		run->tail.failed++;
		break;
	case SRD_SKIPPED:
		run->tail.skipped++;
		break;
	}
}

/* For the first seed that a scenario fails with; *PATH is NULL where there is none. */
static void leave_replay(struct run *run, const struct srd_cli_item *item,
			 const struct srd_cli_outcome *outcome, char **path)
{
	struct srd_error error = {0};

	*path = NULL;
	if (run->replayed == item->entry || !*run->options->replay_dir)
		return;
	run->replayed = item->entry;
	if (!srd_cli_replay_write(run->options, &run->config, item, outcome, path, &error))
		return;
	srd_cli_progress_clear();
	srd_cli_warning("no replay file: %s", error.message);
	srd_free(*path);
	*path = NULL;
}

/* Everything of the case but the two names, which are cleaned. */
static int report(struct run *run, const struct srd_cli_item *item,
		  const struct srd_cli_outcome *outcome, struct srd_report_case *one)
{
	bool failed = outcome->result.verdict == SRD_FAILED && one->name;
	char *repeat = failed ? srd_cli_repeat_command(run->options, item) : NULL;
	char *replay = NULL;
	int rc;

	if (failed)
		leave_replay(run, item, outcome, &replay);
	one->seed = item->seed;
	one->broken = outcome->broken;
	one->result = &outcome->result;
	one->log = outcome->log;
	one->repeat = repeat;
	one->replay = replay;
	srd_cli_progress_clear();
	rc = srd_cli_outputs_add(&run->outputs, one);
	free(repeat);
	srd_free(replay);
	return rc;
}

static int count_and_report(struct run *run, const struct srd_cli_item *item,
			    const struct srd_cli_outcome *outcome)
{
	const struct srd_cli_script *script = item->entry->script;
	const struct srd_scenario_info *info =
		script->script ? srd_script_scenario(script->script, item->entry->scenario) : NULL;
	char *file = srd_text_clean(script->path);
	char *name = info ? srd_text_clean(info->name) : NULL;
	struct srd_report_case one = {
		.file = file,
		.name = name,
		.line = info ? info->line : script->error_line,
		.info = info,
	};
	int rc = -ENOMEM;

	count(run, item, outcome);
	if (file && (name || !info))
		rc = report(run, item, outcome, &one);
	srd_free(name);
	srd_free(file);
	return rc;
}

/* Only the first process writes the streams, and its last records went with it. */
static void note_death(struct run *run)
{
	if (run->cut || !srd_cli_streams_wanted(&run->options->trace))
		return;
	run->cut = true;
	srd_cli_progress_clear();
	srd_cli_warning("the trace and the timeline end in the scenario whose process died");
}

static int take(void *arg, uint64_t number, char *text, const char *death)
{
	struct run *run = arg;
	struct srd_cli_item item = srd_cli_plan_item(&run->plan, number);
	const struct srd_cli_script *script = item.entry->script;
	struct srd_cli_outcome outcome;
	char *made = NULL;
	int rc;

	if (!text) {
		int line = script->script
				   ? srd_script_scenario(script->script, item.entry->scenario)->line
				   : 0;

		note_death(run);
		made = text = srd_cli_outcome_text(script->path, line, death, false);
		if (!text)
			return -ENOMEM;
	}
	rc = srd_cli_outcome_read(text, &outcome);
	if (!rc)
		rc = count_and_report(run, &item, &outcome);
	srd_cli_progress_show(run->done, run->plan.count, run->tail.failed);
	srd_cli_outcome_release(&outcome);
	free(made);
	return rc;
}

static int file_width(const struct srd_cli_scripts *scripts)
{
	size_t width = 0;

	for (int i = 0; i < scripts->count; i++)
		if (strlen(scripts->items[i].path) > width)
			width = strlen(scripts->items[i].path);
	return (int)width;
}

static int jobs(const struct srd_cli_run_options *options)
{
	return srd_cli_streams_wanted(&options->trace) ? 1 : srd_cli_jobs(options->jobs);
}

/* Words of a command line, each after a space; NULL: out of memory. For free. */
static char *words(const struct srd_cli_run_options *options, bool arguments)
{
	size_t size;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (int i = 0; arguments && i < options->arguments.count; i++)
		srd_cli_put_word(out, options->arguments.items[i]);
	if (!arguments)
		srd_cli_put_repeated(out, srd_cli_command, options);
	return fclose(out) ? NULL : text;
}

static int open_streams(struct run *run, struct srd_error *error)
{
	const struct srd_cli_run_options *options = run->options;
	char *scripts = words(options, true), *repeated = words(options, false);
	struct srd_trace_run what = {
		.script = scripts && *scripts ? scripts + 1 : NULL,
		.backend = run->config.backend->name,
		.profile = run->profile.name,
		.options = repeated && *repeated ? repeated + 1 : NULL,
		.seed = options->seeds.set ? options->seeds.first : options->seed,
	};
	int rc = scripts && repeated ? srd_cli_streams_open(&options->trace, &what, &run->streams,
							    &run->config, error)
				     : srd_error_set(error, -ENOMEM, "out of memory");

	free(scripts);
	free(repeated);
	return rc;
}

/* They are the worker's: it opens them, and ends them where nothing kills it. */
static bool enter(void *arg)
{
	struct run *run = arg;
	struct srd_error error;

	if (run->cut || !open_streams(run, &error))
		return true;
	srd_cli_error("%s", error.message);
	return false;
}

static bool leave(void *arg)
{
	struct run *run = arg;
	struct srd_error error;

	if (!srd_cli_streams_close(&run->streams, &error))
		return true;
	srd_cli_error("%s", error.message);
	return false;
}

/* So that what cannot be written is told before anything runs. */
static int try_streams(struct run *run, struct srd_error *error)
{
	int rc = open_streams(run, error);

	/* A disk that is full is the worker's to tell. */
	srd_cli_streams_close(&run->streams, NULL);
	run->config.num_readers = 0;
	return rc;
}

/* Run everything that is planned; a negative errno, or how it ended. */
static int work(struct run *run, struct srd_error *error)
{
	struct sigaction action = {.sa_handler = interrupt, .sa_flags = SA_RESETHAND};
	struct sigaction before[NUM_ENDS];
	struct srd_cli_pool pool = {
		.count = run->plan.count,
		.jobs = run->jobs,
		.arg = run,
		.enter = enter,
		.leave = leave,
		.run = run_item,
		.done = take,
		.deadline = run->deadline,
		.stop = &interrupted,
	};
	int rc;

	for (size_t i = 0; i < NUM_ENDS; i++) {
		sigaction(ends[i], &action, &before[i]);
		if (before[i].sa_handler == SIG_IGN) /* nohup, and a shell without job control */
			sigaction(ends[i], &before[i], NULL);
	}
	rc = srd_cli_pool_run(&pool, error);
	for (size_t i = 0; i < NUM_ENDS; i++)
		sigaction(ends[i], &before[i], NULL);
	srd_cli_progress_clear();
	return rc;
}

static const char *words_for(int end)
{
	switch (end) {
	case SRD_POOL_STOPPED:
		return "interrupted before all was run";
	case SRD_POOL_OUT_OF_TIME:
		return "out of time before all was run";
	}
	return NULL;
}

/* The first that applies, in the order of scripts/spec/options.lua. */
static int status(const struct run *run, int end)
{
	bool none_loaded = run->scripts.count && !run->scripts.num_loaded;

	if (run->broken || end < 0)
		return SRD_EXIT_INTERNAL;
	if (end == SRD_POOL_OUT_OF_TIME)
		return SRD_EXIT_TIMEOUT;
	if (end == SRD_POOL_STOPPED)
		return SRD_EXIT_INTERRUPTED;
	if (run->tail.failed && !none_loaded)
		return SRD_EXIT_FAILED;
	if (run->options->fail_on_skip && run->tail.skipped)
		return SRD_EXIT_FAILED;
	if (none_loaded)
		return SRD_EXIT_USAGE;
	if (!run->plan.count)
		return SRD_EXIT_NONE;
	return run->tail.passed ? SRD_EXIT_PASSED : SRD_EXIT_SKIPPED;
}

static int run_and_report(struct run *run, struct srd_error *error)
{
	struct srd_report_head head = {
		.backend = run->config.backend->name,
		.profile = srd_cli_profile_name(&run->config),
		.first_seed = run->plan.first_seed,
		.last_seed = run->plan.last_seed,
		.num_cases = run->plan.count,
		.file_width = file_width(&run->scripts),
	};
	int rc = srd_cli_outputs_begin(&run->outputs, &head);
	int end = rc ? rc : work(run, error);

	run->tail.ended = words_for(end);
	run->tail.wall_time = srd_cli_now() - run->started;
	if (!rc)
		rc = srd_cli_outputs_end(&run->outputs, &run->tail);
	if (rc && !error->code)
		srd_error_set(error, rc, "%s", strerror(-rc));
	return end < 0 ? end : rc ? rc : end;
}

/* Load and select. */
static int prepare(struct run *run, struct srd_error *error)
{
	const struct srd_cli_run_options *options = run->options;
	uint64_t first = options->seeds.set ? options->seeds.first : options->seed;
	uint64_t last = options->seeds.set ? options->seeds.last : options->seed;
	int rc;

	run->config.sandbox = srd_cli_sandbox(&options->sandbox);
	run->config.hash = true;
	rc = srd_cli_scripts_load(&options->arguments, &run->config.sandbox, &run->scripts);
	if (!rc)
		rc = srd_cli_plan_make(&run->scripts, &options->filter.filter, first, last,
				       &run->plan);
	for (int i = 0; !rc && i < run->scripts.count; i++) {
		const struct srd_cli_script *one = &run->scripts.items[i];

		if (one->script && !srd_script_count(one->script))
			srd_cli_warning("%s holds no scenario", one->path);
	}
	return rc ? srd_error_set(error, rc, "out of memory") : 0;
}

static int run_all(struct run *run)
{
	struct srd_error error = {0};
	int end = run_and_report(run, &error);

	if (srd_cli_outputs_close(&run->outputs, &error))
		end = error.code;
	srd_cli_judged_warn(&run->judged, run->options->judge.suppressions, run->options->verbose);
	if (end < 0)
		srd_cli_error("%s", error.message);
	else if (!run->plan.count)
		srd_cli_error("no scenario was selected");
	else if (run->options->fail_on_skip && run->tail.skipped)
		srd_cli_error("scenarios were skipped, and --fail-on-skip is given");
	return status(run, end);
}

/* Reports may go over nothing that this command reads. */
static int check_written(const struct run *run, struct srd_error *error)
{
	const struct srd_cli_run_options *options = run->options;
	const struct srd_cli_written files[] = {
		{"--junit", options->junit, true},
		{"--json", options->json, true},
		{"--trace", options->trace.trace},
		{"--timeline", options->trace.timeline},
	};
	const char *const read[] = {
		srd_profile_find(options->lab.profile) ? NULL : options->lab.profile,
		options->judge.suppressions,
		options->plug_in.queue_pair,
		options->plug_in.scheduler,
	};
	int rc = srd_cli_written_check(files, 4, error);

	for (int i = 0; !rc && i < 4; i++)
		rc = srd_cli_written_spare(files, 4, read[i], error);
	for (int i = 0; !rc && i < run->scripts.count; i++)
		rc = srd_cli_written_spare(files, 4, run->scripts.items[i].path, error);
	return rc;
}

int srd_cli_run(const struct srd_cli_run_options *options)
{
	struct run *run = srd_calloc(1, sizeof(*run));
	struct srd_error error = {0};
	const struct srd_sandbox sandbox = srd_cli_sandbox(&options->sandbox);
	int rc = -ENOMEM;

	if (!run) {
		srd_cli_error("out of memory");
		return SRD_EXIT_INTERNAL;
	}
	run->options = options;
	run->jobs = jobs(options);
	run->started = srd_cli_now();
	run->deadline = options->timeout ? run->started + options->timeout : 0;
	rc = srd_cli_lab(&options->lab, &options->judge, &run->profile, &run->config, &error);
	if (!rc)
		rc = srd_cli_plug_in_probe(options->plug_in.queue_pair, options->plug_in.scheduler,
					   &sandbox, &error);
	if (!rc)
		rc = prepare(run, &error);
	if (!rc)
		rc = check_written(run, &error);
	if (!rc)
		rc = srd_cli_outputs_open(options, &run->outputs, &error);
	if (!rc)
		rc = try_streams(run, &error);
	if (!rc) {
		rc = run_all(run);
	} else {
		srd_cli_outputs_close(&run->outputs, NULL);
		rc = error.code == -ENOMEM ? SRD_EXIT_INTERNAL : SRD_EXIT_USAGE;
		srd_cli_error("%s", error.message);
	}
	srd_cli_plan_release(&run->plan);
	srd_cli_scripts_release(&run->scripts);
	srd_free(run);
	return rc;
}
