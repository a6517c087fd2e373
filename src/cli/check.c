/* SPDX-License-Identifier: MIT */
/* srdlab check: load scripts, which looks at all that they declare, and run nothing. */
#include <errno.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/scripts.h"
#include "lua/steer.h"

/* A script over a program, as srdlab exec loads it. Whether it is wrong. */
static bool is_wrong_steer(const struct srd_cli_script *item, const struct srd_sandbox *sandbox)
{
	const struct srd_steer_options options = {
		.path = item->path,
		.text = item->text,
		.length = item->length,
		.seed = 1,
		.sandbox = *sandbox,
	};
	struct srd_error error = {0};
	struct srd_steer *steer;
	int line;

	if (!srd_steer_open(&options, &steer, &error)) {
		srd_steer_close(steer);
		return false;
	}
	line = srd_cli_split_place(item->path, &error);
	srd_cli_put_place(stdout, item->path, line, error.message);
	return true;
}

/* Whether the script is wrong; then its line is printed. */
static bool is_wrong(const struct srd_cli_script *item, const struct srd_sandbox *sandbox)
{
	bool empty = item->script && !srd_script_count(item->script);

	if (item->script && !empty)
		return false;
	if (item->error.code == -ENOEXEC)
		return is_wrong_steer(item, sandbox);
	srd_cli_put_place(stdout, item->path, item->error_line,
			  empty ? "it holds no scenario" : item->error.message);
	return true;
}

static int check(const struct srd_cli_scripts *scripts, const struct srd_sandbox *sandbox)
{
	int scenarios = 0, wrong = 0, steers = 0;

	for (int i = 0; i < scripts->count; i++) {
		wrong += is_wrong(&scripts->items[i], sandbox);
		steers += scripts->items[i].error.code == -ENOEXEC;
		if (scripts->items[i].script)
			scenarios += srd_script_count(scripts->items[i].script);
	}
	printf("%d %s, %d %s, %d %s\n", scripts->count, scripts->count == 1 ? "file" : "files",
	       scenarios, scenarios == 1 ? "scenario" : "scenarios", wrong,
	       wrong == 1 ? "problem" : "problems");
	if (scripts->count && !scripts->num_loaded && !steers)
		return SRD_EXIT_USAGE;
	return wrong ? SRD_EXIT_FAILED : SRD_EXIT_PASSED;
}

int srd_cli_check(const struct srd_cli_check_options *options)
{
	struct srd_sandbox sandbox = srd_cli_sandbox(&options->sandbox);
	struct srd_cli_scripts scripts;
	int status = SRD_EXIT_INTERNAL;

	if (srd_cli_scripts_load(&options->arguments, &sandbox, &scripts))
		srd_cli_error("out of memory");
	else
		status = check(&scripts, &sandbox);
	srd_cli_scripts_release(&scripts);
	return status;
}
