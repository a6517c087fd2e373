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

#include "cli/profile_json.h"
#include "cli/repeat.h"
#include "verbs/alloc.h"
#include "verbs/file.h"
#include "verbs/nearest.h"
#include "verbs/profile.h"

#define FORMAT     "srdlab-replay"
#define SCHEMA     1
#define TEXT_LIMIT ((size_t)1 << 20)  /* of the suppressions */
#define FILE_LIMIT ((size_t)64 << 20) /* a script is at most 16 MiB, longer in JSON */

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
		/* Without memory both are NULL. */
		json_t *any = json_stringn_nocheck(text, length),
		       *good = json_stringn(text, length);
		bool bad = any && !good;

		json_decref(any);
		json_decref(good);
		if (bad)
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

/* What a field may be. */
enum kind {
	TEXT,
	TEXT_OR_NULL,
	SCRIPT, /* text that may hold the byte 0 */
	NUMBER, /* into a uint64_t */
	SHORT,  /* into 32 bits */
	FLAG,
	OBJECT, /* it has a reader of its own */
};

static const char *const wanted[] = {
	[TEXT] = "a string",
	[TEXT_OR_NULL] = "a string or null",
	[SCRIPT] = "a string",
	[NUMBER] = "a whole number, 0 or more",
	[SHORT] = "a whole number, 0 to 2147483647",
	[FLAG] = "true or false",
	[OBJECT] = "an object",
};

struct field {
	const char *name;
	enum kind kind;
	ptrdiff_t at; /* in struct srd_cli_replay_file; -1: it is only looked at */
};

#define AT(member) offsetof(struct srd_cli_replay_file, member)

static const struct field top_fields[] = {
	{"format", TEXT, -1},
	{"schema", SHORT, -1},
	{"version", TEXT, AT(version)},
	{"script", OBJECT, -1},
	{"scenario", OBJECT, -1},
	{"seed", NUMBER, AT(seed)},
	{"backend", TEXT, AT(backend)},
	{"device", TEXT_OR_NULL, AT(device)},
	{"profile", OBJECT, -1},
	{"queue_pair", TEXT_OR_NULL, AT(queue_pair)},
	{"scheduler", TEXT_OR_NULL, AT(scheduler)},
	{"rules", TEXT, AT(rules)},
	{"suppressions", TEXT_OR_NULL, AT(suppressions)},
	{"memory", NUMBER, AT(memory)},
	{"scenario_timeout", NUMBER, AT(scenario_timeout)},
	{"unsafe_lua", FLAG, AT(unsafe_lua)},
	{"trace_hash", TEXT, -1},
	{"order", TEXT_OR_NULL, AT(order)},
	{"orders_max", SHORT, AT(orders_max)},
};

static const struct field script_fields[] = {
	{"path", TEXT, AT(script_path)},
	{"text", SCRIPT, AT(script_text)},
};

static const struct field scenario_fields[] = {
	{"name", TEXT, AT(name)},
	{"index", SHORT, AT(index)},
	{"line", SHORT, -1},
};

/* One object of the file. */
struct part {
	const char *path;   /* of the file */
	const char *prefix; /* of its fields' names in messages */
	const struct field *fields;
	int count;
};

#define PART(path, prefix, fields)                                         \
	{                                                                  \
		path, prefix, fields, sizeof(fields) / sizeof((fields)[0]) \
	}
#define MAX_FIELDS (sizeof(top_fields) / sizeof(top_fields[0]))

static bool is_of(const json_t *value, enum kind kind)
{
	switch (kind) {
	case TEXT_OR_NULL:
		if (json_is_null(value))
			return true;
		/* fallthrough */
	case TEXT:
		return json_is_string(value) &&
		       strlen(json_string_value(value)) == json_string_length(value);
	case SCRIPT:
		return json_is_string(value);
	case NUMBER:
		return json_is_integer(value) && json_integer_value(value) >= 0;
	case SHORT:
		return json_is_integer(value) && json_integer_value(value) >= 0 &&
		       json_integer_value(value) <= INT32_MAX;
	case FLAG:
		return json_is_boolean(value);
	case OBJECT:
		return json_is_object(value);
	}
	return false;
}

static void store(const json_t *value, enum kind kind, char *to)
{
	const char *text = json_string_value(value);
	uint64_t number = (uint64_t)json_integer_value(value);
	uint32_t low = (uint32_t)number;
	bool flag = json_is_true(value);

	switch (kind) {
	case TEXT:
	case TEXT_OR_NULL:
	case SCRIPT:
		memcpy(to, &text, sizeof(text));
		break;
	case NUMBER:
		memcpy(to, &number, sizeof(number));
		break;
	case SHORT:
		memcpy(to, &low, sizeof(low));
		break;
	case FLAG:
		memcpy(to, &flag, sizeof(flag));
		break;
	case OBJECT:
		break;
	}
}

static int unknown(const struct part *part, const char *key, struct srd_error *error)
{
	const char *names[MAX_FIELDS], *nearest;

	for (int i = 0; i < part->count; i++)
		names[i] = part->fields[i].name;
	nearest = srd_nearest(key, names, part->count);
	return srd_error_set(error, -EPROTO, "%s: \"%s%.40s\" is no field of a replay file%s%s%s",
			     part->path, part->prefix, key, nearest ? "; did you mean " : "",
			     nearest ? nearest : "", nearest ? "?" : "");
}

/* All that PART lists is there and of its type, and nothing else. */
static int read_part(const struct part *part, json_t *object, struct srd_cli_replay_file *out,
		     struct srd_error *error)
{
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value)
	{
		int i = 0;

		while (i < part->count && strcmp(part->fields[i].name, key))
			i++;
		if (i == part->count)
			return unknown(part, key, error);
	}
	for (int i = 0; i < part->count; i++) {
		const struct field *field = &part->fields[i];
		char *text;

		value = json_object_get(object, field->name);
		if (!value)
			return srd_error_set(error, -EPROTO, "%s: %s%s is missing: %s is needed",
					     part->path, part->prefix, field->name,
					     wanted[field->kind]);
		if (is_of(value, field->kind)) {
			if (field->at >= 0)
				store(value, field->kind, (char *)out + field->at);
			continue;
		}
		text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
		srd_error_set(error, -EPROTO, "%s: %s%s is %.40s: %s is needed", part->path,
			      part->prefix, field->name, text ? text : "not of its type",
			      wanted[field->kind]);
		free(text);
		return error->code;
	}
	return 0;
}

/* A field that is missing would be that of some profile's: another run. */
static int check_profile(const json_t *object, const char *path, struct srd_error *error)
{
	const char *missing = !json_object_get(object, "name")   ? "name"
			      : !json_object_get(object, "base") ? "base"
								 : NULL;

	for (int i = 0; i < SRD_NUM_PROFILE_FIELDS && !missing; i++)
		if (!json_object_get(object, srd_profile_fields[i].name))
			missing = srd_profile_fields[i].name;
	return missing ? srd_error_set(error, -EPROTO, "%s: profile.%s is missing", path, missing)
		       : 0;
}

static int unpack_profile(json_t *object, struct srd_profile *profile, const char *path,
			  struct srd_error *error)
{
	char *text = json_dumps(object, 0);
	struct srd_error inner = {0};
	const char *why;
	int rc;

	if (!text)
		return srd_error_set(error, -ENOMEM, "out of memory");
	rc = srd_profile_parse("profile", text, strlen(text), profile, &inner);
	free(text);
	if (!rc)
		return 0;
	/* Its line is one of TEXT. */
	why = strstr(inner.message, "error: ");
	return srd_error_set(error, rc, "%s: profile: %s", path,
			     why ? why + strlen("error: ") : inner.message);
}

/* Whether ROOT is a replay file of this format at all. */
static int check_format(const char *path, const json_t *root, struct srd_error *error)
{
	const char *format = json_string_value(json_object_get(root, "format"));
	const json_t *schema = json_object_get(root, "schema");

	if (!format || strcmp(format, FORMAT) || !json_is_integer(schema))
		return srd_error_set(error, -EPROTO, "%s is not a replay file", path);
	if (json_integer_value(schema) != SCHEMA)
		return srd_error_set(error, -EPROTO,
				     "%s is of format %" JSON_INTEGER_FORMAT
				     ", this srdlab reads format %d",
				     path, json_integer_value(schema), SCHEMA);
	return 0;
}

static int unpack(const char *path, struct srd_cli_replay_file *out, struct srd_error *error)
{
	const struct part top = PART(path, "", top_fields);
	const struct part script = PART(path, "script.", script_fields);
	const struct part scenario = PART(path, "scenario.", scenario_fields);
	const json_t *root = out->root;
	const char *hash;
	int rc = check_format(path, root, error);

	if (!rc)
		rc = read_part(&top, out->root, out, error);
	if (!rc)
		rc = read_part(&script, json_object_get(root, "script"), out, error);
	if (!rc)
		rc = read_part(&scenario, json_object_get(root, "scenario"), out, error);
	if (rc)
		return rc;
	rc = check_profile(json_object_get(root, "profile"), path, error);
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
	return unpack_profile(json_object_get(root, "profile"), &out->profile, path, error);
}

int srd_cli_replay_parse(const char *path, const char *text, size_t length,
			 struct srd_cli_replay_file *out, struct srd_error *error)
{
	json_error_t where;

	*out = (struct srd_cli_replay_file){.path = path};
	out->root = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &where);
	if (out->root)
		return unpack(path, out, error);
	if (json_error_code(&where) == json_error_out_of_memory)
		return srd_error_set(error, -ENOMEM, "%s: out of memory", path);
	return srd_error_set(error, -EPROTO, "%s:%d: error: %s", path, where.line, where.text);
}

int srd_cli_replay_read(const char *path, struct srd_cli_replay_file *out, struct srd_error *error)
{
	size_t length;
	char *text;
	int rc = srd_file_read(path, FILE_LIMIT, &text, &length, error);

	memset(out, 0, sizeof(*out));
	if (!rc)
		rc = srd_cli_replay_parse(path, text, length, out, error);
	srd_free(text);
	return rc;
}

void srd_cli_replay_release(struct srd_cli_replay_file *file)
{
	json_decref(file->root);
	memset(file, 0, sizeof(*file));
}
