/* SPDX-License-Identifier: MIT */
/*
 * The event queue: what happens next, in order of time and, at the same time, of arrival.
 * It lies in memory of the caller, holds no pointers and may be moved or copied whole.
 * An event cannot be taken back: its owner ignores it when it comes due.
 *
 * The earliest events lie in a short sorted list, which is all there is of a queue of few,
 * and which a heap behind it refills.
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

#define SRD_HEAP_NEAR 64

struct srd_heap {
	uint32_t count;    /* events in the heap */
	uint32_t capacity; /* events in all */
	uint32_t next_seq;
	uint32_t near_first; /* the list is near[near_first] to near[near_end - 1]: all of it */
	uint32_t near_end;   /* comes before the first of the heap */
	uint32_t reserved;
	struct srd_heap_event near[2 * SRD_HEAP_NEAR];
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

static inline uint32_t srd_heap_count(const struct srd_heap *heap)
{
	return heap->count + heap->near_end - heap->near_first;
}

/* The I-th event, in no order, of srd_heap_count. */
static inline struct srd_heap_event *srd_heap_at(struct srd_heap *heap, uint32_t i)
{
	uint32_t near = heap->near_end - heap->near_first;

	return i < near ? &heap->near[heap->near_first + i] : &heap->at[i - near];
}

/* Fill the list, which is empty, from the heap, which is not. */
void srd_heap_refill(struct srd_heap *heap);

/* When the first event is due; UINT64_MAX where there is none. */
static inline uint64_t srd_heap_next_time(struct srd_heap *heap)
{
	if (heap->near_first == heap->near_end) {
		if (!heap->count)
			return UINT64_MAX;
		srd_heap_refill(heap);
	}
	return heap->near[heap->near_first].time;
}

/* The payload of the first event, after srd_heap_next_time has said that there is one. */
static inline uint32_t srd_heap_next_payload(const struct srd_heap *heap)
{
	return (uint32_t)heap->near[heap->near_first].order;
}

/* Take the first event; false where there is none. */
static inline bool srd_heap_pop(struct srd_heap *heap, uint64_t *time, uint32_t *payload)
{
	*time = srd_heap_next_time(heap);
	*payload = 0;
	if (heap->near_first == heap->near_end)
		return false;
	*payload = (uint32_t)heap->near[heap->near_first++].order;
	return true;
}

#endif
