/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include <srdlab/event.h>

int srd_stream_add(struct srd_stream *stream, srd_event_fn *fn, void *reader)
{
	if (stream->num_readers == SRD_STREAM_READERS)
		return -ENOSPC;
	stream->readers[stream->num_readers].fn = fn;
	stream->readers[stream->num_readers].reader = reader;
	stream->num_readers++;
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
		return;
	}
}
