/* SPDX-License-Identifier: MIT */
/*
 * A model that somebody left in the middle of a step: the process that ran it was killed.
 * What a request is stands in the request itself; the lists, counts and events that name it
 * are made anew from that. What was not submitted yet is forgotten, and what lost its event
 * is due now.
 *
 * At the packet level too much is under way in other places: such a model stays broken.
 */
#include <errno.h>
#include <stdlib.h>

#include "state.h"

/* While repairing: the request has an event. */
#define MARK prev

static bool qp_lives(const struct srd_model *m, uint32_t index)
{
	const struct srd_model_qp *qp = &m->qp[index];

	return index && index <= m->state->pool[SRD_POOL_QP].high &&
	       srd_qp_find(m, qp->host, qp->qpn) == qp;
}

static bool is_under_way(const struct srd_model *m, const struct srd_request *r)
{
	return r->phase != SRD_PHASE_FREE && r->phase != SRD_PHASE_BUILT &&
	       r->phase != SRD_PHASE_DEAD && r->phase != SRD_PHASE_PACKETS && qp_lives(m, r->qp);
}

/* The entry of R was written, and then the process ended before it forgot R. */
static bool was_completed(const struct srd_model *m, const struct srd_request *r)
{
	const struct srd_model_qp *qp = &m->qp[r->qp];
	const struct srd_model_cq *cq = &m->cq[qp->send_cq];
	const struct srd_cqe *last = srd_block_at(m, cq->ring);
	uint32_t head = cq->sub[qp->send_ring].head;

	if (r->phase != SRD_PHASE_ANSWERED || r->MARK || !head)
		return false;
	last += (size_t)qp->send_ring * cq->entries + ((head - 1) & (cq->entries - 1));
	return last->qpn == qp->qpn && last->ordinal == (uint32_t)r->ordinal &&
	       !(last->flags & SRD_CQE_RECEIVE);
}

/* Keep the event if it is the first of a request that waits for one. */
static uint32_t keep_event(struct srd_model *m, const struct srd_heap_event *event,
			   struct srd_heap_event *kept, uint32_t num)
{
	uint32_t payload = (uint32_t)event->order;
	struct srd_request *r;

	if (payload & SRD_EVENT_PACKET || !payload ||
	    payload > m->state->pool[SRD_POOL_REQUEST].high)
		return num;
	r = &m->request[payload];
	if (!is_under_way(m, r) || !srd_request_has_event(r) || r->MARK)
		return num;
	r->MARK = 1;
	kept[num] = *event;
	return num + 1;
}

static uint32_t keep_events(struct srd_model *m, struct srd_heap_event *kept)
{
	struct srd_heap *heap = m->heap;
	uint32_t num = 0;

	for (uint32_t i = 1; i <= m->state->pool[SRD_POOL_REQUEST].high; i++)
		m->request[i].MARK = 0;
	if (heap->near_end <= 2 * SRD_HEAP_NEAR)
		for (uint32_t i = heap->near_first; i < heap->near_end; i++)
			num = keep_event(m, &heap->near[i], kept, num);
	for (uint32_t i = 0; i < heap->count; i++)
		num = keep_event(m, &heap->at[i], kept, num);
	return num;
}

/* In the order of their numbers, behind all that came before. */
static void list_insert(struct srd_model *m, struct srd_request *r)
{
	struct srd_model_qp *qp = &m->qp[r->qp];
	uint32_t index = srd_request_index(m, r), before = qp->last_request;

	while (before && m->request[before].ordinal > r->ordinal)
		before = m->request[before].prev;
	r->prev = before;
	r->next = before ? m->request[before].next : qp->first_request;
	if (r->next)
		m->request[r->next].prev = index;
	else
		qp->last_request = index;
	if (before)
		m->request[before].next = index;
	else
		qp->first_request = index;
}

static void relist(struct srd_model *m, struct srd_request *r)
{
	uint32_t at = r->parked_at;

	list_insert(m, r);
	r->parked_at = 0;
	if (r->phase != SRD_PHASE_RNR)
		return;
	if (qp_lives(m, at)) {
		srd_request_park(m, r, at);
		return;
	}
	r->status = SRD_EFA_REMOTE_ERROR_BAD_DEST_QPN;
	srd_request_schedule(m, r, SRD_PHASE_ANSWERED, m->state->now);
}

static void relist_all(struct srd_model *m)
{
	struct srd_pool *pool = &m->state->pool[SRD_POOL_REQUEST];

	pool->free = 0;
	pool->used = pool->high;
	for (uint32_t i = 1; i <= m->state->pool[SRD_POOL_QP].high; i++) {
		m->qp[i].first_request = m->qp[i].last_request = 0;
		m->qp[i].first_parked = m->qp[i].last_parked = 0;
	}
	for (uint32_t i = 1; i <= pool->high; i++) {
		struct srd_request *r = &m->request[i];
		bool lost_event = srd_request_has_event(r) && !r->MARK;

		if (!is_under_way(m, r) || was_completed(m, r)) {
			srd_model_request_drop(m, r);
			continue;
		}
		relist(m, r);
		if (lost_event)
			srd_request_schedule(m, r, (enum srd_phase)r->phase, m->state->now);
	}
}

/*
 * A device has the queue pairs that are in its list, which one store puts a queue pair into or
 * takes it out of. What else tells of them is made anew from that.
 */
static void renumber(struct srd_model *m, uint32_t host)
{
	struct srd_model_device *device = &m->device[host];
	struct srd_qpn_slot *slots = &m->qpn[(size_t)host * m->state->layout.qpn_slots];
	uint32_t before = 0;

	for (uint32_t i = 0; i < device->qpn_high; i++)
		slots[i].qp = 0;
	device->num_qp = 0;
	for (uint32_t i = device->first_qp; i; i = m->qp[i].next_qp) {
		slots[srd_qpn_index(m, m->qp[i].qpn)].qp = i;
		m->qp[i].prev_qp = before;
		device->num_qp++;
		before = i;
	}
	device->qpn_free = 0;
	for (uint32_t i = device->qpn_high; i--;) {
		if (slots[i].qp)
			continue;
		slots[i].next_free = device->qpn_free;
		device->qpn_free = i + 1;
	}
}

int srd_model_repair(struct srd_model *m)
{
	uint32_t count = m->heap->count, num;
	struct srd_heap_event *kept;

	if (srd_profile_of(m)->level == SRD_PROFILE_LEVEL_PACKET ||
	    m->state->pool[SRD_POOL_PACKET].used || count > m->heap->capacity)
		return EUCLEAN;
	kept = calloc(count + 2 * SRD_HEAP_NEAR, sizeof(*kept));
	if (!kept)
		return ENOMEM;
	for (uint32_t host = 0; host < m->state->num_hosts; host++)
		renumber(m, host);
	num = keep_events(m, kept);
	srd_heap_init(m->heap, m->heap->capacity);
	for (uint32_t i = 0; i < num; i++)
		srd_heap_push(m->heap, kept[i].time, (uint32_t)kept[i].order);
	free(kept);
	relist_all(m);
	return 0;
}
