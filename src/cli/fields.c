/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/fields.h"
#include "verbs/alloc.h"
#include "verbs/file.h"
#include "verbs/nearest.h"
#include "verbs/profile.h"

static const char *const wanted[] = {
	[SRD_FIELD_TEXT] = "a string",
	[SRD_FIELD_TEXT_OR_NULL] = "a string or null",
	[SRD_FIELD_BYTES] = "a string",
	[SRD_FIELD_NUMBER] = "a whole number, 0 or more",
	[SRD_FIELD_SHORT] = "a whole number, 0 to 2147483647",
	[SRD_FIELD_FLAG] = "true or false",
	[SRD_FIELD_LIST] = "a list",
	[SRD_FIELD_OBJECT] = "an object",
};

int srd_cli_fields_parse(const char *path, const char *text, size_t length, json_t **root,
			 struct srd_error *error)
{
	json_error_t where;

	*root = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &where);
	if (*root)
		return 0;
	if (json_error_code(&where) == json_error_out_of_memory)
		return srd_error_set(error, -ENOMEM, "%s: out of memory", path);
	return srd_error_set(error, -EPROTO, "%s:%d: error: %s", path, where.line, where.text);
}

int srd_cli_fields_load(const char *path, size_t limit, json_t **root, struct srd_error *error)
{
	size_t length;
	char *text;
	int rc = srd_file_read(path, limit, &text, &length, error);

	*root = NULL;
	if (!rc)
		rc = srd_cli_fields_parse(path, text, length, root, error);
	srd_free(text);
	return rc;
}

bool srd_cli_fields_are(const json_t *root, const char *format)
{
	const char *is = json_string_value(json_object_get(root, "format"));

	return is && !strcmp(is, format);
}

int srd_cli_fields_schema(const char *path, const json_t *root, int schema, struct srd_error *error)
{
	const json_t *is = json_object_get(root, "schema");

	if (!json_is_integer(is) || json_integer_value(is) == schema)
		return 0; /* what is no number is for the reader of fields */
	return srd_error_set(error, -EPROTO,
			     "%s is of format %" JSON_INTEGER_FORMAT
			     ", this srdlab reads format %d",
			     path, json_integer_value(is), schema);
}

bool srd_cli_fields_hold(const char *text, size_t length)
{
	/* Without memory both are NULL. */
	json_t *any = json_stringn_nocheck(text, length), *good = json_stringn(text, length);
	bool bad = any && !good;

	json_decref(any);
	json_decref(good);
	return !bad;
}

static bool is_of(const json_t *value, enum srd_cli_field_kind kind)
{
	switch (kind) {
	case SRD_FIELD_TEXT_OR_NULL:
		if (json_is_null(value))
			return true;
		/* fallthrough */
	case SRD_FIELD_TEXT:
		return json_is_string(value) &&
		       strlen(json_string_value(value)) == json_string_length(value);
	case SRD_FIELD_BYTES:
		return json_is_string(value);
	case SRD_FIELD_NUMBER:
		return json_is_integer(value) && json_integer_value(value) >= 0;
	case SRD_FIELD_SHORT:
		return json_is_integer(value) && json_integer_value(value) >= 0 &&
		       json_integer_value(value) <= INT32_MAX;
	case SRD_FIELD_FLAG:
		return json_is_boolean(value);
	case SRD_FIELD_LIST:
		return json_is_array(value);
	case SRD_FIELD_OBJECT:
		return json_is_object(value);
	}
	return false;
}

static void store(const json_t *value, enum srd_cli_field_kind kind, char *to)
{
	const char *text = json_string_value(value);
	uint64_t number = (uint64_t)json_integer_value(value);
	uint32_t low = (uint32_t)number;
	bool flag = json_is_true(value);

	switch (kind) {
	case SRD_FIELD_TEXT:
	case SRD_FIELD_TEXT_OR_NULL:
	case SRD_FIELD_BYTES:
		memcpy(to, &text, sizeof(text));
		break;
	case SRD_FIELD_NUMBER:
		memcpy(to, &number, sizeof(number));
		break;
	case SRD_FIELD_SHORT:
		memcpy(to, &low, sizeof(low));
		break;
	case SRD_FIELD_FLAG:
		memcpy(to, &flag, sizeof(flag));
		break;
	case SRD_FIELD_LIST:
	case SRD_FIELD_OBJECT:
		break;
	}
}

static int unknown(const struct srd_cli_part *part, const char *key, struct srd_error *error)
{
	const char *names[SRD_CLI_MAX_FIELDS], *nearest;

	for (int i = 0; i < part->count; i++)
		names[i] = part->fields[i].name;
	nearest = srd_nearest(key, names, part->count);
	return srd_error_set(error, -EPROTO, "%s: \"%s%.40s\" is no field of %s%s%s%s", part->path,
			     part->prefix, key, part->what, nearest ? "; did you mean " : "",
			     nearest ? nearest : "", nearest ? "?" : "");
}

int srd_cli_fields_read(const struct srd_cli_part *part, json_t *object, void *out,
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
		const struct srd_cli_field *field = &part->fields[i];
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

int srd_cli_fields_profile(json_t *object, const char *path, struct srd_profile *profile,
			   struct srd_error *error)
{
	char *text;
	struct srd_error inner = {0};
	const char *why;
	int rc = check_profile(object, path, error);

	if (rc)
		return rc;
	text = json_dumps(object, 0);
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
