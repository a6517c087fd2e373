/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "verbs/alloc.h"

#include "map.h"
#include "requests.h"

#define MAX_NEAR 8192

/* --- those that are hashed --- */

static struct srd_request_list *list_of(const struct srd_request_table *table, uint64_t wr_id)
{
	return &table->lists[srd_map_hash(wr_id) & (table->size - 1)];
}

/* The slot I + 1 at the end of its list. */
static void append(struct srd_request_table *table, uint32_t at)
{
	struct srd_request *request = &table->slots[at - 1];
	struct srd_request_list *list = list_of(table, request->wr_id);

	request->next = 0;
	if (list->last)
		table->slots[list->last - 1].next = at;
	else
		list->first = at;
	list->last = at;
}

SRD_RARE static int grow(struct srd_request_table *table)
{
	uint32_t size = table->size ? 2 * table->size : 32;
	struct srd_request_table bigger = {.size = size, .count = table->count};

	bigger.slots = srd_calloc(size, sizeof(*bigger.slots));
	bigger.lists = srd_calloc(size, sizeof(*bigger.lists));
	if (!bigger.slots || !bigger.lists) {
		srd_free(bigger.slots);
		srd_free(bigger.lists);
		return -ENOMEM;
	}
	/* Full: list by list, so that those of one id stay in their order. */
	for (uint32_t i = 0, to = 0; i < table->size; i++)
		for (uint32_t at = table->lists[i].first; at; at = table->slots[at - 1].next) {
			bigger.slots[to++] = table->slots[at - 1];
			append(&bigger, to);
		}
	for (uint32_t at = size; at > table->size; at--) {
		bigger.slots[at - 1].next = bigger.free;
		bigger.free = at;
	}
	srd_free(table->slots);
	srd_free(table->lists);
	*table = bigger;
	return 0;
}

__attribute__((noinline)) static struct srd_request *far_add(struct srd_request_table *table,
							     uint64_t wr_id)
{
	struct srd_request *request;
	uint32_t at;

	if (!table->free && grow(table))
		return NULL;
	at = table->free;
	request = &table->slots[at - 1];
	table->free = request->next;
	table->count++;
	request->wr_id = wr_id;
	append(table, at);
	return request;
}

__attribute__((noinline)) static void far_remove(struct srd_request_table *table,
						 struct srd_request *request)
{
	struct srd_request_list *list = list_of(table, request->wr_id);
	uint32_t at = (uint32_t)(request - table->slots) + 1, before = 0;

	for (uint32_t i = list->first; i != at; i = table->slots[i - 1].next)
		before = i;
	if (before)
		table->slots[before - 1].next = request->next;
	else
		list->first = request->next;
	if (list->last == at)
		list->last = before;
	request->used = false;
	request->next = table->free;
	table->free = at;
	table->count--;
}

/* The oldest; a dropped one only where no other has the id. */
__attribute__((noinline)) static struct srd_request *
far_search(const struct srd_request_table *table, uint64_t wr_id)
{
	struct srd_request *dropped = NULL;

	for (uint32_t at = list_of(table, wr_id)->first; at; at = table->slots[at - 1].next) {
		struct srd_request *request = &table->slots[at - 1];

		if (request->wr_id != wr_id)
			continue;
		if (!request->dropped)
			return request;
		if (!dropped)
			dropped = request;
	}
	return dropped;
}

static inline struct srd_request *far_find(const struct srd_request_table *table, uint64_t wr_id)
{
	return table->count ? far_search(table, wr_id) : NULL;
}

/* --- all of them --- */

SRD_RARE static int make_near(struct srd_requests *requests, uint32_t depth)
{
	uint32_t size = 16;

	while (size < depth && size < MAX_NEAR)
		size *= 2;
	requests->near = srd_calloc(size, sizeof(*requests->near));
	if (!requests->near)
		return -ENOMEM;
	requests->near_mask = size - 1;
	return 0;
}

struct srd_request *srd_requests_add(struct srd_requests *requests, uint64_t wr_id, uint32_t depth)
{
	struct srd_request *request, *other;

	if (!requests->near && make_near(requests, depth))
		return NULL;
	request = &requests->near[wr_id & requests->near_mask];
	other = request->used ? srd_requests_search(requests, wr_id)
			      : far_find(&requests->far, wr_id);
	if (other)
		other->shared = true;
	/* Where older ones of its id are hashed it is not to be found before them. */
	if (request->used || other)
		request = far_add(&requests->far, wr_id);
	if (!request)
		return NULL;
	request->used = true;
	request->dropped = false;
	request->shared = other;
	request->wr_id = wr_id;
	return request;
}

static bool is_near(const struct srd_requests *requests, const struct srd_request *request)
{
	return request >= requests->near && request <= &requests->near[requests->near_mask];
}

void srd_requests_remove(struct srd_requests *requests, struct srd_request *request)
{
	if (is_near(requests, request))
		request->used = false;
	else
		far_remove(&requests->far, request);
}

struct srd_request *srd_requests_search(const struct srd_requests *requests, uint64_t wr_id)
{
	struct srd_request *near = &requests->near[wr_id & requests->near_mask];
	struct srd_request *far = far_find(&requests->far, wr_id);

	if (!near->used || near->wr_id != wr_id)
		return far;
	return far && near->dropped ? far : near;
}

struct srd_request *srd_requests_next(const struct srd_requests *requests,
				      const struct srd_request *request)
{
	uint32_t i = 0;

	if (!requests->near)
		return NULL;
	if (!request || is_near(requests, request)) {
		for (i = request ? (uint32_t)(request - requests->near) + 1 : 0;
		     i <= requests->near_mask; i++)
			if (requests->near[i].used)
				return &requests->near[i];
		i = 0;
	} else {
		i = (uint32_t)(request - requests->far.slots) + 1;
	}
	for (; i < requests->far.size; i++)
		if (requests->far.slots[i].used)
			return &requests->far.slots[i];
	return NULL;
}

void srd_requests_release(struct srd_requests *requests)
{
	srd_free(requests->near);
	srd_free(requests->far.slots);
	srd_free(requests->far.lists);
	*requests = (struct srd_requests){0};
}
