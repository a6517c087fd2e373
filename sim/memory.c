/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <srdlab/pattern.h>

#include "verbs/alloc.h"

#include "memory.h"
#include "origin.h"

#define HOST_BITS  48
#define ALIGN      0x10000
#define MAX_REAL   ((uint64_t)1 << 40)
#define MAX_ORIGIN ((uint64_t)1 << HOST_BITS)

struct buffer {
	uint64_t addr;
	uint64_t length;
	uint8_t *bytes; /* NULL: ORIGIN */
	bool on_device;
	struct srd_origin origin;
};

struct host {
	struct buffer *buffer; /* by rising address */
	uint32_t count;
	uint32_t capacity;
	struct buffer *last; /* the one found last; NULL: none since one was made or freed */
	uint64_t used;       /* bytes of address space */
};

struct srd_memory {
	struct host host[SRD_MEMORY_HOSTS];
};

static uint64_t host_base(uint32_t host)
{
	return (uint64_t)(host + 1) << HOST_BITS;
}

static inline bool buffer_holds(const struct buffer *buffer, uint64_t addr, uint64_t length)
{
	uint64_t offset = addr - buffer->addr;

	return offset < buffer->length && length <= buffer->length - offset;
}

/* The last buffer of HOST that does not begin behind ADDR; HOST has one at least. */
static uint32_t buffer_at(const struct host *host, uint64_t addr)
{
	uint32_t base = 0, count = host->count;

	while (count > 1) {
		uint32_t half = count / 2;

		base = host->buffer[base + half].addr <= addr ? base + half : base;
		count -= half;
	}
	return base;
}

/* The buffer that holds LENGTH (not 0) bytes at ADDR; NULL: a fault. */
static inline struct buffer *buffer_find(struct srd_memory *memory, uint32_t number, uint64_t addr,
					 uint64_t length)
{
	struct host *host;
	struct buffer *buffer;

	if (number >= SRD_MEMORY_HOSTS)
		return NULL;
	host = &memory->host[number];
	if (host->last && buffer_holds(host->last, addr, length))
		return host->last;
	if (!host->count)
		return NULL;
	buffer = &host->buffer[buffer_at(host, addr)];
	if (!buffer_holds(buffer, addr, length))
		return NULL;
	return host->last = buffer;
}

struct srd_memory *srd_memory_create(void)
{
	return srd_calloc(1, sizeof(struct srd_memory));
}

static void buffer_release(struct buffer *buffer)
{
	srd_free(buffer->bytes);
	srd_origin_release(&buffer->origin);
}

void srd_memory_destroy(struct srd_memory *memory)
{
	if (!memory)
		return;
	for (uint32_t i = 0; i < SRD_MEMORY_HOSTS; i++) {
		for (uint32_t j = 0; j < memory->host[i].count; j++)
			buffer_release(&memory->host[i].buffer[j]);
		srd_free(memory->host[i].buffer);
	}
	srd_free(memory);
}

static int buffer_reserve(struct host *host)
{
	uint32_t capacity = host->capacity ? 2 * host->capacity : 4;
	struct buffer *buffer;

	if (host->count < host->capacity)
		return 0;
	buffer = srd_reallocarray(host->buffer, capacity, sizeof(*buffer));
	if (!buffer)
		return ENOMEM;
	host->buffer = buffer;
	host->capacity = capacity;
	return 0;
}

int srd_memory_alloc(struct srd_memory *memory, uint32_t number, uint64_t length,
		     enum srd_buffer_kind kind, uint64_t *addr)
{
	struct buffer *buffer;
	struct host *host;
	uint64_t span;

	if (number >= SRD_MEMORY_HOSTS)
		return EINVAL;
	host = &memory->host[number];
	if (length >= (kind != SRD_BUFFER_ORIGIN ? MAX_REAL : MAX_ORIGIN))
		return ENOMEM;
	span = (length + SRD_MEMORY_PAGE + ALIGN - 1) / ALIGN * ALIGN;
	host->last = NULL;
	if (span > MAX_ORIGIN - host->used || buffer_reserve(host))
		return ENOMEM;
	buffer = &host->buffer[host->count];
	*buffer = (struct buffer){.addr = host_base(number) + host->used, .length = length};
	switch (kind) {
	case SRD_BUFFER_REAL:
	case SRD_BUFFER_DEVICE:
		buffer->on_device = kind == SRD_BUFFER_DEVICE;
		/* The system gives large ones zeroed, and page by page as they are touched. */
		buffer->bytes = srd_calloc(1, length ? length : 1);
		if (!buffer->bytes)
			return ENOMEM;
		break;
	case SRD_BUFFER_ORIGIN:
		if (srd_origin_init(&buffer->origin, length))
			return ENOMEM;
		break;
	}
	host->count++;
	host->used += span;
	*addr = buffer->addr;
	return 0;
}

int srd_memory_free(struct srd_memory *memory, uint32_t number, uint64_t addr)
{
	struct host *host;
	uint32_t i;

	if (number >= SRD_MEMORY_HOSTS || !memory->host[number].count)
		return EFAULT;
	host = &memory->host[number];
	i = buffer_at(host, addr);
	if (host->buffer[i].addr != addr)
		return EFAULT;
	host->last = NULL;
	buffer_release(&host->buffer[i]);
	memmove(&host->buffer[i], &host->buffer[i + 1],
		(host->count - i - 1) * sizeof(host->buffer[0]));
	host->count--;
	return 0;
}

bool srd_memory_on_device(struct srd_memory *memory, uint32_t host, uint64_t addr)
{
	const struct buffer *buffer = buffer_find(memory, host, addr, 1);

	return buffer && buffer->on_device;
}

int srd_memory_check(struct srd_memory *memory, uint32_t host, uint64_t addr, uint64_t length)
{
	return !length || buffer_find(memory, host, addr, length) ? 0 : EFAULT;
}

int srd_memory_fill(struct srd_memory *memory, uint32_t host, uint64_t addr, uint64_t length,
		    uint64_t seed, uint64_t at)
{
	struct buffer *buffer;

	if (!length)
		return 0;
	buffer = buffer_find(memory, host, addr, length);
	if (!buffer)
		return EFAULT;
	addr -= buffer->addr;
	if (!buffer->bytes)
		return srd_origin_fill(&buffer->origin, addr, length, seed, at);
	if (seed)
		srd_pattern_bytes(seed, at, buffer->bytes + addr, length);
	else
		memset(buffer->bytes + addr, 0, length);
	return 0;
}

int srd_memory_write(struct srd_memory *memory, uint32_t host, uint64_t addr, const void *from,
		     size_t length)
{
	struct buffer *buffer;

	if (!length)
		return 0;
	buffer = buffer_find(memory, host, addr, length);
	if (!buffer)
		return EFAULT;
	addr -= buffer->addr;
	if (!buffer->bytes)
		return srd_origin_write(&buffer->origin, addr, from, length);
	memcpy(buffer->bytes + addr, from, length);
	return 0;
}

/* What begins at OFFSET of BUFFER, at most LENGTH bytes of it. */
static struct srd_run buffer_run(struct buffer *buffer, uint64_t offset, uint64_t length)
{
	struct srd_run run = {.length = length};

	if (buffer->bytes) {
		run.bytes = buffer->bytes + offset;
	} else {
		srd_origin_run(&buffer->origin, offset, &run);
		run.length = run.length < length ? run.length : length;
	}
	return run;
}

/* The first LENGTH bytes of RUN, to be had from the result; BLOCK has room for them. */
static const uint8_t *run_bytes(const struct srd_run *run, uint8_t *block, size_t length)
{
	if (run->bytes)
		return run->bytes;
	if (run->seed)
		srd_pattern_bytes(run->seed, run->at, block, length);
	else
		memset(block, 0, length);
	return block;
}

static void run_advance(struct srd_run *run, uint64_t length)
{
	run->length -= length;
	run->at += length;
	if (run->bytes)
		run->bytes += length;
}

static void buffer_read(struct buffer *buffer, uint64_t offset, uint8_t *to, uint64_t length)
{
	while (length > 0) {
		struct srd_run run = buffer_run(buffer, offset, length);
		const uint8_t *bytes = run_bytes(&run, to, run.length);

		if (bytes != to)
			memcpy(to, bytes, run.length);
		offset += run.length;
		to += run.length;
		length -= run.length;
	}
}

int srd_memory_read(struct srd_memory *memory, uint32_t host, uint64_t addr, void *to,
		    size_t length)
{
	struct buffer *buffer;

	if (!length)
		return 0;
	buffer = buffer_find(memory, host, addr, length);
	if (!buffer)
		return EFAULT;
	buffer_read(buffer, addr - buffer->addr, to, length);
	return 0;
}

int srd_memory_copy(struct srd_memory *memory, uint32_t to_host, uint64_t to, uint32_t from_host,
		    uint64_t from, uint64_t length)
{
	struct buffer *a, *b;

	if (!length)
		return 0;
	a = buffer_find(memory, to_host, to, length);
	b = buffer_find(memory, from_host, from, length);
	if (!a || !b)
		return EFAULT;
	to -= a->addr;
	from -= b->addr;
	if (a->bytes && b->bytes)
		memmove(a->bytes + to, b->bytes + from, length);
	else if (a->bytes)
		buffer_read(b, from, a->bytes + to, length);
	else if (b->bytes)
		return srd_origin_write(&a->origin, to, b->bytes + from, length);
	else
		return srd_origin_copy(&a->origin, to, &b->origin, from, length);
	return 0;
}

static bool same_pattern(const struct srd_run *a, const struct srd_run *b)
{
	return !a->bytes && !b->bytes && a->seed == b->seed && (!a->seed || a->at == b->at);
}

/* Where the first LENGTH bytes of A and B differ; LENGTH where they do not. */
static uint64_t first_difference(struct srd_run a, struct srd_run b, uint64_t length)
{
	uint8_t a_block[1024], b_block[1024];

	for (uint64_t done = 0; done < length;) {
		size_t n = length - done < sizeof(a_block) ? length - done : sizeof(a_block);
		const uint8_t *x = run_bytes(&a, a_block, n), *y = run_bytes(&b, b_block, n);

		if (memcmp(x, y, n)) {
			while (*x++ == *y++)
				done++;
			return done;
		}
		run_advance(&a, n);
		run_advance(&b, n);
		done += n;
	}
	return length;
}

int srd_memory_compare(struct srd_memory *memory, uint32_t a_host, uint64_t a, uint32_t b_host,
		       uint64_t b, uint64_t length, uint64_t *difference)
{
	struct buffer *x, *y;

	*difference = 0;
	if (!length)
		return 0;
	x = buffer_find(memory, a_host, a, length);
	y = buffer_find(memory, b_host, b, length);
	if (!x || !y)
		return EFAULT;
	while (*difference < length) {
		uint64_t done = *difference;
		struct srd_run p = buffer_run(x, a - x->addr + done, length - done);
		struct srd_run q = buffer_run(y, b - y->addr + done, length - done);
		uint64_t n = p.length < q.length ? p.length : q.length;
		uint64_t same = same_pattern(&p, &q) ? n : first_difference(p, q, n);

		*difference += same;
		if (same < n)
			break;
	}
	return 0;
}
