/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sys/wait.h>

#include "cli/cli.h"
#include "cli/execution.h"
#include "cli/scripts.h"
#include "cli/stuck.h"
#include "lua/steer.h"
#include "report/text.h"
#include "verbs/alloc.h"

/* ns that a function of a script may take: the program waits for it. */
#define SCRIPT_TIME UINT64_C(10000000000)

static void say(const char *text)
{
	srd_cli_warning("%s", text);
}

static int program_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Nothing that is asked of the program's use of the device can be answered, and this is why. */
static void tell_unmet(const struct srd_cli_execution *execution,
		       const struct srd_launch_reach *reach)
{
	static const char *const whats[] = {
		[SRD_LAUNCH_STATIC] = "is linked statically",
		[SRD_LAUNCH_32BIT] = "is a 32-bit program",
		[SRD_LAUNCH_SETUID] = "is set-user-ID",
		[SRD_LAUNCH_CAPABLE] = "gains capabilities",
	};
	const char *before = execution->watch.rules ? "nothing was judged: "
			     : execution->script    ? "the script had nothing to do: "
			     : execution->log       ? "nothing was decided: "
						    : "";

	if (reach->met != SRD_LAUNCH_MET && reach->met != SRD_LAUNCH_UNUSED)
		srd_cli_warning("%s%s%s%s %s, and so cannot be given the device", before,
				execution->argv[0], *reach->interpreter ? "'s interpreter " : "",
				reach->interpreter, whats[reach->met]);
	else if (reach->met == SRD_LAUNCH_UNUSED && *before)
		srd_cli_warning("%sno process of the program opened a device; one that is linked "
				"statically, 32-bit, set-user-ID or without LD_PRELOAD cannot",
				before);
}

static int launch(const struct srd_cli_execution *execution, const struct srd_steer *steer,
		  struct srd_cli_program *program, int *status)
{
	struct srd_launch_options launch = {
		.profile = &execution->profile,
		.seed = execution->seed,
		.devices = execution->devices,
		.called_clock = execution->clock,
		.copied = execution->memory,
		.doorbell = execution->doorbell,
		.group = execution->group,
		.first = execution->first,
		.record = srd_cli_program_wanted(program) ? &program->record : NULL,
		.script = steer ? srd_steer_script(steer) : NULL,
		.log = execution->log,
		.replay = execution->replay,
		.argv = execution->argv,
		.say = say,
	};
	struct srd_launch_reach reach = {.met = SRD_LAUNCH_MET};
	struct srd_error error = {0};
	int raw, rc = srd_launcher_get()->run(&launch, &raw, &reach, &error);

	if (rc) {
		srd_cli_error("%s", error.message);
		*status = error.code == -EINVAL ? SRD_EXIT_USAGE : SRD_EXIT_INTERNAL;
		return rc;
	}
	*status = steer && srd_steer_has_failed(steer) ? SRD_EXIT_USAGE : program_status(raw);
	tell_unmet(execution, &reach);
	program->unmet = reach.met != SRD_LAUNCH_MET;
	if (program->unmet && (program->rules || steer || execution->log) && !*status)
		*status = SRD_EXIT_SKIPPED;
	return 0;
}

static void script_log(void *arg, const char *text)
{
	char *clean = srd_text_clean(text);

	fprintf(stderr, "%s\n", clean ? clean : "(a line of the script's: out of memory)");
	srd_free(clean);
}

/* As a scenario's mistakes are told. */
static void script_failed(const char *path, const char *text)
{
	struct srd_error error;
	int line;

	srd_error_set(&error, 0, "%s", text);
	line = srd_cli_split_place(path, &error);
	fflush(stdout);
	srd_cli_put_place(stderr, path, line, error.message);
}

/* Open the script, where there is one. The exit status, 0: go on. */
static int open_script(const struct srd_cli_execution *execution, struct srd_steer **steer)
{
	struct srd_steer_options script = {
		.path = execution->script,
		.text = execution->script_text,
		.length = execution->script_length,
		.seed = execution->seed,
		.sandbox.time_limit = SCRIPT_TIME,
		.log = script_log,
		.failed = script_failed,
	};
	struct srd_error error = {0};

	*steer = NULL;
	if (!execution->script)
		return 0;
	srd_cli_stuck(execution->script, SRD_EXIT_USAGE);
	if (!srd_steer_open(&script, steer, &error))
		return 0;
	script_failed(execution->script, error.message);
	return SRD_EXIT_USAGE;
}

/* The program, with whatever watches it. */
static int watch(const struct srd_cli_execution *execution, const struct srd_steer *steer,
		 uint64_t *violations)
{
	struct srd_cli_program program;
	struct srd_error error = {0};
	int status = 0, rc = srd_cli_program_open(&program, &execution->watch, &error), ended;

	if (rc) {
		program.unmet = true; /* it never ran */
		status = srd_cli_refuse("%s", error.message);
	} else {
		rc = launch(execution, steer, &program, &status);
	}
	ended = srd_cli_program_close(&program, violations, &error);
	if (rc)
		return status;
	if (ended) {
		srd_cli_error("%s", error.message);
		return SRD_EXIT_INTERNAL;
	}
	return status;
}

int srd_cli_execution_run(const struct srd_cli_execution *execution, uint64_t *violations)
{
	struct srd_steer *steer;
	int status = open_script(execution, &steer);

	*violations = 0;
	if (!status)
		status = watch(execution, steer, violations);
	srd_steer_close(steer);
	return status;
}
