/* SPDX-License-Identifier: MIT */
/*
 * A heap with four children to a node: half the levels of a binary one, and the children of
 * a node share a cache line or two.
 */
#include <string.h>

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

void srd_heap_refill(struct srd_heap *heap)
{
	heap->near_first = 0;
	heap->near_end = 0;
	while (heap->count > 0 && heap->near_end < SRD_HEAP_NEAR / 2) {
		heap->near[heap->near_end++] = heap->at[0];
		take_first(heap);
	}
}

__attribute__((noinline)) static void push_far(struct srd_heap *heap, struct srd_heap_event event)
{
	sift_up(heap, heap->count++, event);
}

/* Make room at the end of the list, where it is full or has moved that far. */
__attribute__((noinline)) static void near_reserve(struct srd_heap *heap)
{
	uint32_t count = heap->near_end - heap->near_first;

	if (count == SRD_HEAP_NEAR) {
		push_far(heap, heap->near[--heap->near_end]);
		return;
	}
	memmove(heap->near, &heap->near[heap->near_first], count * sizeof(heap->near[0]));
	heap->near_first = 0;
	heap->near_end = count;
}

/* There is room in the list. EVENT is the newest: of two at the same time it is the later one. */
static inline void push_near(struct srd_heap *heap, struct srd_heap_event event)
{
	struct srd_heap_event *first = &heap->near[heap->near_first], *hole;

	for (hole = &heap->near[heap->near_end++]; hole > first; hole--) {
		if (hole[-1].time <= event.time)
			break;
		hole[0] = hole[-1];
	}
	*hole = event;
}

/* After 2^32 arrivals the numbers would wrap: number what is there anew from 0. */
__attribute__((noinline)) static void renumber(struct srd_heap *heap)
{
	uint32_t count = heap->count, seq = 0;

	/* Taking the first and storing it behind the shrunken heap sorts it, falling. */
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
	for (uint32_t i = heap->near_first; i < heap->near_end; i++)
		heap->near[i].order = (uint64_t)seq++ << 32 | (uint32_t)heap->near[i].order;
	for (uint32_t i = 0; i < count; i++)
		heap->at[i].order = (uint64_t)seq++ << 32 | (uint32_t)heap->at[i].order;
	heap->count = count;
	heap->next_seq = seq;
}

void srd_heap_init(struct srd_heap *heap, uint32_t capacity)
{
	heap->count = 0;
	heap->capacity = capacity;
	heap->next_seq = 0;
	heap->near_first = 0;
	heap->near_end = 0;
}

static inline bool near_has_room(const struct srd_heap *heap)
{
	return heap->near_end - heap->near_first < SRD_HEAP_NEAR &&
	       heap->near_end < 2 * SRD_HEAP_NEAR;
}

/* Whether an event at TIME belongs into the list rather than behind it. */
static inline bool is_near(const struct srd_heap *heap, uint64_t time)
{
	uint32_t count = heap->near_end - heap->near_first;

	if (count < SRD_HEAP_NEAR && !heap->count)
		return true;
	return count && time < heap->near[heap->near_end - 1].time;
}

static struct srd_heap_event next_event(struct srd_heap *heap, uint64_t time, uint32_t payload)
{
	return (struct srd_heap_event){time, (uint64_t)heap->next_seq++ << 32 | payload};
}

__attribute__((noinline)) static void push_any(struct srd_heap *heap, uint64_t time,
					       uint32_t payload)
{
	bool near = is_near(heap, time);

	if (heap->next_seq == UINT32_MAX)
		renumber(heap);
	if (near && !near_has_room(heap))
		near_reserve(heap);
	if (near)
		push_near(heap, next_event(heap, time, payload));
	else
		push_far(heap, next_event(heap, time, payload));
}

bool srd_heap_push(struct srd_heap *heap, uint64_t time, uint32_t payload)
{
	if (srd_heap_count(heap) == heap->capacity)
		return false;
	/* Nearly always there is nothing more to it. */
	if (is_near(heap, time) && near_has_room(heap) && heap->next_seq != UINT32_MAX)
		push_near(heap, next_event(heap, time, payload));
	else
		push_any(heap, time, payload);
	return true;
}
