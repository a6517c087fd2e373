/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

#include <srdlab/version.h>

#include "report/trace.h"
#include "report/trace_format.h"
#include "verbs/alloc.h"

#define BUFFER_SIZE (256u << 10)

struct srd_trace {
	XXH64_state_t hash; /* of what left the buffer */
	uint64_t count;
	char *path; /* NULL: only the hash is wanted */
	int fd;     /* -1: there is none */
	int failed; /* positive errno of the first write that failed; nothing is written after it */
	uint64_t written; /* bytes in the file */
	size_t used;
	char buffer[BUFFER_SIZE] __attribute__((aligned(8)));
};

static void write_out(struct srd_trace *trace, const char *bytes, size_t size)
{
	while (size && trace->fd >= 0 && !trace->failed) {
		ssize_t n = write(trace->fd, bytes, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			trace->failed = n ? errno : EIO;
			return;
		}
		bytes += n;
		size -= (size_t)n;
		trace->written += (uint64_t)n;
	}
}

static void flush(struct srd_trace *trace)
{
	XXH64_update(&trace->hash, trace->buffer, trace->used);
	write_out(trace, trace->buffer, trace->used);
	trace->used = 0;
}

void srd_trace_event(void *arg, const struct srd_event *event)
{
	struct srd_trace *trace = arg;
	size_t size = srd_event_infos[event->type].size;

	if (trace->used + size > BUFFER_SIZE)
		flush(trace);
	memcpy(trace->buffer + trace->used, event, size);
	trace->used += size;
	trace->count++;
}

uint64_t srd_trace_hash(struct srd_trace *trace)
{
	flush(trace);
	return XXH64_digest(&trace->hash);
}

uint64_t srd_trace_count(const struct srd_trace *trace)
{
	return trace->count;
}

/* TEXT as JSON: null for none; bytes beyond ASCII become '?' where it is not UTF-8. */
static json_t *text_json(const char *text)
{
	json_t *json = text ? json_string(text) : json_null();
	char *plain;

	if (json)
		return json;
	plain = srd_strdup(text);
	if (!plain)
		return NULL;
	for (char *c = plain; *c; c++)
		if (*c & 0x80)
			*c = '?';
	json = json_string(plain);
	srd_free(plain);
	return json;
}

static json_t *header_json(const struct srd_trace_run *run)
{
	json_t *header = json_pack("{ss ss so so so so so}", "tool", "srdlab", "version",
				   SRDLAB_VERSION, "script", text_json(run->script), "backend",
				   text_json(run->backend), "profile", text_json(run->profile),
				   "options", text_json(run->options), "seed",
				   /* JSON integers of jansson are signed */
				   json_sprintf("%" PRIu64, run->seed));

	if (!header || !srd_trace_schema_write(header))
		return header;
	json_decref(header);
	return NULL;
}

/* HEADER as it is in the file, with its padding, for srd_free; NULL: no memory. */
static char *header_text(const json_t *header, size_t *size)
{
	size_t length = json_dumpb(header, NULL, 0, JSON_COMPACT);
	char *text;

	*size = (length + 7) / 8 * 8;
	text = length ? srd_malloc(*size) : NULL;
	if (!text)
		return NULL;
	memset(text, ' ', *size);
	json_dumpb(header, text, *size, JSON_COMPACT);
	return text;
}

static int write_header(struct srd_trace *trace, const struct srd_trace_run *run)
{
	struct srd_trace_start start = {.version = SRD_TRACE_VERSION};
	json_t *header = header_json(run);
	char *text;
	size_t size;

	if (!header)
		return -ENOMEM;
	text = header_text(header, &size);
	json_decref(header);
	if (!text)
		return -ENOMEM;
	memcpy(start.magic, SRD_TRACE_MAGIC, sizeof(start.magic));
	start.header = (uint32_t)size;
	write_out(trace, (const char *)&start, sizeof(start));
	write_out(trace, text, size);
	srd_free(text);
	return -trace->failed;
}

static int open_file(struct srd_trace *trace, const char *path, const struct srd_trace_run *run)
{
	int result;

	trace->path = srd_strdup(path);
	if (!trace->path)
		return -ENOMEM;
	trace->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (trace->fd < 0) {
		result = -errno;
		goto free_path;
	}
	result = write_header(trace, run);
	if (!result)
		return 0;
	close(trace->fd);
free_path:
	srd_free(trace->path);
	return result;
}

int srd_trace_create(const char *path, const struct srd_trace_run *run, struct srd_trace **out,
		     struct srd_error *error)
{
	struct srd_trace *trace = srd_malloc(sizeof(*trace));
	int result;

	if (!trace)
		return srd_error_set(error, -ENOMEM, "no memory for a trace");
	memset(trace, 0, offsetof(struct srd_trace, buffer));
	XXH64_reset(&trace->hash, 0);
	trace->fd = -1;
	if (path) {
		result = open_file(trace, path, run);
		if (result) {
			srd_free(trace);
			return srd_error_set(error, result, "cannot write the trace %s: %s", path,
					     strerror(-result));
		}
	}
	*out = trace;
	return 0;
}

/* The file ends with the trailer. 0 or a positive errno. */
static int finish(struct srd_trace *trace)
{
	struct srd_trace_trailer trailer = {
		.ev.type = SRD_TRACE_END,
		.count = trace->count,
		.hash = srd_trace_hash(trace),
	};

	write_out(trace, (const char *)&trailer, sizeof(trailer));
	if (close(trace->fd) && !trace->failed)
		trace->failed = errno;
	return trace->failed;
}

int srd_trace_close(struct srd_trace *trace, struct srd_error *error)
{
	int result = 0;

	if (!trace)
		return 0;
	if (trace->fd >= 0 && finish(trace))
		result = srd_error_set(error, -trace->failed,
				       "cannot write the trace %s: %s; it ends after %" PRIu64
				       " bytes",
				       trace->path, strerror(trace->failed), trace->written);
	srd_free(trace->path);
	srd_free(trace);
	return result;
}
