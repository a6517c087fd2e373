/* SPDX-License-Identifier: MIT */
/*
 * The trace: the stream as a file, to be read back, shown and judged a month later, and as
 * one number, to be compared.
 *
 * A trace is, little endian:
 *   8 bytes "SRDTRACE", 32 bits version of this layout, 32 bits N;
 *   N bytes of JSON, padded with spaces to a multiple of 8: what made the trace, and the
 *     schema: every type of event with its fields and their places, every enumeration;
 *   the records, each exactly as it was emitted: a struct srd_event and the fields of its
 *     type, as long as the schema says for that type;
 *   a trailer: a struct srd_event of type 0xffff and nothing else, 64 bits count of records,
 *     64 bits XXH64 of all their bytes with seed 0.
 * A reader finds fields by name, so that a trace of another version of srdlab can be read:
 * fields that it lacks are 0, events that are not known here are skipped.
 */
#ifndef SRD_TRACE_H
#define SRD_TRACE_H

#include <stdio.h>

#include <srdlab/error.h>
#include <srdlab/event.h>

#define SRD_TRACE_VERSION 1

/* What was run. A text may be NULL, in memory and in the file. */
struct srd_trace_run {
	const char *tool; /* version of srdlab; set by the writer */
	const char *script;
	const char *backend;
	const char *profile;
	const char *options;
	uint64_t seed;
};

/* Writing. */
struct srd_trace;

/*
 * A trace into the file PATH, which is replaced; PATH NULL: only its hash. -ENOMEM, or what
 * opening and writing the file gives.
 */
int srd_trace_create(const char *path, const struct srd_trace_run *run, struct srd_trace **out,
		     struct srd_error *error);
/* The reader: give it to srd_stream_add with the trace as its argument. */
void srd_trace_event(void *trace, const struct srd_event *event);
/* Of the records so far, as the trailer has them. */
uint64_t srd_trace_hash(struct srd_trace *trace);
uint64_t srd_trace_count(const struct srd_trace *trace);
/*
 * Write what is left, and release the trace in any case. The first error of writing, of
 * whatever moment, is reported here. NULL is allowed.
 */
int srd_trace_close(struct srd_trace *trace, struct srd_error *error);

/* Reading. Errors name the file and the offset of what is wrong. */
struct srd_trace_reader;

int srd_trace_read(const char *path, struct srd_trace_reader **out, struct srd_error *error);
/* The same from FILE, which is closed with the reader, and at once where this fails. */
int srd_trace_read_file(FILE *file, const char *name, struct srd_trace_reader **out,
			struct srd_error *error);
const struct srd_trace_run *srd_trace_reader_run(const struct srd_trace_reader *reader);
/*
 * The next event of a type that is known here, in *event until the next call: 1; 0 at the
 * end, where the trailer proved right; -EINVAL: the file is not a whole and true trace (what
 * came before is as it was written); -EIO and the like: it cannot be read.
 */
int srd_trace_next(struct srd_trace_reader *reader, const struct srd_event **event,
		   struct srd_error *error);
/* Records so far of types that are not known here. */
uint64_t srd_trace_reader_skipped(const struct srd_trace_reader *reader);
/* NULL is allowed. */
void srd_trace_reader_close(struct srd_trace_reader *reader);

#endif
