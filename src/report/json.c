/* SPDX-License-Identifier: MIT */
/* The report in JSON: written as the run goes on, one scenario a line. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <jansson.h>
#include <srdlab/version.h>

#include "report.h"
#include "report/result_json.h"
#include "verbs/alloc.h"

#define SCHEMA 1

struct json_report {
	struct srd_report report;
	FILE *out;
	bool any;
};

/* The members of OBJECT without its braces, so that more can follow. Takes OBJECT. */
static int put_members(FILE *out, json_t *object)
{
	char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;

	json_decref(object);
	if (!text)
		return -ENOMEM;
	fwrite(text + 1, 1, strlen(text) - 2, out);
	free(text);
	return 0;
}

static int begin(struct srd_report *report, const struct srd_report_head *head)
{
	struct json_report *json = (struct json_report *)report;
	int rc;

	fputc('{', json->out);
	rc = put_members(json->out,
			 json_pack("{s:s, s:i, s:s, s:s, s:s?, s:I, s:I}", "format",
				   "srdlab-report", "schema", SCHEMA, "version", SRDLAB_VERSION,
				   "backend", head->backend, "profile", head->profile, "first_seed",
				   (json_int_t)head->first_seed, "last_seed",
				   (json_int_t)head->last_seed));
	fputs(",\n\"scenarios\":[", json->out);
	return rc;
}

static json_t *case_json(const struct srd_report_case *one)
{
	const char *bug = one->info ? one->info->bug : NULL;
	const char *form = bug && one->info->is_broken ? "broken" : "right";
	json_t *object = json_pack("{s:s, s:s?, s:i, s:I, s:b, s:s?, s:s?, s:s, s:s?, s:s?}",
				   "file", one->file, "name", one->name, "line", one->line, "seed",
				   (json_int_t)one->seed, "broken", one->broken, "repeat",
				   one->repeat, "replay", one->replay, "log",
				   one->log ? one->log : "", "bug", bug, "form", bug ? form : NULL);
	json_t *result = srd_result_to_json(one->result);

	if (!object || !result || json_object_update(object, result)) {
		json_decref(object);
		object = NULL;
	}
	json_decref(result);
	return object;
}

static int add(struct srd_report *report, const struct srd_report_case *one)
{
	struct json_report *json = (struct json_report *)report;
	int rc;

	fputs(json->any ? ",\n{" : "\n{", json->out);
	json->any = true;
	rc = put_members(json->out, case_json(one));
	fputc('}', json->out);
	return rc;
}

static int end(struct srd_report *report, const struct srd_report_tail *tail)
{
	struct json_report *json = (struct json_report *)report;
	int rc;

	fputs("\n],\n", json->out);
	rc = put_members(json->out,
			 json_pack("{s:I, s:I, s:I, s:s?, s:I}", "passed", (json_int_t)tail->passed,
				   "failed", (json_int_t)tail->failed, "skipped",
				   (json_int_t)tail->skipped, "ended", tail->ended, "wall_time",
				   (json_int_t)tail->wall_time));
	fputs("}\n", json->out);
	return rc;
}

static void destroy(struct srd_report *report)
{
	srd_free(report);
}

static const struct srd_report_ops ops = {begin, add, end, destroy};

struct srd_report *srd_report_json(FILE *out)
{
	struct json_report *json = srd_calloc(1, sizeof(*json));

	if (!json)
		return NULL;
	json->report.ops = &ops;
	json->out = out;
	return &json->report;
}
