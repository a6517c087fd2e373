/* SPDX-License-Identifier: MIT */
/*
 * Buffers: pages of this process. Each is a mapping of its own, so that one that is freed
 * under a request faults instead of handing the bytes to somebody else.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include <srdlab/pattern.h>
#include "efa.h"

/* Zeros from the kernel. A buffer of no bytes has an address too: one page. */
static struct srd_buffer *alloc_buffer(struct srd_verbs *verbs, struct srd_context *context,
				       uint64_t length, enum srd_buffer_kind kind)
{
	struct hw_buffer *buffer;

	if (kind != SRD_BUFFER_REAL) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	buffer = hw_object_new(sizeof(*buffer));
	if (!buffer)
		return NULL;
	buffer->mapped = length ? length : 1;
	buffer->bytes = mmap(NULL, buffer->mapped, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (buffer->bytes == MAP_FAILED)
		return hw_object_discard(buffer);
	buffer->srd = (struct srd_buffer){
		.context = context,
		.handle = hw_object_add(to_hw(verbs), HW_BUFFER, &buffer->object),
		.kind = kind,
		.addr = (uintptr_t)buffer->bytes,
		.length = length,
	};
	return &buffer->srd;
}

static int free_buffer(struct srd_verbs *verbs, struct srd_buffer *srd)
{
	struct hw_buffer *buffer = HW_OF(hw_buffer, srd);

	if (munmap(buffer->bytes, buffer->mapped))
		return errno;
	hw_object_free(to_hw(verbs), HW_BUFFER, &buffer->object);
	return 0;
}

static bool inside(const struct srd_buffer *srd, uint64_t offset, uint64_t length)
{
	return offset <= srd->length && length <= srd->length - offset;
}

static uint8_t *at(struct srd_buffer *srd, uint64_t offset)
{
	return HW_OF(hw_buffer, srd)->bytes + offset;
}

/* The pattern counts from the start of the buffer. */
static int fill_buffer(struct srd_verbs *verbs, struct srd_buffer *srd, uint64_t offset,
		       uint64_t length, uint64_t seed)
{
	uint64_t end = offset + length;

	if (!inside(srd, offset, length))
		return ERANGE;
	while (offset < end) {
		if (offset % 8 || end - offset < 8) {
			*at(srd, offset) = srd_pattern_byte(seed, offset);
			offset++;
		} else {
			uint64_t word = htole64(srd_pattern_word(seed, offset));

			memcpy(at(srd, offset), &word, sizeof(word));
			offset += sizeof(word);
		}
	}
	return 0;
}

static int write_buffer(struct srd_verbs *verbs, struct srd_buffer *srd, uint64_t offset,
			const void *from, size_t length)
{
	if (!inside(srd, offset, length))
		return ERANGE;
	memcpy(at(srd, offset), from, length);
	return 0;
}

static int read_buffer(struct srd_verbs *verbs, struct srd_buffer *srd, uint64_t offset, void *to,
		       size_t length)
{
	if (!inside(srd, offset, length))
		return ERANGE;
	memcpy(to, at(srd, offset), length);
	return 0;
}

/* memcmp finds the block quickly, a loop the byte in it. */
static int compare_buffer(struct srd_verbs *verbs, struct srd_buffer *a, uint64_t a_offset,
			  struct srd_buffer *b, uint64_t b_offset, uint64_t length,
			  uint64_t *first_difference)
{
	const uint64_t block = 4096;
	const uint8_t *x, *y;
	uint64_t i = 0;

	if (!inside(a, a_offset, length) || !inside(b, b_offset, length))
		return ERANGE;
	x = at(a, a_offset);
	y = at(b, b_offset);
	while (length - i >= block && !memcmp(x + i, y + i, block))
		i += block;
	while (i < length && x[i] == y[i])
		i++;
	*first_difference = i;
	return 0;
}

void hw_buffer_fill(struct srd_verbs *verbs)
{
	verbs->alloc_buffer = alloc_buffer;
	verbs->free_buffer = free_buffer;
	verbs->fill_buffer = fill_buffer;
	verbs->write_buffer = write_buffer;
	verbs->read_buffer = read_buffer;
	verbs->compare_buffer = compare_buffer;
}
