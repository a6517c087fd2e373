/* SPDX-License-Identifier: MIT */
/*
 * The geometry of one put or get. The first fault of an op's plan is reported and the rest
 * of the plan left alone: what comes after it follows from it.
 */
#include <inttypes.h>

#include "judge.h"

static uint64_t source_size(const struct srd_book_op *op)
{
	return srd_book_transfer(op);
}

static uint64_t destination_size(const struct srd_book_op *op)
{
	return op->begun.kind == SRD_OP_PUT ? op->begun.remote_size : op->begun.local_size;
}

static void session_start(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_book_op *op = rules->book.op;

	if (op && destination_size(op) < source_size(op))
		FAIL(rules, CHUNK_MISMATCH,
		     "op %u opens a session though its source has %" PRIu64
		     " bytes and its destination %" PRIu64,
		     op->number, source_size(op), destination_size(op));
}

/*
 * The key of the op's local range, or that of another region which holds the request: a queue
 * pair may have registered it by itself. The peer's key has no substitute.
 */
static bool right_lkey(const struct srd_rules *rules, const struct srd_book_op *op,
		       const struct srd_ev_wr_post *post)
{
	const struct srd_book_mr *mr;

	if (post->lkey == op->begun.lkey || !post->num_sge)
		return true;
	mr = srd_book_mr_by_lkey(&rules->book, op->qp, post->lkey);
	return mr && post->addr - mr->addr <= mr->length &&
	       post->length <= mr->length - (post->addr - mr->addr);
}

static bool right_operation(const struct srd_rules *rules, const struct srd_book_op *op,
			    const struct srd_ev_wr_post *post)
{
	uint8_t opcode = op->begun.kind == SRD_OP_PUT ? SRD_WR_RDMA_WRITE : SRD_WR_RDMA_READ;

	return post->opcode == opcode && post->rkey == op->begun.rkey &&
	       right_lkey(rules, op, post);
}

static void operation_fault(struct srd_rules *rules, const struct srd_book_op *op,
			    const struct srd_ev_wr_post *post)
{
	FAIL(rules, CHUNK_OPERATION,
	     "op %u is a %s with lkey 0x%x and rkey 0x%x; request %" PRIu64
	     " is %s with lkey 0x%x and rkey 0x%x",
	     op->number, op->begun.kind == SRD_OP_PUT ? "put" : "get", op->begun.lkey,
	     op->begun.rkey, post->wr_id, srd_wr_opcode_str(post->opcode), post->lkey, post->rkey);
}

/* Where POST lies against what its op has covered so far. true: it is right. */
static bool place(struct srd_rules *rules, const struct srd_book_op *op,
		  const struct srd_ev_wr_post *post)
{
	uint64_t local = post->addr - op->begun.local_addr;
	uint64_t remote = post->remote_addr - op->begun.remote_addr;

	if (local != remote) {
		FAIL(rules, CHUNK_ALIGN,
		     "op %u, request %" PRIu64 " of it: local offset %" PRIu64
		     ", remote offset %" PRIu64,
		     op->number, op->num_posts, local, remote);
		return false;
	}
	if (local > op->bytes) {
		FAIL(rules, CHUNK_COVER,
		     "op %u, request %" PRIu64 " of it: bytes %" PRIu64 " to %" PRIu64
		     " of %" PRIu64 " are in no request",
		     op->number, op->num_posts, op->bytes, local - 1, srd_book_transfer(op));
		return false;
	}
	if (local < op->bytes) {
		FAIL(rules, CHUNK_OVERLAP,
		     "op %u, request %" PRIu64 " of it starts at offset %" PRIu64
		     "; its earlier requests reach to %" PRIu64,
		     op->number, op->num_posts, local, op->bytes);
		return false;
	}
	return true;
}

static bool judge_post(struct srd_rules *rules, const struct srd_book_op *op,
		       const struct srd_ev_wr_post *post)
{
	uint32_t max = op->qp->max_rdma_size;
	uint64_t size = srd_book_transfer(op);

	if (!right_operation(rules, op, post)) {
		operation_fault(rules, op, post);
		return false;
	}
	/* A request that was given no range is session.setters'; one too long chunk.limit's. */
	if (!post->num_sge || (max && post->length > max))
		return false;
	if (!size)
		return true;
	if (!post->length) {
		FAIL(rules, CHUNK_EMPTY,
		     "op %u of %" PRIu64 " bytes: request %" PRIu64 " of it has no bytes",
		     op->number, size, op->num_posts);
		return false;
	}
	if (!place(rules, op, post))
		return false;
	if (op->num_posts && max && op->last_length < max) {
		FAIL(rules, CHUNK_FULL,
		     "op %u, request %" PRIu64 " of it has %" PRIu64
		     " bytes and is not the last; max_rdma_size is %u",
		     op->number, op->num_posts - 1, op->last_length, max);
		return false;
	}
	return true;
}

static void wr_post(struct srd_rules *rules, const struct srd_event *event)
{
	struct srd_book_op *op = rules->book.op;

	if (op && !op->broken && !judge_post(rules, op, (const void *)event))
		op->broken = true;
}

/* The plan is complete: OP was posted. */
static void op_post_end(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_ev_op_post_end *ev = (const void *)event;
	const struct srd_book_op *op = rules->book.op;
	uint64_t size, due;

	if (!op || op->broken || ev->result)
		return;
	size = srd_book_transfer(op);
	due = op->due;
	if (op->bytes != size && op->bytes == destination_size(op))
		FAIL(rules, CHUNK_TRANSFER,
		     "op %u is a %s between local %" PRIu64 " and remote %" PRIu64
		     " bytes and moves %" PRIu64,
		     op->number, op->begun.kind == SRD_OP_PUT ? "put" : "get", op->begun.local_size,
		     op->begun.remote_size, op->bytes);
	else if (op->bytes != size && op->num_posts)
		FAIL(rules, CHUNK_COVER,
		     "op %u of %" PRIu64 " bytes: in %" PRIu64 " request%s it covers %" PRIu64,
		     op->number, size, op->num_posts, SRD_S(op->num_posts), op->bytes);
	else if (due && op->num_posts != due)
		FAIL(rules, CHUNK_COUNT,
		     "op %u of %" PRIu64 " bytes with max_rdma_size %u: %" PRIu64
		     " request%s, due %" PRIu64,
		     op->number, size, op->qp->max_rdma_size, op->num_posts, SRD_S(op->num_posts),
		     due);
}

static void qp_open(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_ev_qp_open *ev = (const void *)event;
	const struct srd_book_qp *qp = rules->book.qp;
	uint32_t max = qp ? qp->max_rdma_size : 0;

	if (max && ev->max_msg_size != max)
		FAIL(rules, CHUNK_MAX, "max_msg_size is %" PRIu64 ", max_rdma_size %u",
		     ev->max_msg_size, max);
}

static void request(struct srd_rules *rules, const struct srd_ev_wr_post *post)
{
	const struct srd_book_qp *qp = rules->book.qp;
	bool send = post->opcode == SRD_WR_SEND || post->opcode == SRD_WR_SEND_WITH_IMM;
	const struct srd_book_context *context = qp->pd ? qp->pd->context : NULL;
	uint32_t max;

	if (!context)
		return;
	max = send ? context->max_msg_sz : context->max_rdma_size;
	if (max && post->length > max)
		FAIL(rules, CHUNK_LIMIT, "request %" PRIu64 " has %" PRIu64 " bytes; %s is %u",
		     post->wr_id, post->length, send ? "the MTU" : "max_rdma_size", max);
}

const struct srd_family srd_chunk_family = {
	.name = "chunk",
	.check =
		{
			[SRD_EV_SESSION_START] = session_start,
			[SRD_EV_WR_POST] = wr_post,
			[SRD_EV_OP_POST_END] = op_post_end,
			[SRD_EV_QP_OPEN] = qp_open,
		},
	.request = request,
};
