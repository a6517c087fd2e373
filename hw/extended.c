/* SPDX-License-Identifier: MIT */
/*
 * Completion queues of efadv_create_cq and their extended poll. libefa holds the queue's lock
 * from start_poll to end_poll, and takes that of a send queue when an entry is done with:
 * what would wait for itself, or would write through no entry, is refused here.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "hw_config.h"
#include "efa.h"

static struct ibv_cq_ex *create_ibv_cq(struct srd_context *context,
				       const struct srd_cq_init_attr_ex *attr, struct hw_cq *cq)
{
	struct ibv_cq_init_attr_ex ibv = {
		.cqe = attr->cqe,
		.cq_context = cq,
		.channel = attr->channel ? HW_OF(hw_channel, attr->channel)->ibv : NULL,
		/* Every field is read for the stream, whatever the program asked for. */
		.wc_flags = attr->wc_flags | IBV_WC_STANDARD_FLAGS,
		.comp_mask = attr->comp_mask,
		.flags = attr->flags,
	};
	struct efadv_cq_init_attr efadv = {.wc_flags = attr->efa_wc_flags};

	/* libefa rounds 0 entries up by a shift of 64 bits, which C leaves undefined. */
	if (!attr->cqe || attr->cqe > INT_MAX) {
		errno = EINVAL;
		return NULL;
	}
	_Static_assert((int)SRD_CQ_INIT_ATTR_MASK_FLAGS == (int)IBV_CQ_INIT_ATTR_MASK_FLAGS,
		       "as in rdma-core");
	/* A parent domain is asked for in the same mask; there is none here, and libefa follows it. */
	if (attr->comp_mask & ~(uint32_t)SRD_CQ_INIT_ATTR_MASK_FLAGS) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	return efadv_create_cq(hw_ibv(context), &ibv, &efadv, sizeof(efadv));
}

static struct srd_cq *create_cq_ex(struct srd_verbs *verbs, struct srd_context *context,
				   const struct srd_cq_init_attr_ex *attr)
{
	struct hw *hw = to_hw(verbs);
	struct hw_cq *cq = hw_object_new(sizeof(*cq));

	if (!cq)
		return NULL;
	cq->ex = create_ibv_cq(context, attr, cq);
	if (!cq->ex)
		return hw_object_discard(cq);
	cq->ibv = ibv_cq_ex_to_cq(cq->ex);
	cq->wc_flags = attr->wc_flags;
	cq->efa_wc_flags = attr->efa_wc_flags;
	/* libefa leaves out what ibv_create_cq does after the driver's call: seen up to 65.0. */
	cq->ibv->cq_context = cq;
	cq->channel = attr->channel ? HW_OF(hw_channel, attr->channel) : NULL;
	if (cq->channel)
		cq->channel->queues++;
	cq->srd.handle = hw_object_add(hw, HW_CQ, &cq->object);
	cq->srd.context = context;
	cq->srd.cqe = cq->ibv->cqe;
	HW_OF(hw_context, context)->children++;
	return &cq->srd;
}

static int start_poll(struct srd_verbs *verbs, struct srd_cq *srd)
{
	struct hw_cq *cq = HW_OF(hw_cq, srd);
	struct ibv_poll_cq_attr attr = {0};
	int err;

	if (!cq->ex)
		return EOPNOTSUPP;
	if (cq->polling || cq->open_sessions)
		return EDEADLK;
	err = ibv_start_poll(cq->ex, &attr);
	cq->polling = !err;
	cq->current = !err;
	cq->at_end = false;
	if (!err)
		hw_clock_busy(to_hw(verbs));
	return err;
}

static int next_poll(struct srd_verbs *verbs, struct srd_cq *srd)
{
	struct hw_cq *cq = HW_OF(hw_cq, srd);
	int err;

	if (!cq->polling || cq->at_end)
		return EINVAL;
	if (cq->open_sessions)
		return EDEADLK;
	err = ibv_next_poll(cq->ex);
	cq->current = !err;
	cq->at_end = err == ENOENT;
	return err;
}

void hw_poll_drop(struct hw *hw, struct hw_cq *cq)
{
	struct hw_object *object;

	if (!cq->polling)
		return;
	TAILQ_FOREACH(object, &hw->objects[HW_QP], entry)
	{
		struct hw_qp *qp = (struct hw_qp *)object;

		if (qp->srd.send_cq == &cq->srd)
			hw_session_break(qp);
	}
	cq->polling = false;
	cq->current = false;
	ibv_end_poll(cq->ex);
}

void hw_polls_drop(struct hw *hw, const struct hw_qp *qp)
{
	struct hw_object *object;

	TAILQ_FOREACH(object, &hw->objects[HW_CQ], entry)
	{
		struct hw_cq *cq = (struct hw_cq *)object;

		if (&cq->srd == qp->srd.send_cq || &cq->srd == qp->srd.recv_cq)
			hw_poll_drop(hw, cq);
	}
}

static void end_poll(struct srd_verbs *verbs, struct srd_cq *srd)
{
	hw_poll_drop(to_hw(verbs), HW_OF(hw_cq, srd));
}

static void read_receive(struct ibv_cq_ex *ex, struct srd_wc *wc)
{
	wc->byte_len = ibv_wc_read_byte_len(ex);
	wc->src_qp = ibv_wc_read_src_qp(ex);
	wc->slid = (uint16_t)ibv_wc_read_slid(ex);
	wc->sl = ibv_wc_read_sl(ex);
	wc->dlid_path_bits = ibv_wc_read_dlid_path_bits(ex);
	if (wc->wc_flags & SRD_WC_WITH_IMM)
		wc->imm_data = ibv_wc_read_imm_data(ex);
}

static void read_efa(const struct hw_cq *cq, struct srd_wc_ex *wc)
{
	struct efadv_cq *efadv = efadv_cq_from_ibv_cq_ex(cq->ex);
	union ibv_gid gid;

	if (cq->efa_wc_flags & SRD_EFADV_WC_EX_WITH_SGID && !efadv_wc_read_sgid(efadv, &gid)) {
		wc->has_sgid = true;
		memcpy(wc->sgid.raw, gid.raw, sizeof(gid.raw));
	}
#if HAVE_EFADV_WC_EX_WITH_IS_UNSOLICITED
	wc->unsolicited = cq->efa_wc_flags & SRD_EFADV_WC_EX_WITH_IS_UNSOLICITED &&
			  efadv_wc_is_unsolicited(efadv);
#endif
}

static void read_wc(struct srd_verbs *verbs, struct srd_cq *srd, struct srd_wc_ex *wc)
{
	struct hw_cq *cq = HW_OF(hw_cq, srd);
	struct ibv_cq_ex *ex = cq->ex;

	*wc = (struct srd_wc_ex){.asked = cq->wc_flags};
	if (!cq->current)
		return;
	wc->wc.wr_id = ex->wr_id;
	wc->wc.status = (enum srd_wc_status)ex->status;
	wc->wc.opcode = (enum srd_wc_opcode)ibv_wc_read_opcode(ex);
	wc->wc.vendor_err = ibv_wc_read_vendor_err(ex);
	wc->wc.wc_flags = ibv_wc_read_wc_flags(ex);
	wc->wc.qp_num = ibv_wc_read_qp_num(ex);
	/* Of a send the rest is not there: libefa would read beyond its entry. */
	if (!(wc->wc.opcode & IBV_WC_RECV))
		return;
	read_receive(ex, &wc->wc);
	read_efa(cq, wc);
}

void hw_extended_fill(struct srd_verbs *verbs)
{
	verbs->create_cq_ex = create_cq_ex;
	verbs->start_poll = start_poll;
	verbs->next_poll = next_poll;
	verbs->end_poll = end_poll;
	verbs->read_wc = read_wc;
}
