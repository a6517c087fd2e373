/* SPDX-License-Identifier: MIT */
/* The observer's data path: requests are collected and shown when their session ends. */
#include <errno.h>

#include "alloc.h"
#include "observe_internal.h"

#define FIRST_CAPACITY 16

/* The calls of srd_ev_wr_post.setters. */
enum setter { SET_SGE = 1, SET_INLINE_DATA = 2, SET_UD_ADDR = 3 };

struct srd_session *srd_session_create(void)
{
	struct srd_session *s = srd_calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->wr = srd_reallocarray(NULL, FIRST_CAPACITY, sizeof(*s->wr));
	if (!s->wr) {
		srd_free(s);
		return NULL;
	}
	s->capacity = FIRST_CAPACITY;
	return s;
}

void srd_session_for(struct srd_session *s, struct srd_qp *qp)
{
	s->qp = qp;
	s->blank.ev.type = SRD_EV_WR_POST;
	s->blank.ev.source = SRD_SOURCE_SEAM;
	s->blank.ev.host = (uint8_t)qp->context->host;
	s->blank.ev.object = qp->handle;
}

void srd_session_destroy(struct srd_session *s)
{
	if (!s)
		return;
	srd_free(s->wr);
	srd_free(s);
}

static inline struct srd_observer *observer(struct srd_verbs *verbs)
{
	return (struct srd_observer *)verbs;
}

static inline struct srd_session *session_of(struct srd_observer *o, struct srd_qp *qp)
{
	return o->sessions[qp->handle];
}

void srd_session_misuse(struct srd_observer *o, struct srd_qp *qp, enum srd_session_misuse what,
			enum srd_verb verb)
{
	struct srd_ev_setter_misuse e = {
		.ev = {.type = SRD_EV_SETTER_MISUSE,
		       .source = SRD_SOURCE_SEAM,
		       .host = (uint8_t)qp->context->host,
		       .object = qp->handle},
		.what = what,
		.verb = verb,
	};

	srd_observer_emit(o, &e.ev);
}

static void wr_start(struct srd_verbs *verbs, struct srd_qp *qp)
{
	struct srd_observer *o = observer(verbs);
	struct srd_session *s = session_of(o, qp);
	struct srd_ev_session_start e = {
		.ev = {.type = SRD_EV_SESSION_START,
		       .source = SRD_SOURCE_SEAM,
		       .host = (uint8_t)qp->context->host,
		       .object = qp->handle},
		.state = qp->state,
	};

	if (s->open) {
		if (!s->error)
			s->error = EINVAL;
		srd_session_misuse(o, qp, SRD_MISUSE_START_TWICE, SRD_VERB_WR_START);
		return;
	}
	s->open = true;
	s->error = 0;
	s->num_wr = 0;
	s->current = NULL;
	o->open_sessions++;
	verbs->next->wr_start(verbs->next, qp);
	srd_observer_emit(o, &e.ev);
}

static bool grow(struct srd_session *s)
{
	struct srd_ev_wr_post *wr = NULL;

	if (s->capacity <= UINT32_MAX / 2)
		wr = srd_reallocarray(s->wr, s->capacity * 2, sizeof(*wr));
	if (!wr) {
		if (!s->error)
			s->error = ENOMEM;
		s->current = NULL;
		return false;
	}
	s->wr = wr;
	s->capacity *= 2;
	return true;
}

/* The record of a request that a builder starts; NULL: it is not to be forwarded. */
static inline struct srd_ev_wr_post *add_request(struct srd_observer *o, struct srd_session *s,
						 struct srd_qp *qp, enum srd_verb verb,
						 enum srd_wr_opcode opcode)
{
	uint32_t flags = qp->wr_flags;

	if (!s->open) {
		srd_session_misuse(o, qp, SRD_MISUSE_NO_SESSION, verb);
		return NULL;
	}
	if (s->num_wr == s->capacity && !grow(s))
		return NULL;
	s->num_setters = 0;
	s->current = &s->wr[s->num_wr++];
	*s->current = s->blank;
	s->current->ev.line = o->stream->line;
	s->current->ev.op = o->stream->op;
	s->current->wr_id = qp->wr_id;
	s->current->opcode = (uint8_t)opcode;
	/* no flag of verbs is beyond the low 7 bits: what is shows as the 8th */
	s->current->wr_flags = (uint8_t)((flags & 0x7f) | (flags > 0x7f ? 0x80 : 0));
	return s->current;
}

static void wr_rdma_write(struct srd_verbs *verbs, struct srd_qp *qp, uint32_t rkey,
			  uint64_t remote_addr)
{
	struct srd_session *s = session_of(observer(verbs), qp);
	struct srd_ev_wr_post *wr =
		add_request(observer(verbs), s, qp, SRD_VERB_WR_RDMA_WRITE, SRD_WR_RDMA_WRITE);

	if (!wr)
		return;
	wr->rkey = rkey;
	wr->remote_addr = remote_addr;
	if (!s->error)
		verbs->next->wr_rdma_write(verbs->next, qp, rkey, remote_addr);
}

static void wr_rdma_write_imm(struct srd_verbs *verbs, struct srd_qp *qp, uint32_t rkey,
			      uint64_t remote_addr, uint32_t imm_data)
{
	struct srd_session *s = session_of(observer(verbs), qp);
	struct srd_ev_wr_post *wr = add_request(observer(verbs), s, qp, SRD_VERB_WR_RDMA_WRITE_IMM,
						SRD_WR_RDMA_WRITE_WITH_IMM);

	if (!wr)
		return;
	wr->rkey = rkey;
	wr->remote_addr = remote_addr;
	wr->imm_data = imm_data;
	if (!s->error)
		verbs->next->wr_rdma_write_imm(verbs->next, qp, rkey, remote_addr, imm_data);
}

static void wr_rdma_read(struct srd_verbs *verbs, struct srd_qp *qp, uint32_t rkey,
			 uint64_t remote_addr)
{
	struct srd_session *s = session_of(observer(verbs), qp);
	struct srd_ev_wr_post *wr =
		add_request(observer(verbs), s, qp, SRD_VERB_WR_RDMA_READ, SRD_WR_RDMA_READ);

	if (!wr)
		return;
	wr->rkey = rkey;
	wr->remote_addr = remote_addr;
	if (!s->error)
		verbs->next->wr_rdma_read(verbs->next, qp, rkey, remote_addr);
}

static void wr_send(struct srd_verbs *verbs, struct srd_qp *qp)
{
	struct srd_session *s = session_of(observer(verbs), qp);

	if (add_request(observer(verbs), s, qp, SRD_VERB_WR_SEND, SRD_WR_SEND) && !s->error)
		verbs->next->wr_send(verbs->next, qp);
}

static void wr_send_imm(struct srd_verbs *verbs, struct srd_qp *qp, uint32_t imm_data)
{
	struct srd_session *s = session_of(observer(verbs), qp);
	struct srd_ev_wr_post *wr =
		add_request(observer(verbs), s, qp, SRD_VERB_WR_SEND_IMM, SRD_WR_SEND_WITH_IMM);

	if (!wr)
		return;
	wr->imm_data = imm_data;
	if (!s->error)
		verbs->next->wr_send_imm(verbs->next, qp, imm_data);
}

/* The record of the request that a setter is for; NULL: it is not to be forwarded. */
static inline struct srd_ev_wr_post *set_request(struct srd_observer *o, struct srd_session *s,
						 struct srd_qp *qp, enum srd_verb verb,
						 enum setter setter)
{
	if (!s->open) {
		srd_session_misuse(o, qp, SRD_MISUSE_NO_SESSION, verb);
		return NULL;
	}
	if (!s->current) {
		if (!s->error) {
			s->error = EINVAL;
			srd_session_misuse(o, qp, SRD_MISUSE_SETTER_FIRST, verb);
		}
		return NULL;
	}
	if (s->num_setters < 8)
		s->current->setters |= (uint32_t)setter << (4 * s->num_setters);
	s->num_setters++;
	return s->current;
}

static void wr_set_sge(struct srd_verbs *verbs, struct srd_qp *qp, uint32_t lkey, uint64_t addr,
		       uint32_t length)
{
	struct srd_session *s = session_of(observer(verbs), qp);
	struct srd_ev_wr_post *wr =
		set_request(observer(verbs), s, qp, SRD_VERB_WR_SET_SGE, SET_SGE);

	if (!wr)
		return;
	wr->addr = addr;
	wr->length = length;
	wr->lkey = lkey;
	wr->num_sge = 1;
	if (!s->error)
		verbs->next->wr_set_sge(verbs->next, qp, lkey, addr, length);
}

static void wr_set_sge_list(struct srd_verbs *verbs, struct srd_qp *qp, uint32_t num_sge,
			    const struct srd_sge *sg_list)
{
	struct srd_session *s = session_of(observer(verbs), qp);
	struct srd_ev_wr_post *wr =
		set_request(observer(verbs), s, qp, SRD_VERB_WR_SET_SGE_LIST, SET_SGE);

	if (!wr)
		return;
	wr->num_sge = (uint8_t)(num_sge < UINT8_MAX ? num_sge : UINT8_MAX);
	wr->length = 0;
	for (uint32_t i = 0; i < num_sge; i++)
		wr->length += sg_list[i].length;
	if (num_sge > 0) {
		wr->addr = sg_list[0].addr;
		wr->lkey = sg_list[0].lkey;
	}
	if (num_sge > 1) {
		wr->addr2 = sg_list[1].addr;
		wr->length2 = sg_list[1].length;
		wr->lkey2 = sg_list[1].lkey;
	}
	if (!s->error)
		verbs->next->wr_set_sge_list(verbs->next, qp, num_sge, sg_list);
}

static void wr_set_inline_data(struct srd_verbs *verbs, struct srd_qp *qp, uint64_t addr,
			       uint32_t length)
{
	struct srd_session *s = session_of(observer(verbs), qp);
	struct srd_ev_wr_post *wr =
		set_request(observer(verbs), s, qp, SRD_VERB_WR_SET_INLINE_DATA, SET_INLINE_DATA);

	if (!wr)
		return;
	wr->addr = addr;
	wr->length = length;
	wr->inline_data = 1;
	if (!s->error)
		verbs->next->wr_set_inline_data(verbs->next, qp, addr, length);
}

static void wr_set_ud_addr(struct srd_verbs *verbs, struct srd_qp *qp, struct srd_ah *ah,
			   uint32_t remote_qpn, uint32_t remote_qkey)
{
	struct srd_session *s = session_of(observer(verbs), qp);
	struct srd_ev_wr_post *wr =
		set_request(observer(verbs), s, qp, SRD_VERB_WR_SET_UD_ADDR, SET_UD_ADDR);

	if (!wr)
		return;
	wr->ah = ah ? ah->handle : 0;
	wr->remote_qpn = remote_qpn;
	wr->remote_qkey = remote_qkey;
	if (!s->error)
		verbs->next->wr_set_ud_addr(verbs->next, qp, ah, remote_qpn, remote_qkey);
}

/* The session has ended with END: each request comes before it, with the line and op that
 * were current when it was built. */
static void emit_session(struct srd_observer *o, struct srd_session *s, struct srd_event *end)
{
	if (!o->stream->fn)
		return;
	srd_observer_clock(o);
	for (uint32_t i = 0; i < s->num_wr; i++) {
		struct srd_event *ev = &s->wr[i].ev;

		srd_stream_emit_as(o->stream, ev, ev->line, ev->op);
	}
	srd_stream_emit(o->stream, end);
}

/* The session is over, before the call that ends it has an answer. */
static void close_session(struct srd_observer *o, struct srd_session *s)
{
	s->open = false;
	o->open_sessions--;
}

static int wr_complete(struct srd_verbs *verbs, struct srd_qp *qp)
{
	struct srd_observer *o = observer(verbs);
	struct srd_session *s = session_of(o, qp);
	struct srd_ev_session_complete e = {
		.ev = {.type = SRD_EV_SESSION_COMPLETE,
		       .source = SRD_SOURCE_SEAM,
		       .host = (uint8_t)qp->context->host,
		       .object = qp->handle},
		.num_wr = s->num_wr,
	};
	int result = s->error;

	if (!s->open) {
		srd_session_misuse(o, qp, SRD_MISUSE_END_WITHOUT_START, SRD_VERB_WR_COMPLETE);
		return srd_observer_answer(o, SRD_VERB_WR_COMPLETE, EINVAL, qp->context->host);
	}
	close_session(o, s);
	if (result)
		verbs->next->wr_abort(verbs->next, qp);
	else
		result = verbs->next->wr_complete(verbs->next, qp);
	e.result = (uint32_t)result;
	emit_session(o, s, &e.ev);
	return srd_observer_answer(o, SRD_VERB_WR_COMPLETE, result, qp->context->host);
}

static void abort_session(struct srd_observer *o, struct srd_session *s, struct srd_qp *qp)
{
	struct srd_ev_session_abort e = {
		.ev = {.type = SRD_EV_SESSION_ABORT,
		       .source = SRD_SOURCE_SEAM,
		       .host = (uint8_t)qp->context->host,
		       .object = qp->handle},
		.num_wr = s->num_wr,
	};

	close_session(o, s);
	o->verbs.next->wr_abort(o->verbs.next, qp);
	emit_session(o, s, &e.ev);
}

static void wr_abort(struct srd_verbs *verbs, struct srd_qp *qp)
{
	struct srd_observer *o = observer(verbs);
	struct srd_session *s = session_of(o, qp);

	if (s->open)
		abort_session(o, s, qp);
	else
		srd_session_misuse(o, qp, SRD_MISUSE_END_WITHOUT_START, SRD_VERB_WR_ABORT);
}

void srd_session_end(struct srd_observer *o, struct srd_qp *qp, enum srd_session_misuse what,
		     enum srd_verb verb)
{
	struct srd_session *s = session_of(o, qp);

	if (!s->open)
		return;
	srd_session_misuse(o, qp, what, verb);
	abort_session(o, s, qp);
}

struct srd_qp *srd_session_on(struct srd_observer *o, const struct srd_cq *cq)
{
	for (uint32_t i = 0; i < o->num_sessions; i++) {
		struct srd_session *s = o->sessions[i];

		if (s && s->open && s->qp->send_cq == cq)
			return s->qp;
	}
	return NULL;
}

/* Of a send completion only the fields that libefa sets, see struct srd_wc. */
void srd_observer_wc(struct srd_stream *stream, const struct srd_cq *cq, const struct srd_wc *wc)
{
	bool receive = wc->opcode == SRD_WC_RECV || wc->opcode == SRD_WC_RECV_RDMA_WITH_IMM;
	struct srd_ev_wc e = {
		.ev = {.type = SRD_EV_WC,
		       .source = SRD_SOURCE_SEAM,
		       .host = (uint8_t)cq->context->host,
		       .object = cq->handle},
		.wr_id = wc->wr_id,
		.qp_num = wc->qp_num,
		.status = wc->status,
		.vendor_err = wc->vendor_err,
		.opcode = wc->opcode,
		.wc_flags = wc->wc_flags,
	};

	if (receive) {
		e.byte_len = wc->byte_len;
		e.src_qp = wc->src_qp;
	}
	if (receive && (wc->wc_flags & SRD_WC_WITH_IMM))
		e.imm_data = wc->imm_data;
	srd_stream_emit(stream, &e.ev);
}

/* What a poll found, each completion before the poll itself. */
static void emit_poll(struct srd_observer *o, struct srd_cq *cq, int num_entries,
		      const struct srd_wc *wc, int n)
{
	struct srd_ev_cq_poll e = {
		.ev = {.type = SRD_EV_CQ_POLL,
		       .source = SRD_SOURCE_SEAM,
		       .host = (uint8_t)cq->context->host,
		       .object = cq->handle},
		.num_entries = (uint32_t)num_entries,
		.result = (uint32_t)n,
	};

	if (!o->stream->fn)
		return;
	srd_observer_clock(o);
	for (int i = 0; i < n; i++)
		srd_observer_wc(o->stream, cq, &wc[i]);
	srd_stream_emit(o->stream, &e.ev);
}

static int poll_cq(struct srd_verbs *verbs, struct srd_cq *cq, int num_entries, struct srd_wc *wc)
{
	struct srd_observer *o = observer(verbs);
	struct srd_qp *qp = o->open_sessions ? srd_session_on(o, cq) : NULL;
	int n = -EDEADLK;

	if (qp)
		srd_session_misuse(o, qp, SRD_MISUSE_POLL_IN_SESSION, SRD_VERB_POLL_CQ);
	else if (!o->open_polls || !srd_observer_polls(o, cq, SRD_VERB_POLL_CQ))
		n = verbs->next->poll_cq(verbs->next, cq, num_entries, wc);
	emit_poll(o, cq, num_entries, wc, n);
	if (n < 0)
		srd_observer_failed(o, SRD_VERB_POLL_CQ, -n, cq->context->host);
	return n;
}

void srd_session_fill(struct srd_verbs *verbs)
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
	verbs->poll_cq = poll_cq;
}
