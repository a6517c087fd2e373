/* SPDX-License-Identifier: MIT */
/*
 * The stream as a timeline in the Chrome trace format, which Perfetto and chrome://tracing
 * open. A host is a process, a queue pair a thread of it. Requests and ops are overlapping
 * async spans; an arrow leads from the session that posted a request to its completion;
 * counters show requests in flight, ops that queue, and the entries of completion queues;
 * changes of state, failed calls, faults and marks are instants. Scenarios follow each
 * other on the time axis.
 */
#ifndef SRD_TIMELINE_H
#define SRD_TIMELINE_H

#include <srdlab/error.h>
#include <srdlab/event.h>

struct srd_timeline;

/* Into the file PATH, which is replaced. -ENOMEM, or what opening the file gives. */
int srd_timeline_create(const char *path, struct srd_timeline **out, struct srd_error *error);
/* The reader: give it to srd_stream_add with the timeline as its argument. */
void srd_timeline_event(void *timeline, const struct srd_event *event);
/*
 * End the file, and release the timeline in any case. The first error of writing, of
 * whatever moment, is reported here. NULL is allowed.
 */
int srd_timeline_close(struct srd_timeline *timeline, struct srd_error *error);

#endif
