/* SPDX-License-Identifier: MIT */
/*
 * Completion queues: rings of entries. The device cannot see how far the program has read
 * unless a doorbell tells it, so that a queue that overruns loses entries without a word to
 * anybody (facts: no CQ error, no queue-pair error; libfabric PR 11337).
 */
#include <errno.h>

#include "state.h"

#define NEVER_ARMED 4 /* no sequence is it */

int srd_model_cq_create(struct srd_model *m, uint32_t host, uint32_t entries, uint32_t tag,
			uint32_t *out)
{
	const struct srd_profile *p = srd_profile_of(m);
	struct srd_model_device *device = &m->device[host];
	uint32_t cq;

	if (entries < 1 || entries > p->max_cqe)
		return EINVAL;
	if (device->num_cq == p->max_cq)
		return ENOMEM;
	cq = srd_pool_get(m, SRD_POOL_CQ);
	if (!cq)
		return ENOMEM;
	m->cq[cq] = (struct srd_model_cq){.host = host,
					  .tag = tag,
					  .entries = entries,
					  .num_rings = p->sub_cqs_per_cq,
					  .sequence = NEVER_ARMED};
	m->cq[cq].ring =
		srd_block_get(m, (uint64_t)entries * p->sub_cqs_per_cq * sizeof(struct srd_cqe));
	if (!m->cq[cq].ring) {
		srd_pool_put(m, SRD_POOL_CQ, cq);
		return ENOMEM;
	}
	device->num_cq++;
	*out = cq;
	return 0;
}

static uint32_t cq_pending(const struct srd_model_cq *cq)
{
	uint32_t pending = 0;

	for (uint32_t i = 0; i < cq->num_rings; i++)
		pending += cq->sub[i].head - cq->sub[i].tail;
	return pending;
}

int srd_model_cq_destroy(struct srd_model *m, uint32_t index)
{
	struct srd_model_cq *cq = &m->cq[index];

	if (cq->users)
		return EBUSY;
	m->state->departures += cq_pending(cq);
	srd_block_put(m, cq->ring, (uint64_t)cq->entries * cq->num_rings * sizeof(struct srd_cqe));
	m->device[cq->host].num_cq--;
	srd_pool_put(m, SRD_POOL_CQ, index);
	return 0;
}

static struct srd_cqe *cq_entry(const struct srd_model *m, const struct srd_model_cq *cq,
				uint32_t ring, uint32_t counter)
{
	struct srd_cqe *entries = srd_block_at(m, cq->ring);

	return &entries[(size_t)ring * cq->entries + (counter & (cq->entries - 1))];
}

const struct srd_cqe *srd_model_cq_take(struct srd_model *m, uint32_t index)
{
	struct srd_model_cq *cq = &m->cq[index];

	if (likely(cq->num_rings == 1)) {
		if (cq->sub[0].head == cq->sub[0].tail)
			return NULL;
		m->state->departures++;
		return cq_entry(m, cq, 0, cq->sub[0].tail++);
	}
	for (uint32_t i = 0; i < cq->num_rings; i++) {
		uint32_t ring = cq->next_poll;

		if (++cq->next_poll == cq->num_rings)
			cq->next_poll = 0;
		if (cq->sub[ring].head == cq->sub[ring].tail)
			continue;
		m->state->departures++;
		return cq_entry(m, cq, ring, cq->sub[ring].tail++);
	}
	return NULL;
}

const struct srd_cqe *srd_model_cq_entry(const struct srd_model *m, uint32_t cq, uint32_t ring,
					 uint32_t counter)
{
	return cq_entry(m, &m->cq[cq], ring, counter);
}

static void cq_event(struct srd_model *m, uint32_t index, const struct srd_cqe *entry,
		     const struct srd_model_qp *qp, bool lost)
{
	struct srd_ev_dev_cqe event = {
		.ev = srd_device_event(SRD_EV_DEV_CQE, m->cq[index].tag, m->cq[index].host),
		.ordinal = entry->ordinal,
		.qp = qp ? qp->tag : 0,
		.vendor_err = entry->status,
		.occupancy = cq_pending(&m->cq[index]),
		.lost = lost,
	};

	srd_stream_emit(m->stream, &event.ev);
}

static void cq_fire(struct srd_model *m, struct srd_model_cq *cq)
{
	cq->armed = false;
	cq->event = ++m->state->cq_events;
}

void srd_model_cq_arm(struct srd_model *m, uint32_t index, uint8_t sequence)
{
	struct srd_model_cq *cq = &m->cq[index];

	if (cq->sequence == sequence)
		return;
	cq->sequence = sequence;
	cq->armed = true;
	if (cq_pending(cq) && srd_profile_of(m)->notify == SRD_PROFILE_NOTIFY_PENDING)
		cq_fire(m, cq);
}

uint64_t srd_model_cq_event(const struct srd_model *m, uint32_t cq)
{
	return m->cq[cq].event;
}

void srd_model_cq_event_take(struct srd_model *m, uint32_t cq)
{
	m->cq[cq].event = 0;
}

bool srd_cq_write(struct srd_model *m, uint32_t index, uint32_t ring, const struct srd_cqe *entry,
		  const struct srd_model_qp *qp)
{
	struct srd_model_cq *cq = &m->cq[index];
	struct srd_sub_cq *sub = &cq->sub[ring];
	bool lost = false, room;

	if (unlikely(m->sink.write))
		sub->tail = m->sink.consumed(m->sink.context, cq->tag, ring);
	if (unlikely(sub->head - sub->tail == cq->entries)) {
		lost = true;
		m->device[cq->host].counters.cq_overruns++;
		if (srd_profile_of(m)->cq_overrun == SRD_PROFILE_CQ_OVERRUN_OVERWRITE_OLDEST) {
			sub->tail++;
			m->state->departures++;
		}
	}
	room = sub->head - sub->tail != cq->entries;
	if (likely(room)) {
		*cq_entry(m, cq, ring, sub->head) = *entry;
		if (unlikely(m->sink.write))
			m->sink.write(m->sink.context, cq->tag, ring, sub->head, entry);
		sub->head++;
		m->state->arrivals++;
		if (unlikely(cq->armed))
			cq_fire(m, cq);
	}
	if (m->stream)
		cq_event(m, index, entry, qp, lost);
	return room;
}

/* Those behind it move up. */
void srd_cq_clean(struct srd_model *m, uint32_t index, uint16_t qpn)
{
	struct srd_model_cq *cq = &m->cq[index];

	for (uint32_t ring = 0; ring < cq->num_rings; ring++) {
		struct srd_sub_cq *sub = &cq->sub[ring];
		uint32_t kept = sub->tail;

		for (uint32_t at = sub->tail; at != sub->head; at++)
			if (cq_entry(m, cq, ring, at)->qpn != qpn)
				*cq_entry(m, cq, ring, kept++) = *cq_entry(m, cq, ring, at);
		m->state->departures += sub->head - kept;
		sub->head = kept;
	}
}

const struct srd_cqe *srd_model_qp_peek(const struct srd_model *m, uint32_t qp, uint32_t i)
{
	const struct srd_model_cq *cq = &m->cq[m->qp[qp].send_cq];
	uint32_t ring = m->qp[qp].send_ring;

	if (i >= cq->sub[ring].head - cq->sub[ring].tail)
		return NULL;
	return cq_entry(m, cq, ring, cq->sub[ring].tail + i);
}
