/* SPDX-License-Identifier: MIT */
/*
 * The life of one request: taken from the pool, submitted, sent, answered, completed. It
 * has at most one event in the queue, and its phase says what that event means. An event
 * cannot be taken back, so a request that is ended early stays allocated, as SRD_PHASE_DEAD,
 * until its event comes due.
 */
#include "state.h"

struct srd_request *srd_model_request_new(struct srd_model *m)
{
	uint32_t index = srd_pool_get(m, SRD_POOL_REQUEST);
	struct srd_request *r = &m->request[index];

	if (unlikely(!index))
		return NULL;
	/* All but what a submit or a later phase sets; entries beyond num_sge mean nothing. */
	r->remote_addr = 0;
	r->rkey = 0;
	r->imm_data = 0;
	r->qkey = 0;
	r->dest_qpn = 0;
	r->ah = 0;
	r->num_sge = 0;
	r->is_inline = 0;
	r->inline_length = 0;
	r->silent = 0;
	r->status = 0;
	r->faults = 0;
	r->tries = 0;
	r->unready = 0;
	r->transfer = 0;
	r->parked_at = 0;
	r->phase = SRD_PHASE_BUILT;
	return r;
}

void srd_model_request_drop(struct srd_model *m, struct srd_request *r)
{
	r->phase = SRD_PHASE_FREE;
	srd_pool_put(m, SRD_POOL_REQUEST, srd_request_index(m, r));
}

void srd_model_request_chain(struct srd_model *m, struct srd_request *r,
			     const struct srd_request *next)
{
	r->next = srd_request_index(m, next);
}

struct srd_request *srd_model_request_chained(struct srd_model *m, const struct srd_request *r)
{
	return &m->request[r->next];
}

uint8_t *srd_model_request_inline(struct srd_model *m, struct srd_request *r)
{
	return m->inline_data + (size_t)srd_request_index(m, r) * SRD_INLINE_STRIDE;
}

static void list_append(struct srd_model *m, struct srd_model_qp *qp, struct srd_request *r)
{
	uint32_t index = srd_request_index(m, r);

	r->next = 0;
	r->prev = qp->last_request;
	if (qp->last_request)
		m->request[qp->last_request].next = index;
	else
		qp->first_request = index;
	qp->last_request = index;
}

static void list_remove(struct srd_model *m, struct srd_model_qp *qp, struct srd_request *r)
{
	if (r->next)
		m->request[r->next].prev = r->prev;
	else
		qp->last_request = r->prev;
	if (r->prev)
		m->request[r->prev].next = r->next;
	else
		qp->first_request = r->next;
}

static uint32_t total_length(const struct srd_request *r)
{
	uint32_t total = 0;

	if (likely(r->num_sge == 1 && !r->is_inline))
		return r->sge[0].length;
	if (r->is_inline)
		return r->inline_length;
	for (int i = 0; i < r->num_sge; i++)
		total += r->sge[i].length;
	return total;
}

/* From addresses of regions to those of memory. False: a key is not good for its range. */
static inline bool lkeys_resolve(const struct srd_model *m, const struct srd_model_qp *qp,
				 struct srd_request *r)
{
	bool empty_counts = srd_profile_of(m)->zero_length_checks_key;
	uint32_t rights = r->opcode == SRD_WR_RDMA_READ ? SRD_ACCESS_LOCAL_WRITE : 0;

	if (r->is_inline)
		return true;
	for (int i = 0; i < r->num_sge; i++) {
		struct srd_sge *sge = &r->sge[i];
		const struct srd_model_mr *mr;

		if (!sge->length && !empty_counts)
			continue;
		/* The descriptor has 24 bits for the key. */
		mr = srd_mr_find(m, qp->pd, sge->lkey & 0xffffff, rights);
		if (!srd_mr_covers(mr, sge->addr, sge->length))
			return false;
		sge->addr += mr->shift;
	}
	return true;
}

/* The address handle that it names, NULL where the device does not know it. */
static const struct srd_model_ah *
request_ah(const struct srd_model *m, const struct srd_model_qp *qp, const struct srd_request *r)
{
	const struct srd_model_ah *ah = &m->ah[r->ah];

	if (!r->ah || r->ah > m->state->pool[SRD_POOL_AH].high || !ah->valid || !ah->users ||
	    ah->pd != qp->pd)
		return NULL;
	return ah;
}

/* What the device finds wrong before anything is sent. In which order is a guess. */
static inline uint8_t request_check(const struct srd_model *m, const struct srd_model_qp *qp,
				    struct srd_request *r, const struct srd_model_ah *ah)
{
	const struct srd_profile *p = srd_profile_of(m);
	bool rdma = srd_request_is_rdma(r);

	if (qp->rc) {
		if (r->length > p->max_rdma_size)
			return SRD_EFA_LOCAL_ERROR_BAD_LENGTH;
		return lkeys_resolve(m, qp, r) ? 0 : SRD_EFA_LOCAL_ERROR_INVALID_LKEY;
	}
	if (rdma &&
	    (qp->ud || !(r->opcode == SRD_WR_RDMA_READ ? p->cap_rdma_read : p->cap_rdma_write)))
		return SRD_EFA_LOCAL_ERROR_UNSUPPORTED_OP;
	if (!ah)
		return SRD_EFA_LOCAL_ERROR_INVALID_AH;
	if (r->length > (rdma ? p->max_rdma_size : p->mtu))
		return SRD_EFA_LOCAL_ERROR_BAD_LENGTH;
	return lkeys_resolve(m, qp, r) ? 0 : SRD_EFA_LOCAL_ERROR_INVALID_LKEY;
}

static void submit_event(struct srd_model *m, const struct srd_request *r)
{
	struct srd_ev_dev_request event = {
		.ev = srd_device_event(SRD_EV_DEV_REQUEST, m->qp[r->qp].tag, m->qp[r->qp].host),
		.ordinal = r->ordinal,
		.length = r->length,
		.opcode = r->opcode,
		.dest_host = r->dest_host,
	};

	srd_stream_emit(m->stream, &event.ev);
}

void srd_model_request_submit(struct srd_model *m, uint32_t index, struct srd_request *r)
{
	struct srd_model_qp *qp = &m->qp[index];
	const struct srd_model_ah *ah;
	struct srd_op_counters *count;
	uint8_t status;

	r->qp = index;
	r->length = total_length(r);
	r->ordinal = qp->num_posted++;
	r->posted = m->state->now;
	list_append(m, qp, r);
	if (unlikely(qp->first_fault))
		srd_fault_adopt(m, r);
	if (unlikely(qp->cut_off)) {
		srd_request_lose(r, SRD_WHY_CUT_OFF);
		return;
	}
	/*
	 * The device itself moved it to ERR and the library does not know. In SQD requests are
	 * processed as in RTS: a guess.
	 */
	if (unlikely(qp->state != SRD_QPS_RTS && qp->state != SRD_QPS_SQD)) {
		srd_request_abort(m, r, SRD_EFA_FLUSHED, SRD_FLUSH_REPORT);
		return;
	}
	ah = request_ah(m, qp, r);
	r->dest_host = ah ? ah->dest_host : qp->host;
	if (unlikely(qp->rc)) {
		r->dest_host = qp->connection.dest_host;
		r->dest_qpn = (uint16_t)qp->connection.dest_qp_num;
	}
	status = request_check(m, qp, r, ah);
	count = &m->device[qp->host].counters.op[srd_op_type(r->opcode)];
	count->wrs++;
	count->bytes += r->length;
	if (m->stream)
		submit_event(m, r);
	if (likely(!status)) {
		srd_fabric_send(m, r);
		return;
	}
	if (!(r->faults & SRD_FAULTED_FAIL))
		r->status = status;
	if (unlikely(qp->rc)) {
		/* It fails in its turn, and what is behind it must not overtake it. */
		r->faults |= SRD_FAULTED_FAIL;
		srd_fabric_send(m, r);
		return;
	}
	srd_request_schedule(m, r, SRD_PHASE_ANSWERED, m->state->now + SRD_LOCAL_DELAY);
}

void srd_request_schedule(struct srd_model *m, struct srd_request *r, enum srd_phase phase,
			  uint64_t time)
{
	r->phase = (uint8_t)phase;
	/* The queue holds twice what the pool does, so that it is never full. */
	srd_heap_push(m->heap, time, srd_request_index(m, r));
}

static bool write_entry(struct srd_model *m, struct srd_model_qp *qp, const struct srd_request *r)
{
	struct srd_cqe entry = {
		.id = r->id,
		.ordinal = (uint32_t)r->ordinal,
		.qpn = qp->qpn,
		.status = r->status,
		.op = (uint8_t)srd_op_type(r->opcode),
		.silent = qp->connection.silent,
	};

	qp->connection.silent = 0;
	return srd_cq_write(m, qp->send_cq, qp->send_ring, &entry, qp);
}

static void count_error(struct srd_model *m, const struct srd_request *r)
{
	m->device[m->qp[r->qp].host].counters.op[srd_op_type(r->opcode)].errors++;
}

void srd_request_complete(struct srd_model *m, struct srd_request *r)
{
	struct srd_model_qp *qp = &m->qp[r->qp];

	if (unlikely(r->status))
		count_error(m, r);
	if (unlikely(r->silent && !r->status)) {
		qp->connection.silent++;
	} else if (unlikely(!write_entry(m, qp, r))) {
		srd_request_lose(r, SRD_WHY_OVERRUN);
		return;
	}
	list_remove(m, qp, r);
	srd_model_request_drop(m, r);
}

/* Whether R, which would go on now, is delayed, once: then it goes on from PHASE later. */
static bool delayed(struct srd_model *m, struct srd_request *r, enum srd_phase phase)
{
	if (likely(!(r->faults & (SRD_FAULTED_DELAY | SRD_FAULTED_LATE))))
		return false;
	r->faults &= (uint8_t)~SRD_FAULTED_LATE;
	if (!(r->faults & SRD_FAULTED_DELAY))
		return false;
	r->faults = (uint8_t)((r->faults & ~SRD_FAULTED_DELAY) | SRD_FAULTED_LATE);
	srd_fault_event(m, r, SRD_LAB_DELAY);
	srd_request_schedule(m, r, phase, m->state->now + r->delay);
	return true;
}

/* Faults that change how it completes. Returns whether it completes now. */
static bool completion_faults(struct srd_model *m, struct srd_request *r)
{
	if (delayed(m, r, SRD_PHASE_ANSWERED))
		return false;
	if (r->faults & SRD_FAULTED_DROP) {
		srd_fault_event(m, r, SRD_LAB_DROP);
		srd_request_lose(r, SRD_WHY_FAULT);
		return false;
	}
	if (r->faults & SRD_FAULTED_HOLD) {
		srd_fault_event(m, r, SRD_LAB_HOLD);
		r->phase = SRD_PHASE_HELD;
		return false;
	}
	if (r->faults & SRD_FAULTED_FAIL)
		srd_fault_event(m, r, SRD_LAB_FAIL);
	if (r->faults & SRD_FAULTED_DUPLICATE) {
		srd_fault_event(m, r, SRD_LAB_DUPLICATE);
		write_entry(m, &m->qp[r->qp], r);
	}
	return true;
}

bool srd_request_conclude(struct srd_model *m, struct srd_request *r)
{
	if (unlikely(r->faults) && !completion_faults(m, r))
		return false;
	srd_request_complete(m, r);
	return true;
}

void srd_request_answered(struct srd_model *m, struct srd_request *r)
{
	if (unlikely(m->qp[r->qp].rc))
		srd_rc_conclude(m, r);
	else
		srd_request_conclude(m, r);
}

uint8_t srd_request_unanswered(const struct srd_model *m, const struct srd_request *r)
{
	const struct srd_model_device *device = &m->device[m->qp[r->qp].host];

	return device->answered[r->dest_host / 64] >> r->dest_host % 64 & 1
		       ? SRD_EFA_LOCAL_ERROR_UNRESP_REMOTE
		       : SRD_EFA_LOCAL_ERROR_UNREACH_REMOTE;
}

static void request_timed_out(struct srd_model *m, struct srd_request *r)
{
	struct srd_model_device *device = &m->device[m->qp[r->qp].host];

	if (!(r->faults & SRD_FAULTED_FAIL))
		r->status = srd_request_unanswered(m, r);
	device->counters.unresponsive_remote_events++;
	srd_request_answered(m, r);
}

/*
 * Divergence from EFA: it is not sent again, so that a peer which comes back in time does not
 * answer it.
 */
void srd_request_give_up(struct srd_model *m, struct srd_request *r, enum srd_request_why why)
{
	uint64_t time = r->posted + srd_profile_of(m)->unresponsive_timeout;

	r->why = why;
	srd_request_schedule(m, r, SRD_PHASE_TIMEOUT, time > m->state->now ? time : m->state->now);
}

void srd_request_due(struct srd_model *m, struct srd_request *r)
{
	/* What a dead host had under way is not finished by anybody. */
	if (unlikely(m->qp[r->qp].cut_off)) {
		srd_request_lose(r, SRD_WHY_CUT_OFF);
		return;
	}
	switch ((enum srd_phase)r->phase) {
	case SRD_PHASE_SENT:
	case SRD_PHASE_RNR_TIMER:
		if (unlikely(m->qp[r->qp].rc) && srd_rc_is_early(m, r))
			r->phase = SRD_PHASE_THERE;
		else if (!delayed(m, r, SRD_PHASE_SENT))
			srd_respond(m, r);
		break;
	case SRD_PHASE_ANSWERED:
		srd_request_answered(m, r);
		break;
	case SRD_PHASE_TIMEOUT:
		request_timed_out(m, r);
		break;
	case SRD_PHASE_FREE:
	case SRD_PHASE_BUILT:
	case SRD_PHASE_PACKETS:
	case SRD_PHASE_RNR:
	case SRD_PHASE_THERE:
	case SRD_PHASE_TURN:
	case SRD_PHASE_HELD:
	case SRD_PHASE_LOST:
	case SRD_PHASE_DEAD:
		break;
	}
}

void srd_request_unpark(struct srd_model *m, struct srd_request *r)
{
	struct srd_model_qp *at = &m->qp[r->parked_at];

	if (r->parked_next)
		m->request[r->parked_next].parked_prev = r->parked_prev;
	else
		at->last_parked = r->parked_prev;
	if (r->parked_prev)
		m->request[r->parked_prev].parked_next = r->parked_next;
	else
		at->first_parked = r->parked_next;
	r->parked_at = 0;
	r->start = 0; /* it was sent */
}

void srd_request_park(struct srd_model *m, struct srd_request *r, uint32_t qp)
{
	uint32_t index = srd_request_index(m, r);

	r->phase = SRD_PHASE_RNR;
	r->parked_at = qp;
	r->parked_next = 0;
	r->parked_prev = m->qp[qp].last_parked;
	if (r->parked_prev)
		m->request[r->parked_prev].parked_next = index;
	else
		m->qp[qp].first_parked = index;
	m->qp[qp].last_parked = index;
}

void srd_qp_wake(struct srd_model *m, uint32_t qp)
{
	uint64_t time = m->state->now + srd_profile_of(m)->rnr_timer;

	while (m->qp[qp].first_parked) {
		struct srd_request *r = &m->request[m->qp[qp].first_parked];

		srd_request_unpark(m, r);
		srd_request_schedule(m, r, SRD_PHASE_RNR_TIMER, time);
	}
}

bool srd_request_abort(struct srd_model *m, struct srd_request *r, uint8_t status,
		       enum srd_flush how)
{
	bool event = srd_request_has_event(r), held = srd_fabric_holds_link(m, r);

	if (r->phase == SRD_PHASE_RNR)
		srd_request_unpark(m, r);
	if (r->transfer)
		srd_packet_cancel(m, r);
	r->status = status;
	if (how == SRD_FLUSH_REPORT) {
		count_error(m, r);
		write_entry(m, &m->qp[r->qp], r);
	}
	list_remove(m, &m->qp[r->qp], r);
	if (event)
		r->phase = SRD_PHASE_DEAD;
	else
		srd_model_request_drop(m, r);
	return held;
}

struct srd_request *srd_model_request_next(struct srd_model *m, uint32_t qp,
					   const struct srd_request *previous)
{
	uint32_t index = previous ? previous->next : m->qp[qp].first_request;

	return index ? &m->request[index] : NULL;
}
