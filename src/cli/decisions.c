/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>
#include <srdlab/version.h>

#include "cli/execution.h"
#include "cli/fields.h"
#include "cli/profile_json.h"
#include "verbs/alloc.h"

#define SCHEMA     1
#define NUM_FIELDS 5 /* of a decision */

static json_t *pack_words(char **words)
{
	json_t *list = json_array();

	for (; list && *words; words++)
		if (json_array_append_new(list, json_string(*words))) {
			json_decref(list);
			return NULL;
		}
	return list;
}

/* One number behind the other, NUM_FIELDS for each. */
static json_t *pack_log(const struct srd_launch_log *log)
{
	json_t *list = json_array();

	for (uint64_t i = 0; list && i < log->num; i++) {
		const struct srd_launch_decision *d = &log->list[i];
		const uint32_t fields[NUM_FIELDS] = {d->kind, d->process, d->object, d->polls,
						     d->events};

		for (int k = 0; k < NUM_FIELDS; k++)
			if (json_array_append_new(list, json_integer(fields[k]))) {
				json_decref(list);
				return NULL;
			}
	}
	return list;
}

/* What of it cannot be written, as JSON is UTF-8; NULL: all can. */
static const char *not_utf8(const struct srd_cli_execution *e)
{
	if (e->script_text && !srd_cli_fields_hold(e->script_text, e->script_length))
		return "the script's text";
	if (e->script && !srd_cli_fields_hold(e->script, strlen(e->script)))
		return "the script's path";
	for (char **word = e->argv; *word; word++)
		if (!srd_cli_fields_hold(*word, strlen(*word)))
			return word == e->argv ? "the program's name"
					       : "an argument of the program";
	return NULL;
}

int srd_cli_decisions_open(const char *path, const struct srd_cli_execution *e, FILE **out,
			   struct srd_error *error)
{
	const char *what = not_utf8(e);

	if (what)
		return srd_error_set(error, -EILSEQ,
				     "--decisions: %s is not UTF-8, and such a log is", what);
	*out = fopen(path, "we");
	return *out ? 0 : srd_error_set(error, -errno, "%s cannot be written: %m", path);
}

int srd_cli_decisions_close(FILE *file, const char *path, const struct srd_cli_execution *e,
			    struct srd_error *error)
{
	json_t *root = json_pack(
		"{s:s, s:i, s:s, s:o, s:s?, s:s%, s:I, s:o, s:i, s:i, s:i, s:i, s:o}", "format",
		SRD_CLI_DECISIONS, "schema", SCHEMA, "version", SRDLAB_VERSION, "program",
		pack_words(e->argv), "script", e->script, "text",
		e->script_text ? e->script_text : "", e->script_length, "seed", (json_int_t)e->seed,
		"profile", srd_cli_profile_json(&e->profile), "devices", (int)e->devices, "clock",
		(int)e->clock, "memory", (int)e->memory, "doorbell", (int)e->doorbell, "decisions",
		pack_log(e->log));
	bool failed = root && json_dumpf(root, file, JSON_COMPACT);

	failed |= fclose(file) != 0;
	json_decref(root);
	if (!root)
		return srd_error_set(error, -ENOMEM, "%s: out of memory", path);
	return failed ? srd_error_set(error, -EIO, "%s cannot be written: %m", path) : 0;
}

static int unpack_words(const json_t *list, const char *path, char ***out, struct srd_error *error)
{
	size_t n = json_array_size(list);

	*out = srd_calloc(n + 1, sizeof(**out));
	if (!*out)
		return srd_error_set(error, -ENOMEM, "%s: out of memory", path);
	for (size_t i = 0; i < n; i++) {
		(*out)[i] = (char *)json_string_value(json_array_get(list, i));
		if (!(*out)[i])
			return srd_error_set(error, -EPROTO, "%s: program is a list of words",
					     path);
	}
	return n ? 0
		 : srd_error_set(error, -EPROTO, "%s: program is an empty list: its name is needed",
				 path);
}

static int unpack_log(const json_t *list, const char *path, struct srd_launch_log *log,
		      struct srd_error *error)
{
	size_t n = json_array_size(list);

	log->list = srd_calloc(n / NUM_FIELDS + 1, sizeof(*log->list));
	if (!log->list)
		return srd_error_set(error, -ENOMEM, "%s: out of memory", path);
	log->num = n / NUM_FIELDS;
	for (size_t i = 0; i < n; i++) {
		const json_t *number = json_array_get(list, i);
		json_int_t value = json_integer_value(number);
		struct srd_launch_decision *d = &log->list[i / NUM_FIELDS];

		if (!json_is_integer(number) || value < 0 || value > UINT32_MAX || n % NUM_FIELDS)
			return srd_error_set(error, -EPROTO,
					     "%s: decisions are %d numbers each, 32 bits at most",
					     path, NUM_FIELDS);
		switch (i % NUM_FIELDS) {
		case 0:
			d->kind = (uint8_t)value;
			break;
		case 1:
			d->process = (uint16_t)value;
			break;
		case 2:
			d->object = (uint32_t)value;
			break;
		case 3:
			d->polls = (uint32_t)value;
			break;
		default:
			d->events = (uint32_t)value;
		}
	}
	return 0;
}

struct numbers {
	uint64_t seed;
	uint32_t devices, clock, memory, doorbell;
	const char *version, *script, *text;
};

#define AT(member) offsetof(struct numbers, member)

static const struct srd_cli_field fields[] = {
	{"format", SRD_FIELD_TEXT, -1},
	{"schema", SRD_FIELD_SHORT, -1},
	{"version", SRD_FIELD_TEXT, AT(version)},
	{"program", SRD_FIELD_LIST, -1},
	{"script", SRD_FIELD_TEXT_OR_NULL, AT(script)},
	{"text", SRD_FIELD_BYTES, AT(text)},
	{"seed", SRD_FIELD_NUMBER, AT(seed)},
	{"profile", SRD_FIELD_OBJECT, -1},
	{"devices", SRD_FIELD_SHORT, AT(devices)},
	{"clock", SRD_FIELD_SHORT, AT(clock)},
	{"memory", SRD_FIELD_SHORT, AT(memory)},
	{"doorbell", SRD_FIELD_SHORT, AT(doorbell)},
	{"decisions", SRD_FIELD_LIST, -1},
};

static int check(const struct numbers *numbers, const char *path, struct srd_error *error)
{
	const struct {
		const char *name;
		uint32_t is, min, max;
	} ranges[] = {
		{"devices", numbers->devices, 1, 64},
		{"clock", numbers->clock, 0, 1},
		{"memory", numbers->memory, 0, 1},
		{"doorbell", numbers->doorbell, 0, 2},
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (ranges[i].is < ranges[i].min || ranges[i].is > ranges[i].max)
			return srd_error_set(error, -EPROTO, "%s: %s is %u: %u to %u is needed",
					     path, ranges[i].name, ranges[i].is, ranges[i].min,
					     ranges[i].max);
	return 0;
}

static int unpack(const char *path, struct srd_cli_decisions *out, struct srd_error *error)
{
	const struct srd_cli_part part = {path, "a log of decisions", "", fields,
					  sizeof(fields) / sizeof(fields[0])};
	struct srd_cli_execution *e = &out->execution;
	struct numbers numbers = {0};
	int rc = srd_cli_fields_schema(path, out->root, SCHEMA, error);

	if (!rc)
		rc = srd_cli_fields_read(&part, out->root, &numbers, error);
	if (!rc)
		rc = check(&numbers, path, error);
	if (rc)
		return rc;
	out->version = numbers.version;
	*e = (struct srd_cli_execution){
		.script = numbers.script,
		.script_text = numbers.text,
		.script_length = json_string_length(json_object_get(out->root, "text")),
		.seed = numbers.seed,
		.devices = numbers.devices,
		.clock = numbers.clock,
		.memory = numbers.memory,
		.doorbell = numbers.doorbell,
		.log = &out->log,
		.replay = true,
	};
	rc = unpack_words(json_object_get(out->root, "program"), path, &e->argv, error);
	if (!rc)
		rc = srd_cli_fields_profile(json_object_get(out->root, "profile"), path,
					    &e->profile, error);
	return rc ? rc
		  : unpack_log(json_object_get(out->root, "decisions"), path, &out->log, error);
}

int srd_cli_decisions_unpack(const char *path, json_t *root, struct srd_cli_decisions *out,
			     struct srd_error *error)
{
	*out = (struct srd_cli_decisions){.root = root};
	return unpack(path, out, error);
}

void srd_cli_decisions_release(struct srd_cli_decisions *decisions)
{
	srd_free(decisions->execution.argv);
	srd_free(decisions->log.list);
	json_decref(decisions->root);
	memset(decisions, 0, sizeof(*decisions));
}
