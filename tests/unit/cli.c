/* SPDX-License-Identifier: MIT */
/*
 * Each allocation of the commands failing in turn, those of libxml2 too, over
 * scenarios that are made here: the status must say so, and nothing may be left.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <libxml/xmlmemory.h>

#include "cli/cli.h"
#include "lua/scenario.h"
#include "lua/steer.h"
#include "verbs/alloc.h"
#include "verbs/file.h"

/* A script: a verdict and a name in each line. ------------------------------------------- */

#define MAX_SCENARIOS 8

struct srd_script {
	char *path;
	int count;
	struct srd_scenario_info infos[MAX_SCENARIOS];
	char names[MAX_SCENARIOS][64]; /* "verdict name" */
};

static const char *const no_words[] = {NULL};
static const char *const tags[] = {"fast", "slow", NULL};

int srd_script_load_text(const char *path, const char *text, size_t size,
			 const struct srd_sandbox *sandbox, struct srd_script **out,
			 struct srd_error *error)
{
	struct srd_script *script = srd_calloc(1, sizeof(*script));

	*out = NULL;
	if (!script)
		return srd_error_set(error, -ENOMEM, "%s: out of memory", path);
	script->path = srd_strdup(path);
	if (!script->path) {
		srd_free(script);
		return srd_error_set(error, -ENOMEM, "%s: out of memory", path);
	}
	if (!strncmp(text, "syntax", 6)) {
		srd_script_free(script);
		return srd_error_set(error, -EINVAL, "%s:1: unexpected symbol", path);
	}
	for (; *text; text += strcspn(text, "\n") + 1) {
		int i = script->count++;

		snprintf(script->names[i], sizeof(script->names[i]), "%.*s",
			 (int)strcspn(text, "\n"), text);
		script->infos[i] = (struct srd_scenario_info){
			.name = strchr(script->names[i], ' ') + 1,
			.description = i ? "" : "the first",
			.line = i + 1,
			.tags = i ? no_words : tags,
			.needs = no_words,
			.violates = i ? NULL : "chunk.cover",
		};
	}
	*out = script;
	return 0;
}

void srd_script_free(struct srd_script *script)
{
	if (script)
		srd_free(script->path);
	srd_free(script);
}

const char *srd_script_path(const struct srd_script *script)
{
	return script->path;
}

int srd_script_count(const struct srd_script *script)
{
	return script->count;
}

const struct srd_scenario_info *srd_script_scenario(const struct srd_script *script, int index)
{
	return &script->infos[index];
}

/* No program is run here, and no script over one. */
int srd_steer_open(const struct srd_steer_options *options, struct srd_steer **out,
		   struct srd_error *error)
{
	*out = NULL;
	return srd_error_set(error, -EINVAL, "%s:1: unexpected symbol", options->path);
}

const struct srd_launch_script *srd_steer_script(const struct srd_steer *steer)
{
	return NULL;
}

bool srd_steer_has_failed(const struct srd_steer *steer)
{
	return false;
}

void srd_steer_close(struct srd_steer *steer)
{
}

static int failed(const struct srd_script *script, int index, struct srd_scenario_result *result)
{
	struct srd_failure *failure = srd_calloc(1, sizeof(*failure));

	if (!failure)
		return -ENOMEM;
	result->verdict = SRD_FAILED;
	result->failures = failure;
	result->num_failures = 1;
	failure->line = index + 1;
	failure->file = srd_strdup(script->path);
	failure->rule = srd_strdup("chunk.cover");
	failure->message = srd_strdup("wrong\nvery wrong");
	return failure->file && failure->rule && failure->message ? 0 : -ENOMEM;
}

int srd_scenario_run(const struct srd_script *script, int index,
		     const struct srd_run_config *config, struct srd_scenario_result *result,
		     struct srd_error *error)
{
	const char *verdict = script->names[index];
	int rc = 0;

	memset(result, 0, sizeof(*result));
	config->log(config->log_arg, "a note");
	if (!strncmp(verdict, "fail", 4))
		rc = failed(script, index, result);
	if (!strncmp(verdict, "skip", 4)) {
		result->verdict = SRD_SKIPPED;
		result->skip_reason = srd_strdup("not today");
		rc = result->skip_reason ? 0 : -ENOMEM;
	}
	if (!strncmp(verdict, "broken", 6))
		rc = -EIO;
	return rc ? srd_error_set(error, rc, "%s", strerror(-rc)) : 0;
}

void srd_scenario_result_release(struct srd_scenario_result *result)
{
	for (int i = 0; i < result->num_failures; i++) {
		srd_free(result->failures[i].file);
		srd_free(result->failures[i].rule);
		srd_free(result->failures[i].message);
	}
	srd_free(result->failures);
	srd_free(result->skip_reason);
	memset(result, 0, sizeof(*result));
}

/*
 * The allocator of libxml2. That of jansson is left alone: its parser (2.14) aborts where
 * its buffer cannot grow.
 */

static uint64_t lib_count, lib_fail_at;

static void *lib_malloc(size_t size)
{
	return ++lib_count == lib_fail_at ? NULL : malloc(size);
}

static void *lib_realloc(void *block, size_t size)
{
	return ++lib_count == lib_fail_at ? NULL : realloc(block, size);
}

static char *lib_strdup(const char *text)
{
	return ++lib_count == lib_fail_at ? NULL : strdup(text);
}

/* xmlTextWriterStartElement of libxml2 2.9 loses what it has where its list cannot grow. */
const char *__lsan_default_suppressions(void) __attribute__((visibility("default")));
const char *__lsan_default_suppressions(void)
{
	return "leak:xmlTextWriterStartElement\n";
}

/* A worker that looked for leaks at its end would take longer than all that it does. */
static pid_t parent;
int __lsan_is_turned_off(void) __attribute__((visibility("default")));
int __lsan_is_turned_off(void)
{
	return getpid() != parent;
}

/* Commands run in a folder of their own, with their streams to nowhere. ------------------- */

static char folder[] = "/tmp/srdlab-test-cli-XXXXXX";
static int saved_out, saved_err;

static void write_file(const char *name, const char *text)
{
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static int set_up(void **state)
{
	parent = getpid();
	xmlMemSetup(free, lib_malloc, lib_realloc, lib_strdup);
	if (!mkdtemp(folder) || chdir(folder) || mkdir("scripts", 0777))
		return -1;
	write_file("scripts/a.lua", "pass one\nfail two\nskip three\n");
	write_file("scripts/b.lua", "pass four\n");
	write_file("scripts/bad.lua", "syntax\n");
	write_file("broken.lua", "broken five\n");
	write_file("known", "chunk.cover # seen\n");
	return 0;
}

static int tear_down(void **state)
{
	char command[sizeof(folder) + 16];

	/* Its own alone: another run of this test may be under way. */
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command) ? -1 : 0;
}

static void streams_away(void)
{
	int nowhere = open("/dev/null", O_WRONLY);

	fflush(NULL);
	saved_out = dup(STDOUT_FILENO);
	saved_err = dup(STDERR_FILENO);
	dup2(nowhere, STDOUT_FILENO);
	dup2(nowhere, STDERR_FILENO);
	close(nowhere);
}

static void streams_back(void)
{
	fflush(NULL);
	dup2(saved_out, STDOUT_FILENO);
	dup2(saved_err, STDERR_FILENO);
	close(saved_out);
	close(saved_err);
}

static int call(int argc, char **argv)
{
	struct srd_error error = {0};
	void *options;
	int status;

	for (int i = 0; i < SRD_NUM_CLI_COMMANDS; i++)
		if (!strcmp(srd_cli_commands[i].name, argv[0]))
			srd_cli_command = &srd_cli_commands[i];
	options = calloc(1, srd_cli_command->size);
	switch (srd_cli_parse(srd_cli_command, argc, argv, options, &error)) {
	case 0:
		status = srd_cli_command->call(options);
		break;
	case -ENOMEM:
		status = SRD_EXIT_INTERNAL;
		break;
	default:
		status = -1;
	}
	srd_cli_release(srd_cli_command, options);
	free(options);
	return status;
}

/* The words of LINE, which holds single spaces. */
static int command(const char *line)
{
	char copy[256], *argv[16], *rest = copy;
	int argc = 0, status;

	snprintf(copy, sizeof(copy), "%s", line);
	while ((argv[argc] = strsep(&rest, " ")))
		argc++;
	/* To write over a file makes some file systems flush it, which takes its time. */
	if (!strcmp(argv[0], "run")) {
		unlink("srdlab-replay/a-2-seed1.json");
		unlink("srdlab-replay/broken-1-seed1.json");
	}
	streams_away();
	status = call(argc, argv);
	streams_back();
	return status;
}

/*
 * Whatever allocation fails, the command says 99, or does what it can without it and gives
 * its usual status; or a file counts as one that could not be loaded, which is 1 or 2.
 */
static void check_sweep(const char *line, int status, bool loads)
{
	assert_int_equal(command(line), status);
	for (uint64_t n = 1;; n++) {
		int got;

		srd_alloc_fail_at(n);
		got = command(line);
		if (srd_alloc_count() < n)
			break;
		assert_int_equal(srd_alloc_live(), 0);
		if (got != SRD_EXIT_INTERNAL && got != status &&
		    !(loads && (got == SRD_EXIT_FAILED || got == SRD_EXIT_USAGE)))
			fail_msg("%s: allocation %llu fails: status %d", line,
				 (unsigned long long)n, got);
	}
	srd_alloc_fail_at(0);
}

static void junit(void **state)
{
	static const char line[] = "run --replay-dir= --junit x scripts missing";
	struct srd_error error = {0};
	size_t size, length;
	char *whole, *text;

	assert_int_equal(command(line), 1);
	assert_int_equal(srd_file_read("x", 1 << 20, &whole, &size, &error), 0);
	for (uint64_t n = 1;; n++) {
		int got;

		unlink("x");
		lib_count = 0;
		lib_fail_at = n;
		got = command(line);
		lib_fail_at = 0;
		if (got == SRD_EXIT_INTERNAL)
			continue;
		/* What libxml2 could do without is not missed. */
		assert_int_equal(got, 1);
		assert_int_equal(srd_file_read("x", 1 << 20, &text, &length, &error), 0);
		assert_string_equal(text, whole);
		srd_free(text);
		if (lib_count < n)
			break;
	}
	srd_free(whole);
}

static void run(void **state)
{
	check_sweep(
		"run --slowest 2 --json /dev/null --junit /dev/null --seeds 1..2 scripts missing",
		1, true);
	check_sweep("run --tap --replay-dir= scripts/a.lua:2", 1, true);
	check_sweep("run -v --replay-dir=/dev/null -D loss=5 --suppressions known scripts/a.lua", 1,
		    true);
	check_sweep("run broken.lua", 99, true);
	check_sweep("run scripts/bad.lua", 2, true);
}

static void replay(void **state)
{
	assert_int_equal(command("run --suppressions known scripts/a.lua"), 1);
	check_sweep("replay srdlab-replay/a-2-seed1.json", 1, false);
	check_sweep("replay -v --timeline /dev/null srdlab-replay/a-2-seed1.json", 1, false);
}

static void others(void **state)
{
	check_sweep("list -v scripts", 1, true);
	check_sweep("list --json scripts/a.lua", 0, true);
	check_sweep("check scripts/a.lua", 0, true);
	check_sweep("profiles --json small", 0, false);
	check_sweep("rules chunk.cuver", 2, false);
	check_sweep("explain FLUSHD", 2, false);
	check_sweep("devices", 0, false);
	check_sweep("version", 0, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(junit),
		cmocka_unit_test(run),
		cmocka_unit_test(replay),
		cmocka_unit_test(others),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
