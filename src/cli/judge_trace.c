/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "cli/program.h"

bool srd_cli_is_file(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode);
}

/* The next scenario of a trace, or all of one that has none. *MORE: there may be another. */
static int judge_part(const struct srd_cli_judge *options, struct srd_trace_reader *reader,
		      const struct srd_event **event, uint64_t *violations, struct srd_error *error)
{
	const struct srd_trace_run *run = srd_trace_reader_run(reader);
	struct srd_cli_program_options watch = {
		.rules = options->rules,
		.suppressions = options->suppressions,
		.script = !run->backend || strcmp(run->backend, "exec"),
	};
	struct srd_cli_program program;
	int rc = srd_cli_program_open(&program, &watch, error), end;

	while (!rc && *event) {
		srd_cli_program_event(&program, *event);
		rc = srd_trace_next(reader, event, error);
		if (!rc)
			*event = NULL;
		if (rc >= 0)
			rc = 0;
		if (*event && (*event)->type == SRD_EV_SCENARIO_BEGIN)
			break;
	}
	end = srd_cli_program_close(&program, violations, rc ? NULL : error);
	return rc ? rc : end;
}

int srd_cli_judge_trace(const struct srd_cli_judge *options, const char *path)
{
	struct srd_trace_reader *reader = NULL;
	const struct srd_event *event = NULL;
	uint64_t total = 0, violations;
	struct srd_error error = {0};
	int rc = srd_trace_read(path, &reader, &error);

	if (!rc)
		rc = srd_trace_next(reader, &event, &error);
	if (!rc)
		event = NULL;
	for (rc = rc < 0 ? rc : 0; !rc && event; total += violations)
		rc = judge_part(options, reader, &event, &violations, &error);
	srd_trace_reader_close(reader);
	if (rc) {
		srd_cli_error("%s", error.message);
		return rc == -ENOMEM ? SRD_EXIT_INTERNAL : SRD_EXIT_USAGE;
	}
	return total ? SRD_EXIT_FAILED : SRD_EXIT_PASSED;
}
