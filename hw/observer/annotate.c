/* SPDX-License-Identifier: MIT */
/* The other end of srdlab/annotate.h: the ops that a program marks. */
#include <srdlab/annotate.h>

#include "observer.h"

/* Of the op that this thread posts. */
static __thread struct {
	srdlab_op_t op;
	uint32_t num;
	uint64_t first_id, last_id;
} posting;

/* Ops are told of under the queue pair that they began on. */
#define NUM_OPS 4096
static struct {
	srdlab_op_t op;
	uint32_t num_wr;
	const struct seen *qp;
} ops[NUM_OPS];

uint32_t observer_op(void)
{
	return posting.op;
}

void observer_op_posts(const struct srd_ev_wr_post *posts, uint32_t num)
{
	if (!posting.num)
		posting.first_id = posts[0].wr_id;
	posting.last_id = posts[num - 1].wr_id;
	posting.num += num;
}

/* The header of EVENT is the op's; false: there is nothing to tell. */
static bool about(srdlab_op_t op, struct srd_event *event, enum srd_event_type type)
{
	const struct srd_recorder *recorder = observer_recorder();
	const struct seen *qp = ops[op % NUM_OPS].qp;

	if (!recorder || !op || ops[op % NUM_OPS].op != op)
		return false;
	event->type = (uint16_t)type;
	event->source = SRD_SOURCE_ENGINE;
	event->host = qp->host;
	event->object = qp->number;
	event->op = op;
	event->line = recorder->stack();
	return true;
}

static void put(const struct srd_event *event)
{
	observer_sessions_told();
	observer_recorder()->put(NULL, NULL, 0, event);
}

static srdlab_op_t begin(struct ibv_qp *qp, const struct srdlab_transfer *t)
{
	const struct srd_recorder *recorder = observer_recorder();
	const struct seen *seen = observer_find(qp, SRD_RECORDER_QP);
	srdlab_op_t op = t && recorder && seen && !seen->dead ? recorder->op() : 0;
	struct srd_ev_op_begin e;

	if (!op)
		return 0;
	e = (struct srd_ev_op_begin){
		.kind = t->is_get ? SRD_OP_GET : SRD_OP_PUT,
		.path = seen && seen->qp.gated,
		.local_addr = t->local_addr,
		.local_size = t->local_size,
		.remote_addr = t->remote_addr,
		.remote_size = t->remote_size,
		.lkey = t->lkey,
		.rkey = t->rkey,
	};
	ops[op % NUM_OPS].qp = seen;
	ops[op % NUM_OPS].num_wr = t->num_wr;
	ops[op % NUM_OPS].op = op;
	if (about(op, &e.ev, SRD_EV_OP_BEGIN))
		put(&e.ev);
	return op;
}

static void post(srdlab_op_t op)
{
	struct srd_ev_op_post_begin e = {.num_wr_asked = ops[op % NUM_OPS].num_wr};

	posting.op = op;
	posting.num = 0;
	if (about(op, &e.ev, SRD_EV_OP_POST_BEGIN))
		put(&e.ev);
}

/* What it would have returned of its ids is what was seen of them. */
static void posted(srdlab_op_t op, int result)
{
	struct srd_ev_op_post_end e = {
		.result = (uint32_t)result,
		.num_ids = result ? 0 : posting.num,
		.first_id = result ? 0 : posting.first_id,
		.last_id = result ? 0 : posting.last_id,
	};

	posting.op = 0;
	if (about(op, &e.ev, SRD_EV_OP_POST_END))
		put(&e.ev);
}

static void end(srdlab_op_t op, int result, const struct srdlab_cause *cause)
{
	struct srd_ev_op_end e = {.result = (uint32_t)result};

	if (cause) {
		e.wr_id = cause->wr_id;
		e.status = cause->status;
		e.vendor_err = cause->vendor_err;
	}
	if (about(op, &e.ev, SRD_EV_OP_END))
		put(&e.ev);
}

static void credits(struct ibv_qp *qp, uint32_t max_send_wr)
{
	const struct srd_recorder *recorder = observer_recorder();
	struct seen *seen = observer_find(qp, SRD_RECORDER_QP);
	struct srd_ev_scheduler_open e = {.max_send_wr = max_send_wr};

	if (!recorder || !seen || seen->dead)
		return;
	seen->qp.gated = max_send_wr;
	e.ev = (struct srd_event)OBSERVED(SCHEDULER_OPEN, seen);
	e.ev.type = max_send_wr ? SRD_EV_SCHEDULER_OPEN : SRD_EV_SCHEDULER_CLOSE;
	e.ev.source = SRD_SOURCE_ENGINE;
	e.ev.line = recorder->stack();
	put(&e.ev);
}

extern SRD_EXPORT const struct srdlab_annotate srdlab_annotate_calls;
const struct srdlab_annotate srdlab_annotate_calls = {
	.begin = begin,
	.post = post,
	.posted = posted,
	.end = end,
	.credits = credits,
};
