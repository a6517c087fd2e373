/* SPDX-License-Identifier: MIT */
#include "blind.h"
#include "engine.h"

#define SGE_THEN_UD_ADDR 0x31 /* of srd_ev_wr_post.setters */
#define SGE_ALONE        0x1

#define EVENT(kind, object_)                                                 \
	{                                                                    \
		.type = SRD_EV_##kind, .source = SRD_SOURCE_SEAM,            \
		.host = soft_object_host(object_), .object = (object_)->name \
	}

/* The address handle with the device's NUMBER in the file of QP: any of those that share it. */
static uint32_t ah_name(const struct soft_object *qp, uint16_t number)
{
	for (uint32_t i = 1; number && i <= soft.group->objects_high; i++) {
		const struct soft_object *object = soft_object(i);

		if (object->kind == SOFT_AH && object->file == qp->file && object->number == number)
			return object->name;
	}
	return 0;
}

static bool is_rdma(uint8_t opcode)
{
	return opcode != SRD_WR_SEND && opcode != SRD_WR_SEND_WITH_IMM;
}

void soft_blind_send(const struct soft_object *qp, const struct srd_request *r)
{
	struct srd_ev_session_complete end = {.ev = EVENT(SESSION_COMPLETE, qp), .num_wr = 1};
	struct srd_ev_wr_post post = {
		.ev = EVENT(WR_POST, qp),
		.wr_id = r->id,
		.length = r->is_inline ? r->inline_length : 0,
		.ah = ah_name(qp, r->ah),
		.remote_qpn = r->dest_qpn,
		.remote_qkey = r->qkey,
		.imm_data = r->imm_data,
		.opcode = r->opcode,
		.num_sge = r->num_sge,
		.wr_flags = SRD_SEND_SIGNALED,
		.inline_data = r->is_inline,
		/* Without a destination all of it is 0. */
		.setters = r->ah || r->dest_qpn || r->qkey ? SGE_THEN_UD_ADDR : SGE_ALONE,
	};

	/* Its id may be that of one whose completion was read just now. */
	if (soft_object(qp->qp.send_cq)->cq.num_rings == 1)
		soft_cq_look(soft_object(qp->qp.send_cq));
	if (is_rdma(r->opcode)) {
		post.remote_addr = r->remote_addr;
		post.rkey = r->rkey;
	}
	for (int i = 0; i < r->num_sge; i++)
		post.length += r->sge[i].length;
	if (r->num_sge) {
		post.addr = r->sge[0].addr;
		post.lkey = r->sge[0].lkey;
	}
	if (r->num_sge > 1) {
		post.addr2 = r->sge[1].addr;
		post.length2 = r->sge[1].length;
		post.lkey2 = r->sge[1].lkey;
	}
	soft_event(&post.ev);
	soft_event(&end.ev);
}

void soft_blind_receive(const struct soft_object *qp, const struct srd_receive *receive)
{
	struct srd_ev_recv_post e = {
		.ev = EVENT(RECV_POST, qp),
		.wr_id = receive->id,
		.addr = receive->sge[0].addr,
		.length = receive->sge[0].length,
		.lkey = receive->sge[0].lkey,
		.num_sge = receive->num_sge,
	};

	soft_event(&e.ev);
}

/* As libefa reads an entry, which calls a read SEND. */
static void tell_entry(const struct soft_object *cq, const struct srd_cqe *entry)
{
	bool receive = entry->flags & SRD_CQE_RECEIVE, write = entry->op == SRD_OP_TYPE_RDMA_WRITE;
	struct srd_ev_wc e = {
		.ev = EVENT(WC, cq),
		.wr_id = entry->id,
		.qp_num = entry->qpn,
		.status = (uint32_t)srd_efa_status_to_wc(entry->status),
		.vendor_err = entry->status,
		.opcode = write ? SRD_WC_RDMA_WRITE : SRD_WC_SEND,
	};

	if (receive) {
		e.opcode = write ? SRD_WC_RECV_RDMA_WITH_IMM : SRD_WC_RECV;
		e.byte_len = entry->length;
		e.src_qp = entry->src_qpn;
		e.wc_flags = entry->flags & SRD_CQE_HAS_IMM ? SRD_WC_WITH_IMM : 0;
		e.imm_data = entry->flags & SRD_CQE_HAS_IMM ? entry->imm_data : 0;
	}
	soft_event(&e.ev);
}

/* The live queue pair that ENTRY of CQ is of; NULL. */
static struct soft_object *owner_of(const struct soft_object *cq, const struct srd_cqe *entry)
{
	for (uint32_t i = 1; i <= soft.group->objects_high; i++) {
		struct soft_object *object = soft_object(i);

		if (object->kind == SOFT_QP && object->file == cq->file &&
		    object->qp.qpn == entry->qpn)
			return object;
	}
	return NULL;
}

/* Whether ENTRY is of a request that was told of by another id. */
static bool is_carried(const struct soft_object *cq, const struct srd_cqe *entry)
{
	struct soft_object *qp;

	if (cq->teller != SOFT_DEVICE || entry->flags & SRD_CQE_RECEIVE)
		return false;
	qp = owner_of(cq, entry);
	if (!qp || !qp->qp.carried || (int32_t)(entry->ordinal - qp->qp.carried_to) >= 0)
		return false;
	qp->qp.carried--;
	return true;
}

void soft_blind_written(struct soft_object *cq, const struct srd_cqe *entry)
{
	if (!is_carried(cq, entry))
		tell_entry(cq, entry);
	cq->cq.told++;
}

static void tell_up_to(struct soft_object *object, uint32_t end)
{
	struct soft_cq *cq = &object->cq;

	for (; (int32_t)(end - cq->told) > 0; cq->told++)
		tell_entry(object, srd_model_cq_entry(&soft.model, object->model, 0, cq->told));
}

void soft_blind_read(struct soft_object *object)
{
	tell_up_to(object, object->cq.ring.done);
}

/* Until now an observer told of QP: what it has told of, it does not end. */
static void hand_over(struct soft_object *qp)
{
	struct srd_ev_qp_exposed e = {.ev = EVENT(QP_EXPOSED, qp)};
	const struct srd_request *request = NULL;

	while ((request = srd_model_request_next(&soft.model, qp->model, request)))
		qp->qp.carried++;
	e.num_posted = srd_model_qp_posted(&soft.model, qp->model);
	e.receives = srd_model_qp_receives(&soft.model, qp->model);
	qp->qp.carried_to = (uint32_t)e.num_posted;
	soft_event(&e.ev);
}

static void take_over(struct soft_object *object, enum soft_teller teller)
{
	bool told = soft_blind(object);

	/* What the program has posted so far is told of as before, or was. */
	if (object->kind == SOFT_QP)
		soft_doorbell(object);
	object->teller = (uint8_t)teller;
	soft.group->taken_over++;
	if (!soft_events_wanted())
		return;
	if (object->kind == SOFT_QP && !(told && teller == SOFT_DEVICE))
		hand_over(object);
	if (object->kind != SOFT_CQ || object->cq.num_rings > 1 || teller != SOFT_DEVICE)
		return;
	/* Entries count as read from now on; of those that are there an observer would tell. */
	if (!told)
		object->cq.told = object->cq.written[0];
	tell_up_to(object, object->cq.written[0]);
}

/* False: nothing was left to do. */
static bool spread(struct soft_object *qp)
{
	struct soft_object *all[] = {qp, soft_object(qp->qp.send_cq), soft_object(qp->qp.recv_cq)};
	uint8_t last = SOFT_OBSERVER;
	bool any = false;

	for (int i = 0; i < 3; i++)
		last = all[i]->teller > last ? all[i]->teller : last;
	for (int i = 0; i < 3; i++) {
		if (all[i]->teller == last)
			continue;
		take_over(all[i], (enum soft_teller)last);
		any = true;
	}
	return any;
}

void soft_blind_take_over(struct soft_object *object, enum soft_teller teller)
{
	bool more = true;

	if (object && object->teller < teller)
		take_over(object, teller);
	while (more) {
		more = false;
		for (uint32_t i = 1; i <= soft.group->objects_high; i++)
			if (soft_object(i)->kind == SOFT_QP)
				more |= spread(soft_object(i));
	}
}
