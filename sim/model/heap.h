/* SPDX-License-Identifier: MIT */
/*
 * The event queue: what happens next, in order of time and, at the same time, of arrival.
 * It lies in memory of the caller, holds no pointers and may be moved or copied whole.
 * An event cannot be taken back: its owner ignores it when it comes due.
 */
#ifndef SRD_HEAP_H
#define SRD_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct srd_heap_event {
	uint64_t time;  /* ns */
	uint64_t order; /* number of arrival << 32 | the caller's payload */
};

struct srd_heap {
	uint32_t count;
	uint32_t capacity; /* events */
	uint32_t next_seq;
	uint32_t reserved;
	struct srd_heap_event at[];
};

/* Bytes that a heap of CAPACITY events takes; aligned as uint64_t. */
static inline size_t srd_heap_size(uint32_t capacity)
{
	return sizeof(struct srd_heap) + (size_t)capacity * sizeof(struct srd_heap_event);
}

void srd_heap_init(struct srd_heap *heap, uint32_t capacity);

/* False where the heap is full: nothing was added. */
bool srd_heap_push(struct srd_heap *heap, uint64_t time, uint32_t payload);

/* When the first event is due; UINT64_MAX where there is none. */
static inline uint64_t srd_heap_next_time(const struct srd_heap *heap)
{
	return heap->count ? heap->at[0].time : UINT64_MAX;
}

/* The payload of the first event, which must be there. */
static inline uint32_t srd_heap_next_payload(const struct srd_heap *heap)
{
	return (uint32_t)heap->at[0].order;
}

/* Take the first event; false where there is none. */
bool srd_heap_pop(struct srd_heap *heap, uint64_t *time, uint32_t *payload);

#endif
