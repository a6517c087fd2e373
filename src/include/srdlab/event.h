/* SPDX-License-Identifier: MIT */
/*
 * The stream. Every layer emits typed, plain records into one stream; whatever judges or
 * shows reads it. The structures of each type are generated (srdlab/event_types.h); all
 * begin with struct srd_event. Results that are negative errnos are stored as u32.
 */
#ifndef SRDLAB_EVENT_H
#define SRDLAB_EVENT_H

#include <stddef.h>
#include <stdint.h>

#include <srdlab/enums.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct srd_event {
	uint64_t time;   /* ns */
	uint32_t object; /* handle; of which kind the event's type says */
	uint32_t line;   /* line of the script that was running; 0: none */
	uint32_t op;     /* number of the op that caused it, from 1; 0: none known */
	uint16_t type;   /* enum srd_event_type */
	uint8_t source;  /* enum srd_event_source */
	uint8_t host;
};

#include <srdlab/event_types.h>

/* A reader gets each event as it is emitted; it may not emit from inside. */
typedef void srd_event_fn(void *reader, const struct srd_event *event);

#define SRD_STREAM_READERS 8

/*
 * One stream a run. The emitter sets type, object and the fields of its type; the stream
 * sets time, line and op from its current values, which their owners keep: `now` the
 * backend or observer, `line` the Lua binding, `op` the wrapper of the queue pair.
 */
struct srd_stream {
	uint64_t now;
	uint32_t line;
	uint32_t op;
	/* where events go: the one reader, or what calls them all; NULL: nobody reads */
	srd_event_fn *fn;
	void *reader;
	uint32_t num_ops; /* numbers given to ops so far */
	uint32_t num_readers;
	struct {
		srd_event_fn *fn;
		void *reader;
	} readers[SRD_STREAM_READERS];
};

/* 0, or -ENOSPC where all SRD_STREAM_READERS places are taken. */
int srd_stream_add(struct srd_stream *stream, srd_event_fn *fn, void *reader);
void srd_stream_remove(struct srd_stream *stream, srd_event_fn *fn, void *reader);

/* An event whose line and op are not the stream's. */
static inline void srd_stream_emit_as(struct srd_stream *stream, struct srd_event *event,
				      uint32_t line, uint32_t op)
{
	event->time = stream->now;
	event->line = line;
	event->op = op;
	if (stream->fn)
		stream->fn(stream->reader, event);
}

static inline void srd_stream_emit(struct srd_stream *stream, struct srd_event *event)
{
	srd_stream_emit_as(stream, event, stream->line, stream->op);
}

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
