/* SPDX-License-Identifier: MIT */
/* Whatever the bytes of a trace are, reading it ends, and what was read can be shown. */
#include <stdio.h>

#include "report/requests.h"
#include "report/trace.h"
#include "verbs/event_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_events(struct srd_trace_reader *reader)
{
	static const struct srd_requests_ops ops;
	struct srd_requests *requests = srd_requests_create(&ops, NULL);
	const struct srd_event *event;
	struct srd_error error;
	char text[2048];

	while (requests && srd_trace_next(reader, &event, &error) == 1) {
		srd_event_text(event, text, sizeof(text));
		srd_requests_event(requests, event);
	}
	srd_requests_destroy(requests);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct srd_trace_reader *reader;
	struct srd_error error;
	FILE *file;

	if (!size) /* fmemopen does not take it */
		return 0;
	file = fmemopen((void *)(uintptr_t)data, size, "rb");
	if (!file)
		return 0;
	if (!srd_trace_read_file(file, "input", &reader, &error)) {
		read_events(reader);
		srd_trace_reader_close(reader);
	}
	return 0;
}
