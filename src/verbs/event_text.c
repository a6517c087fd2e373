/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "event_text.h"

/* A text that grows in a buffer which may be too small for it. */
struct text {
	char *buf;
	size_t size;
	size_t used;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *t, const char *format, ...)
{
	size_t left = t->used < t->size ? t->size - t->used : 0;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(left ? t->buf + t->used : NULL, left, format, args);
	va_end(args);
	if (n > 0)
		t->used += (size_t)n;
}

uint64_t srd_event_value(const struct srd_event *event, const struct srd_event_field *field)
{
	uint64_t value = 0;

	/* Fields are little endian, as the hosts are that this runs on (report/trace.c asserts). */
	memcpy(&value, (const char *)event + field->offset, field->size);
	return value;
}

static void put_errno(struct text *t, int32_t value)
{
	const char *name = strerrorname_np(value < 0 ? (int)-(int64_t)value : value);

	if (name)
		put(t, "%s%s", value < 0 ? "-" : "", value ? name : "0");
	else
		put(t, "%" PRId32, value);
}

static void put_flags(struct text *t, const struct srd_enum_info *info, uint64_t value)
{
	size_t skip = strlen(info->prefix);
	const char *between = "";

	for (int i = 0; i < info->num; i++) {
		if (!(value & info->values[i]))
			continue;
		put(t, "%s%s", between, info->names[i] + skip);
		value &= ~(uint64_t)info->values[i];
		between = "|";
	}
	if (value)
		put(t, "%s0x%" PRIx64, between, value);
	else if (!*between)
		put(t, "0");
}

static void put_enum(struct text *t, const struct srd_enum_info *info, uint64_t value)
{
	for (int i = 0; i < info->num; i++) {
		if (info->values[i] == value) {
			put(t, "%s", info->names[i] + strlen(info->prefix));
			return;
		}
	}
	put(t, "%" PRIu64, value);
}

static void put_value(struct text *t, const struct srd_event_field *field, uint64_t value)
{
	switch (field->format) {
	case SRD_FIELD_DEC:
		put(t, "%" PRIu64, value);
		break;
	case SRD_FIELD_HEX:
		put(t, "0x%" PRIx64, value);
		break;
	case SRD_FIELD_COUNT:
		if ((int32_t)value >= 0) {
			put(t, "%" PRIu64, value);
			break;
		}
		/* fall through */
	case SRD_FIELD_ERRNO:
		put_errno(t, (int32_t)value);
		break;
	case SRD_FIELD_ENUM:
		if (field->values->flags)
			put_flags(t, field->values, value);
		else
			put_enum(t, field->values, value);
		break;
	}
}

int srd_event_value_text(const struct srd_event_field *field, uint64_t value, char *buf,
			 size_t size)
{
	struct text t = {buf, size, 0};

	put_value(&t, field, value);
	return (int)t.used;
}

/* Whether a value says no more than that the field was not used. */
static bool says_nothing(const struct srd_event_field *field, uint64_t value)
{
	if (value)
		return false;
	switch (field->format) {
	case SRD_FIELD_DEC:
	case SRD_FIELD_HEX:
		return true;
	case SRD_FIELD_COUNT:
	case SRD_FIELD_ERRNO:
		return false;
	case SRD_FIELD_ENUM:
		return field->values->flags;
	}
	return false;
}

static int event_text(const struct srd_event *event, bool brief, char *buf, size_t size)
{
	const struct srd_event_info *info = &srd_event_infos[event->type];
	struct text t = {buf, size, 0};
	bool alone = !info->num_fields && !event->op && !event->line;
	char object[32] = "", line[24];

	if (strcmp(info->object, "none"))
		snprintf(object, sizeof(object), "%s %" PRIu32, info->object, event->object);
	if (brief) {
		line[0] = '\0';
		if (event->line)
			snprintf(line, sizeof(line), "line %" PRIu32, event->line);
		put(&t, "%-8s %" PRIu64 ".%03u us  h%u %-5s %-12s", line, event->time / 1000,
		    (unsigned)(event->time % 1000), event->host, object, info->name);
	} else {
		put(&t, "%10" PRIu64 ".%03u h%-3u %-10s %-*s", event->time / 1000,
		    (unsigned)(event->time % 1000), event->host, object, alone ? 0 : 16,
		    info->name);
	}
	for (int i = 0; i < info->num_fields; i++) {
		uint64_t value = srd_event_value(event, &info->fields[i]);

		/* The first field is what identifies the request, and 0 a request too. */
		if (brief && i && says_nothing(&info->fields[i], value))
			continue;
		put(&t, " %s=", info->fields[i].name);
		put_value(&t, &info->fields[i], value);
	}
	if (event->op)
		put(&t, " op=%" PRIu32, event->op);
	if (event->line && !brief)
		put(&t, " line=%" PRIu32, event->line);
	return (int)t.used;
}

int srd_event_text(const struct srd_event *event, char *buf, size_t size)
{
	return event_text(event, false, buf, size);
}

int srd_event_text_brief(const struct srd_event *event, char *buf, size_t size)
{
	return event_text(event, true, buf, size);
}
