/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>

#include "blind.h"
#include "engine.h"
#include "events.h"
#include "recorder.h"
#include "softefa/efa_abi.h"
#include "tell.h"

#define ALL_SEND_OPS 0x1f

/* The commands of the stream; others leave no event. */
enum tale {
	NOTHING,
	CONTEXT,
	PD_NEW,
	PD_END,
	MR_NEW,
	MR_END,
	AH_NEW,
	AH_END,
	CQ_NEW,
	CQ_END,
	QP_NEW,
	QP_END,
	QP_CHANGE,
	QP_ASK
};

static enum tale written(const struct soft_call *call)
{
	uint32_t command;

	if (soft_in(call, UVERBS_ATTR_WRITE_CMD, &command, sizeof(command), 4))
		return NOTHING;
	switch (command) {
	case IB_USER_VERBS_CMD_ALLOC_PD:
		return PD_NEW;
	case IB_USER_VERBS_CMD_REG_MR:
		return MR_NEW;
	case IB_USER_VERBS_CMD_CREATE_AH:
		return AH_NEW;
	case IB_USER_VERBS_CMD_MODIFY_QP:
		return QP_CHANGE;
	case IB_USER_VERBS_CMD_QUERY_QP:
		return QP_ASK;
	}
	return NOTHING;
}

static enum tale tale_of(const struct soft_call *call)
{
	static const struct {
		uint16_t object, method;
		enum tale tale;
	} commands[] = {
		{UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT, CONTEXT},
		{UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, PD_END},
		{UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, MR_END},
		{UVERBS_OBJECT_AH, UVERBS_METHOD_AH_DESTROY, AH_END},
		{UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE, CQ_NEW},
		{UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY, CQ_END},
		{UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE, QP_NEW},
		{UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY, QP_END},
	};

	if (call->object == UVERBS_OBJECT_DEVICE && call->method == UVERBS_METHOD_INVOKE_WRITE)
		return written(call);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (commands[i].object == call->object && commands[i].method == call->method)
			return commands[i].tale;
	return NOTHING;
}

static const struct soft_object *object_named(const struct soft_call *call, uint64_t handle,
					      enum soft_kind kind)
{
	return soft_object_find(handle, kind, call->file);
}

/* The object that a command is about, where it is not one that it makes; NULL. */
static const struct soft_object *subject(const struct soft_call *call, enum tale tale)
{
	struct ib_uverbs_modify_qp in;

	switch (tale) {
	case PD_END:
		return object_named(call, soft_in_number(call, 0), SOFT_PD);
	case MR_END:
		return object_named(call, soft_in_number(call, 0), SOFT_MR);
	case AH_END:
		return object_named(call, soft_in_number(call, 0), SOFT_AH);
	case CQ_END:
		return object_named(call, soft_in_number(call, UVERBS_ATTR_DESTROY_CQ_HANDLE),
				    SOFT_CQ);
	case QP_END:
		return object_named(call, soft_in_number(call, UVERBS_ATTR_DESTROY_QP_HANDLE),
				    SOFT_QP);
	case QP_CHANGE:
		/* The handle comes behind 56 bytes in one, and first in the other. */
		if (soft_in(call, UVERBS_ATTR_CORE_IN, &in, sizeof(in), sizeof(in)))
			return NULL;
		return object_named(call, in.qp_handle, SOFT_QP);
	case QP_ASK: {
		struct ib_uverbs_query_qp ask;

		if (soft_in(call, UVERBS_ATTR_CORE_IN, &ask, sizeof(ask), sizeof(ask)))
			return NULL;
		return object_named(call, ask.qp_handle, SOFT_QP);
	}
	default:
		return NULL;
	}
}

static uint32_t state_of(const struct soft_object *qp)
{
	struct srd_qp_attr attr = {0};

	srd_model_qp_query(&soft.model, qp->model, &attr, SRD_QP_STATE);
	return attr.qp_state;
}

/*
 * What programs that nobody observes have read by now is no more in flight, whoever else's
 * memory it names.
 */
static void look_at_queues(void)
{
	for (uint32_t i = 1; i <= soft.group->objects_high; i++) {
		struct soft_object *cq = soft_object(i);

		if (cq->kind == SOFT_CQ && soft_blind(cq) && cq->cq.num_rings == 1)
			soft_cq_look(cq);
	}
}

void soft_tell_before(const struct soft_call *call, struct soft_tale *tale)
{
	enum tale what = tale_of(call);
	const struct soft_object *object = subject(call, what);

	look_at_queues();
	if (!object)
		return;
	tale->name = object->name;
	if (what == QP_CHANGE)
		tale->state = state_of(object);
}

#define EVENT(kind, of_host, of_line, handle)                                                 \
	{                                                                                     \
		.type = SRD_EV_##kind, .source = SRD_SOURCE_SEAM, .host = (uint8_t)(of_host), \
		.line = (of_line), .object = (handle)                                         \
	}

static uint64_t gid_half(const uint8_t *raw)
{
	uint64_t value = 0;

	for (int i = 0; i < 8; i++)
		value = value << 8 | raw[i];
	return value;
}

static uint32_t caps_of(const struct srd_profile *p)
{
	return (p->cap_rdma_read ? SRD_EFADV_DEVICE_ATTR_CAPS_RDMA_READ : 0) |
	       (p->cap_rdma_write ? SRD_EFADV_DEVICE_ATTR_CAPS_RDMA_WRITE : 0) |
	       (p->cap_rnr_retry ? SRD_EFADV_DEVICE_ATTR_CAPS_RNR_RETRY : 0) |
	       (p->cap_unsolicited_write_recv ? SRD_EFADV_DEVICE_ATTR_CAPS_UNSOLICITED_WRITE_RECV
					      : 0);
}

static void tell_context(const struct soft_call *call, uint32_t line)
{
	const struct srd_profile *p = srd_model_profile(&soft.model);
	struct srd_ev_device_open e = {
		.ev = EVENT(DEVICE_OPEN, call->host, line, call->file),
		.max_mr_size = p->max_mr_pages * SOFT_PAGE,
		.max_rdma_size = p->max_rdma_size,
		.max_qp = p->max_qp,
		.max_sq_wr = p->max_sq_wr,
		.max_rq_wr = p->max_rq_wr,
		.max_cqe = p->max_cqe,
		.max_msg_sz = (uint32_t)p->mtu,
		.caps = caps_of(p),
	};
	union srd_gid gid;

	srd_model_gid(call->host, &gid);
	e.gid_hi = gid_half(gid.raw);
	e.gid_lo = gid_half(gid.raw + 8);
	soft_event(&e.ev);
}

void soft_tell_close(uint32_t file, uint32_t host, uint32_t line)
{
	struct srd_event e = EVENT(DEVICE_CLOSE, host, line, file);

	soft_event(&e);
}

static void tell_pd(const struct soft_call *call, uint32_t line)
{
	struct srd_ev_pd_alloc e = {
		.ev = EVENT(PD_ALLOC, call->host, line, soft_object(soft.made)->name),
		.context = call->file,
	};

	soft_event(&e.ev);
}

static void tell_mr(const struct soft_call *call, uint32_t line)
{
	const struct soft_object *mr = soft_object(soft.made);
	struct srd_ev_mr_reg e = {
		.ev = EVENT(MR_REG, call->host, line, mr->name),
		.pd = soft_object(mr->pd)->name,
	};
	struct ib_uverbs_reg_mr in;

	if (soft_in(call, UVERBS_ATTR_CORE_IN, &in, sizeof(in), sizeof(in)))
		return;
	e.access = in.access_flags;
	e.addr = in.hca_va;
	e.length = in.length;
	e.lkey = srd_model_mr_key(&soft.model, mr->model);
	e.rkey = e.lkey;
	soft_event(&e.ev);
}

static void tell_ah(const struct soft_call *call, uint32_t line)
{
	const struct soft_object *ah = soft_object(soft.made);
	struct srd_ev_ah_create e = {
		.ev = EVENT(AH_CREATE, call->host, line, ah->name),
		.pd = soft_object(ah->pd)->name,
	};
	struct ib_uverbs_create_ah in;

	if (soft_in(call, UVERBS_ATTR_CORE_IN, &in, sizeof(in), sizeof(in)))
		return;
	e.sgid_index = in.attr.grh.sgid_index;
	e.hop_limit = in.attr.grh.hop_limit;
	e.traffic_class = in.attr.grh.traffic_class;
	e.sl = in.attr.sl;
	e.dlid = in.attr.dlid;
	e.port_num = in.attr.port_num;
	e.is_global = in.attr.is_global;
	e.gid_hi = gid_half(in.attr.grh.dgid);
	e.gid_lo = gid_half(in.attr.grh.dgid + 8);
	soft_event(&e.ev);
}

static void tell_cq(const struct soft_call *call, uint32_t line)
{
	const struct soft_object *cq = soft_object(soft.made);
	const struct srd_recorder_asked *asked = soft_recorder_asked();
	struct srd_ev_cq_create e = {
		.ev = EVENT(CQ_CREATE, call->host, line, cq->name),
		.context = call->file,
		.requested = asked ? asked->cqe : cq->cq.ring.entries,
		.granted = cq->cq.ring.entries * cq->cq.num_rings,
	};

	soft_event(&e.ev);
}

/* Without an observer: what the library made of it, and every operation allowed. */
static void tell_qp(const struct soft_call *call, uint32_t line)
{
	const struct soft_object *object = soft_object(soft.made);
	const struct srd_recorder_asked *asked = soft_recorder_asked();
	const struct soft_qp *qp = &object->qp;
	const struct srd_qp_cap *cap = asked ? &asked->cap : &qp->cap;
	struct efa_ibv_create_qp efa;
	struct srd_ev_qp_create e = {
		.ev = EVENT(QP_CREATE, call->host, line, object->name),
		.qp_num = qp->qpn,
		.pd = soft_object(object->pd)->name,
		.send_cq = soft_object(qp->send_cq)->name,
		.recv_cq = soft_object(qp->recv_cq)->name,
		.requested_send_wr = cap->max_send_wr,
		.granted_send_wr = qp->cap.max_send_wr,
		.requested_recv_wr = cap->max_recv_wr,
		.granted_recv_wr = qp->cap.max_recv_wr,
		.max_send_sge = cap->max_send_sge,
		.max_recv_sge = cap->max_recv_sge,
		.max_inline_data = cap->max_inline_data,
		.qp_type = qp->ud ? SRD_QPT_UD : SRD_QPT_DRIVER,
		.sq_sig_all = asked && asked->sq_sig_all,
		.send_ops_flags =
			asked && asked->send_ops_flags ? asked->send_ops_flags : ALL_SEND_OPS,
	};

	if (!soft_in(call, UVERBS_ATTR_UHW_IN, &efa, sizeof(efa), 0) &&
	    efa.flags & EFA_CREATE_QP_WITH_UNSOLICITED_WRITE_RECV)
		e.efa_flags = SRD_EFADV_QP_FLAGS_UNSOLICITED_WRITE_RECV;
	soft_event(&e.ev);
}

/* Attributes that the mask does not name may hold anything: they are shown as 0. */
static void tell_change(const struct soft_call *call, const struct soft_tale *tale, int err)
{
	struct srd_ev_qp_modify e = {
		.ev = EVENT(QP_MODIFY, call->host, tale->line, tale->name),
		.from = tale->state,
		.to = tale->state,
		.result = (uint32_t)err,
	};
	struct ib_uverbs_modify_qp in;

	if (!tale->name || soft_in(call, UVERBS_ATTR_CORE_IN, &in, sizeof(in), sizeof(in)))
		return;
	e.mask = in.attr_mask;
	if (in.attr_mask & SRD_QP_STATE)
		e.to = in.qp_state;
	if (in.attr_mask & SRD_QP_QKEY)
		e.qkey = in.qkey;
	if (in.attr_mask & SRD_QP_SQ_PSN)
		e.sq_psn = in.sq_psn;
	if (in.attr_mask & SRD_QP_PKEY_INDEX)
		e.pkey_index = in.pkey_index;
	if (in.attr_mask & SRD_QP_PORT)
		e.port_num = in.port_num;
	if (in.attr_mask & SRD_QP_RNR_RETRY)
		e.rnr_retry = in.rnr_retry;
	soft_event(&e.ev);
}

static void tell_ask(const struct soft_call *call, const struct soft_tale *tale)
{
	struct srd_ev_qp_query e = {.ev = EVENT(QP_QUERY, call->host, tale->line, tale->name)};
	struct ib_uverbs_query_qp in;
	const struct soft_object *qp;

	if (!tale->name || soft_in(call, UVERBS_ATTR_CORE_IN, &in, sizeof(in), sizeof(in)))
		return;
	qp = object_named(call, in.qp_handle, SOFT_QP);
	if (!qp)
		return;
	e.mask = in.attr_mask;
	e.state = state_of(qp);
	soft_event(&e.ev);
}

static void tell_failed(const struct soft_call *call, enum tale what, uint32_t line, int err)
{
	static const uint8_t verbs[] = {
		[CONTEXT] = SRD_VERB_OPEN_DEVICE, [PD_NEW] = SRD_VERB_ALLOC_PD,
		[PD_END] = SRD_VERB_DEALLOC_PD,   [MR_NEW] = SRD_VERB_REG_MR,
		[MR_END] = SRD_VERB_DEREG_MR,     [AH_NEW] = SRD_VERB_CREATE_AH,
		[AH_END] = SRD_VERB_DESTROY_AH,   [CQ_NEW] = SRD_VERB_CREATE_CQ,
		[CQ_END] = SRD_VERB_DESTROY_CQ,   [QP_NEW] = SRD_VERB_CREATE_QP_EX,
		[QP_END] = SRD_VERB_DESTROY_QP,   [QP_CHANGE] = SRD_VERB_MODIFY_QP,
		[QP_ASK] = SRD_VERB_QUERY_QP,
	};
	struct srd_ev_call_failed e = {
		.ev = EVENT(CALL_FAILED, call->host, line, 0),
		.verb = verbs[what],
		.error = (uint32_t)err,
	};

	soft_event(&e.ev);
}

static void tell_end(const struct soft_call *call, const struct soft_tale *tale,
		     enum srd_event_type type)
{
	struct srd_event e = EVENT(PD_DEALLOC, call->host, tale->line, tale->name);

	e.type = (uint16_t)type;
	if (tale->name)
		soft_event(&e);
}

void soft_tell(const struct soft_call *call, const struct soft_tale *tale, int err)
{
	enum tale what = tale_of(call);

	if (what == NOTHING)
		return;
	if (what == QP_CHANGE)
		tell_change(call, tale, err);
	if (err) {
		tell_failed(call, what, tale->line, err);
		return;
	}
	switch (what) {
	case CONTEXT:
		tell_context(call, tale->line);
		break;
	case PD_NEW:
		tell_pd(call, tale->line);
		break;
	case MR_NEW:
		tell_mr(call, tale->line);
		break;
	case AH_NEW:
		tell_ah(call, tale->line);
		break;
	case CQ_NEW:
		tell_cq(call, tale->line);
		break;
	case QP_NEW:
		tell_qp(call, tale->line);
		break;
	case QP_ASK:
		tell_ask(call, tale);
		break;
	case PD_END:
		tell_end(call, tale, SRD_EV_PD_DEALLOC);
		break;
	case MR_END:
		tell_end(call, tale, SRD_EV_MR_DEREG);
		break;
	case AH_END:
		tell_end(call, tale, SRD_EV_AH_DESTROY);
		break;
	case CQ_END:
		tell_end(call, tale, SRD_EV_CQ_DESTROY);
		break;
	case QP_END:
		tell_end(call, tale, SRD_EV_QP_DESTROY);
		break;
	case QP_CHANGE:
	case NOTHING:
		break;
	}
}
