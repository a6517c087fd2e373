/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <srdlab/event.h>

static void all_readers(void *arg, const struct srd_event *event)
{
	const struct srd_stream *stream = arg;

	for (uint32_t i = 0; i < stream->num_readers; i++)
		stream->readers[i].fn(stream->readers[i].reader, event);
}

/* Most streams have one reader: it is called without a loop. */
static void direct(struct srd_stream *stream)
{
	bool one = stream->num_readers == 1;

	stream->fn = one ? stream->readers[0].fn : stream->num_readers ? all_readers : NULL;
	stream->reader = one ? stream->readers[0].reader : stream;
}

int srd_stream_add(struct srd_stream *stream, srd_event_fn *fn, void *reader)
{
	if (stream->num_readers == SRD_STREAM_READERS)
		return -ENOSPC;
	stream->readers[stream->num_readers].fn = fn;
	stream->readers[stream->num_readers].reader = reader;
	stream->num_readers++;
	direct(stream);
	return 0;
}

void srd_stream_remove(struct srd_stream *stream, srd_event_fn *fn, void *reader)
{
	for (uint32_t i = 0; i < stream->num_readers; i++) {
		if (stream->readers[i].fn != fn || stream->readers[i].reader != reader)
			continue;
		stream->num_readers--;
		memmove(&stream->readers[i], &stream->readers[i + 1],
			(stream->num_readers - i) * sizeof(stream->readers[0]));
		direct(stream);
		return;
	}
}
