/* SPDX-License-Identifier: MIT */
/*
 * The posting session. A builder takes a request from the model's pool and fills it in
 * where it lies; complete hands the chain to the device, abort gives it back.
 */
#include <endian.h>
#include <errno.h>

#include "door.h"

static void wr_start(struct srd_verbs *verbs, struct srd_qp *public)
{
	struct door_qp *qp = door_qp(public);

	/* libefa would wait for ever for its own lock. */
	if (unlikely(qp->open)) {
		qp->error = EINVAL;
		return;
	}
	qp->open = true;
	door_cq(public->send_cq)->open_sessions++;
	qp->error = 0;
	qp->num_pending = 0;
	qp->first = NULL;
	qp->current = NULL;
}

static void session_close(struct door_qp *qp)
{
	qp->open = false;
	door_cq(qp->qp.send_cq)->open_sessions--;
}

/* What is posted in ERR is flushed, and a request may be silent. */
static int validate_rc(const struct door_qp *qp)
{
	if (qp->qp.state < SRD_QPS_RTS)
		return EINVAL;
	if (qp->qp.wr_flags &
	    ~(SRD_SEND_SIGNALED | SRD_SEND_INLINE | SRD_SEND_FENCE | SRD_SEND_SOLICITED))
		return EINVAL;
	return door_wq_full(&qp->sq) ? ENOMEM : 0;
}

/* efa_post_send_validate */
static int validate(const struct door_qp *qp, uint32_t op)
{
	uint32_t flags = qp->qp.wr_flags;

	/* libefa leaves the builder's pointer NULL, and the program crashes. */
	if (unlikely(!(qp->send_ops & op)))
		return EOPNOTSUPP;
	if (unlikely(qp->rc))
		return validate_rc(qp);
	if (unlikely(qp->qp.state != SRD_QPS_RTS && qp->qp.state != SRD_QPS_SQD))
		return EINVAL;
	if (unlikely(!(flags & SRD_SEND_SIGNALED) && !qp->signal_all))
		return EINVAL;
	if (unlikely(flags & ~(SRD_SEND_SIGNALED | SRD_SEND_INLINE)))
		return EINVAL;
	if (unlikely(door_wq_full(&qp->sq)))
		return ENOMEM;
	return 0;
}

static struct srd_request *build(struct srd_verbs *verbs, struct srd_qp *public, uint32_t op,
				 enum srd_wr_opcode opcode)
{
	struct srd_door *door = door_of(verbs);
	struct door_qp *qp = door_qp(public);
	struct srd_request *r;

	if (unlikely(!qp->open || qp->error))
		return NULL;
	qp->error = validate(qp, op);
	if (unlikely(qp->error))
		return NULL;
	r = srd_model_request_new(&door->model);
	if (unlikely(!r)) {
		qp->error = ENOMEM;
		return NULL;
	}
	r->opcode = (uint8_t)opcode;
	r->id = door_wq_take(&qp->sq, public->wr_id);
	r->silent = qp->rc && !qp->signal_all && !(public->wr_flags & SRD_SEND_SIGNALED);
	if (qp->current)
		srd_model_request_chain(&door->model, qp->current, r);
	else
		qp->first = r;
	qp->current = r;
	qp->num_pending++;
	return r;
}

static void wr_rdma_write(struct srd_verbs *verbs, struct srd_qp *qp, uint32_t rkey,
			  uint64_t remote_addr)
{
	struct srd_request *r = build(verbs, qp, SRD_QP_EX_WITH_RDMA_WRITE, SRD_WR_RDMA_WRITE);

	if (unlikely(!r))
		return;
	r->rkey = rkey;
	r->remote_addr = remote_addr;
}

static void wr_rdma_write_imm(struct srd_verbs *verbs, struct srd_qp *qp, uint32_t rkey,
			      uint64_t remote_addr, uint32_t imm_data)
{
	struct srd_request *r =
		build(verbs, qp, SRD_QP_EX_WITH_RDMA_WRITE_WITH_IMM, SRD_WR_RDMA_WRITE_WITH_IMM);

	if (unlikely(!r))
		return;
	r->rkey = rkey;
	r->remote_addr = remote_addr;
	r->imm_data = be32toh(imm_data);
}

static void wr_rdma_read(struct srd_verbs *verbs, struct srd_qp *qp, uint32_t rkey,
			 uint64_t remote_addr)
{
	struct srd_request *r = build(verbs, qp, SRD_QP_EX_WITH_RDMA_READ, SRD_WR_RDMA_READ);

	if (unlikely(!r))
		return;
	r->rkey = rkey;
	r->remote_addr = remote_addr;
}

static void wr_send(struct srd_verbs *verbs, struct srd_qp *qp)
{
	build(verbs, qp, SRD_QP_EX_WITH_SEND, SRD_WR_SEND);
}

static void wr_send_imm(struct srd_verbs *verbs, struct srd_qp *qp, uint32_t imm_data)
{
	struct srd_request *r =
		build(verbs, qp, SRD_QP_EX_WITH_SEND_WITH_IMM, SRD_WR_SEND_WITH_IMM);

	if (likely(r))
		r->imm_data = be32toh(imm_data);
}

/* The request that a setter goes to; NULL where there is none, or an error is latched. */
static struct srd_request *setter_target(struct door_qp *qp)
{
	if (unlikely(!qp->open || qp->error))
		return NULL;
	if (unlikely(!qp->current))
		qp->error = EINVAL;
	return qp->current;
}

static void wr_set_sge(struct srd_verbs *verbs, struct srd_qp *qp, uint32_t lkey, uint64_t addr,
		       uint32_t length)
{
	struct srd_request *r = setter_target(door_qp(qp));

	if (unlikely(!r))
		return;
	r->num_sge = 1;
	r->sge[0] = (struct srd_sge){.addr = addr, .length = length, .lkey = lkey};
}

static bool is_rdma(const struct srd_request *r)
{
	return r->opcode != SRD_WR_SEND && r->opcode != SRD_WR_SEND_WITH_IMM;
}

static void wr_set_sge_list(struct srd_verbs *verbs, struct srd_qp *public, uint32_t num_sge,
			    const struct srd_sge *sg_list)
{
	struct door_qp *qp = door_qp(public);
	struct srd_request *r = setter_target(qp);

	if (unlikely(!r))
		return;
	if (num_sge > (is_rdma(r) ? qp->max_rdma_sge : qp->max_send_sge)) {
		qp->error = EINVAL;
		return;
	}
	r->num_sge = (uint8_t)num_sge;
	for (uint32_t i = 0; i < num_sge; i++)
		r->sge[i] = sg_list[i];
}

/* Only the wide descriptor of a queue pair for inline writes has room beside the address. */
static bool has_inline_area(const struct door_qp *qp, const struct srd_request *r)
{
	if (!is_rdma(r))
		return true;
	return r->opcode != SRD_WR_RDMA_READ && qp->efa_flags & SRD_EFADV_QP_FLAGS_INLINE_WRITE;
}

static void wr_set_inline_data(struct srd_verbs *verbs, struct srd_qp *public, uint64_t addr,
			       uint32_t length)
{
	struct srd_door *door = door_of(verbs);
	struct door_qp *qp = door_qp(public);
	struct srd_request *r = setter_target(qp);

	if (unlikely(!r))
		return;
	if (length > qp->max_inline || !has_inline_area(qp, r) ||
	    srd_memory_on_device(door->memory, public->context->host, addr) ||
	    /* libefa reads the bytes here, and the program crashes if they are not there. */
	    srd_memory_read(door->memory, door_context(public->context)->owner, addr,
			    srd_model_request_inline(&door->model, r), length)) {
		qp->error = EINVAL;
		return;
	}
	r->is_inline = 1;
	r->inline_length = (uint8_t)length;
}

/* The descriptor has 16 bits for the number. */
static void wr_set_ud_addr(struct srd_verbs *verbs, struct srd_qp *public, struct srd_ah *ah,
			   uint32_t remote_qpn, uint32_t remote_qkey)
{
	struct door_qp *qp = door_qp(public);
	struct srd_request *r = setter_target(qp);

	if (unlikely(!r))
		return;
	/* A connected queue pair has no such setter. */
	if (unlikely(!ah || qp->rc)) {
		qp->error = qp->rc ? EOPNOTSUPP : EINVAL;
		return;
	}
	r->ah = ((struct door_ah *)ah)->number;
	r->dest_qpn = (uint16_t)remote_qpn;
	r->qkey = remote_qkey;
}

void door_session_roll_back(struct srd_door *door, struct door_qp *qp)
{
	struct srd_request *r = qp->first, *next;

	for (; r; r = next) {
		next = r == qp->current ? NULL : srd_model_request_chained(&door->model, r);
		srd_model_request_drop(&door->model, r);
	}
	/* The slots were only read: they are still in their places. */
	qp->sq.posted -= qp->num_pending;
	if (!qp->sq.id64)
		qp->sq.pool_next -= qp->num_pending;
	qp->num_pending = 0;
	qp->first = NULL;
	qp->current = NULL;
}

void door_session_drop(struct srd_door *door, struct door_qp *qp)
{
	if (!qp->open)
		return;
	session_close(qp);
	door_session_roll_back(door, qp);
}

static int wr_complete(struct srd_verbs *verbs, struct srd_qp *public)
{
	struct srd_door *door = door_of(verbs);
	struct door_qp *qp = door_qp(public);
	struct srd_request *r = qp->first, *next;

	if (unlikely(!qp->open))
		return EINVAL;
	session_close(qp);
	if (unlikely(qp->error)) {
		door_session_roll_back(door, qp);
		return qp->error;
	}
	if (unlikely(qp->num_pending > qp->max_batch || qp->lose || qp->num_unrung)) {
		door_doorbell_session(door, qp);
		return 0;
	}
	qp->doorbells += r != NULL;
	for (; r; r = next) {
		next = r == qp->current ? NULL : srd_model_request_chained(&door->model, r);
		srd_model_request_submit(&door->model, qp->model, r);
	}
	return 0;
}

static void wr_abort(struct srd_verbs *verbs, struct srd_qp *public)
{
	door_session_drop(door_of(verbs), door_qp(public));
}

void door_session_ops(struct srd_verbs *verbs)
{
	verbs->wr_start = wr_start;
	verbs->wr_rdma_write = wr_rdma_write;
	verbs->wr_rdma_write_imm = wr_rdma_write_imm;
	verbs->wr_rdma_read = wr_rdma_read;
	verbs->wr_send = wr_send;
	verbs->wr_send_imm = wr_send_imm;
	verbs->wr_set_sge = wr_set_sge;
	verbs->wr_set_sge_list = wr_set_sge_list;
	verbs->wr_set_inline_data = wr_set_inline_data;
	verbs->wr_set_ud_addr = wr_set_ud_addr;
	verbs->wr_complete = wr_complete;
	verbs->wr_abort = wr_abort;
}
