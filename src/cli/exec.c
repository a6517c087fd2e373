/* SPDX-License-Identifier: MIT */
/* srdlab exec: a program on a device that is not there. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/execution.h"
#include "cli/lab.h"
#include "cli/written.h"
#include "verbs/alloc.h"
#include "verbs/file.h"
#include "verbs/launch.h"
#include "verbs/profile.h"

#define SCRIPT_LIMIT ((size_t)16 << 20)
#define WATCHED      2     /* of the ways to learn of work */
#define MAX_DEPTH    32768 /* libefa's counters of a queue have 16 bits */

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
	if (!rc && profile->transport == SRD_PROFILE_TRANSPORT_RC)
		rc = srd_error_set(
			error, -EINVAL,
			"%s is no EFA device: its transport is rc, and that of EFA is srd",
			profile->name);
	profile->max_sq_wr = at_most(profile->max_sq_wr);
	profile->max_rq_wr = at_most(profile->max_rq_wr);
	profile->max_cqe = at_most(profile->max_cqe);
	return rc;
}

/* The number of GIVEN among NAMES; false with *error. */
static bool choose(const char *given, const char *what, const char *const names[3], uint32_t *out,
		   struct srd_error *error)
{
	for (*out = 0; *out < 3 && names[*out]; ++*out)
		if (!strcmp(given, names[*out]))
			return true;
	srd_error_set(error, -EINVAL, "\"%s\" is no %s; there are: %s, %s%s%s", given, what,
		      names[0], names[1], names[2] ? ", " : "", names[2] ? names[2] : "");
	return false;
}

static int read_choices(const struct srd_cli_exec_options *options,
			struct srd_cli_execution *execution, struct srd_error *error)
{
	static const char *const clocks[3] = {"auto", "called"};
	static const char *const memories[3] = {"shared", "copied"};
	static const char *const doorbells[3] = {"auto", "trapped", [WATCHED] = "watched"};
	bool good = choose(options->clock, "clock", clocks, &execution->clock, error) &&
		    choose(options->memory, "way to memory", memories, &execution->memory, error) &&
		    choose(options->doorbell, "way to learn of work", doorbells,
			   &execution->doorbell, error);

	return good ? 0 : -EINVAL;
}

/* The program, and its decisions into their file. Returns the exit status. */
static int run(const struct srd_cli_exec_options *options, struct srd_cli_execution *execution)
{
	struct srd_launch_log log = {0};
	struct srd_error error = {0};
	FILE *decisions = NULL;
	uint64_t violations;
	int status;

	if (options->decisions) {
		if (srd_cli_decisions_open(options->decisions, execution, &decisions, &error))
			return srd_cli_refuse("%s", error.message);
		execution->log = &log;
	}
	status = srd_cli_execution_run(execution, &violations);
	if (decisions &&
	    srd_cli_decisions_close(decisions, options->decisions, execution, &error)) {
		srd_cli_error("%s", error.message);
		status = SRD_EXIT_INTERNAL;
	}
	srd_free(log.list);
	return violations && options->error_exitcode ? (int)options->error_exitcode : status;
}

/* What was asked for that only the first program of a group can ask for: names, with commas. */
static void name_first(const struct srd_cli_exec_options *options, char *text, size_t size)
{
	const struct {
		const char *name;
		bool given; /* and not as it is by default */
	} all[] = {
		{"--profile", strcmp(options->profile, "efa1") != 0},
		{"-D", options->define.count},
		{"--order", options->order},
		{"--seed", options->seed != 1},
		{"--clock", strcmp(options->clock, "auto") != 0},
		{"--doorbell", strcmp(options->doorbell, "auto") != 0},
		{"--memory", strcmp(options->memory, "shared") != 0},
	};
	size_t used = 0;

	*text = '\0';
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].given && used < size)
			used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
						 all[i].name);
}

/* No file that is written is one that is read. */
static int check_written(const struct srd_cli_exec_options *options, struct srd_error *error)
{
	const struct srd_cli_written files[] = {
		{"--trace", options->trace.trace},
		{"--timeline", options->trace.timeline},
		{"--decisions", options->decisions},
	};
	const char *read[] = {options->suppressions, options->profile, options->script,
			      options->arguments.items[0]};
	int rc = srd_cli_written_check(files, 3, error);

	if (!rc && options->script && !strcmp(options->script, "-"))
		rc = srd_error_set(error, -EINVAL,
				   "--script - : standard input is the program's; name a file");
	for (int i = 0; !rc && i < 4; i++)
		rc = srd_cli_written_spare(files, 3, read[i], error);
	return rc;
}

/* For a srdlab run that is the program, whose reports say how to repeat what they tell of. */
static int tell_command(const struct srd_cli_exec_options *options, struct srd_error *error)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int err = out ? 0 : ENOMEM;

	if (out) {
		fprintf(out, "%s exec", srd_cli_program);
		srd_cli_put_repeated(out, srd_cli_command, options);
		fputs(" --", out);
		err = fclose(out) || setenv(SRD_CLI_ENV_EXEC, text, 1) ? ENOMEM : 0;
	}
	free(text);
	return err ? srd_error_set(error, -err, "out of memory") : 0;
}

/* Once, since the program may change it, and a pipe can be read only once. */
static int read_script(struct srd_cli_execution *execution, char **text, struct srd_error *error)
{
	int rc = 0;

	if (execution->script)
		rc = srd_file_read(execution->script, SCRIPT_LIMIT, text, &execution->script_length,
				   error);
	execution->script_text = *text;
	return rc;
}

int srd_cli_exec(const struct srd_cli_exec_options *options)
{
	const struct srd_cli_list *words = &options->arguments;
	struct srd_error error = {0};
	struct srd_trace_run trace_run = {
		.script = words->items[0],
		.backend = "exec",
		.profile = options->profile,
		.seed = options->seed,
	};
	struct srd_cli_execution execution = {
		.seed = options->seed,
		.group = options->group,
		.script = options->script,
		.watch =
			{
				.rules = options->rules,
				.suppressions = options->suppressions,
				.trace = options->trace.trace,
				.timeline = options->trace.timeline,
				.run = &trace_run,
			},
	};
	char first[80], *text = NULL;
	int status;

	if (!srd_launcher_get()) {
		srd_cli_error("this srdlab was built without rdma-core, and so without a device");
		return SRD_EXIT_INTERNAL;
	}
	if (open_profile(options, &execution.profile, &error) ||
	    read_choices(options, &execution, &error) || check_written(options, &error) ||
	    read_script(&execution, &text, &error) || tell_command(options, &error))
		return srd_cli_refuse("%s", error.message);
	name_first(options, first, sizeof(first));
	if (*first)
		execution.first = first;
	if (execution.clock && execution.doorbell == WATCHED)
		return srd_cli_refuse("--clock called moves the device in the program's calls, and "
				      "--doorbell watched sees none: leave one of them out");
	if (options->suppressions && !options->rules)
		return srd_cli_refuse("--suppressions need --rules");
	if (options->error_exitcode && !options->rules)
		return srd_cli_refuse("--error-exitcode needs --rules");
	execution.devices = options->devices            ? (uint32_t)options->devices
			    : execution.profile.devices ? execution.profile.devices
							: 1;
	execution.argv = srd_calloc((size_t)words->count + 1, sizeof(*execution.argv));
	if (!execution.argv) {
		srd_cli_error("out of memory");
		return SRD_EXIT_INTERNAL;
	}
	memcpy(execution.argv, words->items, (size_t)words->count * sizeof(*execution.argv));
	status = run(options, &execution);
	srd_free(execution.argv);
	srd_free(text);
	return status;
}
