/* SPDX-License-Identifier: MIT */
/* Buffers of the hosts, and how the device reaches them. */
#include <errno.h>

#include "door.h"
#include "verbs/alloc.h"

static struct door_buffer *door_buffer(struct srd_buffer *buffer)
{
	return (struct door_buffer *)buffer;
}

static struct srd_buffer *alloc_buffer(struct srd_verbs *verbs, struct srd_context *context,
				       uint64_t length, enum srd_buffer_kind kind)
{
	struct srd_door *door = door_of(verbs);
	struct door_buffer *buffer = srd_calloc(1, sizeof(*buffer));
	int err = ENOMEM;

	if (!buffer)
		goto fail;
	err = srd_memory_alloc(door->memory, door_context(context)->owner, length, kind,
			       &buffer->buffer.addr);
	if (err)
		goto free_buffer;
	buffer->host = door_context(context)->owner;
	buffer->buffer.context = context;
	buffer->buffer.handle = door_handle(door, DOOR_BUFFER);
	buffer->buffer.kind = kind;
	buffer->buffer.length = length;
	LIST_INSERT_HEAD(&door->buffers, buffer, link);
	return &buffer->buffer;

free_buffer:
	srd_free(buffer);
fail:
	errno = err;
	return NULL;
}

static int free_buffer(struct srd_verbs *verbs, struct srd_buffer *public)
{
	struct door_buffer *buffer = door_buffer(public);
	int err = srd_memory_free(door_of(verbs)->memory, door_buffer(public)->host, public->addr);

	if (err)
		return err;
	LIST_REMOVE(buffer, link);
	srd_free(buffer);
	return 0;
}

static bool inside(const struct srd_buffer *buffer, uint64_t offset, uint64_t length)
{
	return offset <= buffer->length && length <= buffer->length - offset;
}

/* A pattern begins at the start of the buffer, wherever in it the range is. */
static int fill_buffer(struct srd_verbs *verbs, struct srd_buffer *buffer, uint64_t offset,
		       uint64_t length, uint64_t seed)
{
	if (!inside(buffer, offset, length))
		return ERANGE;
	return srd_memory_fill(door_of(verbs)->memory, door_buffer(buffer)->host,
			       buffer->addr + offset, length, seed, offset);
}

static int write_buffer(struct srd_verbs *verbs, struct srd_buffer *buffer, uint64_t offset,
			const void *from, size_t length)
{
	if (!inside(buffer, offset, length))
		return ERANGE;
	return srd_memory_write(door_of(verbs)->memory, door_buffer(buffer)->host,
				buffer->addr + offset, from, length);
}

static int read_buffer(struct srd_verbs *verbs, struct srd_buffer *buffer, uint64_t offset,
		       void *to, size_t length)
{
	if (!inside(buffer, offset, length))
		return ERANGE;
	return srd_memory_read(door_of(verbs)->memory, door_buffer(buffer)->host,
			       buffer->addr + offset, to, length);
}

static int compare_buffer(struct srd_verbs *verbs, struct srd_buffer *a, uint64_t a_offset,
			  struct srd_buffer *b, uint64_t b_offset, uint64_t length,
			  uint64_t *first_difference)
{
	if (!inside(a, a_offset, length) || !inside(b, b_offset, length))
		return ERANGE;
	return srd_memory_compare(door_of(verbs)->memory, door_buffer(a)->host, a->addr + a_offset,
				  door_buffer(b)->host, b->addr + b_offset, length,
				  first_difference);
}

void door_buffer_ops(struct srd_verbs *verbs)
{
	verbs->alloc_buffer = alloc_buffer;
	verbs->free_buffer = free_buffer;
	verbs->fill_buffer = fill_buffer;
	verbs->write_buffer = write_buffer;
	verbs->read_buffer = read_buffer;
	verbs->compare_buffer = compare_buffer;
}
