/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "book_internal.h"
#include "steady.h"

#define SGE_THEN_UD_ADDR 0x31u /* of srd_ev_wr_post.setters */

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

/* There is a place for it among the recent ones. */
static inline bool steady_op_begin(const struct srd_book *book, const struct srd_ev_op_begin *ev)
{
	return ev->ev.op && !ev->transfer && book->free_ops &&
	       !book->recent[ev->ev.op % SRD_NUM_RECENT];
}

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

/* The peer of connect, or that of the last request that was found right. */
static inline bool knows_peer(const struct srd_book_qp *qp, const struct srd_book_op *op)
{
	if (!op->begun.peer)
		return qp->has_connect;
	return qp->route.fine_for_op && qp->route.fine_peer == op->begun.peer;
}

static inline bool steady_chunk(const struct srd_book_op *op, const struct srd_ev_wr_post *post)
{
	uint32_t max = op->qp->max_rdma_size;
	uint64_t offset = post->addr - op->begun.local_addr;

	if (op->broken || post->lkey != op->begun.lkey || post->rkey != op->begun.rkey ||
	    post->opcode != (op->begun.kind == SRD_OP_PUT ? SRD_WR_RDMA_WRITE : SRD_WR_RDMA_READ))
		return false;
	if (!post->length)
		return !srd_book_transfer(op) && !op->num_posts;
	return offset == op->bytes && post->remote_addr - op->begun.remote_addr == offset &&
	       (!op->num_posts || op->last_length == max);
}

static inline bool steady_place(const struct srd_book_qp *qp, uint64_t ordinal, int other,
				uint64_t length, uint32_t opcode)
{
	const struct srd_place *place = srd_book_place(qp, ordinal);

	return !place || (int)place->state != other ||
	       (place->length == length && place->opcode == opcode);
}

/* Whether POST names the same as the queue pair's model and was built by the same calls. */
static inline bool like_model(const struct srd_book_qp *qp, const struct srd_ev_wr_post *post)
{
	const size_t names = offsetof(struct srd_ev_wr_post, lkey);
	const size_t opcode = offsetof(struct srd_ev_wr_post, opcode);
	const size_t calls = offsetof(struct srd_ev_wr_post, num_sge);
	const char *model = (const char *)&qp->model, *other = (const char *)post;

	return !memcmp(model + names, other + names, opcode - names) &&
	       !memcmp(model + calls, other + calls, sizeof(*post) - calls);
}

/* Whether what POST has in common with those like it excludes all faults of that. */
static bool is_model(const struct srd_book_qp *qp, const struct srd_ev_wr_post *post)
{
	const struct srd_book_mr *mr = qp->route.mr;

	return qp->route.fine && post->num_sge == 1 && !post->inline_data && !post->length2 &&
	       post->setters == SGE_THEN_UD_ADDR && post->wr_flags == SRD_SEND_SIGNALED && mr &&
	       qp->route.remote_mr && mr->pd == qp->pd;
}

static bool declared(const struct srd_book_qp *qp, enum srd_wr_opcode opcode)
{
	return qp->made.send_ops_flags & 1u << opcode;
}

void srd_steady_learn(struct srd_rules *rules, const struct srd_ev_wr_post *post)
{
	struct srd_book_qp *qp = rules->book.qp;
	uint32_t local, remote;

	qp->model_generation = 0;
	if (!is_model(qp, post))
		return;
	local = qp->route.mr->access;
	remote = qp->route.remote_mr->access;
	qp->model = *post;
	qp->model_generation = rules->book.generation;
	qp->model_writes = declared(qp, SRD_WR_RDMA_WRITE) && remote & SRD_ACCESS_REMOTE_WRITE;
	qp->model_reads = declared(qp, SRD_WR_RDMA_READ) && remote & SRD_ACCESS_REMOTE_READ &&
			  local & SRD_ACCESS_LOCAL_WRITE;
}

static inline bool may(const struct srd_book_qp *qp, uint8_t opcode)
{
	return opcode == SRD_WR_RDMA_WRITE ? qp->model_writes
					   : opcode == SRD_WR_RDMA_READ && qp->model_reads;
}

/* The session that POST, the next request of it, is in will be accepted or not. */
static inline bool steady_post(const struct srd_book *book, const struct srd_ev_wr_post *post)
{
	const struct srd_book_qp *qp = book->qp;
	const struct srd_book_op *op = book->op;

	return qp->model_generation == book->generation && like_model(qp, post) &&
	       may(qp, post->opcode) && qp->num_staged < qp->posts.size &&
	       post->length <= qp->max_rdma_size &&
	       inside(qp->route.mr, post->addr, post->length) &&
	       inside(qp->route.remote_mr, post->remote_addr, post->length) &&
	       steady_place(qp, qp->num_posted + qp->num_staged, SRD_BOOK_TAKEN, post->length,
			    post->opcode) &&
	       (!op ||
		(qp->open && qp->send_cq && qp->send_cq->poster == qp && post->ah == qp->last_ah &&
		 knows_peer(qp, op) && steady_id(qp, op, post->wr_id) && steady_chunk(op, post)));
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
	if (qp->num_steady != qp->num_staged || qp->model_generation != book->generation ||
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
	return op && !ev->result && !op->ended && !op->in_flight && !op->num_failed &&
	       !op->transfer;
}

static inline bool steady_scheduler(const struct srd_book_qp *qp,
				    const struct srd_ev_scheduler_state *ev)
{
	return ev->in_flight == qp->in_flight_ops && (!qp->waiting || !ev->queued || qp->full);
}

/* --- one function a type --- */

/* The object of EVENT; NULL: it is gone, or another than that of the last event of its kind. */
static inline void *focus(const struct srd_book *book, enum srd_kind kind,
			  const struct srd_event *event)
{
	struct srd_thing *thing = book->last[kind];

	return thing && thing->handle == event->object && thing->alive ? thing : NULL;
}

static inline struct srd_book_cq *focus_cq(struct srd_rules *rules, const struct srd_event *event)
{
	return rules->book.cq = focus(&rules->book, SRD_KIND_CQ, event);
}

/* The queue pair of EVENT, with the book's eye on it and the op; NULL: one is not at hand. */
static inline struct srd_book_qp *focus_qp(struct srd_rules *rules, const struct srd_event *event)
{
	struct srd_book *book = &rules->book;

	book->op = NULL;
	if (event->op) {
		book->op = book->recent[event->op % SRD_NUM_RECENT];
		if (!book->op || book->op->number != event->op)
			return NULL;
	}
	return book->qp = focus(book, SRD_KIND_QP, event);
}

/*
 * No short way for EVENT. Or there is one, but its object was not the last of its kind: it is
 * now.
 */
__attribute__((noinline)) static void otherwise(struct srd_rules *rules,
						const struct srd_event *event)
{
	struct srd_book *book = &rules->book;
	enum srd_kind kind = book->kind_of[event->type];
	const struct srd_thing *last = book->last[kind];

	if ((!last || last->handle != event->object) && srd_book_search(book, kind, event->object))
		rules->take[event->type](rules, event);
	else
		srd_rules_judge(rules, event);
}

/*
 * Each of these runs once a transfer or more often: where the whole program is optimised at
 * once, what they call becomes part of them.
 */
static srd_check_fn take_op_begin __attribute__((flatten));
static srd_check_fn take_op_post_begin __attribute__((flatten));
static srd_check_fn take_session_start __attribute__((flatten));
static srd_check_fn take_wr_post __attribute__((flatten));
static srd_check_fn take_session_complete __attribute__((flatten));
static srd_check_fn take_op_post_end __attribute__((flatten));
static srd_check_fn take_op_end __attribute__((flatten));
static srd_check_fn take_scheduler_state __attribute__((flatten));
static srd_check_fn take_dev_request __attribute__((flatten));
static srd_check_fn take_wc __attribute__((flatten));
static srd_check_fn take_cq_poll __attribute__((flatten));
static srd_check_fn take_dev_cqe __attribute__((flatten));
static srd_check_fn take_dev_place __attribute__((flatten));
static srd_check_fn take_dev_packet __attribute__((flatten));

static void take_op_begin(struct srd_rules *rules, const struct srd_event *event)
{
	struct srd_book *book = &rules->book;

	book->op = NULL;
	book->qp = focus(book, SRD_KIND_QP, event);
	if (book->qp && steady_op_begin(book, (const void *)event))
		srd_book_op_begin(book, event);
	else
		otherwise(rules, event);
}

static void take_op_post_begin(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_book_qp *qp = focus_qp(rules, event);

	if (qp && steady_op_post_begin(qp, rules->book.op))
		srd_book_op_post_begin(&rules->book, event);
	else
		otherwise(rules, event);
}

static void take_session_start(struct srd_rules *rules, const struct srd_event *event)
{
	if (focus_qp(rules, event) && steady_start(rules->book.op))
		srd_book_session_start(&rules->book, event);
	else
		otherwise(rules, event);
}

static void take_wr_post(struct srd_rules *rules, const struct srd_event *event)
{
	struct srd_book_qp *qp = focus_qp(rules, event);

	if (qp && steady_post(&rules->book, (const void *)event)) {
		qp->num_steady++;
		srd_book_wr_post(&rules->book, event);
	} else {
		otherwise(rules, event);
	}
}

static void take_session_complete(struct srd_rules *rules, const struct srd_event *event)
{
	if (focus_qp(rules, event) && steady_complete(rules, (const void *)event))
		srd_book_session_complete(&rules->book, event);
	else
		otherwise(rules, event);
}

static void take_op_post_end(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_book_qp *qp = focus_qp(rules, event);

	if (qp && steady_post_end(qp, rules->book.op, (const void *)event))
		srd_book_op_post_end(&rules->book, event);
	else
		otherwise(rules, event);
}

static void take_op_end(struct srd_rules *rules, const struct srd_event *event)
{
	if (focus_qp(rules, event) && steady_op_end(rules->book.op, (const void *)event))
		srd_book_op_end(&rules->book, event);
	else
		otherwise(rules, event);
}

static void take_scheduler_state(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_book_qp *qp = focus_qp(rules, event);

	if (!qp || !steady_scheduler(qp, (const void *)event))
		otherwise(rules, event);
}

static void take_dev_request(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_ev_dev_request *ev = (const void *)event;
	const struct srd_book_qp *qp = focus_qp(rules, event);

	if (qp && qp->places &&
	    steady_place(qp, ev->ordinal, SRD_BOOK_POSTED, ev->length, ev->opcode))
		srd_book_dev_request(&rules->book, event);
	else
		otherwise(rules, event);
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
	otherwise(rules, event);
}

static void take_cq_poll(struct srd_rules *rules, const struct srd_event *event)
{
	if (focus_cq(rules, event))
		srd_book_cq_poll(&rules->book, event);
	else
		otherwise(rules, event);
}

static void take_dev_cqe(struct srd_rules *rules, const struct srd_event *event)
{
	if (((const struct srd_ev_dev_cqe *)event)->lost)
		srd_rules_judge(rules, event);
}

static void take_dev_place(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_ev_dev_place *ev = (const void *)event;
	const struct srd_book_mr *mr = focus(&rules->book, SRD_KIND_MR, event);

	if (!mr || !inside(mr, ev->addr, ev->length))
		otherwise(rules, event);
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
