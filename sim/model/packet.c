/* SPDX-License-Identifier: MIT */
/*
 * The fabric at the level of packets. A request becomes a transfer: packets of one MTU at
 * most, which the link of the host sends one after the other, those of several transfers in
 * turn, over several paths with a queue each. A packet is placed when it arrives. Each is
 * acknowledged; a request completes when all its acknowledgements are back, or with the
 * first that says what is wrong. The answer to a read is a transfer the other way, which is
 * over when all of it has arrived. What is lost, an acknowledgement too, is sent again.
 * In order means that what one host sends arrives in that order, and that acknowledgements
 * do; a read may still complete after a write that was posted behind it.
 *
 * This file decides when what arrives; what it does there is respond.c's.
 *
 * Divergence from EFA: a packet that waits for its link is on the list of what is under way
 * already, so that its event `sent` comes as soon as the window admits it. Loss is known at
 * once instead of being found out. The window and the paths' bandwidth are guesses.
 */
#include "state.h"

/* Packets among which the adversary turns the order round. */
#define ADVERSARY 32

static struct srd_request *transfer_request(const struct srd_model *m, const struct srd_transfer *t)
{
	return &m->request[t->request];
}

static uint32_t packet_length(const struct srd_model *m, const struct srd_transfer *t,
			      uint32_t number)
{
	uint64_t mtu = srd_profile_of(m)->mtu, rest = t->length - number * mtu;

	return (uint32_t)(rest < mtu ? rest : mtu);
}

static void emit(struct srd_model *m, const struct srd_packet *p, enum srd_packet_event what)
{
	const struct srd_transfer *t = &m->transfer[p->transfer];
	const struct srd_request *r = transfer_request(m, t);
	const struct srd_model_qp *qp = &m->qp[r->qp];
	uint32_t receiver = t->response ? qp->host : r->dest_host;
	struct srd_ev_dev_packet event = {
		.ev = srd_device_event(SRD_EV_DEV_PACKET, qp->tag,
				       what == SRD_PACKET_ARRIVED ? receiver : p->host),
		.ordinal = r->ordinal,
		.offset = p->number * (uint64_t)srd_profile_of(m)->mtu,
		.length = packet_length(m, t, p->number),
		.path = p->path,
		.what = (uint16_t)what,
	};

	srd_stream_emit(m->stream, &event.ev);
}

static inline void packet_event(struct srd_model *m, const struct srd_packet *p,
				enum srd_packet_event what)
{
	if (unlikely(m->stream))
		emit(m, p, what);
}

static void schedule(struct srd_model *m, struct srd_packet *p, enum srd_transit state,
		     uint64_t time)
{
	p->state = (uint8_t)state;
	srd_heap_push(m->heap, time, SRD_EVENT_PACKET | (uint32_t)(p - m->packet));
}

/*
 * Adversarial order: of ADVERSARY packets in a row the newest arrives first; the first of a
 * request comes after its others as far as the window lets them pass, so that whoever
 * watches the last byte sees it too early; and now and then one is far behind. What is
 * acknowledged keeps that order, so that the oldest request completes last.
 */
static uint64_t adversarial(struct srd_model *m, uint64_t n, bool first)
{
	const struct srd_profile *p = srd_profile_of(m);
	uint64_t step = srd_fabric_time(m, p->mtu) + p->jitter / 8 + 1;
	uint64_t extra = (ADVERSARY - 1 - n % ADVERSARY) * step;

	if (first)
		extra += ADVERSARY * step;
	if (!(srd_rng_next(&m->state->order) & 15))
		extra += ADVERSARY * step + 4 * p->latency;
	return extra;
}

/* What the way there, or back, takes beside the latency. */
static uint64_t jitter(struct srd_model *m)
{
	return srd_rng_exponential(&m->state->jitter, srd_profile_of(m)->jitter);
}

/*
 * When a packet that the link begins to send at START, and sends for WIRE, has passed its
 * path. A path among several carries half of what the link does.
 */
static uint64_t pass_path(struct srd_model *m, struct srd_link *link, struct srd_packet *p,
			  uint64_t start, uint64_t wire)
{
	uint32_t paths = srd_profile_of(m)->paths;
	uint64_t *queue;

	if (srd_profile_of(m)->order == SRD_PROFILE_ORDER_RANDOM)
		p->path = (uint8_t)((srd_rng_next(&m->state->order) >> 32) * paths >> 32);
	else
		p->path = (uint8_t)(link->sent % paths);
	queue = &link->path_free[p->path];
	*queue = srd_later(*queue, start) + (paths > 1 ? 2 * wire : wire);
	return *queue;
}

static void send(struct srd_model *m, struct srd_packet *p, enum srd_packet_event what)
{
	const struct srd_profile *profile = srd_profile_of(m);
	const struct srd_transfer *t = &m->transfer[p->transfer];
	struct srd_model_device *device = &m->device[p->host];
	struct srd_link *link = &m->link[p->host];
	uint32_t bytes = packet_length(m, t, p->number);
	uint64_t wire = srd_fabric_time(m, bytes);
	uint64_t start = srd_later(device->link_free, m->state->now), time;

	device->link_free = start + wire;
	device->counters.tx_pkts++;
	device->counters.tx_bytes += bytes;
	time = pass_path(m, link, p, start, wire) + profile->latency;
	if (profile->order == SRD_PROFILE_ORDER_ADVERSARIAL)
		time += adversarial(m, link->sent, p->number == 0 && t->count > 1);
	else
		time += jitter(m);
	link->sent++;
	packet_event(m, p, what);
	if (unlikely(srd_rng_chance(&m->state->loss, profile->loss))) {
		packet_event(m, p, SRD_PACKET_LOST);
		schedule(m, p, SRD_TRANSIT_LOST, device->link_free + profile->retransmit);
		return;
	}
	if (profile->order == SRD_PROFILE_ORDER_IN_ORDER)
		time = device->last_arrival = srd_later(device->last_arrival, time);
	schedule(m, p, SRD_TRANSIT_THERE, time);
}

static void list_append(struct srd_model *m, uint32_t index)
{
	struct srd_transfer *t = &m->transfer[index];
	struct srd_link *link = &m->link[t->host];

	t->next = 0;
	t->prev = link->last;
	if (link->last)
		m->transfer[link->last].next = index;
	else
		link->first = index;
	link->last = index;
}

static void list_remove(struct srd_model *m, uint32_t index)
{
	struct srd_transfer *t = &m->transfer[index];
	struct srd_link *link = &m->link[t->host];

	if (t->next)
		m->transfer[t->next].prev = t->prev;
	else
		link->last = t->prev;
	if (t->prev)
		m->transfer[t->prev].next = t->next;
	else
		link->first = t->next;
}

/* Send what the window of HOST admits, a packet of each transfer in turn. */
static void transmit(struct srd_model *m, uint32_t host)
{
	struct srd_link *link = &m->link[host];

	while (link->first && link->out < SRD_PACKET_WINDOW) {
		uint32_t index = link->first;
		struct srd_transfer *t = &m->transfer[index];
		/* There are as many as all windows together admit. */
		struct srd_packet *p = &m->packet[srd_pool_get(m, SRD_POOL_PACKET)];

		*p = (struct srd_packet){
			.transfer = index, .number = t->sent++, .host = (uint8_t)host};
		t->out++;
		link->out++;
		if (t->sent == t->count || t->next) {
			list_remove(m, index);
			if (t->sent < t->count)
				list_append(m, index);
		}
		send(m, p, SRD_PACKET_SENT);
	}
}

static void release(struct srd_model *m, struct srd_packet *p)
{
	struct srd_transfer *t = &m->transfer[p->transfer];
	uint32_t host = p->host;

	if (!--t->out && !t->request)
		srd_pool_put(m, SRD_POOL_TRANSFER, p->transfer);
	m->link[host].out--;
	srd_pool_put(m, SRD_POOL_PACKET, (uint32_t)(p - m->packet));
	transmit(m, host);
}

/* LENGTH bytes go out from HOST; none make a packet too. */
static void begin(struct srd_model *m, uint32_t index, uint32_t host, uint32_t length)
{
	struct srd_transfer *t = &m->transfer[index];
	uint64_t mtu = srd_profile_of(m)->mtu;

	t->host = host;
	t->length = length;
	t->count = length ? (uint32_t)((length + mtu - 1) / mtu) : 1;
	t->sent = 0;
	t->arrived = 0;
	list_append(m, index);
	transmit(m, host);
}

void srd_packet_send(struct srd_model *m, struct srd_request *r)
{
	/* There are more transfers than requests and packets together. */
	uint32_t index = srd_pool_get(m, SRD_POOL_TRANSFER);

	m->transfer[index] = (struct srd_transfer){.request = srd_request_index(m, r)};
	r->transfer = index;
	r->phase = SRD_PHASE_PACKETS;
	begin(m, index, m->qp[r->qp].host, r->opcode == SRD_WR_RDMA_READ ? 0 : r->length);
}

void srd_packet_send_answer(struct srd_model *m, struct srd_request *r)
{
	srd_device_heard(&m->device[m->qp[r->qp].host], r->dest_host);
	m->transfer[r->transfer].response = true;
	begin(m, r->transfer, r->dest_host, r->length);
}

void srd_packet_answer(struct srd_model *m, struct srd_request *r)
{
	m->transfer[r->transfer].answered = true;
}

void srd_packet_cancel(struct srd_model *m, struct srd_request *r)
{
	struct srd_transfer *t = &m->transfer[r->transfer];

	if (t->sent < t->count)
		list_remove(m, r->transfer);
	t->request = 0;
	if (!t->out)
		srd_pool_put(m, SRD_POOL_TRANSFER, r->transfer);
	r->transfer = 0;
}

static void acknowledge(struct srd_model *m, struct srd_packet *p, const struct srd_request *r)
{
	const struct srd_profile *profile = srd_profile_of(m);
	struct srd_model_qp *qp = &m->qp[r->qp];
	uint64_t now = m->state->now, time;

	if (unlikely(srd_rng_chance(&m->state->loss, profile->loss))) {
		schedule(m, p, SRD_TRANSIT_LOST, now + profile->retransmit);
		return;
	}
	time = now + profile->latency;
	if (profile->order != SRD_PROFILE_ORDER_ADVERSARIAL)
		time += jitter(m);
	if (profile->order == SRD_PROFILE_ORDER_IN_ORDER)
		time = qp->last_arrival = srd_later(qp->last_arrival, time);
	schedule(m, p, SRD_TRANSIT_ACK, time);
}

/* A packet of a request is there for the first time. */
static void deliver(struct srd_model *m, struct srd_packet *p, struct srd_transfer *t,
		    struct srd_request *r)
{
	t->arrived++;
	if (t->answered)
		return;
	r->part_offset = p->number * (uint32_t)srd_profile_of(m)->mtu;
	r->part_length = packet_length(m, t, p->number);
	if (t->arrived < t->count && srd_respond_part(m, r))
		return;
	srd_respond(m, r);
	p->tells = t->answered;
}

static void arrived(struct srd_model *m, struct srd_packet *p, struct srd_transfer *t,
		    struct srd_request *r)
{
	struct srd_counters *c = &m->device[r->dest_host].counters;

	packet_event(m, p, SRD_PACKET_ARRIVED);
	c->rx_pkts++;
	c->rx_bytes += packet_length(m, t, p->number);
	if (!p->arrived)
		deliver(m, p, t, r);
	p->arrived = true;
	if (r->phase != SRD_PHASE_PACKETS) {
		srd_packet_cancel(m, r);
		release(m, p);
	} else if (t->response) {
		release(m, p);
	} else {
		acknowledge(m, p, r);
	}
}

static void finish(struct srd_model *m, struct srd_packet *p, struct srd_request *r)
{
	srd_packet_cancel(m, r);
	release(m, p);
	srd_request_answered(m, r);
}

static void acknowledged(struct srd_model *m, struct srd_packet *p, struct srd_transfer *t,
			 struct srd_request *r)
{
	t->acked++;
	t->told |= p->tells;
	if (t->told && (r->status || t->acked == t->count))
		finish(m, p, r);
	else
		release(m, p);
}

/* Part of what was to be read is here. */
static void answer_arrived(struct srd_model *m, struct srd_packet *p, struct srd_transfer *t,
			   struct srd_request *r)
{
	struct srd_counters *c = &m->device[m->qp[r->qp].host].counters;

	packet_event(m, p, SRD_PACKET_ARRIVED);
	c->rx_pkts++;
	c->rx_bytes += packet_length(m, t, p->number);
	r->part_offset = p->number * (uint32_t)srd_profile_of(m)->mtu;
	r->part_length = packet_length(m, t, p->number);
	srd_read_part(m, r);
	if (r->status || ++t->arrived == t->count)
		finish(m, p, r);
	else
		release(m, p);
}

static void send_again(struct srd_model *m, struct srd_packet *p, struct srd_transfer *t,
		       struct srd_request *r)
{
	struct srd_counters *c = &m->device[p->host].counters;
	const struct srd_profile *profile = srd_profile_of(m);

	c->retrans_timeout_events++;
	/* The waits alone count: the time that it takes to send much says nothing of the peer. */
	if (++p->tries * profile->retransmit > profile->unresponsive_timeout) {
		srd_request_give_up(m, r, SRD_WHY_LOSS);
		srd_packet_cancel(m, r);
		release(m, p);
		return;
	}
	c->retrans_pkts++;
	c->retrans_bytes += packet_length(m, t, p->number);
	send(m, p, SRD_PACKET_RESENT);
}

bool srd_packet_is_stale(const struct srd_model *m, uint32_t index)
{
	return !m->transfer[m->packet[index].transfer].request;
}

void srd_packet_drop(struct srd_model *m, uint32_t index)
{
	release(m, &m->packet[index]);
}

void srd_packet_due(struct srd_model *m, uint32_t index)
{
	struct srd_packet *p = &m->packet[index];
	struct srd_transfer *t = &m->transfer[p->transfer];
	struct srd_request *r = transfer_request(m, t);

	switch ((enum srd_transit)p->state) {
	case SRD_TRANSIT_THERE:
		if (t->response)
			answer_arrived(m, p, t, r);
		else
			arrived(m, p, t, r);
		break;
	case SRD_TRANSIT_LOST:
		send_again(m, p, t, r);
		break;
	case SRD_TRANSIT_ACK:
		acknowledged(m, p, t, r);
		break;
	}
}

void srd_packet_host_down(struct srd_model *m, uint32_t host)
{
	const struct srd_pool *pool = &m->state->pool[SRD_POOL_TRANSFER];

	for (uint32_t i = 1; i <= pool->high; i++) {
		struct srd_transfer *t = &m->transfer[i];
		struct srd_request *r = transfer_request(m, t);

		if (!t->request)
			continue;
		if (m->qp[r->qp].host == host)
			srd_request_lose(r, SRD_WHY_CUT_OFF);
		else if (t->host == host)
			srd_request_give_up(m, r, SRD_WHY_NOBODY);
		else
			continue;
		srd_packet_cancel(m, r);
	}
}
