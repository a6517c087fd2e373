/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "verbs/alloc.h"

#include "map.h"
#include "requests.h"

#define MAX_NEAR 8192

/* --- those that are hashed --- */

static uint32_t home(const struct srd_request_table *table, uint64_t wr_id)
{
	return srd_map_hash(wr_id) & table->mask;
}

SRD_RARE static int grow(struct srd_request_table *table)
{
	uint32_t size = table->slots ? 2 * (table->mask + 1) : 32;
	struct srd_request_table bigger = {.mask = size - 1, .count = table->count};

	bigger.slots = srd_calloc(size, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (uint32_t i = 0; table->slots && i <= table->mask; i++) {
		uint32_t at;

		if (!table->slots[i].used)
			continue;
		at = home(&bigger, table->slots[i].wr_id);
		while (bigger.slots[at].used)
			at = (at + 1) & bigger.mask;
		bigger.slots[at] = table->slots[i];
	}
	srd_free(table->slots);
	*table = bigger;
	return 0;
}

__attribute__((noinline)) static struct srd_request *far_add(struct srd_request_table *table,
							     uint64_t wr_id)
{
	uint32_t at;

	if (!table->slots || 2 * (table->count + 1) > table->mask + 1)
		if (grow(table))
			return NULL;
	at = home(table, wr_id);
	while (table->slots[at].used)
		at = (at + 1) & table->mask;
	table->count++;
	return &table->slots[at];
}

__attribute__((noinline)) static void far_remove(struct srd_request_table *table,
						 struct srd_request *request)
{
	uint32_t hole = (uint32_t)(request - table->slots);

	for (uint32_t i = (hole + 1) & table->mask; table->slots[i].used;
	     i = (i + 1) & table->mask) {
		uint32_t at = home(table, table->slots[i].wr_id);

		if (((i - at) & table->mask) < ((i - hole) & table->mask))
			continue;
		table->slots[hole] = table->slots[i];
		hole = i;
	}
	table->slots[hole].used = false;
	table->count--;
}

__attribute__((noinline)) static struct srd_request *
far_search(const struct srd_request_table *table, uint64_t wr_id)
{
	struct srd_request *dropped = NULL;

	for (uint32_t i = home(table, wr_id); table->slots[i].used; i = (i + 1) & table->mask) {
		if (table->slots[i].wr_id != wr_id)
			continue;
		if (!table->slots[i].dropped)
			return &table->slots[i];
		dropped = &table->slots[i];
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
	if (request->used)
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
	for (; requests->far.slots && i <= requests->far.mask; i++)
		if (requests->far.slots[i].used)
			return &requests->far.slots[i];
	return NULL;
}

void srd_requests_release(struct srd_requests *requests)
{
	srd_free(requests->near);
	srd_free(requests->far.slots);
	*requests = (struct srd_requests){0};
}
