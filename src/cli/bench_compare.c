/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "cli/bench_compare.h"
#include "cli/cli.h"

/* A line of a report that has what is compared; else NULL. */
static const char *line_name(const json_t *line)
{
	if (json_number_value(json_object_get(line, "per_second")) > 0 &&
	    json_number_value(json_object_get(line, "bare_loops_per_second")) > 0)
		return json_string_value(json_object_get(line, "name"));
	return NULL;
}

static bool is_report(const json_t *report)
{
	const json_t *lines = json_object_get(report, "measurements");

	if (!json_is_array(lines))
		return false;
	for (size_t i = 0; i < json_array_size(lines); i++)
		if (!line_name(json_array_get(lines, i)))
			return false;
	return true;
}

/* NULL: it was told why. */
static json_t *report_load(const char *path)
{
	json_error_t where;
	json_t *report = json_load_file(path, JSON_REJECT_DUPLICATES, &where);

	if (!report && where.line < 0)
		srd_cli_error("%s: %s", path, where.text);
	else if (!report)
		srd_cli_error("%s:%d: %s", path, where.line, where.text);
	else if (is_report(report))
		return report;
	else
		srd_cli_error("%s is no report of srdlab bench --json: it has no list "
			      "\"measurements\" of names and figures",
			      path);
	json_decref(report);
	return NULL;
}

static const json_t *line_find(const json_t *report, const char *name)
{
	const json_t *lines = json_object_get(report, "measurements");

	for (size_t i = 0; i < json_array_size(lines); i++)
		if (!strcmp(line_name(json_array_get(lines, i)), name))
			return json_array_get(lines, i);
	return NULL;
}

static double per_second(const json_t *line)
{
	return json_number_value(json_object_get(line, "per_second"));
}

static double per_bare(const json_t *line)
{
	return per_second(line) / json_number_value(json_object_get(line, "bare_loops_per_second"));
}

static void lines_print(const json_t *old, const json_t *new)
{
	const json_t *lines = json_object_get(new, "measurements");

	printf("%-15s %14s %14s %8s %16s\n", "", "old a second", "new a second", "ratio",
	       "in bare loops");
	for (size_t i = 0; i < json_array_size(lines); i++) {
		const json_t *line = json_array_get(lines, i);
		const json_t *before = line_find(old, line_name(line));

		if (before)
			printf("%-15s %14.0f %14.0f %8.3f %16.3f\n", line_name(line),
			       per_second(before), per_second(line),
			       per_second(line) / per_second(before),
			       per_bare(line) / per_bare(before));
		else
			printf("%-15s %14s %14.0f\n", line_name(line), "-", per_second(line));
	}
	lines = json_object_get(old, "measurements");
	for (size_t i = 0; i < json_array_size(lines); i++) {
		const json_t *line = json_array_get(lines, i);

		if (!line_find(new, line_name(line)))
			printf("%-15s %14.0f %14s\n", line_name(line), per_second(line), "-");
	}
}

int srd_bench_compare(const char *old_path, const char *new_path)
{
	json_t *old = report_load(old_path);
	json_t *new = old ? report_load(new_path) : NULL;

	if (new)
		lines_print(old, new);
	json_decref(old);
	json_decref(new);
	return new ? SRD_EXIT_PASSED : SRD_EXIT_USAGE;
}
