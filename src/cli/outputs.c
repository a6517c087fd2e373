/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/outputs.h"

static struct srd_report *terminal(const struct srd_cli_run_options *options, FILE *file)
{
	struct srd_terminal_options terminal = {
		.colours = srd_cli_colours(file),
		.verbose = options->verbose,
		.timing = isatty(fileno(file)),
		.slowest = (int)options->slowest,
	};

	return srd_report_terminal(file, &terminal);
}

/* REPORT is made for FILE already; NULL: there was no memory for it. */
static int append(struct srd_cli_outputs *outputs, const char *path, FILE *file,
		  struct srd_report *report, struct srd_error *error)
{
	outputs->items[outputs->count++] = (struct srd_cli_output){path, file, report};
	return report ? 0 : srd_error_set(error, -ENOMEM, "out of memory");
}

/* A report to PATH, where "-" is standard output, which only one may have. */
static int append_path(struct srd_cli_outputs *outputs, const char *path,
		       struct srd_report *(*make)(FILE *), bool *taken, struct srd_error *error)
{
	FILE *file;

	if (!path)
		return 0;
	if (!strcmp(path, "-")) {
		if (*taken)
			return srd_error_set(error, -EINVAL,
					     "two reports cannot both go to standard output");
		*taken = true;
		return append(outputs, NULL, stdout, make(stdout), error);
	}
	file = fopen(path, "we");
	if (!file)
		return srd_error_set(error, -errno, "the report %s cannot be written: %m", path);
	return append(outputs, path, file, make(file), error);
}

int srd_cli_outputs_open(const struct srd_cli_run_options *options, struct srd_cli_outputs *outputs,
			 struct srd_error *error)
{
	bool taken = false;
	FILE *rest;
	int rc;

	*outputs = (struct srd_cli_outputs){0};
	rc = append_path(outputs, options->tap ? "-" : NULL, srd_report_tap, &taken, error);
	if (!rc)
		rc = append_path(outputs, options->junit, srd_report_junit, &taken, error);
	if (!rc)
		rc = append_path(outputs, options->json, srd_report_json, &taken, error);
	if (rc || options->tap)
		return rc;
	/* The report for people is always there, and makes way to one for programs. */
	rest = taken ? stderr : stdout;
	return append(outputs, NULL, rest, terminal(options, rest), error);
}

int srd_cli_outputs_begin(struct srd_cli_outputs *outputs, const struct srd_report_head *head)
{
	int rc = 0;

	for (int i = 0; !rc && i < outputs->count; i++) {
		struct srd_report *report = outputs->items[i].report;

		rc = report->ops->begin(report, head);
	}
	return rc;
}

int srd_cli_outputs_add(struct srd_cli_outputs *outputs, const struct srd_report_case *one)
{
	int rc = 0;

	for (int i = 0; !rc && i < outputs->count; i++) {
		struct srd_report *report = outputs->items[i].report;

		rc = report->ops->add(report, one);
	}
	return rc;
}

int srd_cli_outputs_end(struct srd_cli_outputs *outputs, const struct srd_report_tail *tail)
{
	int rc = 0;

	for (int i = 0; !rc && i < outputs->count; i++) {
		struct srd_report *report = outputs->items[i].report;

		rc = report->ops->end(report, tail);
	}
	return rc;
}

static int close_one(struct srd_cli_output *output, struct srd_error *error)
{
	bool failed = fflush(output->file) || ferror(output->file);
	int code = errno;

	if (output->report)
		output->report->ops->destroy(output->report);
	if (!output->path)
		return 0; /* main looks at standard output */
	if (fclose(output->file) && !failed) {
		failed = true;
		code = errno;
	}
	if (!failed)
		return 0;
	return srd_error_set(error, -EIO, "the report %s could not be written to its end: %s",
			     output->path, strerror(code));
}

int srd_cli_outputs_close(struct srd_cli_outputs *outputs, struct srd_error *error)
{
	int rc = 0;

	for (int i = 0; i < outputs->count; i++) {
		int one = close_one(&outputs->items[i], rc ? NULL : error);

		rc = rc ? rc : one;
	}
	outputs->count = 0;
	return rc;
}
