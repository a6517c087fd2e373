/* SPDX-License-Identifier: MIT */
/*
 * The model against itself: every request is somewhere exactly once, every count is the
 * number of things that it counts.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "state.h"

__attribute__((format(printf, 3, 4))) static int broken(char *text, size_t size, const char *format,
							...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(text, size, format, args);
	va_end(args);
	return EUCLEAN;
}

static int audit_list(const struct srd_model *m, const struct srd_model_qp *qp, uint32_t *total,
		      char *text, size_t size)
{
	uint32_t index, previous = 0;

	for (index = qp->first_request; index; index = m->request[index].next) {
		const struct srd_request *r = &m->request[index];

		if (r->prev != previous || r->qp != srd_qp_index(m, qp))
			return broken(text, size, "request %u of queue pair %u is linked wrongly",
				      index, qp->qpn);
		if (r->phase == SRD_PHASE_FREE || r->phase == SRD_PHASE_BUILT ||
		    r->phase == SRD_PHASE_DEAD)
			return broken(text, size, "request %u of queue pair %u is in phase %u",
				      index, qp->qpn, r->phase);
		if ((r->phase == SRD_PHASE_PACKETS) != !!r->transfer)
			return broken(text, size, "request %u is in phase %u with transfer %u",
				      index, r->phase, r->transfer);
		if (++*total > m->state->pool[SRD_POOL_REQUEST].used)
			return broken(text, size, "the requests of queue pair %u form a ring",
				      qp->qpn);
		previous = index;
	}
	if (previous != qp->last_request)
		return broken(text, size, "the last request of queue pair %u is not the last",
			      qp->qpn);
	return 0;
}

static int audit_device(const struct srd_model *m, uint32_t host, uint32_t *total, char *text,
			size_t size)
{
	const struct srd_model_device *device = &m->device[host];
	const struct srd_qpn_slot *slots = &m->qpn[(size_t)host * m->state->layout.qpn_slots];
	uint32_t index, count = 0, numbers = 0;
	int err;

	for (index = device->first_qp; index; index = m->qp[index].next_qp) {
		const struct srd_model_qp *qp = &m->qp[index];

		if (++count > device->num_qp)
			return broken(text, size, "host %u has more than its %u queue pairs", host,
				      device->num_qp);
		if (srd_qp_find(m, host, qp->qpn) != qp)
			return broken(text, size, "queue pair %u of host %u is not found by number",
				      qp->qpn, host);
		if (qp->rq_head - qp->rq_tail > qp->rq_mask + 1)
			return broken(text, size, "queue pair %u has too many receives", qp->qpn);
		err = audit_list(m, qp, total, text, size);
		if (err)
			return err;
	}
	if (count != device->num_qp)
		return broken(text, size, "host %u has %u queue pairs and counts %u", host, count,
			      device->num_qp);
	for (uint32_t i = 0; i < device->qpn_high; i++)
		numbers += slots[i].qp != 0;
	if (numbers != count)
		return broken(text, size, "host %u has %u queue pairs and %u numbers", host, count,
			      numbers);
	return 0;
}

/* Transfers and requests name each other; each packet is counted where it belongs. */
static int audit_packets(const struct srd_model *m, char *text, size_t size)
{
	const struct srd_pool *pool = m->state->pool;
	uint32_t out = 0, link_out = 0;

	for (uint32_t i = 1; i <= pool[SRD_POOL_TRANSFER].high; i++) {
		const struct srd_transfer *t = &m->transfer[i];

		out += t->out;
		if (t->request && (m->request[t->request].transfer != i ||
				   m->request[t->request].phase != SRD_PHASE_PACKETS))
			return broken(text, size, "transfer %u is not that of its request %u", i,
				      t->request);
		if (t->request && !t->out && t->sent == t->count)
			return broken(text, size, "transfer %u of request %u has no packet left", i,
				      t->request);
	}
	for (uint32_t host = 0; host < m->state->num_hosts; host++)
		link_out += m->link[host].out;
	if (out != pool[SRD_POOL_PACKET].used || link_out != out)
		return broken(text, size, "%u packets are in use, %u of transfers, %u of links",
			      pool[SRD_POOL_PACKET].used, out, link_out);
	return 0;
}

/* Each packet, and each request that waits for its time, has one event. */
static int audit_events(const struct srd_model *m, char *text, size_t size)
{
	uint32_t waiting = m->state->pool[SRD_POOL_PACKET].used;

	for (uint32_t i = 1; i <= m->state->pool[SRD_POOL_REQUEST].high; i++)
		waiting += srd_request_has_event(&m->request[i]) ||
			   m->request[i].phase == SRD_PHASE_DEAD;
	if (waiting != srd_heap_count(m->heap))
		return broken(text, size, "%u things wait for their time and %u events are queued",
			      waiting, srd_heap_count(m->heap));
	if (m->state->departures > m->state->arrivals)
		return broken(text, size, "more completions were taken than written");
	return 0;
}

int srd_model_audit(const struct srd_model *m, char *text, size_t size)
{
	const struct srd_pool *pool = &m->state->pool[SRD_POOL_REQUEST];
	uint32_t listed = 0, total = 0, other = 0;
	int err;

	for (uint32_t host = 0; host < m->state->num_hosts; host++) {
		err = audit_device(m, host, &listed, text, size);
		if (err)
			return err;
	}
	err = audit_packets(m, text, size);
	if (err)
		return err;
	err = audit_events(m, text, size);
	if (err)
		return err;
	for (uint32_t i = 1; i <= pool->high; i++) {
		const struct srd_request *r = &m->request[i];

		total += r->phase != SRD_PHASE_FREE;
		/* In a session, waiting for its last event, or of a queue pair that is gone. */
		other += r->phase == SRD_PHASE_BUILT || r->phase == SRD_PHASE_DEAD ||
			 (r->phase != SRD_PHASE_FREE && m->qp[r->qp].gone);
	}
	if (total != pool->used || listed + other != total)
		return broken(text, size,
			      "%u requests are in use, %u listed, %u others, %u counted", total,
			      listed, other, pool->used);
	return 0;
}
