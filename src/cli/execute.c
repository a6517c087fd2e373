/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cli/execute.h"
#include "report/result_json.h"
#include "report/text.h"
#include "verbs/alloc.h"

#define LOG_LIMIT 65536 /* bytes of a scenario's log that are kept */

struct log {
	FILE *file; /* NULL: none could be opened, and nothing is kept */
	size_t used;
};

static void write_log(void *arg, const char *text)
{
	struct log *log = arg;
	size_t length = strlen(text);

	if (!log->file || log->used > LOG_LIMIT)
		return;
	log->used += length + 1;
	if (log->used > LOG_LIMIT)
		fputs("(the rest of the log is left out)\n", log->file);
	else
		fprintf(log->file, "%s\n", text);
}

static char *to_text(const struct srd_scenario_result *result, const char *log, bool broken)
{
	json_t *object = srd_result_to_json(result);
	char *clean = srd_text_clean(log ? log : "");
	char *text = NULL;

	if (object && clean && !json_object_set_new(object, "log", json_string(clean)) &&
	    !json_object_set_new(object, "broken", json_boolean(broken)))
		text = json_dumps(object, JSON_COMPACT);
	srd_free(clean);
	json_decref(object);
	return text;
}

static char *failure_text(const char *file, int line, const char *message, const char *log,
			  bool broken)
{
	/* The texts are only read. */
	struct srd_failure failure = {
		.file = (char *)file,
		.line = line,
		.message = (char *)message,
	};
	struct srd_scenario_result result = {
		.verdict = SRD_FAILED,
		.failures = &failure,
		.num_failures = 1,
	};

	return to_text(&result, log, broken);
}

char *srd_cli_outcome_text(const char *file, int line, const char *message, bool broken)
{
	return failure_text(file, line, message, NULL, broken);
}

char *srd_cli_outcome_skip(const char *reason)
{
	/* The text is only read. */
	struct srd_scenario_result result = {
		.verdict = SRD_SKIPPED,
		.skip_reason = (char *)reason,
	};

	return to_text(&result, NULL, false);
}

char *srd_cli_outcome_fail(char *text, const char *file, int line, const char *message)
{
	json_t *object = json_loads(text, 0, NULL), *failures = json_object_get(object, "failures");
	json_t *one = json_pack("{s:s, s:i, s:n, s:s}", "file", file, "line", line, "rule",
				"message", message);
	char *failed = NULL;

	if (object && failures && !json_array_append(failures, one) &&
	    !json_object_set_new(object, "verdict", json_string("failed")))
		failed = json_dumps(object, JSON_COMPACT);
	json_decref(one);
	json_decref(object);
	return failed;
}

char *srd_cli_execute(const struct srd_script *script, int index,
		      const struct srd_run_config *config)
{
	struct srd_run_config mine = *config;
	struct srd_scenario_result result = {0};
	struct srd_error error = {0};
	struct log log = {0};
	char *logged = NULL, *text;
	size_t size;
	int rc;

	log.file = open_memstream(&logged, &size);
	mine.log = write_log;
	mine.log_arg = &log;
	rc = srd_scenario_run(script, index, &mine, &result, &error);
	if (log.file)
		fclose(log.file);
	if (rc)
		text = failure_text(srd_script_path(script),
				    srd_script_scenario(script, index)->line, error.message, logged,
				    true);
	else
		text = to_text(&result, logged, false);
	srd_scenario_result_release(&result);
	free(logged);
	return text;
}

int srd_cli_outcome_read(const char *text, struct srd_cli_outcome *out)
{
	json_t *object = json_loads(text, 0, NULL);
	const char *log = json_string_value(json_object_get(object, "log"));
	int rc;

	memset(out, 0, sizeof(*out));
	if (!object)
		return -ENOMEM; /* the text is our own, so nothing else can be wrong */
	rc = srd_result_from_json(object, &out->result);
	out->broken = json_is_true(json_object_get(object, "broken"));
	if (log && *log) {
		out->log = srd_strdup(log);
		if (!out->log)
			rc = -ENOMEM;
	}
	json_decref(object);
	return rc;
}

void srd_cli_outcome_release(struct srd_cli_outcome *outcome)
{
	srd_scenario_result_release(&outcome->result);
	srd_free(outcome->log);
	*outcome = (struct srd_cli_outcome){0};
}
