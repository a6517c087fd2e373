/* SPDX-License-Identifier: MIT */
/* Queue pairs as libefa makes, caches and destroys them. */
#include <errno.h>

#include "door.h"
#include "verbs/alloc.h"

#define DESCRIPTOR_SIZE      64
#define DESCRIPTOR_SIZE_WIDE 128
#define INLINE_SIZE          32 /* bytes that the small descriptor holds */

/* efa_check_qp_attr */
static int check_attr(const struct srd_profile *p, const struct srd_qp_init_attr_ex *attr,
		      const struct srd_efa_qp_init_attr *efa)
{
	uint64_t ops = SRD_QP_EX_WITH_SEND | SRD_QP_EX_WITH_SEND_WITH_IMM;
	bool srd = attr->qp_type == SRD_QPT_DRIVER;
	uint32_t flags = 0;

	if (srd && p->cap_rdma_read)
		ops |= SRD_QP_EX_WITH_RDMA_READ;
	if (srd && p->cap_rdma_write)
		ops |= SRD_QP_EX_WITH_RDMA_WRITE | SRD_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
	if (p->cap_rdma_write)
		flags |= SRD_EFADV_QP_FLAGS_INLINE_WRITE;
	if (p->cap_unsolicited_write_recv)
		flags |= SRD_EFADV_QP_FLAGS_UNSOLICITED_WRITE_RECV;
	if (efa->driver_qp_type != SRD_EFADV_QP_DRIVER_TYPE_SRD || efa->flags & ~flags)
		return EOPNOTSUPP;
	if (attr->comp_mask & ~(SRD_QP_INIT_ATTR_PD | SRD_QP_INIT_ATTR_SEND_OPS_FLAGS))
		return EOPNOTSUPP;
	if (!(attr->comp_mask & SRD_QP_INIT_ATTR_PD))
		return EINVAL;
	if (attr->comp_mask & SRD_QP_INIT_ATTR_SEND_OPS_FLAGS && attr->send_ops_flags & ~ops)
		return EOPNOTSUPP;
	return attr->recv_cq && attr->send_cq ? 0 : EINVAL;
}

/* What providers of connected queue pairs ask for. */
static int check_rc_attr(const struct srd_profile *p, const struct srd_qp_init_attr_ex *attr)
{
	const struct srd_qp_cap *cap = &attr->cap;

	if (attr->comp_mask & ~(SRD_QP_INIT_ATTR_PD | SRD_QP_INIT_ATTR_SEND_OPS_FLAGS))
		return EOPNOTSUPP;
	if (!(attr->comp_mask & SRD_QP_INIT_ATTR_PD) || !attr->recv_cq || !attr->send_cq)
		return EINVAL;
	if (cap->max_send_wr > p->max_sq_wr || cap->max_recv_wr > p->max_rq_wr ||
	    cap->max_send_sge > p->max_sq_sge || cap->max_recv_sge > p->max_rq_sge ||
	    cap->max_inline_data > p->inline_buf_size)
		return EINVAL;
	return 0;
}

static uint32_t descriptor_size(const struct srd_qp_cap *cap, uint32_t efa_flags)
{
	if (cap->max_inline_data > INLINE_SIZE || efa_flags & SRD_EFADV_QP_FLAGS_INLINE_WRITE)
		return DESCRIPTOR_SIZE_WIDE;
	return DESCRIPTOR_SIZE;
}

/* efa_check_qp_limits. A max_recv_sge of 0 makes libefa divide by zero: here it is EINVAL. */
static int check_limits(const struct srd_profile *p, const struct srd_qp_cap *cap,
			uint32_t efa_flags)
{
	uint64_t depth = p->max_llq_size / descriptor_size(cap, efa_flags);

	if (cap->max_send_sge > p->max_sq_sge || cap->max_recv_sge > p->max_rq_sge)
		return EINVAL;
	if (!depth || cap->max_send_wr > 1ull << (63 - __builtin_clzll(depth)))
		return EINVAL;
	if (!cap->max_recv_sge || cap->max_recv_wr > p->max_rq_wr / cap->max_recv_sge)
		return EINVAL;
	return cap->max_inline_data > p->inline_buf_size_ex ? EINVAL : 0;
}

/* efa_setup_qp: what is asked for becomes what is granted. Returns the receive descriptors. */
static uint32_t round_depths(const struct srd_profile *p, struct srd_qp_cap *cap)
{
	uint32_t send = cap->max_send_wr > p->min_sq_wr ? cap->max_send_wr : p->min_sq_wr;
	uint32_t sge = cap->max_recv_sge ? cap->max_recv_sge : 1;
	uint32_t descriptors = (uint32_t)round_up_power((uint64_t)sge * cap->max_recv_wr);

	cap->max_send_wr = (uint32_t)round_up_power(send);
	cap->max_recv_wr = descriptors / sge;
	return descriptors;
}

/* efa_setup_qp: of the granted depth, and in bytes of 64-byte descriptors. */
static uint32_t max_batch(const struct srd_profile *p, const struct srd_qp_cap *cap,
			  uint32_t efa_flags)
{
	uint32_t batch = p->max_tx_batch ? p->max_tx_batch * DESCRIPTOR_SIZE /
						   descriptor_size(cap, efa_flags)
					 : UINT16_MAX;

	if (p->min_sq_wr && batch > cap->max_send_wr - 1)
		batch = cap->max_send_wr - 1;
	/* A batch of nothing would make libefa ring for ever. */
	return batch ? batch : 1;
}

static void fill_in(struct door_qp *qp, const struct srd_profile *p, struct srd_context *context,
		    const struct srd_qp_init_attr_ex *attr, uint32_t efa_flags)
{
	if (attr->comp_mask & SRD_QP_INIT_ATTR_SEND_OPS_FLAGS)
		qp->send_ops = (uint32_t)attr->send_ops_flags;
	qp->efa_flags = efa_flags;
	qp->max_inline = attr->cap.max_inline_data;
	qp->max_send_sge = (uint16_t)attr->cap.max_send_sge;
	qp->max_recv_sge = (uint16_t)attr->cap.max_recv_sge;
	/* The descriptor has room for one (efa_io_defs.h). */
	qp->max_rdma_sge = p->max_sge_rd < 1 ? p->max_sge_rd : 1;
	qp->rc = attr->qp_type == SRD_QPT_RC;
	qp->signal_all = attr->sq_sig_all;
	qp->max_batch = max_batch(p, &attr->cap, efa_flags);
	qp->qp.context = context;
	qp->qp.pd = attr->pd;
	qp->qp.send_cq = attr->send_cq;
	qp->qp.recv_cq = attr->recv_cq;
	qp->qp.state = SRD_QPS_RESET;
}

static int device_create(struct srd_door *door, struct door_qp *qp,
			 const struct srd_qp_init_attr_ex *attr, uint32_t descriptors)
{
	struct srd_qp_init init = {
		.pd = door_pd(attr->pd)->model,
		.send_cq = door_cq(attr->send_cq)->model,
		.recv_cq = door_cq(attr->recv_cq)->model,
		.tag = door->handles[DOOR_QP] + 1,
		.cap = attr->cap,
		.rq_descriptors = descriptors,
		.flags = qp->efa_flags,
		.rc = qp->rc,
		.ud = attr->qp_type == SRD_QPT_UD,
	};
	uint16_t number = 0;
	int err = srd_model_qp_create(&door->model, &init, &qp->model, &number);

	qp->qp.qp_num = number;
	return err;
}

static int queues_init(struct srd_door *door, struct door_qp *qp, const struct srd_qp_cap *cap)
{
	struct door_context *context = door_context(qp->qp.context);
	uint16_t generation = ++context->generations[qp->qp.qp_num & context->qp_mask];
	int err;

	err = door_wq_init(&qp->rq, cap->max_recv_wr, generation, false);
	if (err)
		return err;
	/* In order, a request needs no slot of its own. */
	err = door_wq_init(&qp->sq, cap->max_send_wr, generation,
			   door_profile(door)->id64 || qp->rc);
	if (err)
		goto release_rq;
	/* An old libefa looks at the number only (rdma-core PR 1731). */
	if (door_profile(door)->stale_check == SRD_PROFILE_STALE_CHECK_QPN) {
		qp->sq.check_mask = 0;
		qp->rq.check_mask = 0;
	}
	return 0;

release_rq:
	door_wq_release(&qp->rq);
	return err;
}

/* The kernel knows handles by the file that they were made on: those of another are not there. */
static bool of_one_context(const struct srd_context *context,
			   const struct srd_qp_init_attr_ex *attr)
{
	return attr->pd->context == context && attr->send_cq->context == context &&
	       attr->recv_cq->context == context;
}

/* Which library is asked for it, and what that looks at. */
static int check_create(const struct srd_door *door, const struct srd_qp_init_attr_ex *attr,
			const struct srd_efa_qp_init_attr *efa)
{
	const struct srd_efa_qp_init_attr none = {0};
	const struct srd_profile *p = door_profile(door);
	int err;

	/* efadv_create_qp_ex on a device that is not EFA; no other type than UD without it. */
	if (door_is_rc(door) ? efa != NULL || attr->qp_type != SRD_QPT_RC
			     : !efa && attr->qp_type != SRD_QPT_UD)
		return EOPNOTSUPP;
	if (door_is_rc(door))
		return check_rc_attr(p, attr);
	if (efa && (attr->qp_type != SRD_QPT_DRIVER || efa->comp_mask))
		return EINVAL;
	efa = efa ? efa : &none;
	err = check_attr(p, attr, efa);
	return err ? err : check_limits(p, &attr->cap, efa->flags);
}

static struct srd_qp *create_qp_ex(struct srd_verbs *verbs, struct srd_context *context,
				   struct srd_qp_init_attr_ex *attr,
				   const struct srd_efa_qp_init_attr *efa)
{
	struct srd_door *door = door_of(verbs);
	const struct srd_profile *p = door_profile(door);
	struct door_qp *qp;
	uint32_t descriptors;
	int err = check_create(door, attr, efa);

	if (err)
		goto fail;
	err = EINVAL;
	if (!of_one_context(context, attr))
		goto fail;
	err = ENOMEM;
	qp = srd_calloc(1, sizeof(*qp));
	if (!qp)
		goto fail;
	/* Written back into ATTR even if a later step fails. */
	descriptors = round_depths(p, &attr->cap);
	fill_in(qp, p, context, attr, efa ? efa->flags : 0);
	err = device_create(door, qp, attr, descriptors);
	if (err)
		goto free_qp;
	err = queues_init(door, qp, &attr->cap);
	if (err)
		goto device_destroy;
	qp->qp.handle = door_handle(door, DOOR_QP);
	door_context(context)->qps[qp->qp.qp_num & door_context(context)->qp_mask] = qp;
	LIST_INSERT_HEAD(&door->qps, qp, link);
	return &qp->qp;

device_destroy:
	srd_model_qp_destroy(&door->model, qp->model);
free_qp:
	srd_free(qp);
fail:
	errno = err;
	return NULL;
}

void door_qp_free(struct door_qp *qp)
{
	LIST_REMOVE(qp, link);
	door_wq_release(&qp->sq);
	door_wq_release(&qp->rq);
	srd_free(qp);
}

static int destroy_qp(struct srd_verbs *verbs, struct srd_qp *public)
{
	struct srd_door *door = door_of(verbs);
	struct door_context *context = door_context(public->context);
	struct door_qp *qp = door_qp(public);
	struct door_qp **at = &context->qps[public->qp_num & context->qp_mask];

	door_session_drop(door, qp);
	door_doorbell_forget(door, qp);
	door_poll_forget(qp);
	srd_model_qp_destroy(&door->model, qp->model);
	/* After a restart of the host the number may be another queue pair's. */
	if (*at == qp)
		*at = NULL;
	door_qp_free(qp);
	return 0;
}

static int modify_qp(struct srd_verbs *verbs, struct srd_qp *public, const struct srd_qp_attr *attr,
		     uint32_t mask)
{
	struct srd_door *door = door_of(verbs);
	struct door_qp *qp = door_qp(public);
	int err;

	/* libibverbs: libefa has no extended modify. */
	if (mask >= SRD_QP_RATE_LIMIT)
		return EOPNOTSUPP;
	err = srd_model_qp_modify(&door->model, qp->model, attr, mask);
	if (err || !(mask & SRD_QP_STATE))
		return err;
	public->state = attr->qp_state;
	if (public->state != SRD_QPS_RESET)
		return 0;
	/* In libefa a session that is open across this undoes itself into negative counts. */
	if (qp->open) {
		door_session_roll_back(door, qp);
		qp->error = EINVAL;
	}
	door_doorbell_forget(door, qp);
	door_wq_reset(&qp->sq);
	door_wq_reset(&qp->rq);
	return 0;
}

static int query_qp(struct srd_verbs *verbs, struct srd_qp *public, struct srd_qp_attr *attr,
		    uint32_t mask)
{
	int err;

	if (mask >= SRD_QP_RATE_LIMIT)
		return EOPNOTSUPP;
	err = srd_model_qp_query(&door_of(verbs)->model, door_qp(public)->model, attr, mask);
	if (!err && mask & SRD_QP_STATE)
	public->state = attr->qp_state;
	return err;
}

void door_qp_ops(struct srd_verbs *verbs)
{
	verbs->create_qp_ex = create_qp_ex;
	verbs->destroy_qp = destroy_qp;
	verbs->modify_qp = modify_qp;
	verbs->query_qp = query_qp;
}
