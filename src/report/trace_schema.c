/* SPDX-License-Identifier: MIT */
/* The schema of events as JSON, for the header of a trace. */
#include <errno.h>

#include <srdlab/verbs.h>

#include "report/trace_format.h"

const struct srd_enum_info *srd_trace_enum(int i)
{
	if (i < SRD_NUM_ENUMS)
		return srd_enum_infos[i];
	return i == SRD_NUM_ENUMS ? &srd_verb_info : NULL;
}

static const char *shown(const struct srd_event_field *field)
{
	switch (field->format) {
	case SRD_FIELD_DEC:
		return "dec";
	case SRD_FIELD_HEX:
		return "hex";
	case SRD_FIELD_ERRNO:
		return "errno";
	case SRD_FIELD_COUNT:
		return "count";
	case SRD_FIELD_ENUM:
		return field->values->name;
	}
	return "dec";
}

static json_t *fields_json(const struct srd_event_info *info)
{
	json_t *list = json_array();

	for (int i = 0; i < info->num_fields; i++) {
		const struct srd_event_field *f = &info->fields[i];

		if (json_array_append_new(list, json_pack("{ss si si ss}", "name", f->name,
							  "offset", f->offset, "size", f->size,
							  "shown", shown(f)))) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static json_t *events_json(void)
{
	json_t *list = json_array();

	for (int i = 0; i < SRD_NUM_EVENT_TYPES; i++) {
		const struct srd_event_info *info = &srd_event_infos[i];
		json_t *event =
			json_pack("{ss ss ss si so}", "name", info->name, "source",
				  srd_event_source_str(info->source), "object", info->object,
				  "size", info->size, "fields", fields_json(info));

		if (json_array_append_new(list, event)) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static json_t *enum_json(const struct srd_enum_info *info)
{
	json_t *values = json_object();

	for (int i = 0; i < info->num; i++) {
		if (json_object_set_new(values, info->names[i], json_integer(info->values[i]))) {
			json_decref(values);
			return NULL;
		}
	}
	return json_pack("{sb so}", "flags", info->flags, "values", values);
}

static json_t *enums_json(void)
{
	const struct srd_enum_info *info;
	json_t *all = json_object();

	for (int i = 0; (info = srd_trace_enum(i)); i++) {
		if (json_object_set_new(all, info->name, enum_json(info))) {
			json_decref(all);
			return NULL;
		}
	}
	return all;
}

int srd_trace_schema_write(json_t *header)
{
	if (json_object_set_new(header, "events", events_json()) ||
	    json_object_set_new(header, "enums", enums_json()))
		return -ENOMEM;
	return 0;
}
