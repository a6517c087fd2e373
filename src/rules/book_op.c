/* SPDX-License-Identifier: MIT */
/* The book's ops: puts and gets from their submission to their answer. */
#include <errno.h>
#include <string.h>

#include "verbs/alloc.h"

#include "book_internal.h"

#define OPS_A_BLOCK 64

/* More free ops; false: no memory. */
SRD_RARE static bool add_ops(struct srd_book *book)
{
	struct srd_book_op **blocks =
		srd_reallocarray(book->op_blocks, book->num_op_blocks + 1, sizeof(*blocks));
	struct srd_book_op *op;

	if (!blocks)
		return false;
	book->op_blocks = blocks;
	op = srd_calloc(OPS_A_BLOCK, sizeof(*op));
	if (!op)
		return false;
	blocks[book->num_op_blocks++] = op;
	for (int i = 0; i < OPS_A_BLOCK; i++) {
		op[i].next = book->free_ops;
		book->free_ops = &op[i];
	}
	return true;
}

static struct srd_book_op *op_new(struct srd_book *book)
{
	static const struct srd_book_op blank; /* to copy: quicker than to clear */
	struct srd_book_op *op;

	if (!book->free_ops && !add_ops(book))
		return NULL;
	op = book->free_ops;
	book->free_ops = op->next;
	memcpy(&op->asked, &blank.asked,
	       offsetof(struct srd_book_op, own) - offsetof(struct srd_book_op, asked));
	return op;
}

struct srd_book_op *srd_book_old_op(const struct srd_book *book, uint32_t number)
{
	return srd_map_get(&book->ops, number);
}

static void unlink_waiting(struct srd_book_op *op)
{
	if (op->prev)
		op->prev->next = op->next;
	else
		op->qp->waiting = op->next;
	if (op->next)
		op->next->prev = op->prev;
	else
		op->qp->waiting_tail = op->prev;
	op->prev = op->next = NULL;
	op->waits = false;
}

/* A refused post: OP is at the head of its line again. */
SRD_RARE static void wait_first(struct srd_book_op *op)
{
	struct srd_book_qp *qp = op->qp;

	op->waits = true;
	op->next = qp->waiting;
	if (qp->waiting)
		qp->waiting->prev = op;
	else
		qp->waiting_tail = op;
	qp->waiting = op;
}

static void op_forget(struct srd_book *book, struct srd_book_op *op)
{
	struct srd_book_op **place = &book->recent[op->number % SRD_NUM_RECENT];

	if (op->waits)
		unlink_waiting(op);
	if (*place == op)
		*place = NULL;
	else
		srd_map_remove(&book->ops, op->number);
	op->next = book->free_ops;
	book->free_ops = op;
}

/* An op is kept until it is answered and none of its requests is in flight. */
static void op_settle(struct srd_book *book, struct srd_book_op *op)
{
	if (op->ended && !op->in_flight && !op->posting)
		op_forget(book, op);
}

static uint64_t requests_due(const struct srd_book_op *op)
{
	uint64_t size = srd_book_transfer(op);
	uint32_t max = op->qp->max_rdma_size;

	if (!max)
		return 0;
	return size <= max ? 1 : (size - 1) / max + 1;
}

/* One that never fits is answered at once and does not wait. */
static void wait_last(struct srd_book_op *op)
{
	struct srd_book_qp *qp = op->qp;

	if (!op->begun.path)
		return;
	op->too_large = op->due > qp->max_send_wr;
	qp->too_large += op->too_large;
	if (op->too_large)
		return;
	op->waits = true;
	op->prev = qp->waiting_tail;
	if (qp->waiting_tail)
		qp->waiting_tail->next = op;
	else
		qp->waiting = op;
	qp->waiting_tail = op;
}

void srd_book_op_begin(struct srd_book *book, const struct srd_event *event)
{
	struct srd_book_op *op;

	if (book->op || !event->op)
		return;
	op = op_new(book);
	if (!op) {
		book->nomem = true;
		return;
	}
	op->number = event->op;
	op->line = event->line;
	op->qp = book->qp;
	op->begun = *(const struct srd_ev_op_begin *)event;
	op->due = requests_due(op);
	if (!book->recent[op->number % SRD_NUM_RECENT])
		book->recent[op->number % SRD_NUM_RECENT] = op;
	else
		srd_book_set(book, &book->ops, op->number, op);
	wait_last(op);
	if (op->begun.transfer)
		srd_book_stripe_begin(book, op);
}

void srd_book_op_post_begin(struct srd_book *book, const struct srd_event *event)
{
	const struct srd_ev_op_post_begin *ev = (const void *)event;
	struct srd_book_op *op = book->op;

	if (!op)
		return;
	op->asked = ev->num_wr_asked;
	op->posting = true;
	if (op->waits)
		unlink_waiting(op);
}

void srd_book_op_post_end(struct srd_book *book, const struct srd_event *event)
{
	const struct srd_ev_op_post_end *ev = (const void *)event;
	struct srd_book_op *op = book->op;

	if (!op)
		return;
	op->posting = false;
	/* The next post of a refused op starts anew. */
	if (ev->result) {
		op->sessions = 0;
		op->num_posts = 0;
		op->bytes = 0;
		op->broken = false;
	}
	/* No room, and requests in flight that will make some: the scheduler tries again. */
	if (ev->result == (uint32_t)-ENOMEM && op->begun.path && op->qp->in_flight && !op->ended) {
		op->qp->full = true;
		wait_first(op);
	}
	op_settle(book, op);
}

bool srd_book_op_ended(const struct srd_book *book, uint32_t number)
{
	return number && book->ended[number % SRD_NUM_ENDED] == number;
}

void srd_book_op_end(struct srd_book *book, const struct srd_event *event)
{
	struct srd_book_op *op = book->op;

	book->ended[event->op % SRD_NUM_ENDED] = event->op;
	if (!op)
		return;
	if (op->reaped && !op->ended)
		op->qp->unanswered--;
	if (op->too_large && !op->ended)
		op->qp->too_large--;
	if (op->transfer)
		srd_book_stripe_end(book, op, ((const struct srd_ev_op_end *)event)->result);
	op->ended = true;
	if (op->waits)
		unlink_waiting(op);
	op_settle(book, op);
}

static void op_reaped(struct srd_book_op *op)
{
	if (op->ended || !op->begun.path)
		return;
	op->reaped = true;
	op->qp->unanswered++;
	op->qp->unanswered_op = op->number;
}

SRD_RARE static void op_fail(struct srd_book_op *op, const struct srd_ev_wc *wc)
{
	bool flush = wc->status == SRD_WC_WR_FLUSH_ERR;
	bool *has = flush ? &op->has_flush : &op->has_own;

	op->num_failed++;
	if (!*has)
		*(flush ? &op->flush : &op->own) =
			(struct srd_cause){wc->wr_id, wc->status, wc->vendor_err};
	*has = true;
}

void srd_book_op_reap(struct srd_book *book, struct srd_book_op *op, const struct srd_ev_wc *wc)
{
	op->in_flight--;
	if (wc->status)
		op_fail(op, wc);
	if (!op->in_flight)
		op_reaped(op);
	op_settle(book, op);
}
