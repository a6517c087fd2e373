/* SPDX-License-Identifier: MIT */
/* How many requests are out, and who waits for room. */
#include <errno.h>
#include <inttypes.h>

#include "judge.h"

static bool gated(const struct srd_book_op *op)
{
	return op && op->begun.path && op->qp->scheduled;
}

static void session_complete(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_ev_session_complete *ev = (const void *)event;
	const struct srd_book_qp *qp = rules->book.qp;
	uint64_t total;

	if (!qp)
		return;
	/* Refused or not: the scheduler should not have asked. */
	if (gated(rules->book.op) && (uint64_t)qp->in_flight_ops + ev->num_wr > qp->max_send_wr)
		FAIL(rules, CREDIT_OVERCOMMIT,
		     "in flight %u, %u more in this session, max_send_wr %u", qp->in_flight_ops,
		     ev->num_wr, qp->max_send_wr);
	total = (uint64_t)qp->in_flight + ev->num_wr;
	if (ev->result && total > qp->made.granted_send_wr)
		FAIL(rules, CREDIT_FULL,
		     "in flight %u, %u more in this session, granted %u: refused with errno %u",
		     qp->in_flight, ev->num_wr, qp->made.granted_send_wr, ev->result);
	if (ev->result)
		return;
	if (total > qp->made.granted_send_wr)
		FAIL(rules, CREDIT_GRANTED, "in flight %u, %u more in this session, granted %u",
		     qp->in_flight, ev->num_wr, qp->made.granted_send_wr);
	else if (total > qp->made.requested_send_wr)
		FAIL(rules, CREDIT_REQUESTED,
		     "in flight %u, %u more in this session, requested %u, granted %u",
		     qp->in_flight, ev->num_wr, qp->made.requested_send_wr,
		     qp->made.granted_send_wr);
}

static void op_post_begin(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_book_op *op = rules->book.op;
	const struct srd_book_op *head;
	uint64_t due;

	if (!gated(op))
		return;
	head = op->qp->waiting;
	if (head && head != op && op->waits)
		FAIL(rules, CREDIT_FIFO, "op %u is posted while op %u, which came first, waits",
		     op->number, head->number);
	due = op->due;
	if (due > op->qp->max_send_wr)
		FAIL(rules, CREDIT_TOO_LARGE, "op %u needs %" PRIu64 " requests, max_send_wr is %u",
		     op->number, due, op->qp->max_send_wr);
}

static void op_post_end(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_ev_op_post_end *ev = (const void *)event;
	const struct srd_book_op *op = rules->book.op;

	if (gated(op) && !ev->result && op->asked != op->num_posts)
		FAIL(rules, CREDIT_PREDICT,
		     "op %u: %" PRIu64 " request%s answered, %" PRIu64 " posted", op->number,
		     op->asked, SRD_S(op->asked), op->num_posts);
}

static void op_end(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_ev_op_end *ev = (const void *)event;
	const struct srd_book_op *op = rules->book.op;
	uint64_t due;

	if (!gated(op) || op->num_wr || ev->result != (uint32_t)-E2BIG)
		return;
	due = op->due;
	if (due && due <= op->qp->max_send_wr)
		FAIL(rules, CREDIT_REFUSED,
		     "op %u is refused as too large; it needs %" PRIu64
		     " request%s, max_send_wr is %u",
		     op->number, due, SRD_S(due), op->qp->max_send_wr);
}

static void scheduler_state(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_ev_scheduler_state *ev = (const void *)event;
	const struct srd_book_qp *qp = rules->book.qp;
	const struct srd_book_op *head;
	uint64_t due;

	/* What a reset dropped may complete or not: nobody can count it. */
	if (!qp || qp->has_dropped)
		return;
	if (ev->in_flight != qp->in_flight_ops)
		FAIL(rules, CREDIT_COUNT,
		     "the scheduler counts %u in flight; %u posted and not reaped", ev->in_flight,
		     qp->in_flight_ops);
	head = qp->waiting;
	if (!head || !ev->queued || qp->full || !qp->connected)
		return;
	due = head->due;
	if (due && qp->in_flight_ops + due <= qp->max_send_wr)
		srd_judge_fail(rules, SRD_R_CREDIT_IDLE,
			       (struct srd_where){.qp = qp, .op = head->number, .line = head->line},
			       "op %u waits for %" PRIu64
			       " request%s with %u in flight and max_send_wr %u",
			       head->number, due, SRD_S(due), qp->in_flight_ops, qp->max_send_wr);
}

static void scheduler_open(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_ev_scheduler_open *ev = (const void *)event;
	const struct srd_book_qp *qp = rules->book.qp;

	if (qp && ev->max_send_wr > qp->made.granted_send_wr)
		FAIL(rules, CREDIT_DEPTH, "max_send_wr of the scheduler is %u, granted is %u",
		     ev->max_send_wr, qp->made.granted_send_wr);
}

static void scheduler_close(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_book_qp *qp = rules->book.qp;

	if (qp && qp->too_large)
		FAIL(rules, CREDIT_TOO_LARGE, "%u op%s of more than max_send_wr %u never answered",
		     qp->too_large, SRD_S(qp->too_large), qp->max_send_wr);
}

static void qp_open(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_ev_qp_open *ev = (const void *)event;
	const struct srd_book_qp *qp = rules->book.qp;

	if (qp && ev->max_send_wr != qp->made.requested_send_wr)
		FAIL(rules, CREDIT_CLAMP, "configured max_send_wr is %u, requested was %u",
		     ev->max_send_wr, qp->made.requested_send_wr);
}

const struct srd_family srd_credit_family = {
	.name = "credit",
	.check =
		{
			[SRD_EV_SESSION_COMPLETE] = session_complete,
			[SRD_EV_OP_POST_BEGIN] = op_post_begin,
			[SRD_EV_OP_POST_END] = op_post_end,
			[SRD_EV_OP_END] = op_end,
			[SRD_EV_SCHEDULER_STATE] = scheduler_state,
			[SRD_EV_SCHEDULER_OPEN] = scheduler_open,
			[SRD_EV_SCHEDULER_CLOSE] = scheduler_close,
			[SRD_EV_QP_OPEN] = qp_open,
		},
};
