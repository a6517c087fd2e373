/* SPDX-License-Identifier: MIT */
/* srdlab exec: a program on a device that is not there. */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/cli.h"
#include "cli/lab.h"
#include "cli/program.h"
#include "cli/written.h"
#include "verbs/alloc.h"
#include "verbs/launch.h"
#include "verbs/profile.h"

#define MAX_DEPTH 32768 /* libefa's counters of a queue have 16 bits */

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

static int launch(const struct srd_cli_exec_options *options, const struct srd_profile *profile,
		  const struct choices *choices, const struct srd_cli_program *program, char **argv,
		  int *status)
{
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
		.argv = argv,
		.say = say,
	};
	struct srd_error error = {0};
	int raw, rc = srd_launcher_get()->run(&launch, &raw, &error);

	if (rc) {
		srd_cli_error("%s", error.message);
		*status = error.code == -EINVAL ? SRD_EXIT_USAGE : SRD_EXIT_INTERNAL;
		return rc;
	}
	*status = program_status(raw);
	return 0;
}

/* The program, with whatever watches it. Returns the exit status. */
static int run(const struct srd_cli_exec_options *options, const struct srd_profile *profile,
	       const struct choices *choices, char **argv)
{
	struct srd_trace_run trace_run = {
		.script = argv[0],
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
		rc = launch(options, profile, choices, &program, argv, &status);
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
	const char *read[] = {options->suppressions, options->profile, options->arguments.items[0]};
	int rc = srd_cli_written_check(files, 2, error);

	for (int i = 0; !rc && i < 3; i++)
		rc = srd_cli_written_spare(files, 2, read[i], error);
	return rc;
}

int srd_cli_exec(const struct srd_cli_exec_options *options)
{
	const struct srd_cli_list *words = &options->arguments;
	struct srd_error error = {0};
	struct srd_profile profile;
	struct choices choices;
	char **argv;
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
	argv = srd_calloc((size_t)words->count + 1, sizeof(*argv));
	if (!argv) {
		srd_cli_error("out of memory");
		return SRD_EXIT_INTERNAL;
	}
	memcpy(argv, words->items, (size_t)words->count * sizeof(*argv));
	status = run(options, &profile, &choices, argv);
	srd_free(argv);
	return status;
}
