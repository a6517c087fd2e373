/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>
#include <srdlab/version.h>

#include "cli/execution.h"
#include "cli/profile_json.h"
#include "verbs/alloc.h"
#include "verbs/file.h"
#include "verbs/profile.h"

#define FORMAT       "srdlab-decisions"
#define SCHEMA       1
#define FILE_LIMIT   ((size_t)256 << 20)
#define SCRIPT_LIMIT ((size_t)16 << 20)
#define NUM_FIELDS   5 /* of a decision */

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

/* The script's text, which the program may have changed since; NULL: there is none. */
static int read_script(const struct srd_cli_execution *e, char **text, size_t *length,
		       struct srd_error *error)
{
	*text = NULL;
	*length = 0;
	return e->script ? srd_file_read(e->script, SCRIPT_LIMIT, text, length, error) : 0;
}

int srd_cli_decisions_write(const char *path, const struct srd_cli_execution *e,
			    struct srd_error *error)
{
	json_t *root;
	size_t length;
	char *text;
	int rc = read_script(e, &text, &length, error);

	if (rc)
		return rc;
	root = json_pack("{s:s, s:i, s:s, s:o, s:s?, s:s%, s:I, s:o, s:i, s:i, s:i, s:i, s:o}",
			 "format", FORMAT, "schema", SCHEMA, "version", SRDLAB_VERSION, "program",
			 pack_words(e->argv), "script", e->script, "text", text ? text : "", length,
			 "seed", (json_int_t)e->seed, "profile", srd_cli_profile_json(&e->profile),
			 "devices", (int)e->devices, "clock", (int)e->clock, "memory",
			 (int)e->memory, "doorbell", (int)e->doorbell, "decisions",
			 pack_log(e->log));
	srd_free(text);
	if (!root)
		return srd_error_set(error, -EILSEQ,
				     "%s: out of memory, or the program's name is not UTF-8", path);
	rc = json_dump_file(root, path, JSON_COMPACT);
	json_decref(root);
	return rc ? srd_error_set(error, -EIO, "%s cannot be written: %m", path) : 0;
}

bool srd_cli_decisions_probe(const char *path)
{
	static const char begin[] = "{\"format\":\"" FORMAT "\"";
	char text[sizeof(begin) - 1];
	FILE *file = fopen(path, "re");
	bool is = file && fread(text, sizeof(text), 1, file) == 1 &&
		  !memcmp(text, begin, sizeof(text));

	if (file)
		fclose(file);
	return is;
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
	return n ? 0 : srd_error_set(error, -EPROTO, "%s: program is empty", path);
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

static int unpack_profile(json_t *object, struct srd_profile *profile, const char *path,
			  struct srd_error *error)
{
	char *text = json_dumps(object, 0);
	int rc = text ? srd_profile_parse(path, text, strlen(text), profile, error)
		      : srd_error_set(error, -ENOMEM, "%s: out of memory", path);

	free(text);
	return rc;
}

static int unpack(const char *path, struct srd_cli_decisions *out, struct srd_error *error)
{
	struct srd_cli_execution *e = &out->execution;
	int schema, devices, clock, memory, doorbell, rc;
	json_t *words, *profile, *log;
	json_error_t where;
	json_int_t seed;

	if (json_unpack_ex(out->root, &where, 0, "{s:i}", "schema", &schema))
		return srd_error_set(error, -EPROTO, "%s: %s", path, where.text);
	if (schema != SCHEMA)
		return srd_error_set(error, -EPROTO,
				     "%s is of format %d, this srdlab reads format %d", path,
				     schema, SCHEMA);
	if (json_unpack_ex(out->root, &where, 0, "{s:o, s:s%, s:I, s:o, s:i, s:i, s:i, s:i, s:o}",
			   "program", &words, "text", &e->script_text, &e->script_length, "seed",
			   &seed, "profile", &profile, "devices", &devices, "clock", &clock,
			   "memory", &memory, "doorbell", &doorbell, "decisions", &log))
		return srd_error_set(error, -EPROTO, "%s: %s", path, where.text);
	if (seed < 0 || devices < 1 || clock < 0 || memory < 0 || doorbell < 0)
		return srd_error_set(error, -EPROTO, "%s: a number is negative, or devices is 0",
				     path);
	e->script = json_string_value(json_object_get(out->root, "script"));
	e->seed = (uint64_t)seed;
	e->devices = (uint32_t)devices;
	e->clock = (uint32_t)clock;
	e->memory = (uint32_t)memory;
	e->doorbell = (uint32_t)doorbell;
	e->log = &out->log;
	e->replay = true;
	rc = unpack_words(words, path, &e->argv, error);
	if (!rc)
		rc = unpack_profile(profile, &e->profile, path, error);
	return rc ? rc : unpack_log(log, path, &out->log, error);
}

int srd_cli_decisions_read(const char *path, struct srd_cli_decisions *out, struct srd_error *error)
{
	json_error_t where;
	size_t length;
	char *text;
	int rc;

	memset(out, 0, sizeof(*out));
	rc = srd_file_read(path, FILE_LIMIT, &text, &length, error);
	if (rc)
		return rc;
	out->root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &where);
	srd_free(text);
	if (!out->root)
		return srd_error_set(error, -EPROTO, "%s:%d: error: %s", path, where.line,
				     where.text);
	return unpack(path, out, error);
}

void srd_cli_decisions_release(struct srd_cli_decisions *decisions)
{
	srd_free(decisions->execution.argv);
	srd_free(decisions->log.list);
	json_decref(decisions->root);
	memset(decisions, 0, sizeof(*decisions));
}
