/* SPDX-License-Identifier: MIT */
/*
 * The replay file: one JSON object that holds all that a run is a function of, the script's
 * text included, and the hash that its trace had.
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <srdlab/version.h>

#include "cli/fields.h"
#include "cli/profile_json.h"
#include "cli/repeat.h"
#include "verbs/alloc.h"
#include "verbs/file.h"
#include "verbs/profile.h"

#define FORMAT     "srdlab-replay"
#define SCHEMA     1
#define TEXT_LIMIT ((size_t)1 << 20) /* of the suppressions */

/* "chunks-42-seed7.json" for scripts/chunks.lua:42. */
static char *file_name(const char *folder, const struct srd_cli_item *item, int line)
{
	const char *path = item->entry->script->path;
	const char *base = strrchr(path, '/');
	size_t length;

	base = base ? base + 1 : path;
	length = strlen(base);
	if (length > 4 && !strcmp(base + length - 4, ".lua"))
		length -= 4;
	return srd_asprintf("%s/%.*s-%d-seed%" PRIu64 ".json", folder, (int)length, base, line,
			    item->seed);
}

/* NULL: out of memory. */
static json_t *pack(const struct srd_cli_run_options *options, const struct srd_run_config *config,
		    const struct srd_cli_item *item, const struct srd_scenario_result *result,
		    const char *suppressions)
{
	const struct srd_cli_script *script = item->entry->script;
	const struct srd_scenario_info *info =
		srd_script_scenario(script->script, item->entry->scenario);
	char hash[17];

	snprintf(hash, sizeof(hash), "%016" PRIx64, result->trace_hash);
	return json_pack(
		"{s:s, s:i, s:s, s:{s:s, s:s%}, s:{s:s, s:i, s:i}, s:I, s:s, s:s?, s:o, s:s?, s:s?,"
		" s:s, s:s?, s:I, s:I, s:b, s:s, s:s?, s:I}",
		"format", FORMAT, "schema", SCHEMA, "version", SRDLAB_VERSION,        /**/
		"script", "path", script->path, "text", script->text, script->length, /**/
		"scenario", "name", info->name, "index", item->entry->scenario, "line", info->line,
		"seed", (json_int_t)item->seed, "backend", config->backend->name, "device",
		config->device, "profile", srd_cli_profile_json(config->profile), /**/
		"queue_pair", options->plug_in.queue_pair, "scheduler", options->plug_in.scheduler,
		"rules", config->rules, "suppressions", suppressions, /**/
		"memory", (json_int_t)options->sandbox.memory, "scenario_timeout",
		(json_int_t)options->sandbox.scenario_timeout, "unsafe_lua",
		options->sandbox.unsafe_lua, "trace_hash", hash, "order", result->order,
		"orders_max", (json_int_t)config->orders_max);
}

/* What of the run cannot be written, as JSON is UTF-8; NULL: all can. */
static const char *not_utf8(const struct srd_cli_run_options *options,
			    const struct srd_run_config *config, const struct srd_cli_item *item,
			    const char *suppressions)
{
	const struct srd_cli_script *script = item->entry->script;
	const struct {
		const char *what, *text;
		size_t length; /* 0: to its end */
	} texts[] = {
		{"the script's path", script->path, 0},
		{"the script's text", script->text, script->length},
		{"the scenario's name",
		 srd_script_scenario(script->script, item->entry->scenario)->name, 0},
		{"the device's name", config->device, 0},
		{"the path of --queue-pair", options->plug_in.queue_pair, 0},
		{"the path of --scheduler", options->plug_in.scheduler, 0},
		{"the text of --suppressions", suppressions, 0},
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const char *text = texts[i].text ? texts[i].text : "";
		size_t length = texts[i].length ? texts[i].length : strlen(text);

		if (!srd_cli_fields_hold(text, length))
			return texts[i].what;
	}
	return NULL;
}

/* NULL with *error. */
static json_t *record(const struct srd_cli_run_options *options,
		      const struct srd_run_config *config, const struct srd_cli_item *item,
		      const struct srd_scenario_result *result, struct srd_error *error)
{
	char *suppressions = NULL;
	size_t length = 0;
	const char *what;
	json_t *object;

	if (config->suppressions &&
	    srd_file_read(config->suppressions, TEXT_LIMIT, &suppressions, &length, error))
		return NULL;
	what = not_utf8(options, config, item, suppressions);
	object = what ? NULL : pack(options, config, item, result, suppressions);
	srd_free(suppressions);
	if (what)
		srd_error_set(error, -EILSEQ, "%s: %s is not UTF-8, and a replay file is",
			      item->entry->script->path, what);
	else if (!object)
		srd_error_set(error, -ENOMEM, "%s: out of memory", item->entry->script->path);
	return object;
}

char *srd_cli_replay_text(const struct srd_cli_run_options *options,
			  const struct srd_run_config *config, const struct srd_cli_item *item,
			  struct srd_error *error)
{
	const struct srd_scenario_result none = {0};
	json_t *object = record(options, config, item, &none, error);
	char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;

	if (object && !text)
		srd_error_set(error, -ENOMEM, "out of memory");
	json_decref(object);
	return text;
}

static int write_to(const char *folder, const char *path, json_t *object, struct srd_error *error)
{
	if (mkdir(folder, 0777) && errno != EEXIST)
		return srd_error_set(error, -errno, "the folder %s cannot be made: %m", folder);
	if (json_dump_file(object, path, JSON_INDENT(2)))
		return srd_error_set(error, -EIO, "%s cannot be written: %m", path);
	return 0;
}

int srd_cli_replay_write(const struct srd_cli_run_options *options,
			 const struct srd_run_config *config, const struct srd_cli_item *item,
			 const struct srd_cli_outcome *outcome, char **path,
			 struct srd_error *error)
{
	const struct srd_cli_entry *entry = item->entry;
	json_t *object;
	int rc;

	*path = file_name(options->replay_dir, item,
			  srd_script_scenario(entry->script->script, entry->scenario)->line);
	if (!*path)
		return srd_error_set(error, -ENOMEM, "out of memory");
	object = record(options, config, item, &outcome->result, error);
	if (!object)
		return error->code;
	rc = write_to(options->replay_dir, *path, object, error);
	json_decref(object);
	return rc;
}

#define AT(member) offsetof(struct srd_cli_replay_file, member)

static const struct srd_cli_field top_fields[] = {
	{"format", SRD_FIELD_TEXT, -1},
	{"schema", SRD_FIELD_SHORT, -1},
	{"version", SRD_FIELD_TEXT, AT(version)},
	{"script", SRD_FIELD_OBJECT, -1},
	{"scenario", SRD_FIELD_OBJECT, -1},
	{"seed", SRD_FIELD_NUMBER, AT(seed)},
	{"backend", SRD_FIELD_TEXT, AT(backend)},
	{"device", SRD_FIELD_TEXT_OR_NULL, AT(device)},
	{"profile", SRD_FIELD_OBJECT, -1},
	{"queue_pair", SRD_FIELD_TEXT_OR_NULL, AT(queue_pair)},
	{"scheduler", SRD_FIELD_TEXT_OR_NULL, AT(scheduler)},
	{"rules", SRD_FIELD_TEXT, AT(rules)},
	{"suppressions", SRD_FIELD_TEXT_OR_NULL, AT(suppressions)},
	{"memory", SRD_FIELD_NUMBER, AT(memory)},
	{"scenario_timeout", SRD_FIELD_NUMBER, AT(scenario_timeout)},
	{"unsafe_lua", SRD_FIELD_FLAG, AT(unsafe_lua)},
	{"trace_hash", SRD_FIELD_TEXT, -1},
	{"order", SRD_FIELD_TEXT_OR_NULL, AT(order)},
	{"orders_max", SRD_FIELD_SHORT, AT(orders_max)},
};

static const struct srd_cli_field script_fields[] = {
	{"path", SRD_FIELD_TEXT, AT(script_path)},
	{"text", SRD_FIELD_BYTES, AT(script_text)},
};

static const struct srd_cli_field scenario_fields[] = {
	{"name", SRD_FIELD_TEXT, AT(name)},
	{"index", SRD_FIELD_SHORT, AT(index)},
	{"line", SRD_FIELD_SHORT, -1},
};

#define PART(path, prefix, fields)                                                          \
	{                                                                                   \
		path, "a replay file", prefix, fields, sizeof(fields) / sizeof((fields)[0]) \
	}

static int unpack(const char *path, struct srd_cli_replay_file *out, struct srd_error *error)
{
	const struct srd_cli_part top = PART(path, "", top_fields);
	const struct srd_cli_part script = PART(path, "script.", script_fields);
	const struct srd_cli_part scenario = PART(path, "scenario.", scenario_fields);
	const json_t *root = out->root;
	const char *hash;
	int rc = srd_cli_fields_are(root, FORMAT)
			 ? srd_cli_fields_schema(path, root, SCHEMA, error)
			 : srd_error_set(error, -EPROTO, "%s is not a replay file", path);

	if (!rc)
		rc = srd_cli_fields_read(&top, out->root, out, error);
	if (!rc)
		rc = srd_cli_fields_read(&script, json_object_get(root, "script"), out, error);
	if (!rc)
		rc = srd_cli_fields_read(&scenario, json_object_get(root, "scenario"), out, error);
	if (rc)
		return rc;
	hash = json_string_value(json_object_get(root, "trace_hash"));
	if (strspn(hash, "0123456789abcdef") != 16 || hash[16])
		return srd_error_set(error, -EPROTO,
				     "%s: trace_hash is \"%.40s\", not 16 hexadecimal digits", path,
				     hash);
	out->trace_hash = strtoull(hash, NULL, 16);
	out->script_length =
		json_string_length(json_object_get(json_object_get(root, "script"), "text"));
	return srd_cli_fields_profile(json_object_get(root, "profile"), path, &out->profile, error);
}

int srd_cli_replay_unpack(const char *path, json_t *root, struct srd_cli_replay_file *out,
			  struct srd_error *error)
{
	*out = (struct srd_cli_replay_file){.path = path, .root = root};
	return unpack(path, out, error);
}

void srd_cli_replay_release(struct srd_cli_replay_file *file)
{
	json_decref(file->root);
	memset(file, 0, sizeof(*file));
}
