/* SPDX-License-Identifier: MIT */
/* Completion queues, address handles and queue pairs: all that is not data path. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "hw_config.h"
#include "efa.h"

/* libefa rounds 0 entries up by a shift of 64 bits, which C leaves undefined. */
static struct srd_cq *create_cq(struct srd_verbs *verbs, struct srd_context *context, uint32_t cqe)
{
	struct hw *hw = to_hw(verbs);
	struct hw_cq *cq;

	if (!cqe || cqe > INT_MAX) {
		errno = EINVAL;
		return NULL;
	}
	cq = hw_object_new(sizeof(*cq));
	if (!cq)
		return NULL;
	cq->ibv = ibv_create_cq(hw_ibv(context), (int)cqe, NULL, NULL, 0);
	if (!cq->ibv)
		return hw_object_discard(cq);
	cq->srd.handle = hw_object_add(hw, HW_CQ, &cq->object);
	cq->srd.context = context;
	cq->srd.cqe = cq->ibv->cqe;
	HW_OF(hw_context, context)->children++;
	return &cq->srd;
}

static int destroy_cq(struct srd_verbs *verbs, struct srd_cq *srd)
{
	struct hw_cq *cq = HW_OF(hw_cq, srd);
	int err;

	hw_poll_drop(to_hw(verbs), cq);
	/* It would wait for them. */
	if (cq->unacked)
		ibv_ack_cq_events(cq->ibv, cq->unacked);
	cq->unacked = 0;
	err = ibv_destroy_cq(cq->ibv);
	if (err)
		return err;
	if (cq->channel)
		cq->channel->queues--;
	HW_OF(hw_context, srd->context)->children--;
	hw_object_free(to_hw(verbs), HW_CQ, &cq->object);
	return 0;
}

static struct ibv_ah_attr to_ibv_ah_attr(const struct srd_ah_attr *attr)
{
	struct ibv_ah_attr ibv = {
		.grh.flow_label = attr->flow_label,
		.grh.sgid_index = attr->sgid_index,
		.grh.hop_limit = attr->hop_limit,
		.grh.traffic_class = attr->traffic_class,
		.dlid = attr->dlid,
		.sl = attr->sl,
		.is_global = attr->is_global,
		.port_num = attr->port_num,
	};

	memcpy(ibv.grh.dgid.raw, attr->dgid.raw, sizeof(attr->dgid.raw));
	return ibv;
}

static struct srd_ah *create_ah(struct srd_verbs *verbs, struct srd_pd *pd,
				const struct srd_ah_attr *attr)
{
	struct ibv_ah_attr ibv = to_ibv_ah_attr(attr);
	struct hw_ah *ah = hw_object_new(sizeof(*ah));

	if (!ah)
		return NULL;
	ah->ibv = ibv_create_ah(HW_OF(hw_pd, pd)->ibv, &ibv);
	if (!ah->ibv)
		return hw_object_discard(ah);
	ah->srd.handle = hw_object_add(to_hw(verbs), HW_AH, &ah->object);
	ah->srd.context = pd->context;
	ah->srd.pd = pd;
	return &ah->srd;
}

static int destroy_ah(struct srd_verbs *verbs, struct srd_ah *srd)
{
	struct hw_ah *ah = HW_OF(hw_ah, srd);
	int err = ibv_destroy_ah(ah->ibv);

	if (err)
		return err;
	hw_object_free(to_hw(verbs), HW_AH, &ah->object);
	return 0;
}

static struct ibv_qp_cap to_ibv_cap(const struct srd_qp_cap *cap)
{
	return (struct ibv_qp_cap){
		.max_send_wr = cap->max_send_wr,
		.max_recv_wr = cap->max_recv_wr,
		.max_send_sge = cap->max_send_sge,
		.max_recv_sge = cap->max_recv_sge,
		.max_inline_data = cap->max_inline_data,
	};
}

static struct srd_qp_cap from_ibv_cap(const struct ibv_qp_cap *cap)
{
	return (struct srd_qp_cap){
		.max_send_wr = cap->max_send_wr,
		.max_recv_wr = cap->max_recv_wr,
		.max_send_sge = cap->max_send_sge,
		.max_recv_sge = cap->max_recv_sge,
		.max_inline_data = cap->max_inline_data,
	};
}

static struct ibv_cq *ibv_cq_of(struct srd_cq *srd)
{
	return srd ? HW_OF(hw_cq, srd)->ibv : NULL;
}

/* What this rdma-core's headers have no field for cannot be asked of it. */
static bool to_efadv_attr(const struct srd_efa_qp_init_attr *efa, struct efadv_qp_init_attr *efadv)
{
	*efadv = (struct efadv_qp_init_attr){
		.comp_mask = efa->comp_mask,
		.driver_qp_type = efa->driver_qp_type,
	};
#if HAVE_QP_INIT_ATTR_FLAGS
	efadv->flags = efa->flags;
	return true;
#else
	return !efa->flags;
#endif
}

static struct ibv_qp *create_ibv_qp(struct ibv_context *on, struct srd_qp_init_attr_ex *attr,
				    const struct srd_efa_qp_init_attr *efa)
{
	struct ibv_qp_init_attr_ex ibv = {
		.send_cq = ibv_cq_of(attr->send_cq),
		.recv_cq = ibv_cq_of(attr->recv_cq),
		.cap = to_ibv_cap(&attr->cap),
		.qp_type = (enum ibv_qp_type)attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
		.comp_mask = attr->comp_mask,
		.pd = attr->pd ? HW_OF(hw_pd, attr->pd)->ibv : NULL,
		.send_ops_flags = attr->send_ops_flags,
	};
	struct efadv_qp_init_attr efadv;
	struct ibv_qp *qp;

	/* The inline function hands what names no protection domain to a call that looks there. */
	if (!efa && !(attr->comp_mask & SRD_QP_INIT_ATTR_PD)) {
		errno = EINVAL;
		return NULL;
	}
	if (!efa) {
		qp = ibv_create_qp_ex(on, &ibv);
		attr->cap = from_ibv_cap(&ibv.cap);
		return qp;
	}
	/* libefa divides by it, whatever is wrong besides. */
	if (!attr->cap.max_recv_sge) {
		errno = EINVAL;
		return NULL;
	}
	if (!to_efadv_attr(efa, &efadv)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	qp = efadv_create_qp_ex(on, &ibv, &efadv, sizeof(efadv));
	/* libefa writes the granted depths even where a later step fails. */
	attr->cap = from_ibv_cap(&ibv.cap);
	return qp;
}

static struct srd_qp *create_qp_ex(struct srd_verbs *verbs, struct srd_context *context,
				   struct srd_qp_init_attr_ex *attr,
				   const struct srd_efa_qp_init_attr *efa)
{
	struct hw *hw = to_hw(verbs);
	struct hw_qp *qp = hw_object_new(sizeof(*qp));

	if (!qp)
		return NULL;
	qp->ibv = create_ibv_qp(hw_ibv(context), attr, efa);
	if (!qp->ibv)
		return hw_object_discard(qp);
	if (!hw_sent_open(hw, &qp->sent, attr->cap.max_send_wr)) {
		ibv_destroy_qp(qp->ibv);
		errno = ENOMEM;
		return hw_object_discard(qp);
	}
	if (attr->comp_mask & SRD_QP_INIT_ATTR_SEND_OPS_FLAGS)
		qp->ex = ibv_qp_to_qp_ex(qp->ibv);
	qp->srd = (struct srd_qp){
		.context = context,
		.pd = attr->pd,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.handle = hw_object_add(hw, HW_QP, &qp->object),
		.qp_num = qp->ibv->qp_num,
		.state = (enum srd_qp_state)qp->ibv->state,
	};
	return &qp->srd;
}

static int destroy_qp(struct srd_verbs *verbs, struct srd_qp *srd)
{
	struct hw_qp *qp = HW_OF(hw_qp, srd);
	int err;

	hw_session_drop(qp);
	hw_polls_drop(to_hw(verbs), qp);
	err = ibv_destroy_qp(qp->ibv);
	if (err)
		return err;
	hw_sent_close(&qp->sent);
	hw_object_free(to_hw(verbs), HW_QP, &qp->object);
	return 0;
}

static int modify_qp(struct srd_verbs *verbs, struct srd_qp *srd, const struct srd_qp_attr *attr,
		     uint32_t mask)
{
	struct hw_qp *qp = HW_OF(hw_qp, srd);
	struct ibv_qp_attr ibv = {
		.qp_state = (enum ibv_qp_state)attr->qp_state,
		.cur_qp_state = (enum ibv_qp_state)attr->cur_qp_state,
		.qkey = attr->qkey,
		.rq_psn = attr->rq_psn,
		.sq_psn = attr->sq_psn,
		.dest_qp_num = attr->dest_qp_num,
		.qp_access_flags = attr->qp_access_flags,
		.path_mtu = (enum ibv_mtu)attr->path_mtu,
		.cap = to_ibv_cap(&attr->cap),
		.ah_attr = to_ibv_ah_attr(&attr->ah_attr),
		.pkey_index = attr->pkey_index,
		.en_sqd_async_notify = attr->en_sqd_async_notify,
		.sq_draining = attr->sq_draining,
		.max_rd_atomic = attr->max_rd_atomic,
		.max_dest_rd_atomic = attr->max_dest_rd_atomic,
		.min_rnr_timer = attr->min_rnr_timer,
		.port_num = attr->port_num,
		.timeout = attr->timeout,
		.retry_cnt = attr->retry_cnt,
		.rnr_retry = attr->rnr_retry,
	};
	int err;

	/* libefa's session would undo itself into negative counts. */
	if (mask & SRD_QP_STATE && attr->qp_state == SRD_QPS_RESET)
		hw_session_break(qp);
	err = ibv_modify_qp(qp->ibv, &ibv, (int)mask);
	srd->state = (enum srd_qp_state)qp->ibv->state;
	return err;
}

/* The address handle's attributes are left zero: no SRD queue pair has any, and nobody asks. */
static int query_qp(struct srd_verbs *verbs, struct srd_qp *srd, struct srd_qp_attr *attr,
		    uint32_t mask)
{
	struct hw_qp *qp = HW_OF(hw_qp, srd);
	struct ibv_qp_init_attr init = {0};
	struct ibv_qp_attr ibv = {0};
	int err = ibv_query_qp(qp->ibv, &ibv, (int)mask, &init);

	srd->state = (enum srd_qp_state)qp->ibv->state;
	if (err)
		return err;
	*attr = (struct srd_qp_attr){
		.qp_state = (enum srd_qp_state)ibv.qp_state,
		.cur_qp_state = (enum srd_qp_state)ibv.cur_qp_state,
		.qkey = ibv.qkey,
		.rq_psn = ibv.rq_psn,
		.sq_psn = ibv.sq_psn,
		.dest_qp_num = ibv.dest_qp_num,
		.qp_access_flags = ibv.qp_access_flags,
		.path_mtu = ibv.path_mtu,
		.cap = from_ibv_cap(&ibv.cap),
		.pkey_index = ibv.pkey_index,
		.en_sqd_async_notify = ibv.en_sqd_async_notify,
		.sq_draining = ibv.sq_draining,
		.max_rd_atomic = ibv.max_rd_atomic,
		.max_dest_rd_atomic = ibv.max_dest_rd_atomic,
		.min_rnr_timer = ibv.min_rnr_timer,
		.port_num = ibv.port_num,
		.timeout = ibv.timeout,
		.retry_cnt = ibv.retry_cnt,
		.rnr_retry = ibv.rnr_retry,
	};
	return 0;
}

void hw_queue_pair_fill(struct srd_verbs *verbs)
{
	verbs->create_cq = create_cq;
	verbs->destroy_cq = destroy_cq;
	verbs->create_ah = create_ah;
	verbs->destroy_ah = destroy_ah;
	verbs->create_qp_ex = create_qp_ex;
	verbs->destroy_qp = destroy_qp;
	verbs->modify_qp = modify_qp;
	verbs->query_qp = query_qp;
}
