/* SPDX-License-Identifier: MIT */
/* The schema of a trace as it is in the file, against the one of this program. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "report/trace_format.h"
#include "verbs/alloc.h"

/* The integer KEY of OBJECT within 0..MAX; -1: there is none such. */
static int number(const json_t *object, const char *key, int max)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_integer(value) || json_integer_value(value) < 0 ||
	    json_integer_value(value) > max)
		return -1;
	return (int)json_integer_value(value);
}

/* The field NAME of a type of the file; NULL: it has none. */
static const json_t *find_field(const json_t *fields, const char *name)
{
	size_t i;
	json_t *field;

	json_array_foreach(fields, i, field)
	{
		const char *its = json_string_value(json_object_get(field, "name"));

		if (its && !strcmp(its, name))
			return field;
	}
	return NULL;
}

static int read_field(const json_t *field, const struct srd_event_field *here, int record_size,
		      struct srd_trace_move *move, struct srd_error *error)
{
	int offset = number(field, "offset", SRD_TRACE_MAX_RECORD);
	int size = number(field, "size", 8);

	if (offset < (int)sizeof(struct srd_event) || size < 1 || (size & (size - 1)) ||
	    offset + size > record_size)
		return srd_error_set(
			error, -EINVAL,
			"field %s has no place of 1, 2, 4 or 8 bytes in a record of %d", here->name,
			record_size);
	*move = (struct srd_trace_move){
		.name = here->name,
		.from = (uint16_t)offset,
		.from_size = (uint16_t)size,
		.to = here->offset,
		.to_size = here->size,
	};
	return 0;
}

static int read_fields(const json_t *fields, struct srd_trace_map *map, struct srd_error *error)
{
	const struct srd_event_info *info = &srd_event_infos[map->type];
	int result;

	map->same = map->size == info->size && (int)json_array_size(fields) == info->num_fields;
	if (!info->num_fields)
		return 0;
	map->moves = srd_calloc(info->num_fields, sizeof(*map->moves));
	if (!map->moves)
		return srd_error_set(error, -ENOMEM, "no memory for its schema");
	for (int i = 0; i < info->num_fields; i++) {
		const json_t *field = find_field(fields, info->fields[i].name);
		struct srd_trace_move *move = &map->moves[map->num_moves];

		if (!field) {
			map->same = false;
			continue;
		}
		result = read_field(field, &info->fields[i], map->size, move, error);
		if (result)
			return result;
		if (move->from != move->to || move->from_size != move->to_size)
			map->same = false;
		map->num_moves++;
	}
	return 0;
}

static int read_event(const json_t *event, struct srd_trace_schema *schema, struct srd_error *error)
{
	const json_t *fields = json_object_get(event, "fields");
	int size = number(event, "size", SRD_TRACE_MAX_RECORD);
	struct srd_trace_map *map = &schema->maps[schema->num];

	map->name = json_string_value(json_object_get(event, "name"));
	if (!map->name || !json_is_array(fields))
		return srd_error_set(error, -EINVAL,
				     "event type %" PRIu32 " has no name or no fields",
				     schema->num);
	if (size < (int)sizeof(struct srd_event) || size % 8)
		return srd_error_set(
			error, -EINVAL,
			"records of %s are not a multiple of 8 from %zu to %d bytes long",
			map->name, sizeof(struct srd_event), SRD_TRACE_MAX_RECORD);
	map->size = (uint16_t)size;
	map->type = srd_event_type_parse(map->name);
	schema->num++;
	return map->type < 0 ? 0 : read_fields(fields, map, error);
}

/* The values of a known enumeration have to mean the same in the file as here. */
static int check_enum(const json_t *values, const struct srd_enum_info *info,
		      struct srd_error *error)
{
	for (int i = 0; i < info->num; i++) {
		const json_t *value = json_object_get(values, info->names[i]);

		if (value && (!json_is_integer(value) ||
			      json_integer_value(value) != (json_int_t)info->values[i]))
			return srd_error_set(error, -EINVAL,
					     "%s is %" JSON_INTEGER_FORMAT
					     " in the trace and %" PRIu32 " in this srdlab",
					     info->names[i], json_integer_value(value),
					     info->values[i]);
	}
	return 0;
}

int srd_trace_schema_read(const json_t *header, struct srd_trace_schema *out,
			  struct srd_error *error)
{
	const json_t *events = json_object_get(header, "events");
	const json_t *enums = json_object_get(header, "enums");
	const struct srd_enum_info *info;
	json_t *event;
	int result = 0;
	size_t i;

	*out = (struct srd_trace_schema){0};
	if (!json_array_size(events) || json_array_size(events) >= SRD_TRACE_END)
		return srd_error_set(error, -EINVAL, "it names no types of events, or too many");
	out->maps = srd_calloc(json_array_size(events), sizeof(*out->maps));
	if (!out->maps)
		return srd_error_set(error, -ENOMEM, "no memory for its schema");
	json_array_foreach(events, i, event)
	{
		result = read_event(event, out, error);
		if (result)
			return result;
	}
	for (int e = 0; !result && (info = srd_trace_enum(e)); e++)
		result = check_enum(json_object_get(json_object_get(enums, info->name), "values"),
				    info, error);
	return result;
}

void srd_trace_schema_release(struct srd_trace_schema *schema)
{
	for (uint32_t i = 0; schema->maps && i < schema->num; i++)
		srd_free(schema->maps[i].moves);
	srd_free(schema->maps);
}

int srd_trace_map_apply(const struct srd_trace_map *map, const struct srd_event *record,
			struct srd_event *out, struct srd_error *error)
{
	*out = *record;
	out->type = (uint16_t)map->type;
	for (uint16_t i = 0; i < map->num_moves; i++) {
		const struct srd_trace_move *move = &map->moves[i];
		uint64_t value = 0;

		memcpy(&value, (const char *)record + move->from, move->from_size);
		if (move->to_size < 8 && value >> (8 * move->to_size))
			return srd_error_set(error, -EINVAL,
					     "%s of %s is %" PRIu64
					     ", which does not fit in %d bytes",
					     move->name, map->name, value, move->to_size);
		memcpy((char *)out + move->to, &value, move->to_size);
	}
	return 0;
}
