/* SPDX-License-Identifier: MIT */
/* Receives and completions. */
#include <endian.h>
#include <errno.h>

#include "door.h"

static int recv_validate(const struct door_qp *qp, const struct srd_recv_wr *wr)
{
	if (qp->qp.state == SRD_QPS_RESET || (qp->qp.state == SRD_QPS_ERR && !qp->rc))
		return EINVAL;
	if (wr->num_sge < 0 || wr->num_sge > qp->max_recv_sge)
		return EINVAL;
	return door_wq_full(&qp->rq) ? ENOMEM : 0;
}

/* Receives before the one that fails stay posted. */
static int post_recv(struct srd_verbs *verbs, struct srd_qp *public, struct srd_recv_wr *wr,
		     struct srd_recv_wr **bad_wr)
{
	struct srd_door *door = door_of(verbs);
	struct door_qp *qp = door_qp(public);
	int err;

	for (; wr; wr = wr->next) {
		struct srd_receive receive = {.sge = wr->sg_list, .num_sge = (uint32_t)wr->num_sge};

		err = recv_validate(qp, wr);
		if (err) {
			*bad_wr = wr;
			return err;
		}
		receive.id = door_wq_take(&qp->rq, wr->wr_id);
		/* Without an entry libefa writes no descriptor: the device never sees it. */
		if (wr->num_sge)
			srd_model_post_recv(&door->model, qp->model, &receive);
	}
	return 0;
}

static void send_entry(const struct srd_door *door, struct door_qp *qp, const struct srd_cqe *cqe,
		       struct srd_wc *wc)
{
	wc->opcode = door->send_opcode[cqe->op];
	wc->wr_id = door_wq_wr_id(&qp->sq, cqe->id);
	door_wq_give(&qp->sq, cqe->id);
	qp->sq.completed += cqe->silent;
}

void door_cqe_receive(const struct door_qp *qp, const struct srd_cqe *cqe, struct srd_wc *wc)
{
	wc->wr_id = 0;
	if (!(cqe->flags & SRD_CQE_UNSOLICITED))
		wc->wr_id = door_wq_wr_id(&qp->rq, cqe->id);
	wc->opcode = cqe->op == SRD_OP_TYPE_RDMA_WRITE ? SRD_WC_RECV_RDMA_WITH_IMM : SRD_WC_RECV;
	wc->byte_len = cqe->length;
	wc->src_qp = cqe->src_qpn;
	wc->sl = 0;
	wc->slid = cqe->ah;
	if (cqe->flags & SRD_CQE_HAS_IMM) {
		wc->imm_data = htobe32(cqe->imm_data);
		wc->wc_flags |= SRD_WC_WITH_IMM;
	}
}

static void recv_entry(struct door_qp *qp, const struct srd_cqe *cqe, struct srd_wc *wc)
{
	door_cqe_receive(qp, cqe, wc);
	if (!(cqe->flags & SRD_CQE_UNSOLICITED))
		door_wq_give(&qp->rq, cqe->id);
}

/* The generation in the id belongs to the queue pair that has the number now. */
static bool generation_good(const struct door_qp *qp, const struct srd_cqe *cqe)
{
	const struct door_wq *wq = cqe->flags & SRD_CQE_RECEIVE ? &qp->rq : &qp->sq;

	return !(((uint16_t)cqe->id ^ wq->generation) & wq->check_mask) ||
	       cqe->flags & SRD_CQE_UNSOLICITED;
}

struct door_qp *door_cqe_owner(const struct door_context *context, const struct srd_cqe *cqe)
{
	struct door_qp *qp = context->qps[cqe->qpn & context->qp_mask];

	return qp && qp->qp.qp_num == cqe->qpn && generation_good(qp, cqe) ? qp : NULL;
}

/* efa_poll_sub_cq: only the fields that it sets are set. */
static int poll_entry(struct srd_door *door, struct door_context *context,
		      const struct srd_cqe *cqe, struct srd_wc *wc)
{
	struct door_qp *qp = context->qps[cqe->qpn & context->qp_mask];

	if (unlikely(!qp || qp->qp.qp_num != cqe->qpn || !generation_good(qp, cqe)))
		return EINVAL;
	wc->status = srd_efa_status_to_wc(cqe->status);
	wc->vendor_err = cqe->status;
	if (unlikely(qp->rc)) {
		/* A vendor's own, of which the model has none. */
		wc->status = srd_efa_status_to_rc(cqe->status);
		wc->vendor_err = 0;
	}
	wc->wc_flags = 0;
	wc->qp_num = cqe->qpn;
	if (likely(!(cqe->flags & SRD_CQE_RECEIVE)))
		send_entry(door, qp, cqe, wc);
	else
		recv_entry(qp, cqe, wc);
	return 0;
}

/*
 * An entry of no live queue pair is consumed; it is an error of the call only where it is
 * the first of it.
 */
static int poll_cq(struct srd_verbs *verbs, struct srd_cq *public, int num_entries,
		   struct srd_wc *wc)
{
	struct srd_door *door = door_of(verbs);
	struct door_context *context = door_context(public->context);
	const struct srd_cqe *cqe;
	int i;

	/* libefa would wait for the lock of a send queue, which a session holds, or for its own. */
	if (unlikely(door_cq(public)->open_sessions || door_cq(public)->polling))
		return -EDEADLK;
	for (i = 0; i < num_entries; i++) {
		cqe = srd_model_cq_take(&door->model, door_cq(public)->model);
		if (!cqe)
			return i;
		if (unlikely(poll_entry(door, context, cqe, &wc[i])))
			return i ? i : -EINVAL;
	}
	return i;
}

void door_poll_ops(struct srd_verbs *verbs)
{
	verbs->post_recv = post_recv;
	verbs->poll_cq = poll_cq;
}
