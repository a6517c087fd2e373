/* SPDX-License-Identifier: MIT */
/*
 * The responder: what becomes of a request that has reached its destination. The order in
 * which a device checks is a guess; the statuses are those of efa_io_defs.h.
 */
#include "state.h"

/* Packets of a failed write that are looked at for partial placement. */
#define MAX_PARTIAL 64
/* A receiver of datagrams finds the payload behind room for a global routing header. */
#define DATAGRAM_HEADER 40

static bool ready_to_receive(const struct srd_model_qp *qp)
{
	return qp->state == SRD_QPS_RTR || qp->state == SRD_QPS_RTS || qp->state == SRD_QPS_SQD ||
	       qp->state == SRD_QPS_SQE;
}

/* A datagram is done when it is sent; what becomes of it is nobody's concern. */
static inline void answer(struct srd_model *m, struct srd_request *r, uint8_t status)
{
	if (unlikely(m->qp[r->qp].ud) && !srd_efa_status_is_local(status))
		status = 0;
	r->status = status;
	srd_fabric_answer(m, r);
	if (unlikely(m->qp[r->qp].rc))
		srd_rc_answered(m, r);
}

static void place_event(struct srd_model *m, const struct srd_model_mr *mr, uint64_t addr,
			uint64_t length)
{
	struct srd_ev_dev_place event = {
		.ev = srd_device_event(SRD_EV_DEV_PLACE, mr->tag, mr->host),
		.addr = addr,
		.length = length,
	};

	srd_stream_emit(m->stream, &event.ev);
}

/* A range of memory of one host through a list of scatter entries. */
struct cursor {
	uint32_t owner;
	const struct srd_sge *sge;
	uint32_t count;
	uint64_t done; /* bytes of the first entry */
};

static uint64_t cursor_left(const struct cursor *at)
{
	return at->count ? at->sge->length - at->done : 0;
}

static void cursor_advance(struct cursor *at, uint64_t length)
{
	at->done += length;
	while (at->count && at->done == at->sge->length) {
		at->sge++;
		at->count--;
		at->done = 0;
	}
}

/* Past LENGTH bytes, which may be several entries. */
static void cursor_skip(struct cursor *at, uint64_t length)
{
	cursor_advance(at, 0);
	while (length && at->count) {
		uint64_t part = cursor_left(at) < length ? cursor_left(at) : length;

		cursor_advance(at, part);
		length -= part;
	}
}

static enum srd_memory_side copy_lists(struct srd_model *m, struct cursor *to, struct cursor *from,
				       uint64_t length)
{
	enum srd_memory_side side = SRD_MEMORY_OK;

	cursor_advance(to, 0);
	cursor_advance(from, 0);
	while (side == SRD_MEMORY_OK && length && cursor_left(to) && cursor_left(from)) {
		uint64_t part =
			cursor_left(to) < cursor_left(from) ? cursor_left(to) : cursor_left(from);

		part = part < length ? part : length;
		side = m->memory.copy(m->memory.context, to->owner, to->sge->addr + to->done,
				      from->owner, from->sge->addr + from->done, part);
		cursor_advance(to, part);
		cursor_advance(from, part);
		length -= part;
	}
	return side;
}

static enum srd_memory_side store_list(struct srd_model *m, struct cursor *to, const uint8_t *bytes,
				       uint64_t length)
{
	enum srd_memory_side side = SRD_MEMORY_OK;

	cursor_advance(to, 0);
	while (side == SRD_MEMORY_OK && length) {
		uint64_t part = cursor_left(to) < length ? cursor_left(to) : length;

		side = m->memory.store(m->memory.context, to->owner, to->sge->addr + to->done,
				       bytes, part);
		cursor_advance(to, part);
		bytes += part;
		length -= part;
	}
	return side;
}

/* LOCAL and REMOTE: the status where the source or the target is not there. */
static inline uint8_t side_status(enum srd_memory_side side, uint8_t source, uint8_t target)
{
	if (likely(side == SRD_MEMORY_OK))
		return 0;
	switch (side) {
	case SRD_MEMORY_OK:
		return 0;
	case SRD_MEMORY_NO_SOURCE:
		return source;
	case SRD_MEMORY_NO_TARGET:
		return target;
	case SRD_MEMORY_NO_ROOM:
		return SRD_EFA_LOCAL_ERROR_QP_INTERNAL_ERROR;
	}
	return SRD_EFA_LOCAL_ERROR_QP_INTERNAL_ERROR;
}

/*
 * What has arrived of a write goes to its place, through MR. A descriptor has room for one
 * local entry of an RDMA request, or for its bytes.
 */
static inline uint8_t place_write(struct srd_model *m, struct srd_request *r,
				  const struct srd_model_mr *mr)
{
	uint64_t addr = r->remote_addr + mr->shift + r->part_offset;
	enum srd_memory_side side;

	if (unlikely(r->is_inline))
		side = m->memory.store(m->memory.context, mr->owner, addr,
				       srd_model_request_inline(m, r) + r->part_offset,
				       r->part_length);
	else
		side = m->memory.copy(m->memory.context, mr->owner, addr, m->qp[r->qp].owner,
				      r->sge[0].addr + r->part_offset, r->part_length);
	return side_status(side, SRD_EFA_LOCAL_ERROR_INVALID_LKEY,
			   SRD_EFA_REMOTE_ERROR_BAD_ADDRESS);
}

/* What is back of a read goes to its place. */
static uint8_t place_read(struct srd_model *m, struct srd_request *r)
{
	const struct srd_model_mr *mr = srd_mr_find(m, r->dest_pd, r->rkey, 0);
	const struct srd_model_qp *qp = &m->qp[r->qp];
	uint64_t addr = r->sge[0].addr + r->part_offset;
	uint8_t status;

	/* It may have gone since the responder looked. */
	if (!mr)
		return SRD_EFA_REMOTE_ERROR_BAD_ADDRESS;
	status = side_status(m->memory.copy(m->memory.context, qp->owner, addr, mr->owner,
					    r->remote_addr + mr->shift + r->part_offset,
					    r->part_length),
			     SRD_EFA_REMOTE_ERROR_BAD_ADDRESS, SRD_EFA_LOCAL_ERROR_INVALID_LKEY);
	mr = srd_mr_find(m, qp->pd, r->sge[0].lkey & 0xffffff, 0);
	if (!status && m->stream && mr)
		place_event(m, mr, addr - mr->shift, r->part_length);
	return status;
}

/*
 * A write that ends behind its region may have placed any of the packets that lie inside
 * it (a guess; a program must expect it). At the packet level they were placed as they came.
 */
static void place_partially(struct srd_model *m, const struct srd_request *r,
			    const struct srd_model_mr *mr)
{
	uint64_t mtu = srd_profile_of(m)->mtu, offset = 0;

	/* The first packet of a connected write says how long all of it is. */
	if (!srd_profile_of(m)->partial_on_error || r->transfer || r->is_inline || m->qp[r->qp].rc)
		return;
	for (int i = 0; i < MAX_PARTIAL && offset < r->length; i++, offset += mtu) {
		uint64_t length = r->length - offset < mtu ? r->length - offset : mtu;
		uint64_t addr = r->remote_addr + offset;

		if (!srd_mr_covers(mr, addr, length) || srd_rng_next(&m->state->partial) & 1)
			continue;
		m->memory.copy(m->memory.context, mr->owner, addr + mr->shift, m->qp[r->qp].owner,
			       r->sge[0].addr + offset, length);
		if (m->stream)
			place_event(m, mr, addr, length);
	}
}

static bool keys_matter(const struct srd_model *m, const struct srd_request *r)
{
	return r->length || srd_profile_of(m)->zero_length_checks_key;
}

static inline uint8_t write_part(struct srd_model *m, struct srd_request *r,
				 const struct srd_model_mr *mr)
{
	uint8_t status = place_write(m, r, mr);

	if (status)
		return status;
	m->device[r->dest_host].counters.rdma_write_recv_bytes += r->part_length;
	if (m->stream)
		place_event(m, mr, r->remote_addr + r->part_offset, r->part_length);
	return 0;
}

static inline uint8_t do_write(struct srd_model *m, struct srd_request *r,
			       const struct srd_model_qp *dest)
{
	const struct srd_model_mr *mr = srd_mr_find(m, dest->pd, r->rkey, SRD_ACCESS_REMOTE_WRITE);

	if (keys_matter(m, r) && !srd_mr_covers(mr, r->remote_addr, r->length)) {
		if (mr)
			place_partially(m, r, mr);
		return SRD_EFA_REMOTE_ERROR_BAD_ADDRESS;
	}
	return r->length ? write_part(m, r, mr) : 0;
}

static void do_read(struct srd_model *m, struct srd_request *r, const struct srd_model_qp *dest)
{
	const struct srd_model_mr *mr = srd_mr_find(m, dest->pd, r->rkey, SRD_ACCESS_REMOTE_READ);

	if (keys_matter(m, r) && !srd_mr_covers(mr, r->remote_addr, r->length)) {
		answer(m, r, SRD_EFA_REMOTE_ERROR_BAD_ADDRESS);
		return;
	}
	r->dest_pd = dest->pd;
	m->device[r->dest_host].counters.rdma_read_resp_bytes += r->length;
	if (r->length && r->transfer)
		srd_packet_send_answer(m, r);
	else
		answer(m, r, r->length ? place_read(m, r) : 0);
}

void srd_read_part(struct srd_model *m, struct srd_request *r)
{
	/* A fault came in between: no byte moves any more. */
	if (unlikely(r->faults & SRD_FAULTED_FAIL))
		return;
	r->status = place_read(m, r);
}

/* Take the oldest receive: its scatter entries, at most MAX of them; returns their number. */
static uint32_t receive_take(struct srd_model *m, struct srd_model_qp *qp, struct srd_sge *sge,
			     uint32_t max, uint64_t *id)
{
	const struct srd_rx_descriptor *ring = srd_block_at(m, qp->rq_ring);
	uint32_t count = ring[qp->rq_tail & qp->rq_mask].num_sge;

	*id = ring[qp->rq_tail & qp->rq_mask].id;
	for (uint32_t i = 0; i < count; i++) {
		const struct srd_rx_descriptor *rx = &ring[qp->rq_tail++ & qp->rq_mask];

		if (i < max)
			sge[i] = (struct srd_sge){
				.addr = rx->addr, .length = rx->length, .lkey = rx->lkey};
	}
	return count < max ? count : max;
}

static void receive_complete(struct srd_model *m, const struct srd_request *r,
			     struct srd_model_qp *dest, uint64_t id, uint8_t status, uint8_t flags)
{
	struct srd_cqe entry = {
		.id = id,
		.length = status ? 0 : r->length + (dest->ud ? DATAGRAM_HEADER : 0),
		.imm_data = r->imm_data,
		.qpn = dest->qpn,
		.src_qpn = m->qp[r->qp].qpn,
		.ah = srd_ah_find(m, dest->pd, m->qp[r->qp].host),
		.status = status,
		.op = srd_request_is_rdma(r) ? SRD_OP_TYPE_RDMA_WRITE : SRD_OP_TYPE_SEND,
		.flags = SRD_CQE_RECEIVE | flags,
		.src_host = (uint8_t)m->qp[r->qp].host,
	};

	if (r->opcode == SRD_WR_RDMA_WRITE_WITH_IMM || r->opcode == SRD_WR_SEND_WITH_IMM)
		entry.flags |= SRD_CQE_HAS_IMM;
	m->device[dest->host].counters.recv_wrs++;
	m->device[dest->host].counters.recv_bytes += entry.length;
	srd_cq_write(m, dest->recv_cq, dest->recv_ring, &entry, dest);
}

/* Status of the receive in *local, that of the sender returned. Both are guesses but 11. */
static uint8_t fill_receive(struct srd_model *m, struct srd_request *r,
			    const struct srd_model_qp *dest, struct srd_sge *sge, uint32_t count,
			    uint8_t *local)
{
	struct cursor to = {.owner = dest->owner, .sge = sge, .count = count};
	struct cursor from = {.owner = m->qp[r->qp].owner, .sge = r->sge, .count = r->num_sge};
	uint64_t room = 0;
	uint8_t status;

	for (uint32_t i = 0; i < count; i++) {
		const struct srd_model_mr *mr =
			srd_mr_find(m, dest->pd, sge[i].lkey, SRD_ACCESS_LOCAL_WRITE);

		room += sge[i].length;
		if (sge[i].length && !srd_mr_covers(mr, sge[i].addr, sge[i].length)) {
			*local = SRD_EFA_LOCAL_ERROR_INVALID_LKEY;
			return SRD_EFA_REMOTE_ERROR_BAD_STATUS;
		}
		if (sge[i].length)
			sge[i].addr += mr->shift;
	}
	if (dest->ud)
		cursor_skip(&to, DATAGRAM_HEADER);
	if (room < r->length + (dest->ud ? DATAGRAM_HEADER : 0)) {
		*local = SRD_EFA_LOCAL_ERROR_BAD_LENGTH;
		return SRD_EFA_REMOTE_ERROR_BAD_LENGTH;
	}
	if (r->is_inline)
		status = side_status(store_list(m, &to, srd_model_request_inline(m, r), r->length),
				     SRD_EFA_LOCAL_ERROR_INVALID_LKEY,
				     SRD_EFA_REMOTE_ERROR_BAD_STATUS);
	else
		status = side_status(copy_lists(m, &to, &from, r->length),
				     SRD_EFA_LOCAL_ERROR_INVALID_LKEY,
				     SRD_EFA_REMOTE_ERROR_BAD_STATUS);
	*local = status == SRD_EFA_REMOTE_ERROR_BAD_STATUS ? SRD_EFA_LOCAL_ERROR_INVALID_LKEY : 0;
	return status;
}

/* No receive was posted: try again later, wait for one, or give up. */
static void not_ready(struct srd_model *m, struct srd_request *r, struct srd_model_qp *dest)
{
	const struct srd_profile *p = srd_profile_of(m);
	uint8_t retries = p->cap_rnr_retry ? m->qp[r->qp].rnr_retry : 0;

	m->device[dest->host].counters.rx_drops++;
	if (dest->ud)
		answer(m, r, 0);
	else if (retries == 7 && dest->rq_head == dest->rq_tail)
		srd_request_park(m, r, srd_qp_index(m, dest));
	else if (retries == 7 || r->tries++ < retries)
		srd_request_schedule(m, r, SRD_PHASE_RNR_TIMER,
				     m->state->now +
					     (dest->rc ? srd_rc_rnr_timer(dest) : p->rnr_timer));
	else
		answer(m, r, SRD_EFA_REMOTE_ERROR_RNR);
}

/* A send does, and a write with immediate unless its target said that it needs none. */
static bool needs_receive(const struct srd_request *r, const struct srd_model_qp *dest)
{
	return !srd_request_is_rdma(r) ||
	       !(dest->flags & SRD_EFADV_QP_FLAGS_UNSOLICITED_WRITE_RECV);
}

/* The status that a fault gives to what arrives at DEST now; 0: none. */
static uint8_t receive_fault(struct srd_model *m, const struct srd_request *r,
			     struct srd_model_qp *dest)
{
	uint8_t status = dest->recv_fault;

	if (likely(!status) || dest->recv_before-- > 0)
		return 0;
	dest->recv_fault = 0;
	srd_fault_event(m, r, SRD_LAB_FAIL_RECEIVE);
	return status;
}

static void accept_send(struct srd_model *m, struct srd_request *r, struct srd_model_qp *dest)
{
	struct srd_sge sge[64];
	uint8_t status, local;
	uint64_t id;
	uint32_t count = receive_take(m, dest, sge, 64, &id);

	local = receive_fault(m, r, dest);
	status = local ? SRD_EFA_REMOTE_ERROR_BAD_STATUS
		       : fill_receive(m, r, dest, sge, count, &local);
	receive_complete(m, r, dest, id, local, 0);
	answer(m, r, status);
}

static void accept_write_imm(struct srd_model *m, struct srd_request *r, struct srd_model_qp *dest)
{
	uint8_t local = receive_fault(m, r, dest);
	uint8_t status = local ? SRD_EFA_REMOTE_ERROR_BAD_STATUS : do_write(m, r, dest);
	uint64_t id = 0;

	if ((!status || local) && needs_receive(r, dest)) {
		receive_take(m, dest, NULL, 0, &id);
		receive_complete(m, r, dest, id, local, 0);
	} else if (!status || local) {
		receive_complete(m, r, dest, 0, local, SRD_CQE_UNSOLICITED);
	}
	answer(m, r, status);
}

/* One side says that writes with immediate need no receive, the other does not. */
static bool disagree(const struct srd_model *m, const struct srd_request *r,
		     const struct srd_model_qp *dest)
{
	return r->opcode == SRD_WR_RDMA_WRITE_WITH_IMM &&
	       (m->qp[r->qp].flags ^ dest->flags) & SRD_EFADV_QP_FLAGS_UNSOLICITED_WRITE_RECV &&
	       srd_profile_of(m)->unsolicited_mismatch == SRD_PROFILE_UNSOLICITED_MISMATCH_REFUSED;
}

/* Whether a fault says that there is no receive. */
static bool unready(struct srd_model *m, struct srd_request *r)
{
	if (likely(!r->unready))
		return false;
	r->unready--;
	srd_fault_event(m, r, SRD_LAB_NOT_READY);
	return true;
}

/* What may need a receive of the responder. */
static void accept_message(struct srd_model *m, struct srd_request *r, struct srd_model_qp *dest)
{
	if (unlikely(disagree(m, r, dest)))
		answer(m, r, SRD_EFA_REMOTE_ERROR_FEATURE_MISMATCH);
	else if (needs_receive(r, dest) && (dest->rq_head == dest->rq_tail || unready(m, r)))
		not_ready(m, r, dest);
	else if (srd_request_is_rdma(r))
		accept_write_imm(m, r, dest);
	else
		accept_send(m, r, dest);
}

/* What a connected queue pair lets its peer do at all. */
static bool may(const struct srd_request *r, const struct srd_model_qp *dest)
{
	uint32_t right =
		r->opcode == SRD_WR_RDMA_READ ? SRD_ACCESS_REMOTE_READ : SRD_ACCESS_REMOTE_WRITE;

	return !dest->rc || !srd_request_is_rdma(r) || dest->connection.access & right;
}

static inline void accept(struct srd_model *m, struct srd_request *r, struct srd_model_qp *dest)
{
	if (unlikely(!may(r, dest)))
		answer(m, r, SRD_EFA_REMOTE_ERROR_FEATURE_MISMATCH);
	else if (likely(r->opcode == SRD_WR_RDMA_WRITE))
		answer(m, r, do_write(m, r, dest));
	else if (r->opcode == SRD_WR_RDMA_READ)
		do_read(m, r, dest);
	else
		accept_message(m, r, dest);
}

static void wrong_qkey(struct srd_model *m, struct srd_request *r)
{
	m->device[r->dest_host].counters.qkey_violations++;
	m->device[r->dest_host].counters.rx_drops++;
	if (m->qp[r->qp].ud) {
		answer(m, r, 0);
		return;
	}
	switch (srd_profile_of(m)->qkey_mismatch) {
	case SRD_PROFILE_QKEY_MISMATCH_DROP_THEN_TIMEOUT:
		srd_request_give_up(m, r, SRD_WHY_QKEY);
		break;
	case SRD_PROFILE_QKEY_MISMATCH_BAD_QPN:
		answer(m, r, SRD_EFA_REMOTE_ERROR_BAD_DEST_QPN);
		break;
	case SRD_PROFILE_QKEY_MISMATCH_NEVER:
		srd_request_lose(r, SRD_WHY_QKEY);
		break;
	}
}

enum welcome { WELCOME, FAULTED, NOBODY, NO_LOOPBACK, NO_QP, WRONG_QKEY, STRANGER };

/* How the responder takes a request, before it looks at what it asks for. */
static enum welcome look(const struct srd_model *m, const struct srd_request *r,
			 struct srd_model_qp **dest)
{
	const struct srd_profile *p = srd_profile_of(m);
	const struct srd_model_qp *qp = &m->qp[r->qp];
	uint32_t from = qp->host, host = r->dest_host;
	const struct srd_model_device *device = &m->device[host];

	if (unlikely(r->faults & SRD_FAULTED_FAIL))
		return FAULTED;
	if (unlikely(host >= m->state->num_hosts || !device->present || device->dead))
		return NOBODY;
	if (unlikely(host == from && !p->loopback))
		return NO_LOOPBACK;
	*dest = srd_qp_find(m, host, r->dest_qpn);
	if (unlikely(qp->rc))
		return *dest && ready_to_receive(*dest) && srd_rc_connected(qp, *dest) ? WELCOME
										       : NO_QP;
	if (unlikely(!*dest || !ready_to_receive(*dest) || (*dest)->ud != qp->ud))
		return NO_QP;
	if (unlikely(r->qkey != (*dest)->qkey))
		return WRONG_QKEY;
	if (unlikely(p->unknown_peer_check && srd_request_is_rdma(r) && !device->peers[from]))
		return STRANGER;
	return WELCOME;
}

static void refuse(struct srd_model *m, struct srd_request *r, enum welcome why)
{
	switch (why) {
	case WELCOME:
		break;
	case FAULTED:
		answer(m, r, r->status);
		break;
	case NOBODY:
		if (m->qp[r->qp].ud)
			answer(m, r, 0);
		else if (m->qp[r->qp].rc)
			srd_rc_retry(m, r);
		else
			srd_request_give_up(m, r, SRD_WHY_NOBODY);
		break;
	case NO_LOOPBACK:
		srd_request_lose(r, SRD_WHY_LOOPBACK);
		break;
	case NO_QP:
		if (m->qp[r->qp].rc)
			srd_rc_retry(m, r);
		else
			answer(m, r, SRD_EFA_REMOTE_ERROR_BAD_DEST_QPN);
		break;
	case WRONG_QKEY:
		wrong_qkey(m, r);
		break;
	case STRANGER:
		answer(m, r, SRD_EFA_REMOTE_ERROR_UNKNOWN_PEER);
		break;
	}
}

void srd_respond(struct srd_model *m, struct srd_request *r)
{
	struct srd_counters *c;
	struct srd_model_qp *dest;
	enum welcome welcome = look(m, r, &dest);

	if (!r->transfer && r->dest_host < SRD_MODEL_MAX_HOSTS) {
		c = &m->device[r->dest_host].counters;
		c->rx_pkts++;
		c->rx_bytes += r->opcode == SRD_WR_RDMA_READ ? 0 : r->length;
	}
	if (likely(welcome == WELCOME))
		accept(m, r, dest);
	else
		refuse(m, r, welcome);
}

bool srd_respond_part(struct srd_model *m, struct srd_request *r)
{
	bool whole = !srd_profile_of(m)->partial_on_error;
	const struct srd_model_mr *mr;
	struct srd_model_qp *dest;

	if (look(m, r, &dest) != WELCOME)
		return false;
	mr = srd_mr_find(m, dest->pd, r->rkey, SRD_ACCESS_REMOTE_WRITE);
	if (!srd_mr_covers(mr, r->remote_addr + (whole ? 0 : r->part_offset),
			   whole ? r->length : r->part_length))
		return false;
	return !write_part(m, r, mr);
}
