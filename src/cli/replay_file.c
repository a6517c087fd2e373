/* SPDX-License-Identifier: MIT */
/*
 * The replay file: one JSON object that holds all that a run is a function of, the script's
 * text included, and the hash that its trace had.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <srdlab/version.h>

#include "cli/profile_json.h"
#include "cli/repeat.h"
#include "verbs/alloc.h"
#include "verbs/file.h"
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

/* NULL: out of memory, or a text is not UTF-8. */
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

/* NULL with *error. */
static json_t *record(const struct srd_cli_run_options *options,
		      const struct srd_run_config *config, const struct srd_cli_item *item,
		      const struct srd_scenario_result *result, struct srd_error *error)
{
	char *suppressions = NULL;
	size_t length = 0;
	json_t *object;

	if (config->suppressions &&
	    srd_file_read(config->suppressions, TEXT_LIMIT, &suppressions, &length, error))
		return NULL;
	object = pack(options, config, item, result, suppressions);
	srd_free(suppressions);
	if (!object)
		srd_error_set(error, -EILSEQ, "%s: out of memory, or its text is not UTF-8",
			      item->entry->script->path);
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

static int unpack_profile(json_t *object, struct srd_profile *profile, const char *path,
			  struct srd_error *error)
{
	char *text = json_dumps(object, 0);
	int rc;

	if (!text)
		return srd_error_set(error, -ENOMEM, "out of memory");
	rc = srd_profile_parse(path, text, strlen(text), profile, error);
	free(text);
	return rc;
}

static int unpack(const char *path, struct srd_cli_replay_file *out, struct srd_error *error)
{
	json_int_t seed, memory, timeout;
	const char *format, *hash;
	json_error_t where;
	json_t *profile;
	int schema, unsafe;

	if (json_unpack_ex(out->root, &where, 0, "{s:s, s:i}", "format", &format, "schema",
			   &schema) ||
	    strcmp(format, FORMAT))
		return srd_error_set(error, -EPROTO, "%s is not a replay file", path);
	if (schema != SCHEMA)
		return srd_error_set(error, -EPROTO,
				     "%s is of format %d, this srdlab reads format %d", path,
				     schema, SCHEMA);
	if (json_unpack_ex(out->root, &where, 0,
			   "{s:s, s:{s:s, s:s%}, s:{s:s, s:i}, s:I, s:s, s:o, s:s, s:I, s:I, s:b,"
			   " s:s}",
			   "version", &out->version, "script", "path", &out->script_path, "text",
			   &out->script_text, &out->script_length, "scenario", "name", &out->name,
			   "index", &out->index, "seed", &seed, "backend", &out->backend, "profile",
			   &profile, "rules", &out->rules, "memory", &memory, "scenario_timeout",
			   &timeout, "unsafe_lua", &unsafe, "trace_hash", &hash))
		return srd_error_set(error, -EPROTO, "%s: %s", path, where.text);
	if (seed < 0 || memory < 0 || timeout < 0)
		return srd_error_set(error, -EPROTO, "%s: %s is negative", path,
				     seed < 0     ? "seed"
				     : memory < 0 ? "memory"
						  : "scenario_timeout");
	if (strspn(hash, "0123456789abcdef") != 16 || hash[16])
		return srd_error_set(error, -EPROTO,
				     "%s: trace_hash is \"%.40s\", not 16 hexadecimal digits", path,
				     hash);
	out->device = json_string_value(json_object_get(out->root, "device"));
	out->queue_pair = json_string_value(json_object_get(out->root, "queue_pair"));
	out->scheduler = json_string_value(json_object_get(out->root, "scheduler"));
	out->suppressions = json_string_value(json_object_get(out->root, "suppressions"));
	out->order = json_string_value(json_object_get(out->root, "order"));
	out->orders_max = (uint32_t)json_integer_value(json_object_get(out->root, "orders_max"));
	out->seed = (uint64_t)seed;
	out->memory = (uint64_t)memory;
	out->scenario_timeout = (uint64_t)timeout;
	out->unsafe_lua = unsafe;
	out->trace_hash = strtoull(hash, NULL, 16);
	return unpack_profile(profile, &out->profile, path, error);
}

int srd_cli_replay_parse(const char *path, const char *text, size_t length,
			 struct srd_cli_replay_file *out, struct srd_error *error)
{
	json_error_t where;

	memset(out, 0, sizeof(*out));
	out->root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &where);
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
