/* SPDX-License-Identifier: MIT */
/*
 * The posting session. libefa checks the work requests itself; what it would not survive
 * is caught here: a builder that the queue pair was not created with is a NULL pointer, a
 * setter before any builder writes through one, a second wr_start waits for ever for its
 * own lock, and ending a session that is not open releases a lock that is not held. Each
 * is latched like libefa's own errors, and wr_complete then posts nothing.
 */
#include <errno.h>

#include "efa.h"

_Static_assert(sizeof(struct srd_sge) == sizeof(struct ibv_sge) &&
		       offsetof(struct srd_sge, addr) == offsetof(struct ibv_sge, addr) &&
		       offsetof(struct srd_sge, length) == offsetof(struct ibv_sge, length) &&
		       offsetof(struct srd_sge, lkey) == offsetof(struct ibv_sge, lkey),
	       "a scatter list is handed on as it is");

static void latch(struct hw_qp *qp, int err)
{
	if (!qp->latched)
		qp->latched = err;
}

static void session_end(struct hw_qp *qp)
{
	qp->in_session = false;
	HW_OF(hw_cq, qp->srd.send_cq)->open_sessions--;
}

static void wr_start(struct srd_verbs *verbs, struct srd_qp *srd)
{
	struct hw_qp *qp = HW_OF(hw_qp, srd);

	if (qp->in_session) {
		latch(qp, EINVAL);
		return;
	}
	qp->in_session = true;
	qp->has_request = false;
	qp->sent.built = 0;
	qp->latched = qp->ex ? 0 : EOPNOTSUPP;
	HW_OF(hw_cq, srd->send_cq)->open_sessions++;
	qp->locked = qp->ex != NULL;
	if (qp->locked)
		ibv_wr_start(qp->ex);
}

/* Whether the builder may be called; it then sees the id and flags of this request. */
static bool may_build(struct hw_qp *qp, bool offered)
{
	if (!qp->in_session)
		return false;
	if (!offered)
		latch(qp, EOPNOTSUPP);
	if (qp->latched)
		return false;
	qp->has_request = true;
	qp->ex->wr_id = qp->srd.wr_id;
	qp->ex->wr_flags = qp->srd.wr_flags;
	hw_sent_built(&qp->sent, qp->srd.wr_id);
	return true;
}

static bool may_set(struct hw_qp *qp)
{
	if (qp->in_session && !qp->has_request)
		latch(qp, EINVAL);
	return qp->in_session && !qp->latched;
}

static void wr_rdma_write(struct srd_verbs *verbs, struct srd_qp *srd, uint32_t rkey,
			  uint64_t remote_addr)
{
	struct hw_qp *qp = HW_OF(hw_qp, srd);

	if (may_build(qp, qp->ex && qp->ex->wr_rdma_write))
		ibv_wr_rdma_write(qp->ex, rkey, remote_addr);
}

static void wr_rdma_write_imm(struct srd_verbs *verbs, struct srd_qp *srd, uint32_t rkey,
			      uint64_t remote_addr, uint32_t imm_data)
{
	struct hw_qp *qp = HW_OF(hw_qp, srd);

	if (may_build(qp, qp->ex && qp->ex->wr_rdma_write_imm))
		ibv_wr_rdma_write_imm(qp->ex, rkey, remote_addr, imm_data);
}

static void wr_rdma_read(struct srd_verbs *verbs, struct srd_qp *srd, uint32_t rkey,
			 uint64_t remote_addr)
{
	struct hw_qp *qp = HW_OF(hw_qp, srd);

	if (may_build(qp, qp->ex && qp->ex->wr_rdma_read))
		ibv_wr_rdma_read(qp->ex, rkey, remote_addr);
}

static void wr_send(struct srd_verbs *verbs, struct srd_qp *srd)
{
	struct hw_qp *qp = HW_OF(hw_qp, srd);

	if (may_build(qp, qp->ex && qp->ex->wr_send))
		ibv_wr_send(qp->ex);
}

static void wr_send_imm(struct srd_verbs *verbs, struct srd_qp *srd, uint32_t imm_data)
{
	struct hw_qp *qp = HW_OF(hw_qp, srd);

	if (may_build(qp, qp->ex && qp->ex->wr_send_imm))
		ibv_wr_send_imm(qp->ex, imm_data);
}

static void wr_set_sge(struct srd_verbs *verbs, struct srd_qp *srd, uint32_t lkey, uint64_t addr,
		       uint32_t length)
{
	struct hw_qp *qp = HW_OF(hw_qp, srd);

	if (may_set(qp))
		ibv_wr_set_sge(qp->ex, lkey, addr, length);
}

static void wr_set_sge_list(struct srd_verbs *verbs, struct srd_qp *srd, uint32_t num_sge,
			    const struct srd_sge *sg_list)
{
	struct hw_qp *qp = HW_OF(hw_qp, srd);

	if (may_set(qp))
		ibv_wr_set_sge_list(qp->ex, num_sge, (const struct ibv_sge *)sg_list);
}

static void wr_set_inline_data(struct srd_verbs *verbs, struct srd_qp *srd, uint64_t addr,
			       uint32_t length)
{
	struct hw_qp *qp = HW_OF(hw_qp, srd);

	if (may_set(qp))
		ibv_wr_set_inline_data(qp->ex, (void *)(uintptr_t)addr, length);
}

static void wr_set_ud_addr(struct srd_verbs *verbs, struct srd_qp *srd, struct srd_ah *ah,
			   uint32_t remote_qpn, uint32_t remote_qkey)
{
	struct hw_qp *qp = HW_OF(hw_qp, srd);

	if (qp->in_session && !ah)
		latch(qp, EINVAL);
	/* A connected queue pair has no such setter. */
	if (qp->in_session && qp->ex && !qp->ex->wr_set_ud_addr)
		latch(qp, EOPNOTSUPP);
	if (may_set(qp))
		ibv_wr_set_ud_addr(qp->ex, HW_OF(hw_ah, ah)->ibv, remote_qpn, remote_qkey);
}

static void unlock(struct hw_qp *qp)
{
	if (qp->locked)
		ibv_wr_abort(qp->ex);
	qp->locked = false;
}

void hw_session_drop(struct hw_qp *qp)
{
	if (!qp->in_session)
		return;
	session_end(qp);
	unlock(qp);
}

void hw_session_break(struct hw_qp *qp)
{
	if (!qp->in_session)
		return;
	latch(qp, EINVAL);
	unlock(qp);
}

/* An error that libefa latched before ours is not to be had from it; ours is reported. */
static int wr_complete(struct srd_verbs *verbs, struct srd_qp *srd)
{
	struct hw_qp *qp = HW_OF(hw_qp, srd);
	int result;

	if (!qp->in_session)
		return EINVAL;
	if (qp->latched) {
		hw_session_drop(qp);
		return qp->latched;
	}
	session_end(qp);
	qp->locked = false;
	hw_clock_busy(to_hw(verbs));
	result = ibv_wr_complete(qp->ex);
	hw_sent_done(&qp->sent, result);
	return result;
}

static void wr_abort(struct srd_verbs *verbs, struct srd_qp *srd)
{
	hw_session_drop(HW_OF(hw_qp, srd));
}

void hw_session_fill(struct srd_verbs *verbs)
{
	verbs->wr_start = wr_start;
	verbs->wr_rdma_write = wr_rdma_write;
	verbs->wr_rdma_write_imm = wr_rdma_write_imm;
	verbs->wr_rdma_read = wr_rdma_read;
	verbs->wr_send = wr_send;
	verbs->wr_send_imm = wr_send_imm;
	verbs->wr_set_sge = wr_set_sge;
	verbs->wr_set_sge_list = wr_set_sge_list;
	verbs->wr_set_inline_data = wr_set_inline_data;
	verbs->wr_set_ud_addr = wr_set_ud_addr;
	verbs->wr_complete = wr_complete;
	verbs->wr_abort = wr_abort;
}
