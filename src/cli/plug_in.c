/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/plants.h"
#include "cli/fields.h"
#include "cli/plug_in.h"
#include "cli/recorded.h"
#include "plugin/blame.h"
#include "plugin/check.h"
#include "plugin/load.h"
#include "plugin/process.h"
#include "qp/efa_srd.h"
#include "qp/scheduler.h"
#include "verbs/alloc.h"

#define PROBE_TIME UINT64_C(10000000000) /* ns to load the plug-ins, at most */

/* Bytes that the process may hold beside the script's: the program's, the hosts', the plug-in's. */
#define MEMORY_MORE (UINT64_C(1) << 30)

const char *srd_cli_plug_in_skip(const struct srd_scenario_info *info)
{
	for (const char *const *tag = info->tags; *tag; tag++)
		if (!strcmp(*tag, "contract"))
			return NULL;
	return "no tag \"contract\": it says nothing about a plug-in";
}

/* Of a limit of the time of a scenario, in ns. */
static uint64_t probe_time(uint64_t limit)
{
	uint64_t time = limit < PROBE_TIME ? limit : PROBE_TIME;

	return time > SRD_PLUGIN_GRACE ? time - SRD_PLUGIN_GRACE : 0;
}

int srd_cli_plug_in_probe(const char *queue_pair, const char *scheduler,
			  const struct srd_sandbox *sandbox, struct srd_error *error)
{
	json_t *object =
		json_pack("{s:s?, s:s?}", "queue_pair", queue_pair, "scheduler", scheduler);
	char *request = object ? json_dumps(object, 0) : NULL;
	struct srd_plugin_work work = {
		.request = request,
		.time_limit = probe_time(sandbox->time_limit),
		.memory = MEMORY_MORE + sandbox->memory_limit,
	};
	struct srd_plugin_answer answer = {0};
	int rc;

	json_decref(object);
	if (!queue_pair && !scheduler)
		rc = 0;
	else if (!request)
		rc = srd_error_set(error, -EINVAL, "the path of a plug-in is not UTF-8");
	else
		rc = srd_plugin_run(&work, &answer, error);
	if (!rc && answer.text && answer.end != SRD_PLUGIN_RESULT)
		rc = srd_error_set(error, -ENOEXEC, "%s", answer.text);
	free(request);
	srd_free(answer.text);
	return rc;
}

/* What became of the run, as an outcome. */
static char *outcome(const struct srd_plugin_answer *answer, const char *path, int line)
{
	char *message, *text = NULL;

	if (answer->end != SRD_PLUGIN_RESULT)
		return srd_cli_outcome_text(path, answer->line ? (int)answer->line : line,
					    answer->text, false);
	if (!*answer->difference)
		return strdup(answer->text);
	message = srd_asprintf("the plug-in is not deterministic: %s", answer->difference);
	if (message)
		text = srd_cli_outcome_fail(answer->text, path, line, message);
	srd_free(message);
	return text;
}

char *srd_cli_plug_in_execute(const char *request, const char *path, int line,
			      const struct srd_run_config *config)
{
	struct srd_plugin_work work = {
		.request = request,
		.twice = config->backend->can & SRD_VERBS_CAN_VIRTUAL_TIME,
		.time_limit = config->sandbox.time_limit,
		.memory = MEMORY_MORE + config->sandbox.memory_limit,
		.num_readers = config->num_readers,
	};
	struct srd_plugin_answer answer;
	struct srd_error error = {0};
	char *text;

	for (int i = 0; i < config->num_readers; i++) {
		work.readers[i].fn = config->readers[i].fn;
		work.readers[i].reader = config->readers[i].reader;
	}
	if (srd_plugin_run(&work, &answer, &error))
		return srd_cli_outcome_text(path, line, error.message, true);
	text = outcome(&answer, path, line);
	srd_free(answer.text);
	return text;
}

/* --- in the process --- */

/*
 * Both are checked, though only one may be a plug-in: a scheduler's misuse of our own queue
 * pair is seen at the seam.
 */
static int load(const char *queue_pair, const char *scheduler, struct srd_run_config *config,
		struct srd_error *error)
{
	const struct srd_queue_pair_ops *queue_pair_ops = &srd_efa_srd_ops;
	const struct srd_scheduler_ops *scheduler_ops = &srd_credit_scheduler_ops;
	int rc = 0;

	if (queue_pair)
		rc = srd_plugin_load_queue_pair(queue_pair, &queue_pair_ops, error);
	if (!rc && scheduler)
		rc = srd_plugin_load_scheduler(scheduler, &scheduler_ops, error);
	if (rc)
		return rc;
	config->queue_pair_ops = srd_check_queue_pair(queue_pair_ops);
	config->scheduler_ops = srd_check_scheduler(scheduler_ops);
	return 0;
}

static int run(const char *request, struct srd_error *error)
{
	struct srd_cli_replay_file file = {0};
	struct srd_cli_recorded recorded = {.suppressions = -1};
	struct srd_run_config *config = &recorded.config;
	char *text = NULL;
	json_t *root;
	int rc = srd_cli_fields_parse("the request", request, strlen(request), &root, error);

	if (!rc)
		rc = srd_cli_replay_unpack("the request", root, &file, error);
	if (!rc)
		rc = srd_cli_recorded_open(&file, &recorded, error);
	if (!rc)
		rc = load(file.queue_pair, file.scheduler, config, error);
	if (!rc) {
		config->readers[0].fn = srd_plugin_process_event;
		config->num_readers = 1;
		text = srd_cli_execute(recorded.script, file.index, config);
		rc = text ? srd_plugin_process_answer(SRD_TOLD_RESULT, text)
			  : srd_error_set(error, -ENOMEM, "out of memory");
	}
	free(text);
	srd_cli_recorded_release(&recorded);
	srd_cli_replay_release(&file);
	return rc;
}

/* A probe, or a plant. */
static int load_and_run(json_t *object, struct srd_error *error)
{
	struct srd_run_config config = {0};
	int rc = load(json_string_value(json_object_get(object, "queue_pair")),
		      json_string_value(json_object_get(object, "scheduler")), &config, error);

	if (rc)
		return rc;
	if (json_object_get(object, "folder"))
		return srd_cli_plants_run(object, &config, error);
	return srd_plugin_process_answer(SRD_TOLD_RESULT, "");
}

int srd_cli_plug_in_main(int argc, char **argv)
{
	struct srd_error error = {0};
	char *request = NULL;
	json_t *object;
	int rc = srd_plugin_process_open(argc, argv, &request, &error);

	if (rc)
		return EXIT_FAILURE;
	object = json_loads(request, 0, NULL);
	if (json_object_get(object, "script"))
		rc = run(request, &error);
	else
		rc = load_and_run(object, &error);
	if (rc)
		srd_plugin_process_answer(SRD_TOLD_REFUSED, error.message);
	json_decref(object);
	srd_free(request);
	return EXIT_SUCCESS;
}
