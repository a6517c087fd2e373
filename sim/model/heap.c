/* SPDX-License-Identifier: MIT */
/*
 * A heap with four children to a node: half the levels of a binary one, and the children of
 * a node share a cache line or two.
 */
#include "heap.h"

static inline unsigned __int128 key(const struct srd_heap_event *e)
{
	return (unsigned __int128)e->time << 64 | e->order;
}

/* 1 where A comes before B, else 0: to compute with, since a branch on it is mispredicted. */
static inline uint32_t before(const struct srd_heap_event *a, const struct srd_heap_event *b)
{
	return key(a) < key(b);
}

/* Put EVENT into the hole at I or above it. */
static void sift_up(struct srd_heap *heap, uint32_t i, struct srd_heap_event event)
{
	while (i > 0) {
		uint32_t parent = (i - 1) / 4;

		if (!before(&event, &heap->at[parent]))
			break;
		heap->at[i] = heap->at[parent];
		i = parent;
	}
	heap->at[i] = event;
}

/* The earliest of the children of I, which has one at least. */
static inline uint32_t first_child(const struct srd_heap *heap, uint32_t i)
{
	uint32_t child = 4 * i + 1, end = child + 4;

	if (end <= heap->count) {
		const struct srd_heap_event *c = &heap->at[child];
		uint32_t left = before(&c[1], &c[0]);
		uint32_t right = 2 + before(&c[3], &c[2]);

		return child + left + (right - left) * before(&c[right], &c[left]);
	}
	uint32_t best = child;

	while (++child < heap->count)
		if (before(&heap->at[child], &heap->at[best]))
			best = child;
	return best;
}

static void take_first(struct srd_heap *heap)
{
	struct srd_heap_event last = heap->at[--heap->count];
	uint32_t hole = 0;

	if (!heap->count)
		return;
	/* The last event nearly always belongs near the bottom: go all the way down first. */
	while (4 * hole + 1 < heap->count) {
		uint32_t child = first_child(heap, hole);

		heap->at[hole] = heap->at[child];
		hole = child;
	}
	sift_up(heap, hole, last);
}

/*
 * After 2^32 arrivals the numbers would wrap: number what is there anew from 0. Taking the
 * first and storing it behind the shrunken heap leaves the events in falling order.
 */
static void renumber(struct srd_heap *heap)
{
	uint32_t count = heap->count;

	while (heap->count > 0) {
		struct srd_heap_event first = heap->at[0];

		take_first(heap);
		heap->at[heap->count] = first;
	}
	for (uint32_t i = 0; i < count / 2; i++) {
		struct srd_heap_event e = heap->at[i];

		heap->at[i] = heap->at[count - 1 - i];
		heap->at[count - 1 - i] = e;
	}
	for (uint32_t i = 0; i < count; i++)
		heap->at[i].order = (uint64_t)i << 32 | (uint32_t)heap->at[i].order;
	heap->count = count;
	heap->next_seq = count;
}

void srd_heap_init(struct srd_heap *heap, uint32_t capacity)
{
	*heap = (struct srd_heap){.capacity = capacity};
}

bool srd_heap_push(struct srd_heap *heap, uint64_t time, uint32_t payload)
{
	struct srd_heap_event event = {.time = time};

	if (heap->count == heap->capacity)
		return false;
	if (heap->next_seq == UINT32_MAX)
		renumber(heap);
	event.order = (uint64_t)heap->next_seq++ << 32 | payload;
	sift_up(heap, heap->count++, event);
	return true;
}

bool srd_heap_pop(struct srd_heap *heap, uint64_t *time, uint32_t *payload)
{
	if (!heap->count)
		return false;
	*time = heap->at[0].time;
	*payload = (uint32_t)heap->at[0].order;
	take_first(heap);
	return true;
}
