/* SPDX-License-Identifier: MIT */
/*
 * Runs the scenarios of one file on the mock and writes how each ended:
 *
 *     passed: NAME
 *     failed: NAME
 *       LINE: first line of the message
 *       | further lines
 *     skipped: NAME: REASON
 *     refused: the message of a file that cannot be loaded
 *
 * With --compare the outcome has to be, byte by byte, that of the file of the same name
 * with .expected in place of .lua; where there is none, every scenario has to pass.
 * Each scenario runs twice, unless it took long, and both runs have to give the same trace
 * hash. usage: outcome [--compare|--bare] FILE [MILLISECONDS of wall time]
 *
 * With --bare the mock shows no more than one machine with one EFA device can: one device for
 * all hosts, time that only passes, no faults, no fabric. What does not need these has to
 * pass there too, since the same text is to run on hardware; nothing is compared.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lua/scenario.h"
#include "verbs/alloc.h"
#include "verbs/file.h"

static void show_message(FILE *out, const struct srd_failure *failure)
{
	const char *at = failure->message;
	size_t length = strcspn(at, "\n");

	fprintf(out, "  %d: %.*s\n", failure->line, (int)length, at);
	/* What the rules say of a violation is tested with the rules. */
	for (at += length; *at && !failure->rule; at += length) {
		at++;
		length = strcspn(at, "\n");
		if (length)
			fprintf(out, "  | %.*s\n", (int)length, at);
	}
}

static void show_result(FILE *out, const char *name, const struct srd_scenario_result *result)
{
	switch (result->verdict) {
	case SRD_PASSED:
		fprintf(out, "passed: %s\n", name);
		break;
	case SRD_SKIPPED:
		fprintf(out, "skipped: %s: %s\n", name, result->skip_reason);
		break;
	case SRD_FAILED:
		fprintf(out, "failed: %s\n", name);
		for (int i = 0; i < result->num_failures; i++)
			show_message(out, &result->failures[i]);
		break;
	}
}

static void log_line(void *arg, const char *text)
{
	fprintf(stderr, "# %s\n", text);
}

static struct srd_sandbox sandbox = {.memory_limit = 16 << 20, .time_limit = 20000000000};

/* ---- the mock as one machine ---- */

static struct srd_context *(*open_any)(struct srd_verbs *verbs, uint32_t host, const char *name);

static struct srd_context *open_one(struct srd_verbs *verbs, uint32_t host, const char *name)
{
	return open_any(verbs, 0, name);
}

static int refuse_lab(struct srd_verbs *verbs, struct srd_lab *command)
{
	return EOPNOTSUPP;
}

static int bare_open(const struct srd_backend_options *options, struct srd_verbs **out,
		     struct srd_error *error)
{
	int ret = srd_backend_find("mock")->open(options, out, error);

	if (ret)
		return ret;
	open_any = (*out)->open_device;
	(*out)->open_device = open_one;
	(*out)->lab = refuse_lab;
	(*out)->can = 0;
	return 0;
}

static const struct srd_backend bare = {.name = "bare", .open = bare_open};
static const struct srd_backend *backend;

static int run_once(FILE *out, const struct srd_script *script, int index,
		    struct srd_scenario_result *result)
{
	struct srd_run_config config = {
		.backend = backend,
		.hash = true,
		.log = log_line,
		.sandbox = sandbox,
	};
	struct srd_error error = {0};

	if (!srd_scenario_run(script, index, &config, result, &error))
		return 0;
	fprintf(out, "broken: %s: %s\n", srd_script_scenario(script, index)->name, error.message);
	srd_scenario_result_release(result);
	return 1;
}

static void run_all(FILE *out, const struct srd_script *script)
{
	for (int i = 0; i < srd_script_count(script); i++) {
		const char *name = srd_script_scenario(script, i)->name;
		struct srd_scenario_result first, second;

		if (run_once(out, script, i, &first))
			continue;
		show_result(out, name, &first);
		if (first.wall_time < sandbox.time_limit / 2 &&
		    !run_once(out, script, i, &second)) {
			if (first.trace_hash != second.trace_hash)
				fprintf(out, "  0: the second run gave another trace\n");
			srd_scenario_result_release(&second);
		}
		srd_scenario_result_release(&first);
	}
}

/* Every line begins with "passed: ". */
static bool all_passed(const char *outcome)
{
	for (const char *at = outcome; *at; at += strcspn(at, "\n") + 1)
		if (strncmp(at, "passed: ", 8))
			return false;
	return *outcome != 0;
}

static int compare(const char *path, const char *outcome)
{
	size_t length, stem = strlen(path) - strlen(".lua");
	struct srd_error error;
	char name[4096], *expected;
	int ret;

	snprintf(name, sizeof(name), "%.*s.expected", (int)stem, path);
	if (srd_file_read(name, 1 << 20, &expected, &length, &error)) {
		ret = !all_passed(outcome);
	} else {
		ret = strcmp(outcome, expected) != 0;
		srd_free(expected);
	}
	if (ret)
		fputs(outcome, stdout);
	return ret;
}

int main(int argc, char **argv)
{
	bool comparing = argc > 1 && !strcmp(argv[1], "--compare");
	bool is_bare = argc > 1 && !strcmp(argv[1], "--bare");
	int first = 1 + (comparing || is_bare);
	const char *path = argv[first];
	struct srd_script *script;
	struct srd_error error;
	char *outcome;
	size_t size;
	FILE *out;
	int ret = 0;

	if (!path)
		return 2;
	backend = is_bare ? &bare : srd_backend_find("mock");
	if (argc > first + 1)
		sandbox.time_limit = strtoull(argv[first + 1], NULL, 10) * 1000000;
	out = open_memstream(&outcome, &size);
	if (srd_script_load(path, &sandbox, &script, &error)) {
		const char *slash = strrchr(path, '/');

		fprintf(out, "refused: %s\n",
			error.message + (slash ? (size_t)(slash + 1 - path) : 0));
	} else {
		run_all(out, script);
		srd_script_free(script);
	}
	fclose(out);
	if (comparing)
		ret = compare(path, outcome);
	else
		fputs(outcome, stdout);
	if (is_bare)
		ret = strstr(outcome, "failed: ") || strstr(outcome, "refused: ");
	free(outcome);
	if (srd_alloc_live()) {
		printf("%lld blocks were not freed\n", (long long)srd_alloc_live());
		ret = 1;
	}
	return ret;
}
