/* SPDX-License-Identifier: MIT */
/* Commands that make, change, tell of and destroy queue pairs. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>

#include "ask.h"
#include "blind.h"
#include "command.h"
#include "engine.h"
#include "ring.h"
#include "softefa/efa_abi.h"
#include "wrap.h"

#define RQ_DOORBELL  64
#define MIN_QP_INPUT 16 /* up to driver_qp_type */

struct qp_input {
	struct efa_ibv_create_qp efa;
	struct ib_uverbs_qp_cap cap;
	struct soft_object *pd, *send_cq, *recv_cq;
	uint32_t type;
};

static int qp_input_read(struct soft_call *call, struct qp_input *in)
{
	uint64_t flags = soft_in_number(call, UVERBS_ATTR_CREATE_QP_FLAGS);
	int err = soft_in(call, UVERBS_ATTR_CREATE_QP_CAP, &in->cap, sizeof(in->cap),
			  sizeof(in->cap));

	if (!err)
		err = soft_in(call, UVERBS_ATTR_CREATE_QP_TYPE, &in->type, 4, 4);
	if (err)
		return err;
	in->pd = soft_object_find(soft_in_number(call, UVERBS_ATTR_CREATE_QP_PD_HANDLE), SOFT_PD,
				  call->file);
	in->send_cq = soft_object_find(soft_in_number(call, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE),
				       SOFT_CQ, call->file);
	in->recv_cq = soft_object_find(soft_in_number(call, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE),
				       SOFT_CQ, call->file);
	if (!in->pd || !in->send_cq || !in->recv_cq)
		return EINVAL;
	if (in->type != IB_UVERBS_QPT_DRIVER && in->type != IB_UVERBS_QPT_UD)
		return EOPNOTSUPP;
	if (soft_attr(call, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE))
		return EOPNOTSUPP;
	if (flags != UINT64_MAX && flags & ~(uint64_t)IB_UVERBS_QP_CREATE_SQ_SIG_ALL)
		return EOPNOTSUPP;
	return soft_in(call, UVERBS_ATTR_UHW_IN, &in->efa, sizeof(in->efa), MIN_QP_INPUT);
}

static int qp_input_check(const struct qp_input *in)
{
	const struct efa_ibv_create_qp *efa = &in->efa;
	const struct srd_profile *p = soft_profile();
	uint32_t known =
		(p->cap_unsolicited_write_recv ? EFA_CREATE_QP_WITH_UNSOLICITED_WRITE_RECV : 0) |
		(p->id64 ? EFA_CREATE_QP_WITH_SQ_64_BIT_REQ_ID : 0);

	if (efa->comp_mask)
		return EINVAL;
	for (size_t i = 0; i < sizeof(efa->reserved_98); i++)
		if (efa->reserved_98[i])
			return EINVAL;
	if (efa->flags & ~known)
		return EOPNOTSUPP;
	if (in->type == IB_UVERBS_QPT_DRIVER && efa->driver_qp_type != EFA_QP_DRIVER_TYPE_SRD)
		return EOPNOTSUPP;
	return 0;
}

/* The device's part: the rings are what the library says that they are. */
static int qp_rings(struct soft_qp *qp, const struct qp_input *in)
{
	uint64_t wqes = in->cap.max_send_wr;
	uint32_t descriptors = in->efa.rq_ring_size / sizeof(struct efa_io_rx_desc);

	qp->id64 = in->efa.flags & EFA_CREATE_QP_WITH_SQ_64_BIT_REQ_ID;
	qp->sq.bytes = in->efa.sq_ring_size;
	qp->sq.entries = in->cap.max_send_wr;
	qp->sq.entry_size = in->efa.sq_ring_size == wqes * SOFT_WQE_SIZE_WIDE ? SOFT_WQE_SIZE_WIDE
									      : SOFT_WQE_SIZE;
	qp->rq.bytes = in->efa.rq_ring_size;
	qp->rq.entries = descriptors;
	qp->rq.entry_size = sizeof(struct efa_io_rx_desc);
	if (qp->sq.bytes != wqes * qp->sq.entry_size || qp->sq.bytes > soft_profile()->max_llq_size)
		return EINVAL;
	if (qp->rq.bytes != descriptors * sizeof(struct efa_io_rx_desc))
		return EINVAL;
	if ((wqes && !soft_power_of_two(wqes)) || wqes > SOFT_MAX_DEPTH)
		return EINVAL;
	return (descriptors && !soft_power_of_two(descriptors)) || descriptors > SOFT_MAX_DEPTH
		       ? EINVAL
		       : 0;
}

static void qp_pages_put(struct soft_qp *qp)
{
	if (qp->sq.key)
		soft_pages_put(qp->sq.key, qp->sq.bytes);
	if (qp->rq.key)
		soft_pages_put(qp->rq.key, qp->rq.bytes);
	if (qp->sq.doorbell)
		soft_pages_put(qp->sq.doorbell, SOFT_PAGE);
}

static int qp_pages_get(struct soft_qp *qp)
{
	qp->sq.key = qp->sq.bytes ? soft_pages_get(qp->sq.bytes) : 0;
	qp->rq.key = qp->rq.bytes ? soft_pages_get(qp->rq.bytes) : 0;
	qp->sq.doorbell = soft_pages_get(SOFT_PAGE);
	qp->rq.doorbell = qp->sq.doorbell + RQ_DOORBELL;
	if (qp->sq.doorbell && !qp->sq.bytes == !qp->sq.key && !qp->rq.bytes == !qp->rq.key)
		return 0;
	qp_pages_put(qp);
	return ENOMEM;
}

static int qp_make(struct soft_call *call, const struct qp_input *in, struct soft_object *object)
{
	struct soft_qp *qp = &object->qp;
	struct srd_qp_init init = {
		.pd = in->pd->model,
		.send_cq = in->send_cq->model,
		.recv_cq = in->recv_cq->model,
		.tag = soft_handle(object),
		.cap = {in->cap.max_send_wr, in->cap.max_recv_wr, in->cap.max_send_sge,
			in->cap.max_recv_sge, in->cap.max_inline_data},
		.flags = in->efa.flags & EFA_CREATE_QP_WITH_UNSOLICITED_WRITE_RECV
				 ? SRD_EFADV_QP_FLAGS_UNSOLICITED_WRITE_RECV
				 : 0,
		.ud = in->type == IB_UVERBS_QPT_UD,
	};
	int err = qp_rings(qp, in);

	if (!err)
		err = qp_pages_get(qp);
	if (err)
		return err;
	init.rq_descriptors = qp->rq.entries ? qp->rq.entries : 1;
	srd_model_pd_own(&soft.model, init.pd, soft.process);
	err = srd_model_qp_create(&soft.model, &init, &object->model, &qp->qpn);
	if (err) {
		qp_pages_put(qp);
		return err;
	}
	qp->cap = init.cap;
	qp->ud = init.ud;
	qp->send_cq = soft_handle(in->send_cq);
	qp->recv_cq = soft_handle(in->recv_cq);
	in->send_cq->users++;
	in->recv_cq->users++;
	object->user = soft_in_number(call, UVERBS_ATTR_CREATE_QP_USER_HANDLE);
	object->pd = soft_handle(in->pd);
	in->pd->users++;
	return 0;
}

static int qp_answer(struct soft_call *call, const struct soft_object *object,
		     const struct ib_uverbs_qp_cap *cap)
{
	const struct soft_qp *qp = &object->qp;
	struct efa_ibv_create_qp_resp efa = {
		.rq_db_offset = RQ_DOORBELL,
		.rq_mmap_key = qp->rq.key,
		.rq_mmap_size = (qp->rq.bytes + SOFT_PAGE - 1) & ~(SOFT_PAGE - 1ull),
		.rq_db_mmap_key = qp->sq.doorbell,
		.sq_db_mmap_key = qp->sq.doorbell,
		.llq_desc_mmap_key = qp->sq.key,
	};
	uint32_t number = qp->qpn;
	int err = soft_out(call, UVERBS_ATTR_CREATE_QP_RESP_CAP, cap, sizeof(*cap));

	if (!err)
		err = soft_out(call, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, &number, sizeof(number));
	if (!err)
		err = soft_out(call, UVERBS_ATTR_UHW_OUT, &efa, sizeof(efa));
	return err ? err : soft_out_number(call, UVERBS_ATTR_CREATE_QP_HANDLE, soft_handle(object));
}

int soft_create_qp(struct soft_call *call)
{
	struct soft_object *object;
	struct qp_input in = {0};
	int err = qp_input_read(call, &in);

	if (!err)
		err = qp_input_check(&in);
	if (err)
		return err;
	object = soft_object_new(SOFT_QP, call->file);
	if (!object)
		return ENOMEM;
	err = qp_make(call, &in, object);
	if (err) {
		soft_object_free(object);
		return err;
	}
	soft_engine_qp_raw(object); /* until it turns out to be wrapped */
	if (soft.group->taken_over)
		soft_blind_take_over(NULL, SOFT_OBSERVER);
	err = qp_answer(call, object, &in.cap);
	if (err)
		soft_object_destroy(object);
	else
		soft_ask_queue_pair(object);
	return err;
}

int soft_destroy_qp(struct soft_call *call)
{
	struct soft_object *qp = soft_object_find(
		soft_in_number(call, UVERBS_ATTR_DESTROY_QP_HANDLE), SOFT_QP, call->file);
	struct ib_uverbs_destroy_qp_resp r = {0};

	if (!qp)
		return EINVAL;
	/* What was posted before is with the device. */
	soft_doorbell(qp);
	soft_unwrap_qp(soft_handle(qp));
	soft_object_destroy(qp);
	return soft_out(call, UVERBS_ATTR_DESTROY_QP_RESP, &r, sizeof(r));
}

/* libefa counts from zero again, and its first doorbell comes with the first request. */
static void rings_reset(struct soft_qp *qp)
{
	qp->sq.done = 0;
	qp->rq.done = 0;
	memset(soft.rings + qp->sq.doorbell, 0, sizeof(uint32_t));
	memset(soft.rings + qp->rq.doorbell, 0, sizeof(uint32_t));
}

static void modify_attr(const struct ib_uverbs_modify_qp *in, struct srd_qp_attr *attr)
{
	*attr = (struct srd_qp_attr){
		.qp_state = in->qp_state,
		.cur_qp_state = in->cur_qp_state,
		.qkey = in->qkey,
		.sq_psn = in->sq_psn,
		.rq_psn = in->rq_psn,
		.dest_qp_num = in->dest_qp_num,
		.ah_attr.port_num = in->dest.port_num,
		.pkey_index = in->pkey_index,
		.en_sqd_async_notify = in->en_sqd_async_notify,
		.port_num = in->port_num,
		.rnr_retry = in->rnr_retry,
	};
}

int soft_modify_qp(struct soft_call *call)
{
	struct ib_uverbs_modify_qp in;
	struct srd_qp_attr attr;
	struct soft_object *qp;
	int err = soft_in(call, UVERBS_ATTR_CORE_IN, &in, sizeof(in), sizeof(in));

	if (err)
		return err;
	qp = soft_object_find(in.qp_handle, SOFT_QP, call->file);
	if (!qp)
		return EINVAL;
	soft_doorbell(qp);
	modify_attr(&in, &attr);
	err = srd_model_qp_modify(&soft.model, qp->model, &attr, in.attr_mask);
	if (err)
		return err;
	if (in.attr_mask & SRD_QP_STATE && in.qp_state == SRD_QPS_RESET)
		rings_reset(&qp->qp);
	soft_wrap_qp(qp);
	return 0;
}

int soft_query_qp(struct soft_call *call)
{
	struct ib_uverbs_query_qp_resp r = {0};
	struct ib_uverbs_query_qp in;
	struct srd_qp_attr attr;
	struct soft_object *qp;
	int err = soft_in(call, UVERBS_ATTR_CORE_IN, &in, sizeof(in), sizeof(in));

	if (err)
		return err;
	qp = soft_object_find(in.qp_handle, SOFT_QP, call->file);
	if (!qp)
		return EINVAL;
	err = srd_model_qp_query(&soft.model, qp->model, &attr, in.attr_mask);
	if (err)
		return err;
	r.max_send_wr = attr.cap.max_send_wr;
	r.max_recv_wr = attr.cap.max_recv_wr;
	r.max_send_sge = attr.cap.max_send_sge;
	r.max_recv_sge = attr.cap.max_recv_sge;
	r.max_inline_data = attr.cap.max_inline_data;
	r.qkey = attr.qkey;
	r.sq_psn = attr.sq_psn;
	r.qp_state = (uint8_t)attr.qp_state;
	r.sq_draining = attr.sq_draining;
	r.rnr_retry = attr.rnr_retry;
	r.port_num = attr.port_num;
	return soft_out(call, UVERBS_ATTR_CORE_OUT, &r, sizeof(r));
}
