/* SPDX-License-Identifier: MIT */
/* srdlab exec: a program on a device that is not there. */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/cli.h"
#include "cli/lab.h"
#include "cli/program.h"
#include "cli/stuck.h"
#include "cli/written.h"
#include "lua/steer.h"
#include "verbs/alloc.h"
#include "verbs/launch.h"
#include "verbs/profile.h"

#define MAX_DEPTH 32768 /* libefa's counters of a queue have 16 bits */
/* ns that a function of a script may take: the program waits for it. */
#define SCRIPT_TIME UINT64_C(10000000000)

/* Numbers of what was chosen. */
struct choices {
	int clock, memory, doorbell;
};

static void say(const char *text)
{
	srd_cli_warning("%s", text);
}

static uint32_t at_most(uint32_t value)
{
	return value < MAX_DEPTH ? value : MAX_DEPTH;
}

static int open_profile(const struct srd_cli_exec_options *options, struct srd_profile *profile,
			struct srd_error *error)
{
	int rc = srd_cli_profile(options->profile, &options->define, profile, error);

	if (!rc && options->order)
		rc = srd_profile_set(profile, "order", options->order, error);
	profile->max_sq_wr = at_most(profile->max_sq_wr);
	profile->max_rq_wr = at_most(profile->max_rq_wr);
	profile->max_cqe = at_most(profile->max_cqe);
	return rc;
}

/* The number of GIVEN among NAMES; -EINVAL with *error. */
static int choose(const char *given, const char *what, const char *const names[3],
		  struct srd_error *error)
{
	for (int i = 0; i < 3 && names[i]; i++)
		if (!strcmp(given, names[i]))
			return i;
	return srd_error_set(error, -EINVAL, "\"%s\" is no %s; there are: %s, %s%s%s", given, what,
			     names[0], names[1], names[2] ? ", " : "", names[2] ? names[2] : "");
}

static int read_choices(const struct srd_cli_exec_options *options, struct choices *choices,
			struct srd_error *error)
{
	static const char *const clocks[3] = {"auto", "called"};
	static const char *const memories[3] = {"shared", "copied"};
	static const char *const doorbells[3] = {"auto", "trapped", "watched"};

	choices->clock = choose(options->clock, "clock", clocks, error);
	if (choices->clock < 0)
		return choices->clock;
	choices->memory = choose(options->memory, "way to memory", memories, error);
	if (choices->memory < 0)
		return choices->memory;
	choices->doorbell = choose(options->doorbell, "way to learn of work", doorbells, error);
	return choices->doorbell < 0 ? choices->doorbell : 0;
}

static int program_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* What runs: a program, and what watches it. */
struct execution {
	const struct srd_cli_exec_options *options;
	const struct srd_profile *profile;
	const struct choices *choices;
	struct srd_steer *steer; /* NULL: there is no script */
	char **argv;
};

static int launch(const struct execution *execution, const struct srd_cli_program *program,
		  int *status)
{
	const struct srd_cli_exec_options *options = execution->options;
	const struct srd_profile *profile = execution->profile;
	const struct choices *choices = execution->choices;
	struct srd_launch_options launch = {
		.profile = profile,
		.seed = options->seed,
		.devices = options->devices   ? (uint32_t)options->devices
			   : profile->devices ? profile->devices
					      : 1,
		.called_clock = choices->clock,
		.copied = choices->memory,
		.doorbell = (uint32_t)choices->doorbell,
		.group = options->group,
		.record = srd_cli_program_wanted(program) ? &program->record : NULL,
		.script = execution->steer ? srd_steer_script(execution->steer) : NULL,
		.argv = execution->argv,
		.say = say,
	};
	struct srd_error error = {0};
	int raw, rc = srd_launcher_get()->run(&launch, &raw, &error);

	if (rc) {
		srd_cli_error("%s", error.message);
		*status = error.code == -EINVAL ? SRD_EXIT_USAGE : SRD_EXIT_INTERNAL;
		return rc;
	}
	*status = execution->steer && srd_steer_has_failed(execution->steer) ? SRD_EXIT_USAGE
									     : program_status(raw);
	return 0;
}

/* The program, with whatever watches it. Returns the exit status. */
static int run(const struct execution *execution)
{
	const struct srd_cli_exec_options *options = execution->options;
	struct srd_trace_run trace_run = {
		.script = execution->argv[0],
		.backend = "exec",
		.profile = options->profile,
		.seed = options->seed,
	};
	struct srd_cli_program_options watch = {
		.rules = options->rules,
		.suppressions = options->suppressions,
		.trace = options->trace.trace,
		.timeline = options->trace.timeline,
		.run = &trace_run,
	};
	struct srd_cli_program program;
	struct srd_error error = {0};
	uint64_t violations = 0;
	int status = 0, rc = srd_cli_program_open(&program, &watch, &error), ended;

	if (rc)
		status = srd_cli_refuse("%s", error.message);
	else
		rc = launch(execution, &program, &status);
	ended = srd_cli_program_close(&program, &violations, &error);
	if (rc)
		return status;
	if (ended) {
		srd_cli_error("%s", error.message);
		return SRD_EXIT_INTERNAL;
	}
	return violations && options->error_exitcode ? (int)options->error_exitcode : status;
}

/* No file that is written is one that is read. */
static int check_written(const struct srd_cli_exec_options *options, struct srd_error *error)
{
	const struct srd_cli_written files[] = {
		{"--trace", options->trace.trace},
		{"--timeline", options->trace.timeline},
	};
	const char *read[] = {options->suppressions, options->profile, options->script,
			      options->arguments.items[0]};
	int rc = srd_cli_written_check(files, 2, error);

	for (int i = 0; !rc && i < 4; i++)
		rc = srd_cli_written_spare(files, 2, read[i], error);
	return rc;
}

static void script_log(void *arg, const char *text)
{
	fprintf(stderr, "%s\n", text);
}

static void script_failed(const char *text)
{
	srd_cli_error("%s", text);
}

/* Open the script, where one is given. */
static int open_script(const struct srd_cli_exec_options *options, struct srd_steer **steer)
{
	struct srd_steer_options script = {
		.path = options->script,
		.seed = options->seed,
		.sandbox.time_limit = SCRIPT_TIME,
		.log = script_log,
		.failed = script_failed,
	};
	struct srd_error error = {0};

	*steer = NULL;
	if (!options->script)
		return 0;
	srd_cli_stuck(options->script, SRD_EXIT_USAGE);
	if (!srd_steer_open(&script, steer, &error))
		return 0;
	srd_cli_error("%s", error.message);
	return SRD_EXIT_USAGE;
}

int srd_cli_exec(const struct srd_cli_exec_options *options)
{
	const struct srd_cli_list *words = &options->arguments;
	struct srd_error error = {0};
	struct srd_profile profile;
	struct choices choices;
	struct execution execution = {.options = options, .profile = &profile, .choices = &choices};
	int status;

	if (!srd_launcher_get()) {
		srd_cli_error("this srdlab was built without rdma-core, and so without a device");
		return SRD_EXIT_INTERNAL;
	}
	if (open_profile(options, &profile, &error) || read_choices(options, &choices, &error) ||
	    check_written(options, &error))
		return srd_cli_refuse("%s", error.message);
	if (options->suppressions && !options->rules)
		return srd_cli_refuse("--suppressions need --rules");
	if (options->error_exitcode && !options->rules)
		return srd_cli_refuse("--error-exitcode needs --rules");
	execution.argv = srd_calloc((size_t)words->count + 1, sizeof(*execution.argv));
	if (!execution.argv) {
		srd_cli_error("out of memory");
		return SRD_EXIT_INTERNAL;
	}
	memcpy(execution.argv, words->items, (size_t)words->count * sizeof(*execution.argv));
	status = open_script(options, &execution.steer);
	if (!status)
		status = run(&execution);
	srd_steer_close(execution.steer);
	srd_free(execution.argv);
	return status;
}
