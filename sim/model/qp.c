/* SPDX-License-Identifier: MIT */
/*
 * Queue pairs: creation, the state machine, the end of their work. Checks and their order
 * are those of the RDMA core and of efa_verbs.c; what only the device decides is a guess,
 * and marked.
 */
#include <errno.h>
#include <string.h>

#include <srdlab/transitions.h>

#include "state.h"

#define RNR_INFINITE 7

static int qp_check_init(const struct srd_model *m, const struct srd_qp_init *init)
{
	const struct srd_profile *p = srd_profile_of(m);
	uint32_t known = 0;

	if (init->cap.max_send_wr > p->max_sq_wr || init->cap.max_recv_wr > p->max_rq_wr ||
	    init->cap.max_send_sge > p->max_sq_sge || init->cap.max_recv_sge > p->max_rq_sge ||
	    init->cap.max_inline_data > p->inline_buf_size_ex)
		return EINVAL;
	if (p->cap_unsolicited_write_recv)
		known |= SRD_EFADV_QP_FLAGS_UNSOLICITED_WRITE_RECV;
	if (p->cap_rdma_write)
		known |= SRD_EFADV_QP_FLAGS_INLINE_WRITE;
	return init->flags & ~known ? EOPNOTSUPP : 0;
}

/* The number of SLOT, which has been used before, or not. */
static uint16_t qpn_of(const struct srd_model *m, uint32_t slot, uint32_t uses)
{
	const struct srd_profile *p = srd_profile_of(m);
	uint32_t step = m->state->qpn_mask + 1, lowest = p->first_qpn + slot;
	uint32_t raised = p->qpn_reuse == SRD_PROFILE_QPN_REUSE_RAISED ? uses : 0;

	return (uint16_t)(lowest + raised % ((65536 - lowest + step - 1) / step) * step);
}

/* The slot freed last comes first again, the worst case for whoever keeps a number too long. */
static uint16_t qpn_get(struct srd_model *m, uint32_t host, uint32_t qp)
{
	struct srd_model_device *device = &m->device[host];
	struct srd_qpn_slot *slots = &m->qpn[(size_t)host * m->state->layout.qpn_slots];
	uint32_t slot;

	if (device->qpn_free) {
		slot = device->qpn_free - 1;
		device->qpn_free = slots[slot].next_free;
	} else {
		slot = device->qpn_high++;
		slots[slot].uses = 0;
	}
	slots[slot].qp = qp;
	return qpn_of(m, slot, slots[slot].uses++);
}

static void qpn_put(struct srd_model *m, uint32_t host, uint16_t qpn)
{
	struct srd_model_device *device = &m->device[host];
	uint32_t number = srd_qpn_index(m, qpn);
	struct srd_qpn_slot *slot = &m->qpn[(size_t)host * m->state->layout.qpn_slots + number];

	slot->qp = 0;
	slot->next_free = device->qpn_free;
	device->qpn_free = number + 1;
}

static void device_link(struct srd_model *m, uint32_t index)
{
	struct srd_model_qp *qp = &m->qp[index];
	struct srd_model_device *device = &m->device[qp->host];

	qp->next_qp = device->first_qp;
	if (device->first_qp)
		m->qp[device->first_qp].prev_qp = index;
	device->first_qp = index;
	device->num_qp++;
}

static void device_unlink(struct srd_model *m, uint32_t index)
{
	struct srd_model_qp *qp = &m->qp[index];
	struct srd_model_device *device = &m->device[qp->host];

	if (qp->next_qp)
		m->qp[qp->next_qp].prev_qp = qp->prev_qp;
	if (qp->prev_qp)
		m->qp[qp->prev_qp].next_qp = qp->next_qp;
	else
		device->first_qp = qp->next_qp;
	device->num_qp--;
}

/* The next ring of the completion queues, in turn (guess: how a device chooses). */
static uint8_t ring_choose(struct srd_model *m, uint32_t host)
{
	return (uint8_t)(m->device[host].next_sub_cq++ % srd_profile_of(m)->sub_cqs_per_cq);
}

int srd_model_qp_create(struct srd_model *m, const struct srd_qp_init *init, uint32_t *out,
			uint16_t *qpn)
{
	uint32_t host = m->pd[init->pd].host, index;
	struct srd_model_qp *qp;
	int err = qp_check_init(m, init);

	if (err)
		return err;
	if (m->device[host].num_qp == srd_profile_of(m)->max_qp)
		return ENOMEM;
	index = srd_pool_get(m, SRD_POOL_QP);
	if (!index)
		return ENOMEM;
	qp = &m->qp[index];
	*qp = (struct srd_model_qp){
		.host = host,
		.owner = m->pd[init->pd].owner,
		.pd = init->pd,
		.send_cq = init->send_cq,
		.recv_cq = init->recv_cq,
		.tag = init->tag,
		.send_ring = ring_choose(m, host),
		.recv_ring = ring_choose(m, host),
		.state = SRD_QPS_RESET,
		.driver_state = SRD_QPS_RESET,
		.rnr_retry = RNR_INFINITE,
		.flags = init->flags,
		.cut_off = m->device[host].dead,
		.ud = init->ud,
		.rc = init->rc,
		.connection = {.dest_host = SRD_MODEL_MAX_HOSTS},
		.cap = init->cap,
		.rq_mask = init->rq_descriptors - 1,
	};
	qp->rq_ring =
		srd_block_get(m, (uint64_t)init->rq_descriptors * sizeof(struct srd_rx_descriptor));
	if (!qp->rq_ring) {
		srd_pool_put(m, SRD_POOL_QP, index);
		return ENOMEM;
	}
	qp->qpn = qpn_get(m, host, index);
	m->pd[init->pd].users++;
	m->cq[init->send_cq].users++;
	m->cq[init->recv_cq].users++;
	/* Last the device's list: who can be reached has a name, should this process die here. */
	*out = index;
	*qpn = qp->qpn;
	device_link(m, index);
	return 0;
}

/* Take it off the device: nobody reaches it any more. */
static void qp_detach(struct srd_model *m, uint32_t index, enum srd_flush how)
{
	struct srd_model_qp *qp = &m->qp[index];

	/* It is not there where a process died over this, and the model was repaired. */
	if (srd_qp_find(m, qp->host, qp->qpn) == qp) {
		device_unlink(m, index);
		qpn_put(m, qp->host, qp->qpn);
	}
	srd_qp_flush(m, index, how);
	srd_qp_wake(m, index);
	srd_fault_forget(m, index);
}

void srd_qp_forget(struct srd_model *m, uint32_t index)
{
	qp_detach(m, index, SRD_FLUSH_SILENT);
	m->qp[index].gone = true;
	m->qp[index].cut_off = true;
}

/* Drivers of connected queue pairs leave no entry of theirs behind. */
static void entries_clean(struct srd_model *m, const struct srd_model_qp *qp)
{
	srd_cq_clean(m, qp->send_cq, qp->qpn);
	if (qp->recv_cq != qp->send_cq)
		srd_cq_clean(m, qp->recv_cq, qp->qpn);
}

int srd_model_qp_destroy(struct srd_model *m, uint32_t index)
{
	struct srd_model_qp *qp = &m->qp[index];
	bool report = srd_profile_of(m)->flush_on_destroy && !qp->rc;
	uint32_t request, next;

	if (!qp->gone)
		qp_detach(m, index, report ? SRD_FLUSH_REPORT : SRD_FLUSH_SILENT);
	if (qp->rc)
		entries_clean(m, qp);
	/* What a fault has lost stays lost, but takes no room any more. */
	for (request = qp->first_request; request; request = next) {
		next = m->request[request].next;
		srd_request_abort(m, &m->request[request], SRD_EFA_FLUSHED, SRD_FLUSH_SILENT);
	}
	srd_block_put(m, qp->rq_ring,
		      ((uint64_t)qp->rq_mask + 1) * sizeof(struct srd_rx_descriptor));
	m->pd[qp->pd].users--;
	m->cq[qp->send_cq].users--;
	m->cq[qp->recv_cq].users--;
	srd_pool_put(m, SRD_POOL_QP, index);
	return 0;
}

static bool claims_known_state(uint32_t state)
{
	return state == SRD_QPS_RTR || state == SRD_QPS_RTS || state == SRD_QPS_SQD ||
	       state == SRD_QPS_SQE;
}

static const struct srd_state_machine *machine_of(const struct srd_model_qp *qp)
{
	return srd_state_machine(qp->rc ? SRD_QPT_RC : SRD_QPT_DRIVER);
}

/* Datagrams have the core's own table, which is the same but for one attribute. */
static bool transition_allowed(const struct srd_model_qp *qp, uint32_t from, uint32_t to,
			       uint32_t mask)
{
	const struct srd_transition *t = &machine_of(qp)->pair[from][to];

	if (qp->ud && mask & SRD_QP_RNR_RETRY)
		return false;
	if (!t->valid || (mask & t->required) != t->required)
		return false;
	return !(mask & ~(t->required | t->optional | SRD_QP_STATE));
}

/* Steps 3 to 5 of the order of checks: uverbs, before the driver is called. */
static int modify_check_core(const struct srd_qp_attr *attr, uint32_t mask)
{
	if (mask & SRD_QP_PORT && attr->port_num != 1)
		return EINVAL;
	if (mask & SRD_QP_STATE && (uint32_t)attr->qp_state > SRD_QPS_ERR)
		return EINVAL;
	if (mask & SRD_QP_CUR_STATE && (uint32_t)attr->cur_qp_state > SRD_QPS_ERR)
		return EINVAL;
	if (mask & SRD_QP_AV && attr->ah_attr.port_num != 1)
		return EINVAL;
	return 0;
}

/* What drivers of connected queue pairs look at; each may have further limits. */
static int modify_check_rc(const struct srd_qp_attr *attr, uint32_t mask)
{
	if ((mask & SRD_QP_PKEY_INDEX && attr->pkey_index != 0) ||
	    (mask & SRD_QP_PATH_MTU && (attr->path_mtu < 1 || attr->path_mtu > 5)) ||
	    (mask & SRD_QP_TIMEOUT && attr->timeout > 31) ||
	    (mask & SRD_QP_RETRY_CNT && attr->retry_cnt > 7) ||
	    (mask & SRD_QP_RNR_RETRY && attr->rnr_retry > 7) ||
	    (mask & SRD_QP_MIN_RNR_TIMER && attr->min_rnr_timer > 31))
		return EINVAL;
	return 0;
}

/* Steps 6 to 11: the driver. */
static int modify_check_driver(const struct srd_model_qp *qp, const struct srd_qp_attr *attr,
			       uint32_t mask, uint32_t from, uint32_t to)
{
	if (mask & ~machine_of(qp)->modify_mask)
		return EOPNOTSUPP;
	if (mask & SRD_QP_CUR_STATE && !claims_known_state(from))
		return EINVAL;
	if (!transition_allowed(qp, from, to, mask))
		return EINVAL;
	if (qp->rc)
		return modify_check_rc(attr, mask);
	if (mask & SRD_QP_PKEY_INDEX && attr->pkey_index != 0)
		return EOPNOTSUPP;
	return 0;
}

/*
 * Step 12: the device is told both states, and only together with STATE. Guess: it refuses
 * to start from a state that it is not in, but goes to RESET and ERR from anywhere; so a
 * queue pair that the device moved to ERR by itself can still be reset.
 */
static int modify_check_device(const struct srd_model_qp *qp, uint32_t mask, uint32_t from,
			       uint32_t to)
{
	if (!(mask & SRD_QP_STATE) || to == SRD_QPS_RESET || to == SRD_QPS_ERR)
		return 0;
	return from == qp->state ? 0 : EINVAL;
}

/* All of a connection is forgotten. */
static void reset(struct srd_model *m, uint32_t index)
{
	struct srd_model_qp *qp = &m->qp[index];
	bool report = srd_profile_of(m)->flush_on_reset && !qp->rc;

	srd_qp_flush(m, index, report ? SRD_FLUSH_REPORT : SRD_FLUSH_SILENT);
	srd_qp_wake(m, index);
	qp->sqd_notify = 0;
	qp->rnr_retry = RNR_INFINITE;
	if (!qp->rc)
		return;
	entries_clean(m, qp);
	qp->connection = (struct srd_model_rc){.dest_host = SRD_MODEL_MAX_HOSTS};
}

void srd_qp_move(struct srd_model *m, uint32_t index, enum srd_qp_state to)
{
	struct srd_model_qp *qp = &m->qp[index];
	uint8_t from = qp->state;

	qp->state = (uint8_t)to;
	if (to == SRD_QPS_ERR && from != SRD_QPS_ERR) {
		srd_qp_flush(m, index, SRD_FLUSH_REPORT);
		srd_qp_wake(m, index);
	}
	if (to == SRD_QPS_RESET)
		reset(m, index);
}

void srd_qp_fail(struct srd_model *m, uint32_t index)
{
	struct srd_model_qp *qp = &m->qp[index];
	struct srd_ev_dev_qp_state event = {
		.ev = srd_device_event(SRD_EV_DEV_QP_STATE, qp->tag, qp->host),
		.from = qp->state,
		.to = SRD_QPS_ERR,
	};

	if (qp->state == SRD_QPS_ERR)
		return;
	srd_qp_move(m, index, SRD_QPS_ERR);
	if (m->stream)
		srd_stream_emit(m->stream, &event.ev);
}

int srd_model_qp_modify(struct srd_model *m, uint32_t index, const struct srd_qp_attr *attr,
			uint32_t mask)
{
	struct srd_model_qp *qp = &m->qp[index];
	uint32_t from, to;
	int err;

	err = modify_check_core(attr, mask);
	if (err)
		return err;
	from = mask & SRD_QP_CUR_STATE ? attr->cur_qp_state : qp->driver_state;
	to = mask & SRD_QP_STATE ? attr->qp_state : from;
	err = modify_check_driver(qp, attr, mask, from, to);
	if (err)
		return err;
	if (qp->gone)
		return EIO;
	err = modify_check_device(qp, mask, from, to);
	if (err)
		return err;

	if (mask & SRD_QP_STATE)
		srd_qp_move(m, index, to);
	if (qp->rc)
		srd_rc_modify(m, qp, attr, mask);
	if (mask & SRD_QP_QKEY)
		qp->qkey = attr->qkey;
	if (mask & SRD_QP_SQ_PSN)
		qp->sq_psn = attr->sq_psn;
	if (mask & SRD_QP_RNR_RETRY)
		qp->rnr_retry = attr->rnr_retry;
	if (mask & SRD_QP_EN_SQD_ASYNC_NOTIFY)
		qp->sqd_notify = attr->en_sqd_async_notify;
	/* The driver notes the target even where the device was told nothing. */
	qp->driver_state = (uint8_t)to;
	return 0;
}

int srd_model_qp_query(struct srd_model *m, uint32_t index, struct srd_qp_attr *attr, uint32_t mask)
{
	const struct srd_model_qp *qp = &m->qp[index];

	if (mask & ~machine_of(qp)->query_mask)
		return EOPNOTSUPP;
	if (qp->gone)
		return EIO;
	memset(attr, 0, sizeof(*attr));
	attr->qp_state = qp->state;
	attr->qkey = qp->qkey;
	attr->sq_psn = qp->sq_psn;
	attr->sq_draining = qp->state == SRD_QPS_SQD && qp->first_request;
	attr->rnr_retry = qp->rnr_retry;
	attr->port_num = 1;
	attr->cap = qp->cap;
	if (qp->rc)
		srd_rc_query(qp, attr);
	return 0;
}

uint64_t srd_model_qp_posted(const struct srd_model *m, uint32_t index)
{
	return m->qp[index].num_posted;
}

uint32_t srd_model_qp_receives(const struct srd_model *m, uint32_t index)
{
	const struct srd_model_qp *qp = &m->qp[index];
	const struct srd_rx_descriptor *ring = srd_block_at(m, qp->rq_ring);
	uint32_t receives = 0;

	for (uint32_t at = qp->rq_tail; at != qp->rq_head; at++)
		receives += ring[at & qp->rq_mask].first;
	return receives;
}

void srd_model_qp_force_state(struct srd_model *m, uint32_t index, enum srd_qp_state state)
{
	m->qp[index].state = (uint8_t)state;
	m->qp[index].driver_state = (uint8_t)state;
}

static void receives_flush(struct srd_model *m, struct srd_model_qp *qp, enum srd_flush how)
{
	const struct srd_rx_descriptor *ring = srd_block_at(m, qp->rq_ring);
	struct srd_cqe entry = {.qpn = qp->qpn,
				.status = SRD_EFA_FLUSHED,
				.ah = 0xffff,
				.op = SRD_OP_TYPE_SEND,
				.flags = SRD_CQE_RECEIVE};

	for (; qp->rq_tail != qp->rq_head; qp->rq_tail++) {
		const struct srd_rx_descriptor *rx = &ring[qp->rq_tail & qp->rq_mask];

		if (how == SRD_FLUSH_SILENT || !rx->first)
			continue;
		entry.id = rx->id;
		srd_cq_write(m, qp->recv_cq, qp->recv_ring, &entry, qp);
	}
}

void srd_qp_flush(struct srd_model *m, uint32_t index, enum srd_flush how)
{
	struct srd_model_qp *qp = &m->qp[index];
	bool held = false;
	uint32_t request, next;

	for (request = qp->first_request; request; request = next) {
		struct srd_request *r = &m->request[request];

		next = r->next;
		/* What a fault has lost stays lost. */
		if (r->phase == SRD_PHASE_LOST)
			continue;
		held |= srd_request_abort(m, r, SRD_EFA_FLUSHED, how);
	}
	if (held)
		srd_fabric_free_links(m);
	qp->last_arrival = 0;
	receives_flush(m, qp, how);
}

void srd_model_post_recv(struct srd_model *m, uint32_t index, const struct srd_receive *receive)
{
	struct srd_model_qp *qp = &m->qp[index];
	struct srd_rx_descriptor *ring = srd_block_at(m, qp->rq_ring);
	uint32_t count = receive->num_sge;

	/* The library counts receives, so that their descriptors fit; a device would wrap. */
	if (qp->gone || qp->rq_head - qp->rq_tail + count > qp->rq_mask + 1)
		return;
	for (uint32_t i = 0; i < count; i++) {
		struct srd_rx_descriptor *rx = &ring[qp->rq_head++ & qp->rq_mask];

		*rx = (struct srd_rx_descriptor){
			.addr = receive->sge[i].addr,
			/* libefa: the descriptor has 16 bits for it */
			.length = receive->sge[i].length < UINT16_MAX ? receive->sge[i].length
								      : UINT16_MAX,
			.lkey = receive->sge[i].lkey,
			.id = receive->id,
			.num_sge = count,
			.first = !i,
		};
	}
	if (qp->first_parked)
		srd_qp_wake(m, index);
	/* libefa lets no receive through in ERR; a connected queue pair's goes there and back. */
	if (qp->rc && qp->state == SRD_QPS_ERR)
		receives_flush(m, qp, SRD_FLUSH_REPORT);
}
