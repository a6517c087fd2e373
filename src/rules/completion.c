/* SPDX-License-Identifier: MIT */
/* What comes back: completions, the queues they come through, and the answers of ops. */
#include <errno.h>
#include <inttypes.h>

#include <srdlab/verbs.h>

#include "judge.h"

/* A queue pair of this number that was destroyed; NULL: there never was one. */
static const struct srd_book_qp *destroyed(const struct srd_book *book, uint32_t qp_num)
{
	for (const struct srd_thing *thing = book->all; thing; thing = thing->next) {
		const struct srd_book_qp *qp = (const struct srd_book_qp *)thing;

		if (thing->kind == SRD_KIND_QP && !thing->alive && qp->made.qp_num == qp_num &&
		    qp->device == book->cq->device)
			return qp;
	}
	return NULL;
}

static void of_no_queue_pair(struct srd_rules *rules, const struct srd_ev_wc *wc)
{
	const struct srd_book_qp *dead = destroyed(&rules->book, wc->qp_num);

	if (dead)
		srd_judge_fail(rules, SRD_R_COMPLETION_STALE, (struct srd_where){.qp = dead},
			       "id %" PRIu64 " of queue pair number %u, which line %u destroyed",
			       wc->wr_id, wc->qp_num, dead->thing.end_line);
	else
		FAIL(rules, COMPLETION_UNKNOWN,
		     "id %" PRIu64 " of queue pair number %u, which does not exist; status %s",
		     wc->wr_id, wc->qp_num, srd_wc_status_str(wc->status));
}

static void of_no_request(struct srd_rules *rules, const struct srd_book_qp *qp,
			  const struct srd_ev_wc *wc)
{
	const struct srd_fate *fate = srd_book_fate(qp, wc->wr_id);

	if (fate && fate->what == SRD_FATE_REFUSED)
		FAIL(rules, COMPLETION_REFUSED,
		     "id %" PRIu64 " was built at %" PRIu64
		     " ns in a session that was refused or aborted",
		     wc->wr_id, fate->time);
	else if (fate)
		FAIL(rules, COMPLETION_TWICE, "id %" PRIu64 " completed at %" PRIu64 " ns already",
		     wc->wr_id, fate->time);
	else if (qp->open && qp->has_id && wc->wr_id <= qp->top_id)
		FAIL(rules, COMPLETION_TWICE,
		     "id %" PRIu64 " is long done: %" PRIu64 " was posted since", wc->wr_id,
		     qp->top_id);
	else
		FAIL(rules, COMPLETION_UNKNOWN,
		     "id %" PRIu64 " was never posted on queue pair number %u; status %s",
		     wc->wr_id, wc->qp_num, srd_wc_status_str(wc->status));
}

static bool right_opcode(const struct srd_book_qp *qp, uint8_t posted, uint32_t opcode)
{
	switch ((enum srd_wr_opcode)posted) {
	case SRD_WR_RDMA_WRITE:
	case SRD_WR_RDMA_WRITE_WITH_IMM:
		return opcode == SRD_WC_RDMA_WRITE;
	case SRD_WR_RDMA_READ:
		/* libefa says SEND; kernel verbs, and perhaps a later libefa, say RDMA_READ. */
		return (opcode == SRD_WC_SEND && !srd_book_is_rc(qp)) || opcode == SRD_WC_RDMA_READ;
	case SRD_WR_SEND:
	case SRD_WR_SEND_WITH_IMM:
		return opcode == SRD_WC_SEND;
	}
	return true;
}

/* 16, 17 and what is beyond 18 have no name in rdma-core 65. */
static bool known_vendor_err(uint32_t vendor_err)
{
	return vendor_err <= 15 || vendor_err == 18;
}

/* libefa of rdma-core 44 has no name for these, that of 56.1 none for the last: GENERAL_ERR. */
static bool older_name(const struct srd_ev_wc *wc)
{
	return wc->status == SRD_WC_GENERAL_ERR &&
	       (wc->vendor_err == SRD_EFA_REMOTE_ERROR_BAD_ADDRESS ||
		wc->vendor_err == SRD_EFA_REMOTE_ERROR_UNKNOWN_PEER ||
		wc->vendor_err == SRD_EFA_LOCAL_ERROR_UNREACH_REMOTE ||
		wc->vendor_err == SRD_EFA_REMOTE_ERROR_FEATURE_MISMATCH);
}

static void wc(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_ev_wc *ev = (const void *)event;
	const struct srd_book_qp *qp = rules->book.qp;
	const struct srd_request *request = rules->book.request;

	if (!rules->book.cq)
		return;
	/* What other vendors mean by theirs is not known. */
	if (!(qp && srd_book_is_rc(qp)) && known_vendor_err(ev->vendor_err) && !older_name(ev) &&
	    ev->status != (uint32_t)srd_efa_status_to_wc(ev->vendor_err))
		FAIL(rules, COMPLETION_VENDOR,
		     "id %" PRIu64 ": status %s with vendor_err %u, due is %s", ev->wr_id,
		     srd_wc_status_str(ev->status), ev->vendor_err,
		     srd_wc_status_str(srd_efa_status_to_wc(ev->vendor_err)));
	if (ev->vendor_err == SRD_EFA_REMOTE_ERROR_RNR)
		FAIL(rules, COMPLETION_NOT_READY,
		     "id %" PRIu64 " of queue pair number %u found no receive", ev->wr_id,
		     ev->qp_num);
	if (!qp) {
		of_no_queue_pair(rules, ev);
	} else if (ev->opcode >= SRD_WC_RECV) {
		if (!qp->receives &&
		    !(qp->made.efa_flags & SRD_EFADV_QP_FLAGS_UNSOLICITED_WRITE_RECV))
			FAIL(rules, COMPLETION_RECEIVE,
			     "id %" PRIu64 " on queue pair number %u, which has no receive posted",
			     ev->wr_id, ev->qp_num);
	} else if (!request) {
		of_no_request(rules, qp, ev);
	} else if (request->dropped) {
		FAIL(rules, COMPLETION_AFTER_RESET,
		     "id %" PRIu64 " was posted by line %u, before the queue pair went to RESET",
		     ev->wr_id, request->line);
	} else if (srd_book_is_rc(qp) && !request->shared && request->ordinal < qp->done) {
		FAIL(rules, COMPLETION_ORDER,
		     "id %" PRIu64 " is request %" PRIu64 " of its queue pair; request %" PRIu64
		     " completed before it",
		     ev->wr_id, request->ordinal, qp->done - 1);
	} else if (!ev->status && !request->shared &&
		   !right_opcode(qp, request->opcode, ev->opcode)) {
		FAIL(rules, COMPLETION_OPCODE,
		     "id %" PRIu64 " was posted as %s and completed as %s", ev->wr_id,
		     srd_wr_opcode_str(request->opcode), srd_wc_opcode_str(ev->opcode));
	}
}

static void recv_post(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_ev_recv_post *ev = (const void *)event;

	if (!ev->result && !ev->num_sge)
		FAIL(rules, COMPLETION_EMPTY_RECEIVE,
		     "receive %" PRIu64 " has no scatter entry, so that no descriptor is written",
		     ev->wr_id);
}

/* --- completion queues --- */

static void dev_cqe(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_ev_dev_cqe *ev = (const void *)event;
	const struct srd_book_cq *cq = rules->book.cq;

	if (ev->lost)
		srd_judge_fail(
			rules, SRD_R_COMPLETION_OVERRUN,
			(struct srd_where){.thing = rules->book.thing},
			"completion queue %u holds %u of %u entries: the entry of request %" PRIu64
			" of queue pair %u is lost",
			event->object, ev->occupancy, cq ? cq->granted : 0, ev->ordinal, ev->qp);
}

static void request(struct srd_rules *rules, const struct srd_ev_wr_post *post)
{
	const struct srd_book_cq *cq = rules->book.qp->send_cq;

	if (cq && cq->granted && cq->unpolled + cq->orphans >= cq->granted)
		FAIL(rules, COMPLETION_ROOM,
		     "completion queue %u has %u entr%s; outstanding requests and receives %u, "
		     "of destroyed queue pairs %u, and one more comes",
		     cq->thing.handle, cq->granted, cq->granted == 1 ? "y" : "ies", cq->unpolled,
		     cq->orphans);
}

static void qp_open(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_ev_qp_open *ev = (const void *)event;
	const struct srd_book_qp *qp = rules->book.qp;

	if (qp && qp->send_cq && qp->send_cq->granted < ev->max_send_wr)
		FAIL(rules, COMPLETION_CQ_SIZE,
		     "completion queue %u has %u entr%s, max_send_wr is %u",
		     qp->send_cq->thing.handle, qp->send_cq->granted,
		     qp->send_cq->granted == 1 ? "y" : "ies", ev->max_send_wr);
}

static void wr_post(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_book_qp *qp = rules->book.qp;
	const struct srd_book_qp *other = qp && qp->send_cq ? qp->send_cq->poster : NULL;

	if (rules->book.op && other && other != qp && other->thing.alive && other->open)
		FAIL(rules, COMPLETION_SHARED_QUEUE,
		     "queue pairs %u and %u post with completion queue %u", other->thing.handle,
		     qp->thing.handle, qp->send_cq->thing.handle);
}

static void cq_misuse(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_ev_cq_misuse *ev = (const void *)event;
	const char *verb = srd_verb_str(ev->verb);
	struct srd_where where = {.thing = rules->book.thing};

	switch ((enum srd_cq_misuse)ev->what) {
	case SRD_CQ_MISUSE_NOT_EXTENDED:
		srd_judge_fail(rules, SRD_R_COMPLETION_POLL, where,
			       "%s on completion queue %u, which create_cq made", verb,
			       event->object);
		break;
	case SRD_CQ_MISUSE_POLL_TWICE:
	case SRD_CQ_MISUSE_DESTROY_IN_POLL:
		srd_judge_fail(rules, SRD_R_COMPLETION_POLL, where,
			       "%s inside an extended poll of completion queue %u", verb,
			       event->object);
		break;
	case SRD_CQ_MISUSE_POLL_WITHOUT_START:
		srd_judge_fail(rules, SRD_R_COMPLETION_POLL, where,
			       "%s outside an extended poll of completion queue %u", verb,
			       event->object);
		break;
	case SRD_CQ_MISUSE_NEXT_AFTER_EMPTY:
		srd_judge_fail(rules, SRD_R_COMPLETION_POLL, where,
			       "%s after completion queue %u was found empty", verb, event->object);
		break;
	case SRD_CQ_MISUSE_NOTIFY_WITHOUT_CHANNEL:
		srd_judge_fail(rules, SRD_R_COMPLETION_EVENT, where,
			       "%s on completion queue %u, which has no channel", verb,
			       event->object);
		break;
	case SRD_CQ_MISUSE_EVENT_NOT_ACKED:
		srd_judge_fail(rules, SRD_R_COMPLETION_EVENT, where,
			       "completion queue %u is destroyed and not all of its events are "
			       "acknowledged",
			       event->object);
		break;
	case SRD_CQ_MISUSE_ACK_TOO_MANY:
		srd_judge_fail(rules, SRD_R_COMPLETION_EVENT, where,
			       "%s of more events than completion queue %u had", verb,
			       event->object);
		break;
	}
}

static void lease_acquire(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_ev_lease_acquire *ev = (const void *)event;
	const struct srd_book_cq *cq = rules->book.cq;
	struct srd_where where = {.thing = rules->book.thing};

	if (ev->leases > ev->limit)
		srd_judge_fail(rules, SRD_R_COMPLETION_LEASE_LIMIT, where,
			       "completion queue %u has %u leases of %u", event->object, ev->leases,
			       ev->limit);
	if (cq && ev->leases == 1 && cq->unpolled + cq->orphans)
		srd_judge_fail(rules, SRD_R_COMPLETION_LEASE_STALE, where,
			       "completion queue %u is leased with %u request%s, %u of destroyed "
			       "queue pairs, that no completion was polled of yet",
			       event->object, cq->unpolled + cq->orphans,
			       SRD_S(cq->unpolled + cq->orphans), cq->orphans);
}

static void lease_release(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_ev_lease_release *ev = (const void *)event;

	if (!rules->book.cq || ev->leases || ev->discarded)
		return;
	for (struct srd_thing *thing = rules->book.all; thing; thing = thing->next) {
		struct srd_book_qp *qp = (struct srd_book_qp *)thing;

		if (thing->kind == SRD_KIND_QP && thing->alive && qp->send_cq == rules->book.cq &&
		    qp->num_posted)
			srd_judge_fail(
				rules, SRD_R_COMPLETION_LEASE_EARLY, (struct srd_where){.qp = qp},
				"completion queue %u has no lease any more and queue pair %u still "
				"reports to it",
				event->object, thing->handle);
	}
}

/* --- the answers of ops --- */

static void judge_cause(struct srd_rules *rules, const struct srd_book_op *op,
			const struct srd_ev_op_end *ev)
{
	const struct srd_cause *cause = op->has_own ? &op->own : &op->flush;

	if (ev->wr_id != cause->wr_id || ev->status != cause->status ||
	    ev->vendor_err != cause->vendor_err)
		FAIL(rules, COMPLETION_OP_CAUSE,
		     "op %u reports request %" PRIu64 " with %s (%u); its cause is request %" PRIu64
		     " with %s (%u)",
		     op->number, ev->wr_id, srd_wc_status_str(ev->status), ev->vendor_err,
		     cause->wr_id, srd_wc_status_str(cause->status), cause->vendor_err);
}

static void op_end(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_ev_op_end *ev = (const void *)event;
	const struct srd_book_op *op = rules->book.op;
	bool by_completion = !ev->result || (ev->result == (uint32_t)-EIO && op && op->num_wr);

	if (!event->op) {
		FAIL(rules, COMPLETION_OP_TWICE,
		     "an answer, result %d, to an op that nobody submitted", (int32_t)ev->result);
		return;
	}
	if (op ? op->ended : srd_book_op_ended(&rules->book, event->op)) {
		FAIL(rules, COMPLETION_OP_TWICE, "op %u was answered before", event->op);
		return;
	}
	/* Another errno tells of the scheduler's own end, or of a post that was refused. */
	if (!op || !by_completion)
		return;
	if (op->in_flight)
		FAIL(rules, COMPLETION_OP_EARLY,
		     "op %u: %" PRIu64 " of its %" PRIu64 " request%s still in flight", op->number,
		     op->in_flight, op->num_wr, SRD_S(op->num_wr));
	else if (!ev->result && op->num_failed)
		FAIL(rules, COMPLETION_OP_RESULT,
		     "op %u reports success; %" PRIu64 " of its %" PRIu64 " request%s failed",
		     op->number, op->num_failed, op->num_wr, SRD_S(op->num_wr));
	else if (ev->result && !op->num_failed)
		FAIL(rules, COMPLETION_OP_RESULT,
		     "op %u reports a failed request; none of its %" PRIu64 " request%s failed",
		     op->number, op->num_wr, SRD_S(op->num_wr));
	else if (ev->result)
		judge_cause(rules, op, ev);
}

static void scheduler_close(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_book_qp *qp = rules->book.qp;

	if (qp && qp->unanswered)
		FAIL(rules, COMPLETION_OP_UNANSWERED,
		     "%u op%s reaped and never answered; the last is op %u", qp->unanswered,
		     SRD_S(qp->unanswered), qp->unanswered_op);
}

/* The one that was posted first of those in flight, of which there is one. */
static const struct srd_request *oldest_request(const struct srd_book_qp *qp)
{
	const struct srd_request *oldest = NULL, *request = NULL;

	while ((request = srd_requests_next(&qp->requests, request)))
		if (!request->dropped && !request->silent &&
		    (!oldest || request->ordinal < oldest->ordinal))
			oldest = request;
	return oldest;
}

static void finish(struct srd_rules *rules)
{
	for (struct srd_thing *thing = rules->book.all; thing; thing = thing->next) {
		const struct srd_book_qp *qp = (const struct srd_book_qp *)thing;
		const struct srd_request *oldest;

		if (thing->kind != SRD_KIND_QP || !thing->alive || qp->in_flight == qp->num_silent)
			continue;
		oldest = oldest_request(qp);
		srd_judge_fail(rules, SRD_R_COMPLETION_MISSING,
			       (struct srd_where){.qp = qp, .line = oldest->line},
			       "id %" PRIu64 ", posted by line %u, never completed; %u like it",
			       oldest->wr_id, oldest->line, qp->in_flight - qp->num_silent);
	}
}

const struct srd_family srd_completion_family = {
	.name = "completion",
	.check =
		{
			[SRD_EV_WC] = wc,
			[SRD_EV_DEV_CQE] = dev_cqe,
			[SRD_EV_CQ_MISUSE] = cq_misuse,
			[SRD_EV_QP_OPEN] = qp_open,
			[SRD_EV_RECV_POST] = recv_post,
			[SRD_EV_WR_POST] = wr_post,
			[SRD_EV_LEASE_ACQUIRE] = lease_acquire,
			[SRD_EV_LEASE_RELEASE] = lease_release,
			[SRD_EV_OP_END] = op_end,
			[SRD_EV_SCHEDULER_CLOSE] = scheduler_close,
		},
	.request = request,
	.request_rule = SRD_R_COMPLETION_ROOM + 1,
	.finish = finish,
};
