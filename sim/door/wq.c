/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "door.h"
#include "verbs/alloc.h"

int door_wq_init(struct door_wq *wq, uint32_t entries, uint16_t generation, bool id64)
{
	uint32_t slots = (uint32_t)round_up_power(entries);

	*wq = (struct door_wq){.entries = entries, .id64 = id64};
	/* The id has 16 bits: what the slots leave holds the generation. */
	wq->generation_mask = (uint16_t) ~(slots - 1);
	wq->generation = (uint16_t)(generation * slots);
	if (id64)
		return 0;
	wq->check_mask = wq->generation_mask;
	wq->wrid = srd_calloc(slots, sizeof(*wq->wrid));
	if (!wq->wrid)
		return ENOMEM;
	wq->pool = srd_malloc(slots * sizeof(*wq->pool));
	if (!wq->pool)
		goto free_wrid;
	for (uint32_t i = 0; i < slots; i++)
		wq->pool[i] = i;
	return 0;

free_wrid:
	srd_free(wq->wrid);
	wq->wrid = NULL;
	return ENOMEM;
}

void door_wq_release(struct door_wq *wq)
{
	srd_free(wq->wrid);
	srd_free(wq->pool);
}

void door_wq_reset(struct door_wq *wq)
{
	wq->posted = 0;
	wq->completed = 0;
	wq->pool_next = 0;
}
