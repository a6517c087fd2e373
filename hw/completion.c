/* SPDX-License-Identifier: MIT */
/* Receives and completions. */
#include <errno.h>

#include "efa.h"

enum {
	RECV_BATCH = 32, /* work requests that are handed to rdma-core at once */
	POLL_BATCH = 16, /* completions that are asked of rdma-core at once */
};

/* Copy up to RECV_BATCH requests of a chain; returns how many. */
static int to_ibv_chain(const struct srd_recv_wr *wr, struct ibv_recv_wr *chain)
{
	int n = 0;

	for (; wr && n < RECV_BATCH; wr = wr->next, n++) {
		chain[n] = (struct ibv_recv_wr){
			.wr_id = wr->wr_id,
			.sg_list = (struct ibv_sge *)(uintptr_t)wr->sg_list,
			.num_sge = wr->num_sge,
		};
		if (n)
			chain[n - 1].next = &chain[n];
	}
	return n;
}

/* As ibv_post_recv: what stands before the request that fails stays posted. */
static int post_recv(struct srd_verbs *verbs, struct srd_qp *srd, struct srd_recv_wr *wr,
		     struct srd_recv_wr **bad_wr)
{
	struct ibv_qp *qp = HW_OF(hw_qp, srd)->ibv;
	struct ibv_recv_wr chain[RECV_BATCH], *bad = NULL;
	int n, err;

	do {
		n = to_ibv_chain(wr, chain);
		err = ibv_post_recv(qp, n ? chain : NULL, &bad);
		for (int i = 0; i < n && !(err && bad == &chain[i]); i++)
			wr = wr->next;
	} while (!err && wr);
	if (err)
		*bad_wr = wr;
	return err;
}

/* The fields that libefa sets for this kind of completion; the others stay the caller's. */
static void from_ibv_wc(const struct ibv_wc *ibv, struct srd_wc *wc)
{
	wc->wr_id = ibv->wr_id;
	wc->status = (enum srd_wc_status)ibv->status;
	wc->vendor_err = ibv->vendor_err;
	wc->opcode = (enum srd_wc_opcode)ibv->opcode;
	wc->qp_num = ibv->qp_num;
	wc->wc_flags = ibv->wc_flags;
	if (!(ibv->opcode & IBV_WC_RECV))
		return;
	wc->byte_len = ibv->byte_len;
	wc->src_qp = ibv->src_qp;
	wc->sl = ibv->sl;
	wc->slid = ibv->slid;
	if (ibv->wc_flags & IBV_WC_WITH_IMM)
		wc->imm_data = ibv->imm_data;
}

/* The error of a bad entry is reported only where it is the first, as libefa does. */
static int poll_cq(struct srd_verbs *verbs, struct srd_cq *srd, int num_entries, struct srd_wc *wc)
{
	struct hw_cq *cq = HW_OF(hw_cq, srd);
	struct ibv_wc batch[POLL_BATCH];
	int total = 0, want, n;

	/* Crediting an entry takes the lock of the send queue, which a session holds; a poll that
	 * is open holds that of the completion queue. */
	if (cq->open_sessions || cq->polling)
		return -EDEADLK;
	do {
		want = num_entries - total < POLL_BATCH ? num_entries - total : POLL_BATCH;
		n = ibv_poll_cq(cq->ibv, want, batch);
		for (int i = 0; i < n; i++)
			from_ibv_wc(&batch[i], &wc[total + i]);
		if (n > 0)
			total += n;
	} while (n == want && total < num_entries);
	if (total)
		hw_clock_busy(to_hw(verbs));
	return total ? total : n;
}

void hw_completion_fill(struct srd_verbs *verbs)
{
	verbs->post_recv = post_recv;
	verbs->poll_cq = poll_cq;
}
