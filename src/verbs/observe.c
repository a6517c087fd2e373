/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "alloc.h"
#include "forward.h"
#include "inject.h"
#include "observe.h"
#include "observe_internal.h"

/* The header of an event about an object of HOST. */
#define EVENT(kind, of_host, handle)                                                          \
	{                                                                                     \
		.type = SRD_EV_##kind, .source = SRD_SOURCE_SEAM, .host = (uint8_t)(of_host), \
		.object = (handle)                                                            \
	}

static inline struct srd_observer *observer(struct srd_verbs *verbs)
{
	return (struct srd_observer *)verbs;
}

int srd_observer_failed(struct srd_observer *o, enum srd_verb verb, int result, uint32_t host)
{
	struct srd_ev_call_failed e = {
		.ev = EVENT(CALL_FAILED, host, 0),
		.verb = verb,
		.error = (uint32_t)result,
	};

	if (o->inject)
		e.injected = srd_inject_take_hit(o->inject);
	srd_observer_emit(o, &e.ev);
	return result;
}

/* A call that makes an object failed with errno; keeps it for the caller. */
static void *no_object(struct srd_observer *o, enum srd_verb verb, uint32_t host)
{
	errno = srd_observer_answer(o, verb, errno, host);
	return NULL;
}

/* An object is gone, or could not be destroyed. */
static int destroyed(struct srd_observer *o, enum srd_verb verb, int result, struct srd_event ev)
{
	if (result)
		return srd_observer_answer(o, verb, result, ev.host);
	srd_observer_emit(o, &ev);
	return 0;
}

static uint64_t gid_half(const union srd_gid *gid, int from)
{
	uint64_t value = 0;

	for (int i = from; i < from + 8; i++)
		value = value << 8 | gid->raw[i];
	return value;
}

/* The limits as the engine will see them; what a query does not tell stays 0. */
static void emit_device(struct srd_observer *o, struct srd_context *context)
{
	struct srd_ev_device_open e = {.ev = EVENT(DEVICE_OPEN, context->host, context->handle)};
	struct srd_verbs *next = o->verbs.next;
	struct srd_efa_device_attr efa = {0};
	struct srd_device_attr attr = {0};
	struct srd_port_attr port = {0};
	union srd_gid gid = {{0}};

	if (o->inject)
		srd_inject_suspend(o->inject, true);
	if (!next->query_device(next, context, &attr)) {
		e.max_mr_size = attr.max_mr_size;
		e.max_qp = attr.max_qp;
		e.max_cqe = attr.max_cqe;
	}
	if (!next->efa_query_device(next, context, &efa)) {
		e.max_rdma_size = efa.max_rdma_size;
		e.max_sq_wr = efa.max_sq_wr;
		e.max_rq_wr = efa.max_rq_wr;
		e.caps = efa.device_caps;
	}
	if (!next->query_port(next, context, 1, &port))
		e.max_msg_sz = port.max_msg_sz;
	/* Not EFA: a connected queue pair has the same limit for all its messages. */
	if (next->can & SRD_VERBS_IS_RC) {
		e.max_rdma_size = port.max_msg_sz;
		e.max_sq_wr = e.max_rq_wr = attr.max_qp_wr;
	}
	if (!next->query_gid(next, context, 1, 0, &gid)) {
		e.gid_hi = gid_half(&gid, 0);
		e.gid_lo = gid_half(&gid, 8);
	}
	if (o->inject)
		srd_inject_suspend(o->inject, false);
	srd_observer_emit(o, &e.ev);
}

static struct srd_context *open_device(struct srd_verbs *verbs, uint32_t host, const char *name)
{
	struct srd_context *context = verbs->next->open_device(verbs->next, host, name);

	if (!context)
		return no_object(observer(verbs), SRD_VERB_OPEN_DEVICE, host);
	emit_device(observer(verbs), context);
	return context;
}

static int close_device(struct srd_verbs *verbs, struct srd_context *context)
{
	struct srd_event ev = EVENT(DEVICE_CLOSE, context->host, context->handle);

	return destroyed(observer(verbs), SRD_VERB_CLOSE_DEVICE,
			 verbs->next->close_device(verbs->next, context), ev);
}

static int query_device(struct srd_verbs *verbs, struct srd_context *context,
			struct srd_device_attr *attr)
{
	return srd_observer_answer(observer(verbs), SRD_VERB_QUERY_DEVICE,
				   verbs->next->query_device(verbs->next, context, attr),
				   context->host);
}

static int efa_query_device(struct srd_verbs *verbs, struct srd_context *context,
			    struct srd_efa_device_attr *attr)
{
	return srd_observer_answer(observer(verbs), SRD_VERB_EFA_QUERY_DEVICE,
				   verbs->next->efa_query_device(verbs->next, context, attr),
				   context->host);
}

static int query_port(struct srd_verbs *verbs, struct srd_context *context, uint8_t port_num,
		      struct srd_port_attr *attr)
{
	return srd_observer_answer(observer(verbs), SRD_VERB_QUERY_PORT,
				   verbs->next->query_port(verbs->next, context, port_num, attr),
				   context->host);
}

static int query_gid(struct srd_verbs *verbs, struct srd_context *context, uint8_t port_num,
		     int index, union srd_gid *gid)
{
	int result = verbs->next->query_gid(verbs->next, context, port_num, index, gid);

	return srd_observer_answer(observer(verbs), SRD_VERB_QUERY_GID, result, context->host);
}

static struct srd_pd *alloc_pd(struct srd_verbs *verbs, struct srd_context *context)
{
	struct srd_pd *pd = verbs->next->alloc_pd(verbs->next, context);
	struct srd_ev_pd_alloc e = {.context = context->handle};

	if (!pd)
		return no_object(observer(verbs), SRD_VERB_ALLOC_PD, context->host);
	e.ev = (struct srd_event)EVENT(PD_ALLOC, context->host, pd->handle);
	srd_observer_emit(observer(verbs), &e.ev);
	return pd;
}

static int dealloc_pd(struct srd_verbs *verbs, struct srd_pd *pd)
{
	struct srd_event ev = EVENT(PD_DEALLOC, pd->context->host, pd->handle);

	return destroyed(observer(verbs), SRD_VERB_DEALLOC_PD,
			 verbs->next->dealloc_pd(verbs->next, pd), ev);
}

static struct srd_mr *reg_mr(struct srd_verbs *verbs, struct srd_pd *pd, uint64_t addr,
			     uint64_t length, uint32_t access)
{
	struct srd_mr *mr = verbs->next->reg_mr(verbs->next, pd, addr, length, access);
	struct srd_ev_mr_reg e = {
		.pd = pd->handle,
		.access = access,
		.addr = addr,
		.length = length,
	};

	if (!mr)
		return no_object(observer(verbs), SRD_VERB_REG_MR, pd->context->host);
	e.ev = (struct srd_event)EVENT(MR_REG, pd->context->host, mr->handle);
	e.lkey = mr->lkey;
	e.rkey = mr->rkey;
	srd_observer_emit(observer(verbs), &e.ev);
	return mr;
}

static int dereg_mr(struct srd_verbs *verbs, struct srd_mr *mr)
{
	struct srd_event ev = EVENT(MR_DEREG, mr->context->host, mr->handle);

	return destroyed(observer(verbs), SRD_VERB_DEREG_MR, verbs->next->dereg_mr(verbs->next, mr),
			 ev);
}

static struct srd_cq *create_cq(struct srd_verbs *verbs, struct srd_context *context, uint32_t cqe)
{
	struct srd_cq *cq = verbs->next->create_cq(verbs->next, context, cqe);
	struct srd_cq_init_attr_ex attr = {.cqe = cqe};

	return srd_observer_new_cq(observer(verbs), cq, &attr, false, SRD_VERB_CREATE_CQ, context);
}

static int destroy_cq(struct srd_verbs *verbs, struct srd_cq *cq)
{
	struct srd_event ev = EVENT(CQ_DESTROY, cq->context->host, cq->handle);
	struct srd_cq was = *cq;
	int result = verbs->next->destroy_cq(verbs->next, cq);

	if (!result)
		srd_observer_cq_gone(observer(verbs), &was);
	return destroyed(observer(verbs), SRD_VERB_DESTROY_CQ, result, ev);
}

static struct srd_ah *create_ah(struct srd_verbs *verbs, struct srd_pd *pd,
				const struct srd_ah_attr *attr)
{
	struct srd_ah *ah = verbs->next->create_ah(verbs->next, pd, attr);
	struct srd_ev_ah_create e = {
		.pd = pd->handle,
		.sgid_index = attr->sgid_index,
		.hop_limit = attr->hop_limit,
		.traffic_class = attr->traffic_class,
		.sl = attr->sl,
		.gid_hi = gid_half(&attr->dgid, 0),
		.gid_lo = gid_half(&attr->dgid, 8),
		.dlid = attr->dlid,
		.port_num = attr->port_num,
		.is_global = attr->is_global,
	};

	if (!ah)
		return no_object(observer(verbs), SRD_VERB_CREATE_AH, pd->context->host);
	e.ev = (struct srd_event)EVENT(AH_CREATE, pd->context->host, ah->handle);
	srd_observer_emit(observer(verbs), &e.ev);
	return ah;
}

static int destroy_ah(struct srd_verbs *verbs, struct srd_ah *ah)
{
	struct srd_event ev = EVENT(AH_DESTROY, ah->context->host, ah->handle);

	return destroyed(observer(verbs), SRD_VERB_DESTROY_AH,
			 verbs->next->destroy_ah(verbs->next, ah), ev);
}

/* Keep SESSION for QP. false: no memory for a longer array. */
static bool keep_session(struct srd_observer *o, struct srd_session *session, struct srd_qp *qp)
{
	uint32_t num = o->num_sessions ? o->num_sessions : 16;
	struct srd_session **sessions = o->sessions;

	while (num <= qp->handle)
		num *= 2;
	if (num > o->num_sessions) {
		sessions = srd_reallocarray(sessions, num, sizeof(*sessions));
		if (!sessions)
			return false;
		for (uint32_t i = o->num_sessions; i < num; i++)
			sessions[i] = NULL;
		o->sessions = sessions;
		o->num_sessions = num;
	}
	srd_session_for(session, qp);
	sessions[qp->handle] = session;
	return true;
}

/* ASKED is what the caller had in ATTR's cap, which now holds what was granted. */
static void emit_qp(struct srd_observer *o, const struct srd_qp *qp,
		    const struct srd_qp_init_attr_ex *attr, const struct srd_qp_cap *asked,
		    const struct srd_efa_qp_init_attr *efa)
{
	struct srd_ev_qp_create e = {
		.ev = EVENT(QP_CREATE, qp->context->host, qp->handle),
		.qp_num = qp->qp_num,
		.pd = qp->pd->handle,
		.send_cq = qp->send_cq->handle,
		.recv_cq = qp->recv_cq->handle,
		.requested_send_wr = asked->max_send_wr,
		.granted_send_wr = attr->cap.max_send_wr,
		.requested_recv_wr = asked->max_recv_wr,
		.granted_recv_wr = attr->cap.max_recv_wr,
		.max_send_sge = asked->max_send_sge,
		.max_recv_sge = asked->max_recv_sge,
		.max_inline_data = asked->max_inline_data,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all != 0,
		.send_ops_flags = attr->comp_mask & SRD_QP_INIT_ATTR_SEND_OPS_FLAGS
					  ? (uint32_t)attr->send_ops_flags
					  : 0,
		.efa_flags = efa ? efa->flags : 0,
	};

	srd_observer_emit(o, &e.ev);
}

static struct srd_qp *create_qp_ex(struct srd_verbs *verbs, struct srd_context *context,
				   struct srd_qp_init_attr_ex *attr,
				   const struct srd_efa_qp_init_attr *efa)
{
	struct srd_observer *o = observer(verbs);
	struct srd_qp_cap asked = attr->cap;
	struct srd_session *session = srd_session_create();
	struct srd_qp *qp;

	if (!session)
		return no_object(o, SRD_VERB_CREATE_QP_EX, context->host);
	qp = verbs->next->create_qp_ex(verbs->next, context, attr, efa);
	if (!qp) {
		void *none = no_object(o, SRD_VERB_CREATE_QP_EX, context->host);

		srd_session_destroy(session);
		return none;
	}
	if (!keep_session(o, session, qp)) {
		verbs->next->destroy_qp(verbs->next, qp);
		srd_session_destroy(session);
		errno = ENOMEM;
		return no_object(o, SRD_VERB_CREATE_QP_EX, context->host);
	}
	emit_qp(o, qp, attr, &asked, efa);
	return qp;
}

static int destroy_qp(struct srd_verbs *verbs, struct srd_qp *qp)
{
	struct srd_event ev = EVENT(QP_DESTROY, qp->context->host, qp->handle);
	struct srd_observer *o = observer(verbs);
	int result;

	srd_session_end(o, qp, SRD_MISUSE_DESTROY_IN_SESSION, SRD_VERB_DESTROY_QP);
	srd_observer_end_poll(o, qp->send_cq, SRD_VERB_DESTROY_QP);
	srd_observer_end_poll(o, qp->recv_cq, SRD_VERB_DESTROY_QP);
	result = verbs->next->destroy_qp(verbs->next, qp);
	if (!result) {
		srd_session_destroy(o->sessions[ev.object]);
		o->sessions[ev.object] = NULL;
	}
	return destroyed(o, SRD_VERB_DESTROY_QP, result, ev);
}

/* Attributes that MASK does not name may hold anything: they are shown as 0. */
static int modify_qp(struct srd_verbs *verbs, struct srd_qp *qp, const struct srd_qp_attr *attr,
		     uint32_t mask)
{
	struct srd_ev_qp_modify e = {
		.ev = EVENT(QP_MODIFY, qp->context->host, qp->handle),
		.mask = mask,
		.from = qp->state,
		.to = mask & SRD_QP_STATE ? attr->qp_state : qp->state,
		.qkey = mask & SRD_QP_QKEY ? attr->qkey : 0,
		.sq_psn = mask & SRD_QP_SQ_PSN ? attr->sq_psn : 0,
		.pkey_index = mask & SRD_QP_PKEY_INDEX ? attr->pkey_index : 0,
		.port_num = mask & SRD_QP_PORT ? attr->port_num : 0,
		.rnr_retry = mask & SRD_QP_RNR_RETRY ? attr->rnr_retry : 0,
		.dest_qp_num = mask & SRD_QP_DEST_QPN ? attr->dest_qp_num : 0,
		.gid_hi = mask & SRD_QP_AV ? gid_half(&attr->ah_attr.dgid, 0) : 0,
		.gid_lo = mask & SRD_QP_AV ? gid_half(&attr->ah_attr.dgid, 8) : 0,
	};
	int result = verbs->next->modify_qp(verbs->next, qp, attr, mask);

	e.result = (uint32_t)result;
	srd_observer_emit(observer(verbs), &e.ev);
	return srd_observer_answer(observer(verbs), SRD_VERB_MODIFY_QP, result, e.ev.host);
}

static int query_qp(struct srd_verbs *verbs, struct srd_qp *qp, struct srd_qp_attr *attr,
		    uint32_t mask)
{
	int result = verbs->next->query_qp(verbs->next, qp, attr, mask);
	struct srd_ev_qp_query e = {
		.ev = EVENT(QP_QUERY, qp->context->host, qp->handle),
		.mask = mask,
		.state = result ? qp->state : attr->qp_state,
		.result = (uint32_t)result,
	};

	srd_observer_emit(observer(verbs), &e.ev);
	return srd_observer_answer(observer(verbs), SRD_VERB_QUERY_QP, result, e.ev.host);
}

static int post_recv(struct srd_verbs *verbs, struct srd_qp *qp, struct srd_recv_wr *wr,
		     struct srd_recv_wr **bad_wr)
{
	int result = verbs->next->post_recv(verbs->next, qp, wr, bad_wr);

	for (struct srd_recv_wr *w = wr; w; w = w->next) {
		bool bad = result && w == *bad_wr;
		struct srd_ev_recv_post e = {
			.ev = EVENT(RECV_POST, qp->context->host, qp->handle),
			.wr_id = w->wr_id,
			.num_sge = (uint32_t)w->num_sge,
			.result = bad ? (uint32_t)result : 0,
		};

		if (w->num_sge > 0) {
			e.addr = w->sg_list[0].addr;
			e.length = w->sg_list[0].length;
			e.lkey = w->sg_list[0].lkey;
		}
		srd_observer_emit(observer(verbs), &e.ev);
		if (bad) /* those behind it were not looked at */
			break;
	}
	return srd_observer_answer(observer(verbs), SRD_VERB_POST_RECV, result, qp->context->host);
}

static struct srd_buffer *alloc_buffer(struct srd_verbs *verbs, struct srd_context *context,
				       uint64_t length, enum srd_buffer_kind kind)
{
	struct srd_buffer *buffer = verbs->next->alloc_buffer(verbs->next, context, length, kind);
	struct srd_ev_buffer_alloc e = {.length = length, .kind = kind};

	if (!buffer)
		return no_object(observer(verbs), SRD_VERB_ALLOC_BUFFER, context->host);
	e.ev = (struct srd_event)EVENT(BUFFER_ALLOC, context->host, buffer->handle);
	e.addr = buffer->addr;
	srd_observer_emit(observer(verbs), &e.ev);
	return buffer;
}

static int free_buffer(struct srd_verbs *verbs, struct srd_buffer *buffer)
{
	struct srd_event ev = EVENT(BUFFER_FREE, buffer->context->host, buffer->handle);

	return destroyed(observer(verbs), SRD_VERB_FREE_BUFFER,
			 verbs->next->free_buffer(verbs->next, buffer), ev);
}

static int fill_buffer(struct srd_verbs *verbs, struct srd_buffer *buffer, uint64_t offset,
		       uint64_t length, uint64_t seed)
{
	int result = verbs->next->fill_buffer(verbs->next, buffer, offset, length, seed);

	return srd_observer_answer(observer(verbs), SRD_VERB_FILL_BUFFER, result,
				   buffer->context->host);
}

static int write_buffer(struct srd_verbs *verbs, struct srd_buffer *buffer, uint64_t offset,
			const void *from, size_t length)
{
	int result = verbs->next->write_buffer(verbs->next, buffer, offset, from, length);

	return srd_observer_answer(observer(verbs), SRD_VERB_WRITE_BUFFER, result,
				   buffer->context->host);
}

static int read_buffer(struct srd_verbs *verbs, struct srd_buffer *buffer, uint64_t offset,
		       void *to, size_t length)
{
	int result = verbs->next->read_buffer(verbs->next, buffer, offset, to, length);

	return srd_observer_answer(observer(verbs), SRD_VERB_READ_BUFFER, result,
				   buffer->context->host);
}

static int compare_buffer(struct srd_verbs *verbs, struct srd_buffer *a, uint64_t a_offset,
			  struct srd_buffer *b, uint64_t b_offset, uint64_t length,
			  uint64_t *first_difference)
{
	int result = verbs->next->compare_buffer(verbs->next, a, a_offset, b, b_offset, length,
						 first_difference);

	return srd_observer_answer(observer(verbs), SRD_VERB_COMPARE_BUFFER, result,
				   a->context->host);
}

static uint64_t now(struct srd_verbs *verbs)
{
	srd_observer_sync(observer(verbs));
	return observer(verbs)->stream->now;
}

/* A deadline that passes, or a wait for what cannot come, is no failure of a verb. */
static int wait(struct srd_verbs *verbs, uint64_t deadline)
{
	int result = verbs->next->wait(verbs->next, deadline);

	srd_observer_sync(observer(verbs));
	return result;
}

static void observer_close(struct srd_verbs *verbs)
{
	struct srd_observer *o = observer(verbs);

	verbs->next->close(verbs->next);
	for (uint32_t i = 0; i < o->num_sessions; i++)
		srd_session_destroy(o->sessions[i]);
	srd_free(o->sessions);
	srd_free(o->cqs);
	srd_free(o);
}

static void control_fill(struct srd_verbs *verbs)
{
	verbs->open_device = open_device;
	verbs->close_device = close_device;
	verbs->query_device = query_device;
	verbs->efa_query_device = efa_query_device;
	verbs->query_port = query_port;
	verbs->query_gid = query_gid;
	verbs->alloc_pd = alloc_pd;
	verbs->dealloc_pd = dealloc_pd;
	verbs->reg_mr = reg_mr;
	verbs->dereg_mr = dereg_mr;
	verbs->create_cq = create_cq;
	verbs->destroy_cq = destroy_cq;
	verbs->create_ah = create_ah;
	verbs->destroy_ah = destroy_ah;
	verbs->create_qp_ex = create_qp_ex;
	verbs->destroy_qp = destroy_qp;
	verbs->modify_qp = modify_qp;
	verbs->query_qp = query_qp;
	verbs->post_recv = post_recv;
	verbs->alloc_buffer = alloc_buffer;
	verbs->free_buffer = free_buffer;
	verbs->fill_buffer = fill_buffer;
	verbs->write_buffer = write_buffer;
	verbs->read_buffer = read_buffer;
	verbs->compare_buffer = compare_buffer;
	verbs->now = now;
	verbs->wait = wait;
	verbs->close = observer_close;
}

int srd_observe_open(struct srd_verbs *next, struct srd_stream *stream, struct srd_inject *inject,
		     struct srd_verbs **out, struct srd_error *error)
{
	struct srd_observer *o = srd_calloc(1, sizeof(*o));

	if (!o)
		return srd_error_set(error, -ENOMEM, "no memory for the observer of verbs");
	o->stream = stream;
	o->inject = inject;
	srd_verbs_forward(&o->verbs, "observe", next);
	control_fill(&o->verbs);
	srd_session_fill(&o->verbs);
	srd_observer_cq_fill(&o->verbs);
	*out = &o->verbs;
	return 0;
}
