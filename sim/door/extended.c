/* SPDX-License-Identifier: MIT */
/*
 * The extended poll: one entry is current from start_poll or next_poll until the next of
 * them, or end_poll, gives its slot and credit back.
 */
#include <errno.h>

#include "door.h"

static void finish_current(struct door_cq *cq)
{
	if (cq->current_wq)
		door_wq_give(cq->current_wq, cq->current.id);
	cq->current_qp = NULL;
	cq->current_wq = NULL;
}

static int take(struct srd_door *door, struct door_cq *cq)
{
	const struct srd_cqe *cqe = srd_model_cq_take(&door->model, cq->model);

	if (!cqe)
		return ENOENT;
	cq->current = *cqe;
	cq->current_qp = door_cqe_owner(door_context(cq->cq.context), cqe);
	if (!cq->current_qp)
		return EINVAL;
	if (!(cqe->flags & SRD_CQE_RECEIVE))
		cq->current_wq = &cq->current_qp->sq;
	else if (!(cqe->flags & SRD_CQE_UNSOLICITED))
		cq->current_wq = &cq->current_qp->rq;
	return 0;
}

static int start_poll(struct srd_verbs *verbs, struct srd_cq *public)
{
	struct door_cq *cq = door_cq(public);
	int err;

	if (!cq->extended)
		return EOPNOTSUPP;
	if (cq->polling || cq->open_sessions)
		return EDEADLK;
	err = take(door_of(verbs), cq);
	cq->polling = !err;
	cq->at_end = false;
	return err;
}

static int next_poll(struct srd_verbs *verbs, struct srd_cq *public)
{
	struct door_cq *cq = door_cq(public);
	int err;

	if (!cq->polling || cq->at_end)
		return EINVAL;
	if (cq->open_sessions)
		return EDEADLK;
	finish_current(cq);
	err = take(door_of(verbs), cq);
	cq->at_end = err == ENOENT;
	return err;
}

void door_poll_end(struct door_cq *cq)
{
	finish_current(cq);
	cq->polling = false;
}

static void forget(struct door_cq *cq, const struct door_qp *qp)
{
	if (cq->current_qp == qp)
		finish_current(cq);
}

void door_poll_forget(const struct door_qp *qp)
{
	forget(door_cq(qp->qp.send_cq), qp);
	forget(door_cq(qp->qp.recv_cq), qp);
}

static void end_poll(struct srd_verbs *verbs, struct srd_cq *public)
{
	door_poll_end(door_cq(public));
}

static void read_send(const struct srd_door *door, const struct door_cq *cq, struct srd_wc *wc)
{
	wc->opcode = door->send_opcode[cq->current.op];
	wc->wr_id = door_wq_wr_id(&cq->current_qp->sq, cq->current.id);
}

static void read_wc(struct srd_verbs *verbs, struct srd_cq *public, struct srd_wc_ex *wc)
{
	const struct door_cq *cq = door_cq(public);
	const struct srd_cqe *cqe = &cq->current;

	*wc = (struct srd_wc_ex){.asked = cq->wc_flags};
	if (!cq->current_qp)
		return;
	wc->wc.status = srd_efa_status_to_wc(cqe->status);
	wc->wc.vendor_err = cqe->status;
	wc->wc.qp_num = cqe->qpn;
	if (!(cqe->flags & SRD_CQE_RECEIVE)) {
		read_send(door_of(verbs), cq, &wc->wc);
		return;
	}
	door_cqe_receive(cq->current_qp, cqe, &wc->wc);
	wc->unsolicited = cq->efa_wc_flags & SRD_EFADV_WC_EX_WITH_IS_UNSOLICITED &&
			  cqe->flags & SRD_CQE_UNSOLICITED;
	if (cq->efa_wc_flags & SRD_EFADV_WC_EX_WITH_SGID && cqe->ah == 0xffff) {
		wc->has_sgid = true;
		srd_model_gid(cqe->src_host, &wc->sgid);
	}
}

void door_extended_ops(struct srd_verbs *verbs)
{
	verbs->start_poll = start_poll;
	verbs->next_poll = next_poll;
	verbs->end_poll = end_poll;
	verbs->read_wc = read_wc;
}
