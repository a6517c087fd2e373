/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <jansson.h>

#include "alloc.h"
#include "nearest.h"
#include "profile.h"
#include "units.h"

uint64_t srd_profile_get(const struct srd_profile *profile, const struct srd_profile_field *field)
{
	const char *at = (const char *)profile + field->offset;
	uint64_t u64;
	uint32_t u32;
	uint16_t u16;
	uint8_t u8;

	switch (field->size) {
	case sizeof(u64):
		memcpy(&u64, at, sizeof(u64));
		return u64;
	case sizeof(u32):
		memcpy(&u32, at, sizeof(u32));
		return u32;
	case sizeof(u16):
		memcpy(&u16, at, sizeof(u16));
		return u16;
	default:
		memcpy(&u8, at, sizeof(u8));
		return u8;
	}
}

static void put(struct srd_profile *profile, const struct srd_profile_field *field, uint64_t value)
{
	char *at = (char *)profile + field->offset;
	uint32_t u32 = (uint32_t)value;
	uint16_t u16 = (uint16_t)value;
	uint8_t u8 = (uint8_t)value;

	switch (field->size) {
	case sizeof(value):
		memcpy(at, &value, sizeof(value));
		break;
	case sizeof(u32):
		memcpy(at, &u32, sizeof(u32));
		break;
	case sizeof(u16):
		memcpy(at, &u16, sizeof(u16));
		break;
	default:
		memcpy(at, &u8, sizeof(u8));
		break;
	}
}

static enum srd_unit_kind unit_of(const struct srd_profile_field *field)
{
	switch (field->type) {
	case SRD_PROFILE_TYPE_SIZE:
		return SRD_UNIT_SIZE;
	case SRD_PROFILE_TYPE_TIME:
		return SRD_UNIT_TIME;
	case SRD_PROFILE_TYPE_U16:
	case SRD_PROFILE_TYPE_U32:
	case SRD_PROFILE_TYPE_U64:
	case SRD_PROFILE_TYPE_PPM:
	case SRD_PROFILE_TYPE_BOOL:
	case SRD_PROFILE_TYPE_CHOICE:
		break;
	}
	return SRD_UNIT_NONE;
}

static const char *format_value(const struct srd_profile_field *field, uint64_t value,
				char text[SRD_PROFILE_TEXT])
{
	switch (field->type) {
	case SRD_PROFILE_TYPE_BOOL:
		snprintf(text, SRD_PROFILE_TEXT, "%s", value ? "true" : "false");
		return text;
	case SRD_PROFILE_TYPE_CHOICE:
		snprintf(text, SRD_PROFILE_TEXT, "%s", field->choices[value]);
		return text;
	case SRD_PROFILE_TYPE_U16:
	case SRD_PROFILE_TYPE_U32:
	case SRD_PROFILE_TYPE_U64:
	case SRD_PROFILE_TYPE_SIZE:
	case SRD_PROFILE_TYPE_TIME:
	case SRD_PROFILE_TYPE_PPM:
		break;
	}
	return srd_units_format(unit_of(field), value, text, SRD_PROFILE_TEXT);
}

const char *srd_profile_format(const struct srd_profile *profile,
			       const struct srd_profile_field *field, char text[SRD_PROFILE_TEXT])
{
	return format_value(field, srd_profile_get(profile, field), text);
}

/* What FIELD takes, as the end of a sentence. */
static const char *expected(const struct srd_profile_field *field, char *text, size_t size)
{
	char min[SRD_PROFILE_TEXT], max[SRD_PROFILE_TEXT];
	const char *kind = "a number";
	size_t used = 0;

	switch (field->type) {
	case SRD_PROFILE_TYPE_BOOL:
		snprintf(text, size, "true or false");
		return text;
	case SRD_PROFILE_TYPE_CHOICE:
		for (int i = 0; field->choices[i] && used < size; i++)
			used += (size_t)snprintf(text + used, size - used, "%s%s",
						 i ? ", " : "one of ", field->choices[i]);
		return text;
	case SRD_PROFILE_TYPE_SIZE:
		kind = "a size in bytes or with a unit (B, KiB, MiB, GiB, TiB)";
		break;
	case SRD_PROFILE_TYPE_TIME:
		kind = "a time in ns or with a unit (ns, us, ms, s)";
		break;
	case SRD_PROFILE_TYPE_PPM:
		kind = "a number of parts per million";
		break;
	case SRD_PROFILE_TYPE_U16:
	case SRD_PROFILE_TYPE_U32:
	case SRD_PROFILE_TYPE_U64:
		break;
	}
	snprintf(text, size, "%s from %s to %s", kind, format_value(field, field->min, min),
		 format_value(field, field->max, max));
	return text;
}

static int wrong_value(const struct srd_profile_field *field, int code, const char *value,
		       struct srd_error *error)
{
	char text[200];

	return srd_error_set(error, code, "%s cannot be %s: it takes %s", field->name, value,
			     expected(field, text, sizeof(text)));
}

static const struct srd_profile_field *find(const char *name, struct srd_error *error)
{
	const struct srd_profile_field *field = srd_profile_field_find(name);
	const char *names[SRD_NUM_PROFILE_FIELDS], *near;

	if (field)
		return field;
	for (int i = 0; i < SRD_NUM_PROFILE_FIELDS; i++)
		names[i] = srd_profile_fields[i].name;
	near = srd_nearest(name, names, SRD_NUM_PROFILE_FIELDS);
	srd_error_set(error, -ENOENT, "a profile has no field \"%.40s\"%s%s%s", name,
		      near ? ": did you mean \"" : "", near ? near : "", near ? "\"?" : "");
	return NULL;
}

static int set_number(struct srd_profile *profile, const struct srd_profile_field *field,
		      uint64_t value, struct srd_error *error)
{
	char text[SRD_PROFILE_TEXT];

	if (value < field->min || value > field->max) {
		srd_units_format(unit_of(field), value, text, sizeof(text));
		return wrong_value(field, -ERANGE, text, error);
	}
	put(profile, field, value);
	return 0;
}

int srd_profile_set_number(struct srd_profile *profile, const char *name, uint64_t value,
			   struct srd_error *error)
{
	const struct srd_profile_field *field = find(name, error);

	return field ? set_number(profile, field, value, error) : -ENOENT;
}

static int parse_value(const struct srd_profile_field *field, const char *text, uint64_t *value)
{
	switch (field->type) {
	case SRD_PROFILE_TYPE_BOOL:
		*value = !strcmp(text, "true");
		return *value || !strcmp(text, "false") ? 0 : -EINVAL;
	case SRD_PROFILE_TYPE_CHOICE:
		for (*value = 0; field->choices[*value]; ++*value)
			if (!strcmp(field->choices[*value], text))
				return 0;
		return -EINVAL;
	case SRD_PROFILE_TYPE_U16:
	case SRD_PROFILE_TYPE_U32:
	case SRD_PROFILE_TYPE_U64:
	case SRD_PROFILE_TYPE_SIZE:
	case SRD_PROFILE_TYPE_TIME:
	case SRD_PROFILE_TYPE_PPM:
		break;
	}
	return srd_units_parse(unit_of(field), text, value);
}

int srd_profile_set(struct srd_profile *profile, const char *name, const char *text,
		    struct srd_error *error)
{
	const struct srd_profile_field *field = find(name, error);
	char quoted[SRD_PROFILE_TEXT + 2];
	uint64_t value;
	int result;

	if (!field)
		return -ENOENT;
	result = parse_value(field, text, &value);
	if (result) {
		snprintf(quoted, sizeof(quoted), "\"%.36s\"", text);
		return wrong_value(field, result, quoted, error);
	}
	return set_number(profile, field, value, error);
}

int srd_profile_override(struct srd_profile *profile, const char *text, struct srd_error *error)
{
	const char *value = strchr(text, '=');
	char name[64];

	if (!value || (size_t)(value - text) >= sizeof(name))
		return srd_error_set(error, -EINVAL,
				     "\"%.60s\" sets nothing: write field=value, such as "
				     "max_rdma_size=4KiB",
				     text);
	memcpy(name, text, (size_t)(value - text));
	name[value - text] = '\0';
	return srd_profile_set(profile, name, value + 1, error);
}

/*
 * Fields that contradict each other: where the statement about the values holds. The texts
 * are the two fields' names and what is wrong.
 */
int srd_profile_check(const struct srd_profile *p, struct srd_error *error)
{
	const struct {
		bool broken;
		const char *a, *why, *b;
	} checks[] = {
		{p->max_rdma_size && !p->cap_rdma_read && !p->cap_rdma_write, "max_rdma_size",
		 "needs cap_rdma_write or", "cap_rdma_read"},
		{p->cap_rdma_read && !p->max_rdma_size, "cap_rdma_read", "needs more than",
		 "max_rdma_size"},
		{p->cap_rdma_write && !p->max_rdma_size, "cap_rdma_write", "needs more than",
		 "max_rdma_size"},
		{p->cap_rdma_read && !p->max_sge_rd, "cap_rdma_read", "needs more than",
		 "max_sge_rd"},
		{p->cap_unsolicited_write_recv && !p->cap_rdma_write, "cap_unsolicited_write_recv",
		 "needs", "cap_rdma_write"},
		{(uint64_t)p->first_qpn + p->max_qp > 65536, "first_qpn",
		 "leaves fewer numbers of 16 bits than", "max_qp"},
		{p->min_sq_wr > p->max_sq_wr, "min_sq_wr", "is above", "max_sq_wr"},
		{p->inline_buf_size > p->inline_buf_size_ex, "inline_buf_size", "is above",
		 "inline_buf_size_ex"},
		{p->loss && p->unresponsive_timeout <= p->retransmit, "unresponsive_timeout",
		 "gives up, where packets are lost, before they are sent again after",
		 "retransmit"},
	};
	char a[SRD_PROFILE_TEXT], b[SRD_PROFILE_TEXT];

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		if (checks[i].broken)
			return srd_error_set(
				error, -EINVAL, "profile %s: %s (%s) %s %s (%s)", p->name,
				checks[i].a,
				srd_profile_format(p, srd_profile_field_find(checks[i].a), a),
				checks[i].why, checks[i].b,
				srd_profile_format(p, srd_profile_field_find(checks[i].b), b));
	return 0;
}

static int set_json(struct srd_profile *profile, const char *name, const json_t *value,
		    struct srd_error *error)
{
	const struct srd_profile_field *field;
	const char *what = "null";
	char text[SRD_PROFILE_TEXT];

	switch (json_typeof(value)) {
	case JSON_STRING:
		return srd_profile_set(profile, name, json_string_value(value), error);
	case JSON_TRUE:
	case JSON_FALSE:
		return srd_profile_set(profile, name, json_is_true(value) ? "true" : "false",
				       error);
	case JSON_INTEGER:
		snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
		return srd_profile_set(profile, name, text, error);
	case JSON_REAL:
		snprintf(text, sizeof(text), "%g", json_real_value(value));
		what = text;
		break;
	case JSON_OBJECT:
		what = "an object";
		break;
	case JSON_ARRAY:
		what = "an array";
		break;
	case JSON_NULL:
		break;
	}
	field = find(name, error);
	return field ? wrong_value(field, -EINVAL, what, error) : -ENOENT;
}

/* "efa2.json" names profile efa2. */
static void name_by_path(struct srd_profile *profile, const char *path)
{
	const char *base = strrchr(path, '/');
	size_t length;

	base = base ? base + 1 : path;
	length = strlen(base);
	if (length > 5 && !strcmp(base + length - 5, ".json"))
		length -= 5;
	snprintf(profile->name, sizeof(profile->name), "%.*s", (int)length, base);
}

static int set_base(struct srd_profile *profile, const json_t *root, struct srd_error *error)
{
	const json_t *base = json_object_get(root, "base"), *name = json_object_get(root, "name");
	const struct srd_profile *found;

	if (base && !json_is_string(base))
		return srd_error_set(error, -EINVAL, "\"base\" must be the name of a profile");
	found = srd_profile_find(base ? json_string_value(base) : "efa1");
	if (!found)
		return srd_error_set(error, -ENOENT,
				     "\"base\" is \"%.40s\", which is no built-in profile",
				     json_string_value(base));
	if (name && (!json_is_string(name) || !json_string_length(name) ||
		     json_string_length(name) >= sizeof(profile->name)))
		return srd_error_set(error, -EINVAL, "\"name\" must be a string of 1 to %zu bytes",
				     sizeof(profile->name) - 1);
	for (const char *c = name ? json_string_value(name) : ""; *c; c++)
		if (iscntrl((unsigned char)*c))
			return srd_error_set(
				error, -EINVAL,
				"\"name\" has a control character: it is one line of text");
	*profile = *found;
	if (name)
		memcpy(profile->name, json_string_value(name), json_string_length(name) + 1);
	return 0;
}

/* Where TEXT has "KEY" and a colon behind it, counting lines from 1; 0: it is written otherwise. */
static int line_of(const char *text, size_t length, const char *key)
{
	const char *end = text + length;
	size_t key_length = strlen(key);
	int line = 1;

	for (const char *p = text; p + key_length + 2 < end; p++) {
		const char *behind = p + key_length + 2;

		line += *p == '\n';
		if (*p != '"' || memcmp(p + 1, key, key_length) || behind[-1] != '"')
			continue;
		while (behind < end && isspace((unsigned char)*behind))
			behind++;
		if (behind < end && *behind == ':')
			return line;
	}
	return 0;
}

/* On an error *culprit is the key that it is about, or NULL. */
static int set_all(const char *path, struct srd_profile *profile, json_t *root,
		   const char **culprit, struct srd_error *error)
{
	const char *key;
	json_t *value;
	int result;

	*culprit = NULL;
	if (!json_is_object(root))
		return srd_error_set(error, -EINVAL, "a profile is a JSON object");
	result = set_base(profile, root, error);
	if (result)
		return result;
	if (!json_object_get(root, "name"))
		name_by_path(profile, path);
	json_object_foreach(root, key, value)
	{
		if (!strcmp(key, "base") || !strcmp(key, "name"))
			continue;
		*culprit = key;
		result = set_json(profile, key, value, error);
		if (result)
			return result;
	}
	*culprit = NULL;
	return srd_profile_check(profile, error);
}

int srd_profile_parse(const char *path, const char *text, size_t length,
		      struct srd_profile *profile, struct srd_error *error)
{
	struct srd_profile loaded;
	struct srd_error inner = {0};
	json_error_t where;
	json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &where);
	const char *culprit;
	int result, line;

	if (!root && json_error_code(&where) == json_error_out_of_memory)
		return srd_error_set(error, -ENOMEM, "%s: error: no memory to parse it", path);
	if (!root)
		return srd_error_set(error, -EINVAL, "%s:%d: error: %s", path, where.line,
				     where.text);
	result = set_all(path, &loaded, root, &culprit, &inner);
	line = culprit ? line_of(text, length, culprit) : 0;
	json_decref(root);
	if (result && line)
		return srd_error_set(error, result, "%s:%d: error: %s", path, line, inner.message);
	if (result)
		return srd_error_set(error, result, "%s: error: %s", path, inner.message);
	*profile = loaded;
	return 0;
}

static int read_file(const char *path, struct srd_profile *profile, struct srd_error *error)
{
	const size_t max = 1 << 20;
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t length;
	int result;

	if (!file)
		return srd_error_set(error, -errno, "%s: error: cannot open it: %s", path,
				     strerror(errno));
	text = srd_malloc(max);
	if (!text) {
		result = srd_error_set(error, -ENOMEM, "%s: error: no memory to read it", path);
		goto close_file;
	}
	errno = 0;
	length = fread(text, 1, max, file);
	if (ferror(file))
		result = srd_error_set(error, errno ? -errno : -EIO,
				       "%s: error: cannot read it: %s", path, strerror(errno));
	else if (length == max)
		result = srd_error_set(error, -EFBIG, "%s: error: a profile is below 1 MiB", path);
	else
		result = srd_profile_parse(path, text, length, profile, error);
	srd_free(text);
close_file:
	fclose(file);
	return result;
}

int srd_profile_open(const char *name, struct srd_profile *profile, struct srd_error *error)
{
	const struct srd_profile *found = srd_profile_find(name);
	size_t length = strlen(name);

	if (found) {
		*profile = *found;
		return 0;
	}
	if (strchr(name, '/') || (length >= 5 && !strcmp(name + length - 5, ".json")))
		return read_file(name, profile, error);
	return srd_error_set(error, -ENOENT,
			     "there is no profile \"%.40s\": there are " SRD_PROFILE_NAMES
			     "; a file has a '/' in its name or ends in .json",
			     name);
}

/* Where the value of field number I is known from, into TEXT unless it is a constant. */
static const char *known_from(const struct srd_profile *profile, int i, char *text, size_t size)
{
	const struct srd_profile_field *field = &srd_profile_fields[i];
	const struct srd_profile *base = srd_profile_find(profile->name);

	/* A profile of the user's may have any name, and another base. */
	if (!base || strcmp(base->base, profile->base))
		base = srd_profile_find(profile->base);
	if (srd_profile_get(profile, field) == srd_profile_get(base, field))
		return srd_profile_source((int)(base - srd_profiles), i);
	snprintf(text, size, "set by profile %s", profile->name);
	return text;
}

void srd_profile_print(const struct srd_profile *profile, FILE *to)
{
	char text[SRD_PROFILE_TEXT], from[64];

	for (int i = 0; i < SRD_NUM_PROFILE_FIELDS; i++) {
		const struct srd_profile_field *f = &srd_profile_fields[i];

		fprintf(to, "%-26s %-18s %s (%s)\n", f->name, srd_profile_format(profile, f, text),
			f->doc, known_from(profile, i, from, sizeof(from)));
	}
}
