/* SPDX-License-Identifier: MIT */
/* The layout that the writer and the reader of traces share (see trace.h). */
#ifndef SRD_TRACE_FORMAT_H
#define SRD_TRACE_FORMAT_H

#include <jansson.h>

#include <srdlab/error.h>
#include <srdlab/event.h>

#define SRD_TRACE_MAGIC      "SRDTRACE"
#define SRD_TRACE_END        0xffff      /* type of the trailer */
#define SRD_TRACE_MAX_HEADER (16u << 20) /* bytes of JSON */
#define SRD_TRACE_MAX_RECORD 4096        /* bytes */

/* Records are what the memory of the emitter held. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "traces are little endian");

struct srd_trace_start {
	char magic[8];
	uint32_t version;
	uint32_t header; /* bytes */
};

struct srd_trace_trailer {
	struct srd_event ev;
	uint64_t count;
	uint64_t hash;
};

/* Enumeration number I that an event may use, from 0; NULL: there are no more. */
const struct srd_enum_info *srd_trace_enum(int i);

/* The schema of this program: "events" and "enums" put into HEADER. 0 or -ENOMEM. */
int srd_trace_schema_write(json_t *header);

/* How the records of one type of a file become events of here. */
struct srd_trace_map {
	const char *name; /* the header's */
	int type;         /* here; -1: not known here */
	uint16_t size;    /* bytes of a record */
	bool same;        /* laid out as here */
	uint16_t num_moves;
	struct srd_trace_move *moves; /* one for each field that both have */
};

struct srd_trace_move {
	const char *name;
	uint16_t from, from_size;
	uint16_t to, to_size;
};

struct srd_trace_schema {
	struct srd_trace_map *maps; /* by the file's number of the type */
	uint32_t num;
};

/*
 * The schema of a file, which keeps pointing into HEADER. -EINVAL with a sentence that does
 * not name the file, or -ENOMEM. Release *out in either case.
 */
int srd_trace_schema_read(const json_t *header, struct srd_trace_schema *out,
			  struct srd_error *error);
void srd_trace_schema_release(struct srd_trace_schema *schema);
/*
 * The event of here that RECORD stands for, into *out, which is zeros and srd_event_infos'
 * size long. -EINVAL: a number of the record does not fit.
 */
int srd_trace_map_apply(const struct srd_trace_map *map, const struct srd_event *record,
			struct srd_event *out, struct srd_error *error);

#endif
