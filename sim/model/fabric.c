/* SPDX-License-Identifier: MIT */
/*
 * The fabric at the level of messages: one event for a request on its way there and one
 * for the way back. A link sends one thing after the other at its bandwidth; on top come
 * the latency, and what the order that is asked for adds.
 *
 * Divergence from EFA: the bytes of a message are placed all at once, those of a read when
 * the responder sends them rather than when they are back. The packet level is finer.
 */
#include "state.h"

/* Requests among which the adversary turns the order round. */
#define WINDOW 32

void srd_fabric_tune(struct srd_model *m)
{
	unsigned __int128 ns = (unsigned __int128)1000000000u << 32;

	m->state->ns_per_byte = (uint64_t)(ns / srd_profile_of(m)->bandwidth);
}

uint64_t srd_fabric_time(const struct srd_model *m, uint64_t bytes)
{
	return (uint64_t)((unsigned __int128)m->state->ns_per_byte * bytes >> 32);
}

static inline uint64_t packets(const struct srd_model *m, uint64_t bytes)
{
	uint32_t mtu = srd_profile_of(m)->mtu;

	return bytes <= mtu ? 1 : (bytes + mtu - 1) / mtu;
}

/* When a link that is given BYTES now has sent them; *start is when it begins. */
static inline uint64_t link_send(struct srd_model *m, uint32_t host, uint64_t bytes,
				 uint64_t *start)
{
	struct srd_model_device *device = &m->device[host];

	*start = device->link_free > m->state->now ? device->link_free : m->state->now;
	device->link_free = *start + srd_fabric_time(m, bytes);
	device->counters.tx_bytes += bytes;
	device->counters.tx_pkts += packets(m, bytes);
	return device->link_free;
}

/* Until when R keeps the link of *HOST busy; 0: it keeps none. */
static uint64_t reserved(const struct srd_model *m, const struct srd_request *r, uint32_t *host)
{
	bool read = r->opcode == SRD_WR_RDMA_READ;

	*host = m->qp[r->qp].host;
	if (r->phase == SRD_PHASE_SENT || r->phase == SRD_PHASE_TIMEOUT)
		return r->start + srd_fabric_time(m, read ? 0 : r->length);
	if (r->phase != SRD_PHASE_ANSWERED || !read || r->status)
		return 0;
	*host = r->dest_host;
	return r->start + srd_fabric_time(m, r->length);
}

bool srd_fabric_holds_link(const struct srd_model *m, const struct srd_request *r)
{
	uint32_t host;

	return reserved(m, r, &host) > m->state->now;
}

/* Only what is left, all of which has an event, still takes time of a link and of its order. */
void srd_fabric_free_links(struct srd_model *m)
{
	uint64_t until[SRD_MODEL_MAX_HOSTS] = {0}, arrival[SRD_MODEL_MAX_HOSTS] = {0};
	uint32_t host;

	for (uint32_t i = 0; i < srd_heap_count(m->heap); i++) {
		const struct srd_heap_event *event = srd_heap_at(m->heap, i);
		const struct srd_request *r = &m->request[(uint32_t)event->order];
		uint64_t time;

		if ((uint32_t)event->order & SRD_EVENT_PACKET)
			continue;
		time = reserved(m, r, &host);
		until[host] = srd_later(until[host], time);
		host = m->qp[r->qp].host;
		if (r->phase == SRD_PHASE_SENT)
			arrival[host] = srd_later(arrival[host], event->time);
	}
	for (host = 0; host < m->state->num_hosts; host++) {
		struct srd_model_device *device = &m->device[host];

		/* Packets beside messages are at most a window; they keep their time. */
		if (m->link[host].out)
			continue;
		if (until[host] < device->link_free)
			device->link_free = until[host];
		if (arrival[host] < device->last_arrival)
			device->last_arrival = arrival[host];
	}
}

/*
 * Adversarial order: within a window each request comes before the one posted ahead of it,
 * and now and then one is far behind all others.
 */
static uint64_t adversarial(struct srd_model *m, const struct srd_request *r)
{
	const struct srd_profile *p = srd_profile_of(m);
	uint64_t step = srd_fabric_time(m, r->length) + p->jitter / 8 + 1;
	uint64_t extra = (WINDOW - 1 - r->ordinal % WINDOW) * step;

	if (!(srd_rng_next(&m->state->order) & 15))
		extra += WINDOW * step + 4 * p->latency;
	return extra;
}

/* What is added to the latency; uniform, so that its mean is the jitter. */
static inline uint64_t spread(struct srd_model *m, const struct srd_request *r)
{
	uint64_t jitter = srd_profile_of(m)->jitter;
	uint64_t random = srd_rng_next(&m->state->jitter);

	if (unlikely(srd_profile_of(m)->order == SRD_PROFILE_ORDER_ADVERSARIAL))
		return adversarial(m, r);
	return (uint64_t)((unsigned __int128)random * (2 * jitter + 1) >> 64);
}

/* Time lost by sending again what the fabric lost, at most until the peer is given up. */
static uint64_t retransmission(struct srd_model *m, const struct srd_request *r)
{
	const struct srd_profile *p = srd_profile_of(m);
	struct srd_counters *c = &m->device[m->qp[r->qp].host].counters;
	uint64_t ppm = p->loss * packets(m, r->length), lost = 0;

	while (lost <= p->unresponsive_timeout &&
	       srd_rng_chance(&m->state->loss, ppm > 1000000 ? 1000000 : (uint32_t)ppm)) {
		lost += p->retransmit;
		c->retrans_pkts++;
		c->retrans_bytes += r->length < p->mtu ? r->length : p->mtu;
		c->retrans_timeout_events++;
		/* What is left to lose is the packet that was sent again. */
		ppm = p->loss;
	}
	return lost;
}

static void send_message(struct srd_model *m, struct srd_request *r)
{
	const struct srd_profile *p = srd_profile_of(m);
	uint32_t host = m->qp[r->qp].host;
	struct srd_model_device *device = &m->device[host];
	uint64_t bytes = r->opcode == SRD_WR_RDMA_READ ? 0 : r->length;
	uint64_t time = link_send(m, host, bytes, &r->start) + p->latency + spread(m, r);
	uint64_t lost;

	r->part_offset = 0;
	r->part_length = r->length;
	if (unlikely(p->loss)) {
		lost = retransmission(m, r);
		if (lost > p->unresponsive_timeout && !m->qp[r->qp].rc) {
			r->why = SRD_WHY_LOSS;
			srd_request_schedule(m, r, SRD_PHASE_TIMEOUT,
					     r->start + p->unresponsive_timeout);
			return;
		}
		time += lost;
	}
	if (p->order == SRD_PROFILE_ORDER_IN_ORDER) {
		if (time < device->last_arrival)
			time = device->last_arrival;
		device->last_arrival = time;
	}
	srd_request_schedule(m, r, SRD_PHASE_SENT, time);
}

void srd_fabric_send(struct srd_model *m, struct srd_request *r)
{
	/* On a connection packets arrive in order: there is nothing to be seen of them. */
	if (srd_profile_of(m)->level == SRD_PROFILE_LEVEL_PACKET && !m->qp[r->qp].rc)
		srd_packet_send(m, r);
	else
		send_message(m, r);
}

void srd_fabric_answer(struct srd_model *m, struct srd_request *r)
{
	const struct srd_profile *p = srd_profile_of(m);
	struct srd_model_qp *qp = &m->qp[r->qp];
	struct srd_model_device *device = &m->device[qp->host];
	uint64_t time = m->state->now;

	if (likely(r->dest_host < SRD_MODEL_MAX_HOSTS))
		srd_device_heard(device, r->dest_host);
	if (r->transfer) {
		srd_packet_answer(m, r);
		return;
	}
	if (r->opcode == SRD_WR_RDMA_READ && !r->status)
		time = link_send(m, r->dest_host, r->length, &r->start);
	time += p->latency + spread(m, r);
	if (p->order == SRD_PROFILE_ORDER_IN_ORDER) {
		if (time < qp->last_arrival)
			time = qp->last_arrival;
		qp->last_arrival = time;
	}
	srd_request_schedule(m, r, SRD_PHASE_ANSWERED, time);
}
