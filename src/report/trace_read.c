/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

#include "report/trace.h"
#include "report/trace_format.h"
#include "verbs/alloc.h"

struct srd_trace_reader {
	FILE *file;
	char *name;
	json_t *header;
	struct srd_trace_run run; /* texts are the header's */
	struct srd_trace_schema schema;
	uint64_t offset; /* of what is read next */
	uint64_t count;
	uint64_t skipped;
	XXH64_state_t hash;
	bool ended;
	union {
		struct srd_event ev;
		struct srd_trace_trailer trailer;
		char bytes[SRD_TRACE_MAX_RECORD];
	} record;           /* as it is in the file */
	uint64_t event[64]; /* as it is here */
};

__attribute__((format(printf, 3, 4))) static int
bad(const struct srd_trace_reader *reader, struct srd_error *error, const char *format, ...)
{
	char why[400];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	return srd_error_set(error, -EINVAL, "%s: offset %" PRIu64 ": %s", reader->name,
			     reader->offset, why);
}

/* SIZE bytes: 1; 0: the file ends before or within them; negative errno. */
static int read_bytes(struct srd_trace_reader *reader, void *to, size_t size,
		      struct srd_error *error)
{
	errno = 0;
	if (fread(to, 1, size, reader->file) == size)
		return 1;
	if (feof(reader->file))
		return 0;
	return srd_error_set(error, errno ? -errno : -EIO, "cannot read the trace %s: %s",
			     reader->name, strerror(errno ? errno : EIO));
}

static int read_start(struct srd_trace_reader *reader, struct srd_trace_start *start,
		      struct srd_error *error)
{
	int result = read_bytes(reader, start, sizeof(*start), error);

	if (result < 0)
		return result;
	if (!result || memcmp(start->magic, SRD_TRACE_MAGIC, sizeof(start->magic)))
		return bad(reader, error, "this is not a trace of srdlab");
	if (start->version != SRD_TRACE_VERSION)
		return bad(reader, error,
			   "the trace has version %" PRIu32 ", this srdlab reads version %d",
			   start->version, SRD_TRACE_VERSION);
	if (start->header > SRD_TRACE_MAX_HEADER || start->header % 8)
		return bad(reader, error,
			   "a header of %" PRIu32 " bytes is not a multiple of 8 up to %u",
			   start->header, SRD_TRACE_MAX_HEADER);
	reader->offset = sizeof(*start);
	return 0;
}

static int read_json(struct srd_trace_reader *reader, uint32_t size, struct srd_error *error)
{
	char *text = srd_malloc(size ? size : 1);
	json_error_t why;
	int result;

	if (!text)
		return srd_error_set(error, -ENOMEM, "no memory for the header of %s",
				     reader->name);
	result = read_bytes(reader, text, size, error);
	if (!result)
		result = bad(reader, error, "the trace ends inside its header");
	if (result > 0) {
		reader->header = json_loadb(text, size, JSON_REJECT_DUPLICATES, &why);
		result = 0;
		if (!reader->header) {
			reader->offset += (uint64_t)why.position;
			result = bad(reader, error, "the header is not JSON: %s", why.text);
		}
	}
	srd_free(text);
	return result;
}

static const char *text_of(const struct srd_trace_reader *reader, const char *key)
{
	return json_string_value(json_object_get(reader->header, key));
}

static int read_run(struct srd_trace_reader *reader, struct srd_error *error)
{
	const char *seed = text_of(reader, "seed");
	char *end;

	reader->run = (struct srd_trace_run){
		.tool = text_of(reader, "version"),
		.script = text_of(reader, "script"),
		.backend = text_of(reader, "backend"),
		.profile = text_of(reader, "profile"),
		.options = text_of(reader, "options"),
	};
	if (!seed)
		return bad(reader, error, "the header has no seed");
	errno = 0;
	reader->run.seed = strtoull(seed, &end, 10);
	if (errno || *end || end == seed)
		return bad(reader, error, "the header's seed \"%s\" is not a number", seed);
	return 0;
}

static int read_header(struct srd_trace_reader *reader, struct srd_error *error)
{
	struct srd_trace_start start;
	struct srd_error why;
	int result;

	result = read_start(reader, &start, error);
	if (!result)
		result = read_json(reader, start.header, error);
	if (!result)
		result = read_run(reader, error);
	if (result)
		return result;
	result = srd_trace_schema_read(reader->header, &reader->schema, &why);
	if (result == -ENOMEM)
		return srd_error_set(error, result, "%s: %s", reader->name, why.message);
	if (result)
		return bad(reader, error, "the header is wrong: %s", why.message);
	reader->offset += start.header;
	return 0;
}

int srd_trace_read_file(FILE *file, const char *name, struct srd_trace_reader **out,
			struct srd_error *error)
{
	struct srd_trace_reader *reader = srd_calloc(1, sizeof(*reader));
	int result;

	if (!reader) {
		fclose(file);
		return srd_error_set(error, -ENOMEM, "no memory to read the trace %s", name);
	}
	reader->file = file;
	reader->name = srd_strdup(name);
	XXH64_reset(&reader->hash, 0);
	if (reader->name)
		result = read_header(reader, error);
	else
		result = srd_error_set(error, -ENOMEM, "no memory to read the trace %s", name);
	if (result) {
		srd_trace_reader_close(reader);
		return result;
	}
	*out = reader;
	return 0;
}

int srd_trace_read(const char *path, struct srd_trace_reader **out, struct srd_error *error)
{
	FILE *file = fopen(path, "rbe");

	if (!file)
		return srd_error_set(error, -errno, "cannot read the trace %s: %s", path,
				     strerror(errno));
	return srd_trace_read_file(file, path, out, error);
}

const struct srd_trace_run *srd_trace_reader_run(const struct srd_trace_reader *reader)
{
	return &reader->run;
}

uint64_t srd_trace_reader_skipped(const struct srd_trace_reader *reader)
{
	return reader->skipped;
}

void srd_trace_reader_close(struct srd_trace_reader *reader)
{
	if (!reader)
		return;
	fclose(reader->file);
	srd_trace_schema_release(&reader->schema);
	json_decref(reader->header);
	srd_free(reader->name);
	srd_free(reader);
}

/* The rest of the trailer, whose event is in reader->record; then nothing may follow. */
static int read_trailer(struct srd_trace_reader *reader, struct srd_error *error)
{
	struct srd_trace_trailer *trailer = &reader->record.trailer;
	int result =
		read_bytes(reader, &trailer->count, sizeof(*trailer) - sizeof(trailer->ev), error);

	if (result < 0)
		return result;
	if (!result)
		return bad(reader, error, "the trace ends inside its trailer: it was cut short");
	if (trailer->count != reader->count)
		return bad(reader, error,
			   "the trailer counts %" PRIu64 " records, but there are %" PRIu64,
			   trailer->count, reader->count);
	if (trailer->hash != XXH64_digest(&reader->hash))
		return bad(reader, error,
			   "the trailer's hash %016" PRIx64
			   " is not that of the records, %016" PRIx64,
			   trailer->hash, (uint64_t)XXH64_digest(&reader->hash));
	reader->offset += sizeof(*trailer);
	if (fgetc(reader->file) != EOF)
		return bad(reader, error, "something follows the trailer");
	reader->ended = true;
	return 0;
}

/* The next record, of any type: its map in *map; otherwise as srd_trace_next. */
static int read_record(struct srd_trace_reader *reader, const struct srd_trace_map **map,
		       struct srd_error *error)
{
	const struct srd_trace_map *its;
	struct srd_event *ev = &reader->record.ev;
	int result = read_bytes(reader, ev, sizeof(*ev), error);

	if (result < 0)
		return result;
	if (!result)
		return bad(reader, error,
			   "the trace has no trailer: the run did not end, or it was cut short");
	if (ev->type == SRD_TRACE_END)
		return read_trailer(reader, error);
	if (ev->type >= reader->schema.num)
		return bad(reader, error,
			   "a record of type %d, but the header names %" PRIu32 " types", ev->type,
			   reader->schema.num);
	its = &reader->schema.maps[ev->type];
	result = read_bytes(reader, ev + 1, its->size - sizeof(*ev), error);
	if (result < 0)
		return result;
	if (!result)
		return bad(reader, error, "the trace ends inside a record of %s: it was cut short",
			   its->name);
	XXH64_update(&reader->hash, ev, its->size);
	*map = its;
	return 1;
}

int srd_trace_next(struct srd_trace_reader *reader, const struct srd_event **event,
		   struct srd_error *error)
{
	const struct srd_trace_map *map = NULL;
	struct srd_error why;
	int result;

	if (reader->ended)
		return 0;
	for (;;) {
		result = read_record(reader, &map, error);
		if (result <= 0)
			return result;
		if (map->type >= 0)
			break;
		reader->offset += map->size;
		reader->count++;
		reader->skipped++;
	}
	if (map->same) {
		reader->record.ev.type = (uint16_t)map->type;
		*event = &reader->record.ev;
	} else {
		memset(reader->event, 0, sizeof(reader->event));
		*event = (struct srd_event *)reader->event;
		if (srd_trace_map_apply(map, &reader->record.ev, (struct srd_event *)reader->event,
					&why))
			return bad(reader, error, "%s", why.message);
	}
	reader->offset += map->size;
	reader->count++;
	return 1;
}
