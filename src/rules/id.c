/* SPDX-License-Identifier: MIT */
/* The names of requests. */
#include <inttypes.h>

#include "judge.h"

static void first_of_op(struct srd_rules *rules, const struct srd_book_qp *qp,
			const struct srd_book_op *op, uint64_t id)
{
	if (id <= qp->top_id)
		FAIL(rules, ID_REUSE, "op %u posts id %" PRIu64 "; ids up to %" PRIu64 " were used",
		     op->number, id, qp->top_id);
	else if (id != qp->last_id + 1)
		FAIL(rules, ID_SKIPPED,
		     "op %u starts at id %" PRIu64 "; the last used was %" PRIu64, op->number, id,
		     qp->last_id);
}

static void wr_post(struct srd_rules *rules, const struct srd_event *event)
{
	uint64_t id = ((const struct srd_ev_wr_post *)event)->wr_id;
	const struct srd_book_qp *qp = rules->book.qp;
	const struct srd_book_op *op = rules->book.op;

	if (!op || !qp || !qp->open)
		return;
	if (!qp->has_id) {
		if (id)
			FAIL(rules, ID_FIRST, "the first id of the queue pair is %" PRIu64, id);
	} else if (!op->num_posts) {
		first_of_op(rules, qp, op, id);
	} else if (id == op->last_id) {
		FAIL(rules, ID_REUSE, "op %u posts id %" PRIu64 " twice", op->number, id);
	} else if (id != op->last_id + 1) {
		FAIL(rules, ID_CONSECUTIVE, "op %u: id %" PRIu64 " follows %" PRIu64, op->number,
		     id, op->last_id);
	}
}

static void op_post_end(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_ev_op_post_end *ev = (const void *)event;
	const struct srd_book_op *op = rules->book.op;

	if (!op || ev->result)
		return;
	if (ev->num_ids != op->num_posts ||
	    (ev->num_ids && (ev->first_id != op->first_id || ev->last_id != op->last_id)))
		FAIL(rules, ID_RETURNED,
		     "op %u: %u ids returned, %" PRIu64 " to %" PRIu64 "; %" PRIu64
		     " posted, %" PRIu64 " to %" PRIu64,
		     op->number, ev->num_ids, ev->first_id, ev->last_id, op->num_posts,
		     op->first_id, op->last_id);
}

static void request(struct srd_rules *rules, const struct srd_ev_wr_post *post)
{
	const struct srd_request *other = srd_requests_find(&rules->book.qp->requests, post->wr_id);
	if (other && !other->dropped)
		FAIL(rules, ID_AMBIGUOUS, "id %" PRIu64 " is in flight already: line %u posted it",
		     post->wr_id, other->line);
}

const struct srd_family srd_id_family = {
	.name = "id",
	.check =
		{
			[SRD_EV_WR_POST] = wr_post,
			[SRD_EV_OP_POST_END] = op_post_end,
		},
	.request = request,
	.request_rule = SRD_R_ID_AMBIGUOUS + 1,
};
