/* SPDX-License-Identifier: MIT */
/* Between the parts of the book: objects, the data path, ops, and who takes which event in. */
#ifndef SRD_BOOK_INTERNAL_H
#define SRD_BOOK_INTERNAL_H

#include "book.h"

static inline uint64_t srd_book_key(uint32_t high, uint32_t low)
{
	return ((uint64_t)high << 32) | low;
}

static inline void srd_book_set(struct srd_book *book, struct srd_map *map, uint64_t key,
				void *value)
{
	if (srd_map_set(map, key, value))
		book->nomem = true;
}

/* The session of QP is over, or a new one begins. */
static inline void srd_book_unstage(struct srd_book_qp *qp)
{
	qp->num_staged = 0;
	qp->num_steady = 0;
}

/* Objects. */
srd_apply_fn srd_book_device_open, srd_book_pd_alloc, srd_book_mr_reg, srd_book_mr_dereg,
	srd_book_cq_create, srd_book_ah_create, srd_book_ah_destroy, srd_book_buffer_alloc,
	srd_book_qp_create, srd_book_qp_destroy, srd_book_qp_modify, srd_book_qp_query,
	srd_book_thing_end, srd_book_context_lost, srd_book_qp_open, srd_book_qp_close,
	srd_book_connect, srd_book_peer_add, srd_book_scheduler_open, srd_book_scheduler_close,
	srd_book_dev_qp_state, srd_book_dev_doorbell;

/* The data path. */
srd_apply_fn srd_book_session_start, srd_book_wr_post, srd_book_session_complete,
	srd_book_session_abort, srd_book_recv_post, srd_book_wc, srd_book_cq_poll,
	srd_book_dev_request, srd_book_qp_exposed;
/* A reset or a destroy: the device drops what QP has outstanding. */
void srd_book_drop_requests(struct srd_book_qp *qp);

/* Ops. */
srd_apply_fn srd_book_op_begin, srd_book_op_post_begin, srd_book_op_post_end, srd_book_op_end;
/* Rails. */
srd_apply_fn srd_book_rails_open, srd_book_rails_join, srd_book_rails_close,
	srd_book_transfer_begin, srd_book_transfer_end;
/* OP, which carries a stripe, begins; it is answered. */
void srd_book_stripe_begin(struct srd_book *book, struct srd_book_op *op) SRD_RARE;
void srd_book_stripe_end(struct srd_book *book, struct srd_book_op *op, bool failed) SRD_RARE;
void srd_book_rails_release(struct srd_book *book);

/* One of OP's requests is reaped; OP may be gone after that. */
void srd_book_op_reap(struct srd_book *book, struct srd_book_op *op, const struct srd_ev_wc *wc);

#endif
