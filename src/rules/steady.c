/* SPDX-License-Identifier: MIT */
#include "book_internal.h"
#include "steady.h"

#define SGE_THEN_UD_ADDR 0x31u /* of srd_ev_wr_post.setters */

static inline bool is_rdma(uint8_t opcode)
{
	return opcode == SRD_WR_RDMA_WRITE || opcode == SRD_WR_RDMA_READ;
}

static inline bool inside(const struct srd_book_mr *mr, uint64_t addr, uint64_t length)
{
	uint64_t offset = addr - mr->addr;

	/* An address below the region's wraps to an offset above any length. */
	return offset <= mr->length && length <= mr->length - offset;
}

static inline uint64_t destination(const struct srd_book_op *op)
{
	return op->begun.kind == SRD_OP_PUT ? op->begun.remote_size : op->begun.local_size;
}

static inline bool gated(const struct srd_book_op *op)
{
	return op->begun.path && op->qp->scheduled;
}

/* --- posting --- */

static inline bool steady_op_post_begin(const struct srd_book_qp *qp, const struct srd_book_op *op)
{
	return op && (!gated(op) || (qp->waiting == op && op->due <= qp->max_send_wr));
}

static inline bool steady_start(const struct srd_book_op *op)
{
	return !op || destination(op) >= srd_book_transfer(op);
}

static inline bool steady_id(const struct srd_book_qp *qp, const struct srd_book_op *op,
			     uint64_t id)
{
	if (!qp->has_id)
		return !id;
	return id == qp->last_id + 1 && id > qp->top_id;
}

static inline bool steady_chunk(const struct srd_book_op *op, const struct srd_ev_wr_post *post)
{
	uint32_t max = op->qp->max_rdma_size;
	uint64_t offset = post->addr - op->begun.local_addr;

	if (op->broken || post->num_sge != 1 || post->lkey != op->begun.lkey ||
	    post->rkey != op->begun.rkey || post->length > max ||
	    post->opcode != (op->begun.kind == SRD_OP_PUT ? SRD_WR_RDMA_WRITE : SRD_WR_RDMA_READ))
		return false;
	if (!post->length)
		return !srd_book_transfer(op) && !op->num_posts;
	return offset == op->bytes && post->remote_addr - op->begun.remote_addr == offset &&
	       (!op->num_posts || op->last_length == max);
}

/* The peer of connect, or that of the last request that was found right. */
static inline bool knows_peer(const struct srd_book_qp *qp, const struct srd_book_op *op)
{
	if (!op->begun.peer)
		return qp->has_connect;
	return qp->route.fine && qp->route.fine_for_op && qp->route.fine_peer == op->begun.peer;
}

static inline bool steady_post(const struct srd_book_qp *qp, const struct srd_book_op *op,
			       const struct srd_ev_wr_post *post)
{
	if (!(qp->made.send_ops_flags & 1u << (post->opcode & 31)) || post->inline_data)
		return false;
	if (!op)
		return true;
	return qp->open && knows_peer(qp, op) && qp->send_cq && qp->send_cq->poster == qp &&
	       post->setters == SGE_THEN_UD_ADDR && post->wr_flags == SRD_SEND_SIGNALED &&
	       steady_id(qp, op, post->wr_id) && steady_chunk(op, post);
}

static inline bool steady_memory(const struct srd_book_qp *qp, const struct srd_ev_wr_post *post)
{
	const struct srd_book_mr *mr = qp->route.mr, *remote = qp->route.remote_mr;
	bool read = post->opcode == SRD_WR_RDMA_READ;
	uint32_t right = read ? SRD_ACCESS_REMOTE_READ : SRD_ACCESS_REMOTE_WRITE;

	if (!post->length)
		return true;
	return mr && remote && mr->pd == qp->pd && !post->inline_data && !post->length2 &&
	       inside(mr, post->addr, post->length) &&
	       inside(remote, post->remote_addr, post->length) && remote->access & right &&
	       (!read || mr->access & SRD_ACCESS_LOCAL_WRITE);
}

/* It names what the request before it did. */
static inline bool steady_route(const struct srd_book_route *route,
				const struct srd_ev_wr_post *post)
{
	return route->lkey == post->lkey && route->rkey == post->rkey &&
	       route->ah_handle == post->ah && route->remote_qpn == post->remote_qpn &&
	       route->fine_qkey == post->remote_qkey;
}

static inline bool steady_place(const struct srd_book_qp *qp, uint64_t ordinal, int other,
				uint64_t length, uint32_t opcode)
{
	const struct srd_place *place = srd_book_place(qp, ordinal);

	return !place || (int)place->state != other ||
	       (place->length == length && place->opcode == opcode);
}

/* The session that POST, the next request of it, is in will be accepted or not. */
static inline bool steady_request(const struct srd_book_qp *qp, const struct srd_ev_wr_post *post)
{
	return is_rdma(post->opcode) && post->setters == SGE_THEN_UD_ADDR &&
	       post->length <= qp->max_rdma_size && steady_route(&qp->route, post) &&
	       steady_memory(qp, post) &&
	       steady_place(qp, qp->num_posted + qp->num_staged, SRD_BOOK_TAKEN, post->length,
			    post->opcode);
}

static bool steady_complete(struct srd_rules *rules, const struct srd_ev_session_complete *ev)
{
	struct srd_book *book = &rules->book;
	struct srd_book_qp *qp = book->qp;

	if (ev->result || qp->state != SRD_QPS_RTS || rules->advised || qp->rails ||
	    (uint64_t)qp->in_flight + ev->num_wr > qp->made.granted_send_wr)
		return false;
	if (book->op && gated(book->op) &&
	    (uint64_t)qp->in_flight_ops + ev->num_wr > qp->max_send_wr)
		return false;
	/* What the requests were compared with was found right, and nothing has changed since. */
	if (qp->num_steady != qp->num_staged || !qp->route.fine ||
	    qp->route.generation != book->generation ||
	    qp->route.fine_for_op != (book->op != NULL) ||
	    (book->op && qp->route.fine_peer != book->op->begun.peer))
		return false;
	for (uint32_t i = 0; i < srd_book_num_kept(qp); i++)
		srd_book_apply_post(book, srd_book_staged(qp, i));
	return true;
}

static inline bool steady_post_end(const struct srd_book_qp *qp, const struct srd_book_op *op,
				   const struct srd_ev_op_post_end *ev)
{
	return op && !ev->result && !op->broken && op->sessions == 1 && !qp->in_session &&
	       op->bytes == srd_book_transfer(op) && op->num_posts == op->due &&
	       op->num_posts == ev->num_ids && op->first_id == ev->first_id &&
	       op->last_id == ev->last_id && (!gated(op) || op->asked == op->num_posts);
}

/* --- completing --- */

static inline bool steady_wc(const struct srd_book *book, const struct srd_ev_wc *ev)
{
	const struct srd_request *request = book->request;

	if (!request || request->dropped || ev->status || ev->vendor_err ||
	    srd_book_is_rc(book->qp))
		return false;
	return ev->opcode ==
	       (request->opcode == SRD_WR_RDMA_WRITE ? SRD_WC_RDMA_WRITE : SRD_WC_SEND);
}

static inline bool steady_op_end(const struct srd_book_op *op, const struct srd_ev_op_end *ev)
{
	return op && !ev->result && !op->ended && !op->in_flight && !op->num_failed;
}

static inline bool steady_scheduler(const struct srd_book_qp *qp,
				    const struct srd_ev_scheduler_state *ev)
{
	return ev->in_flight == qp->in_flight_ops && (!qp->waiting || !ev->queued || qp->full);
}

/* --- one function a type --- */

/* The queue pair of EVENT, with the book's eye on it; NULL: it is not known and alive. */
static inline struct srd_book_qp *focus_qp(struct srd_rules *rules, const struct srd_event *event)
{
	struct srd_book *book = &rules->book;
	struct srd_thing *thing = srd_book_find(book, SRD_KIND_QP, event->object);

	if (!thing || !thing->alive)
		return NULL;
	book->thing = thing;
	book->qp = (struct srd_book_qp *)thing;
	book->op = event->op ? srd_book_op(book, event->op) : NULL;
	return book->qp;
}

static inline struct srd_book_cq *focus_cq(struct srd_rules *rules, const struct srd_event *event)
{
	struct srd_book *book = &rules->book;
	struct srd_thing *thing = srd_book_find(book, SRD_KIND_CQ, event->object);

	if (!thing || !thing->alive)
		return NULL;
	book->thing = thing;
	book->cq = (struct srd_book_cq *)thing;
	return book->cq;
}

static void take_op_begin(struct srd_rules *rules, const struct srd_event *event)
{
	if (focus_qp(rules, event) && !((const struct srd_ev_op_begin *)event)->transfer)
		srd_book_op_begin(&rules->book, event);
	else
		srd_rules_judge(rules, event);
}

static void take_op_post_begin(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_book_qp *qp = focus_qp(rules, event);

	if (qp && steady_op_post_begin(qp, rules->book.op))
		srd_book_op_post_begin(&rules->book, event);
	else
		srd_rules_judge(rules, event);
}

static void take_session_start(struct srd_rules *rules, const struct srd_event *event)
{
	if (focus_qp(rules, event) && steady_start(rules->book.op))
		srd_book_session_start(&rules->book, event);
	else
		srd_rules_judge(rules, event);
}

static void take_wr_post(struct srd_rules *rules, const struct srd_event *event)
{
	struct srd_book_qp *qp = focus_qp(rules, event);

	if (qp && steady_post(qp, rules->book.op, (const void *)event)) {
		qp->num_steady += steady_request(qp, (const void *)event);
		srd_book_wr_post(&rules->book, event);
	} else {
		srd_rules_judge(rules, event);
	}
}

static void take_session_complete(struct srd_rules *rules, const struct srd_event *event)
{
	if (focus_qp(rules, event) && steady_complete(rules, (const void *)event))
		srd_book_session_complete(&rules->book, event);
	else
		srd_rules_judge(rules, event);
}

static void take_op_post_end(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_book_qp *qp = focus_qp(rules, event);

	if (qp && steady_post_end(qp, rules->book.op, (const void *)event))
		srd_book_op_post_end(&rules->book, event);
	else
		srd_rules_judge(rules, event);
}

static void take_op_end(struct srd_rules *rules, const struct srd_event *event)
{
	if (focus_qp(rules, event) && steady_op_end(rules->book.op, (const void *)event))
		srd_book_op_end(&rules->book, event);
	else
		srd_rules_judge(rules, event);
}

static void take_scheduler_state(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_book_qp *qp = focus_qp(rules, event);

	if (!qp || !steady_scheduler(qp, (const void *)event))
		srd_rules_judge(rules, event);
}

static void take_dev_request(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_ev_dev_request *ev = (const void *)event;
	const struct srd_book_qp *qp = focus_qp(rules, event);

	if (qp && steady_place(qp, ev->ordinal, SRD_BOOK_POSTED, ev->length, ev->opcode))
		srd_book_dev_request(&rules->book, event);
	else
		srd_rules_judge(rules, event);
}

static void take_wc(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_ev_wc *ev = (const void *)event;
	struct srd_book *book = &rules->book;

	if (focus_cq(rules, event)) {
		srd_book_resolve_wc(book, ev);
		if (steady_wc(book, ev)) {
			srd_rules_record(rules, event);
			srd_book_wc(book, event);
			return;
		}
	}
	srd_rules_judge(rules, event);
}

static void take_cq_poll(struct srd_rules *rules, const struct srd_event *event)
{
	if (focus_cq(rules, event))
		srd_book_cq_poll(&rules->book, event);
	else
		srd_rules_judge(rules, event);
}

static void take_dev_cqe(struct srd_rules *rules, const struct srd_event *event)
{
	if (((const struct srd_ev_dev_cqe *)event)->lost)
		srd_rules_judge(rules, event);
}

static void take_dev_place(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_ev_dev_place *ev = (const void *)event;
	const struct srd_thing *thing = srd_book_find(&rules->book, SRD_KIND_MR, event->object);

	if (!thing || !thing->alive ||
	    !inside((const struct srd_book_mr *)thing, ev->addr, ev->length))
		srd_rules_judge(rules, event);
}

/* No rule is about packets, and nothing of the book. */
static void take_dev_packet(struct srd_rules *rules, const struct srd_event *event)
{
}

srd_check_fn *srd_steady_fn(enum srd_event_type type)
{
	static srd_check_fn *const take[SRD_NUM_EVENT_TYPES] = {
		[SRD_EV_OP_BEGIN] = take_op_begin,
		[SRD_EV_OP_POST_BEGIN] = take_op_post_begin,
		[SRD_EV_OP_POST_END] = take_op_post_end,
		[SRD_EV_OP_END] = take_op_end,
		[SRD_EV_SCHEDULER_STATE] = take_scheduler_state,
		[SRD_EV_SESSION_START] = take_session_start,
		[SRD_EV_WR_POST] = take_wr_post,
		[SRD_EV_SESSION_COMPLETE] = take_session_complete,
		[SRD_EV_WC] = take_wc,
		[SRD_EV_CQ_POLL] = take_cq_poll,
		[SRD_EV_DEV_REQUEST] = take_dev_request,
		[SRD_EV_DEV_PACKET] = take_dev_packet,
		[SRD_EV_DEV_PLACE] = take_dev_place,
		[SRD_EV_DEV_CQE] = take_dev_cqe,
	};

	return take[type] ? take[type] : srd_rules_judge;
}
