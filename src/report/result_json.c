/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/result_json.h"
#include "report/text.h"
#include "rules/rules.h"
#include "verbs/alloc.h"

static const char *const verdicts[] = {
	[SRD_PASSED] = "passed",
	[SRD_FAILED] = "failed",
	[SRD_SKIPPED] = "skipped",
};

/* TEXT cleaned; null for NULL. */
static json_t *text_json(const char *text)
{
	char *clean = text ? srd_text_clean(text) : NULL;
	json_t *string = clean ? json_string(clean) : text ? NULL : json_null();

	srd_free(clean);
	return string;
}

static json_t *failures_json(const struct srd_scenario_result *result)
{
	json_t *list = json_array();

	for (int i = 0; i < result->num_failures; i++) {
		const struct srd_failure *f = &result->failures[i];
		json_t *one = json_pack("{s:o, s:i, s:o, s:o}", "file", text_json(f->file), "line",
					f->line, "rule", text_json(f->rule), "message",
					text_json(f->message));

		if (json_array_append_new(list, one)) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

/* The ids of the rules that were not judged. */
static json_t *not_judged_json(const struct srd_scenario_result *result)
{
	json_t *list = json_array();

	for (int rule = 0; rule < srd_num_rules; rule++) {
		if (!(result->not_judged[rule / 64] >> rule % 64 & 1))
			continue;
		if (json_array_append_new(list, json_string(srd_rule_infos[rule].id))) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

json_t *srd_result_to_json(const struct srd_scenario_result *result)
{
	char hash[17], suppressions[17];

	/* A number of JSON is not sure to hold 64 bits. */
	snprintf(hash, sizeof(hash), "%016" PRIx64, result->trace_hash);
	snprintf(suppressions, sizeof(suppressions), "%016" PRIx64, result->suppressions);
	return json_pack("{s:s, s:o, s:o, s:o, s:s, s:I, s:I, s:I, s:s, s:I, s:b, s:s?}", "verdict",
			 verdicts[result->verdict], "skip_reason", text_json(result->skip_reason),
			 "failures", failures_json(result), "not_judged", not_judged_json(result),
			 "suppressions", suppressions, "virtual_time",
			 (json_int_t)result->virtual_time, "wall_time",
			 (json_int_t)result->wall_time, "events", (json_int_t)result->num_events,
			 "trace_hash", hash, "orders", (json_int_t)result->num_orders,
			 "orders_left", result->orders_left, "order", result->order);
}

static int copy(const char *text, char **out)
{
	*out = text ? srd_strdup(text) : NULL;
	return text && !*out ? -ENOMEM : 0;
}

static int failure_from_json(json_t *object, struct srd_failure *out)
{
	const char *rule = json_string_value(json_object_get(object, "rule")); /* or null */
	const char *file, *message;

	if (json_unpack(object, "{s:s, s:i, s:s}", "file", &file, "line", &out->line, "message",
			&message))
		return -EPROTO;
	if (copy(file, &out->file) || copy(rule, &out->rule) || copy(message, &out->message))
		return -ENOMEM;
	return 0;
}

static int failures_from_json(json_t *list, struct srd_scenario_result *result)
{
	size_t count = json_array_size(list);

	if (!count)
		return 0;
	result->failures = srd_calloc(count, sizeof(*result->failures));
	if (!result->failures)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		int rc;

		result->num_failures++;
		rc = failure_from_json(json_array_get(list, i), &result->failures[i]);
		if (rc)
			return rc;
	}
	return 0;
}

/* A rule of another version is passed over. */
static void not_judged_from_json(json_t *list, struct srd_scenario_result *result)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *id = json_string_value(json_array_get(list, i));
		int rule = id ? srd_rule_find(id) : -1;

		if (rule >= 0)
			result->not_judged[rule / 64] |= UINT64_C(1) << rule % 64;
	}
}

static int verdict_from_text(const char *text, enum srd_verdict *out)
{
	for (unsigned int i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++) {
		if (strcmp(text, verdicts[i]))
			continue;
		*out = i;
		return 0;
	}
	return -EPROTO;
}

int srd_result_from_json(json_t *object, struct srd_scenario_result *result)
{
	json_int_t virtual_time, wall_time, events, orders;
	const char *reason = json_string_value(json_object_get(object, "skip_reason"));
	const char *verdict, *hash, *suppressions;
	json_t *failures, *not_judged;
	int orders_left;

	memset(result, 0, sizeof(*result));
	if (json_unpack(object, "{s:s, s:o, s:o, s:s, s:I, s:I, s:I, s:s, s:I, s:b}", "verdict",
			&verdict, "failures", &failures, "not_judged", &not_judged, "suppressions",
			&suppressions, "virtual_time", &virtual_time, "wall_time", &wall_time,
			"events", &events, "trace_hash", &hash, "orders", &orders, "orders_left",
			&orders_left))
		return -EPROTO;
	if (verdict_from_text(verdict, &result->verdict))
		return -EPROTO;
	result->virtual_time = (uint64_t)virtual_time;
	result->wall_time = (uint64_t)wall_time;
	result->num_events = (uint64_t)events;
	result->trace_hash = strtoull(hash, NULL, 16);
	result->num_orders = (uint64_t)orders;
	result->orders_left = orders_left;
	result->suppressions = strtoull(suppressions, NULL, 16);
	not_judged_from_json(not_judged, result);
	if (copy(reason, &result->skip_reason) ||
	    copy(json_string_value(json_object_get(object, "order")), &result->order))
		return -ENOMEM;
	return failures_from_json(failures, result);
}
