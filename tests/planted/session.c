/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "planted.h"
#include "qp/efa_srd.h"

/* Each request but the last is posted by a session of its own. */
static void session_each(struct stage *s, struct srd_qp *qp, const struct srd_op *op,
			 const struct piece *piece, uint32_t number)
{
	struct srd_verbs *v = &s->above.verbs;

	if (number) {
		v->wr_complete(v, qp);
		v->wr_start(v, qp);
	}
	good_build(s, qp, op, piece, number);
}

/* A put that is refused for its size forgets the session that it opened. */
static int forgets_session(struct srd_queue_pair *qp, const struct srd_remote_view *to,
			   const struct srd_local_view *from, struct srd_wr_ids *ids,
			   struct srd_error *error)
{
	struct srd_verbs *v = &stage->above.verbs;

	v->wr_start(v, srd_efa_srd_ops.verbs_qp(qp));
	return srd_error_set(error, -EIO, "not posted");
}

static void plant_forgets_session(struct srd_queue_pair_ops *ops)
{
	ops->put = forgets_session;
}

static void one_put(struct stage *s)
{
	submit(op_of(SRD_OP_PUT, 0, 100));
	settle();
}

static void aborts_after_complete(struct stage *s)
{
	struct srd_verbs *v = &s->above.verbs;
	struct srd_wc wc;

	raw_write(0, 100);
	v->wr_abort(v, raw_qp());
	raw_wait(&wc);
}

static void starts_twice(struct stage *s)
{
	struct srd_verbs *v = &s->above.verbs;

	v->wr_start(v, raw_qp());
	v->wr_start(v, raw_qp());
	v->wr_abort(v, raw_qp());
}

static void sets_first(struct stage *s)
{
	struct srd_verbs *v = &s->above.verbs;

	v->wr_start(v, raw_qp());
	v->wr_set_sge(v, raw_qp(), s->a.mr->lkey, s->a.buffer->addr, 100);
	v->wr_abort(v, raw_qp());
}

static void builds_outside(struct stage *s)
{
	struct srd_verbs *v = &s->above.verbs;
	struct srd_wc wc;

	raw_write(0, 100);
	raw_wait(&wc);
	v->wr_rdma_write(v, raw_qp(), s->b.mr->rkey, s->b.buffer->addr);
}

static void destroys_inside(struct stage *s)
{
	struct srd_verbs *v = &s->above.verbs;

	v->wr_start(v, raw_qp());
	/* The end of the stage destroys it. */
}

static void polls_inside(struct stage *s)
{
	struct srd_verbs *v = &s->above.verbs;
	struct srd_wc wc;

	v->wr_start(v, raw_qp());
	v->poll_cq(v, s->a.cq, 1, &wc);
	v->wr_abort(v, raw_qp());
}

static void no_address(struct srd_verbs *verbs, struct srd_qp *qp, struct srd_ah *ah,
		       uint32_t remote_qpn, uint32_t remote_qkey)
{
}

static void plant_no_address(struct srd_verbs *verbs)
{
	verbs->wr_set_ud_addr = no_address;
}

static void address_first(struct stage *s, struct srd_qp *qp, const struct srd_op *op,
			  const struct piece *piece, uint32_t number)
{
	struct srd_verbs *v = &s->above.verbs;

	v->wr_rdma_write(v, qp, op->remote.rkey, op->remote.addr + piece->remote);
	v->wr_set_ud_addr(v, qp, s->above.ah, s->b.endpoint.qp_num, SRD_DEFAULT_QKEY);
	v->wr_set_sge(v, qp, op->local.lkey, op->local.addr + piece->local,
		      (uint32_t)piece->length);
}

/* Only the last request of a session is signaled, as one does on other devices. */
static void signals_the_last(struct stage *s, struct srd_qp *qp, const struct srd_op *op,
			     const struct piece *piece, uint32_t number)
{
	if (piece->length == MAX_RDMA)
		qp->wr_flags = 0;
	good_build(s, qp, op, piece, number);
}

static void sends(struct stage *s)
{
	struct srd_verbs *v = &s->above.verbs;
	struct srd_qp *qp = raw_qp();

	v->wr_start(v, qp);
	qp->wr_flags = SRD_SEND_SIGNALED;
	v->wr_send(v, qp);
	v->wr_set_sge(v, qp, s->a.mr->lkey, s->a.buffer->addr, 16);
	v->wr_set_ud_addr(v, qp, s->above.ah, s->b.endpoint.qp_num, SRD_DEFAULT_QKEY);
	v->wr_abort(v, qp);
}

/* The library posts what it then says it refused. */
static int posts_and_refuses(struct srd_verbs *verbs, struct srd_qp *qp)
{
	int result = verbs->next->wr_complete(verbs->next, qp);

	return result ? result : EINVAL;
}

static void plant_posts_and_refuses(struct srd_verbs *verbs)
{
	verbs->wr_complete = posts_and_refuses;
}

static void two_posts(struct stage *s)
{
	struct srd_wc wc;

	raw_write(0, 100);
	raw_wait(&wc);
	raw_write(1, 100);
	raw_wait(&wc);
}

/* The library hands the device another length than it was given. */
static void loses_a_byte(struct srd_verbs *verbs, struct srd_qp *qp, uint32_t lkey, uint64_t addr,
			 uint32_t length)
{
	verbs->next->wr_set_sge(verbs->next, qp, lkey, addr, length ? length - 1 : 0);
}

static void plant_loses_a_byte(struct srd_verbs *verbs)
{
	verbs->wr_set_sge = loses_a_byte;
}

static void rings_too_early(struct stage *s)
{
	struct srd_verbs *v = &s->above.verbs;
	struct srd_lab command = {.kind = SRD_LAB_LOSE_DOORBELLS, .qp = raw_qp(), .value = 1};

	v->lab(v, &command);
	raw_write(0, 100);
}

const struct planted planted_session[] = {
	{"session.one", NULL, "a session for each request", .build = session_each},
	{"session.open", "session.poll session.destroy session.pair credit.refused",
	 "a failing put leaves its session open", .queue_pair = plant_forgets_session,
	 .run = one_put},
	{"session.pair", NULL, "an abort after the complete", .run = aborts_after_complete},
	{"session.pair", NULL, "a start inside a session", .run = starts_twice},
	{"session.builder_first", NULL, "a setter before any builder", .run = sets_first},
	{"session.builder_first", NULL, "a builder outside a session", .run = builds_outside},
	{"session.destroy", "session.poll", "a destroy inside a session", .run = destroys_inside},
	{"session.poll", NULL, "a poll inside a session", .run = polls_inside},
	{"session.destination", "session.setters", "no destination is set",
	 .above = plant_no_address},
	{"session.setters", "chunk.operation", "the destination is set before the range",
	 .build = address_first},
	{"session.flags", NULL, "only the last request is signaled", .build = signals_the_last},
	{"session.declared", NULL, "a send on a queue pair made for writes and reads",
	 .run = sends},
	{"session.doorbell", "completion.missing", "a doorbell that the device never sees",
	 .run = rings_too_early},
	{"session.atomic", "completion.refused", "what is refused is posted",
	 .below = plant_posts_and_refuses, .run = two_posts},
	{"session.atomic", NULL, "the device gets another length", .below = plant_loses_a_byte},
	{NULL},
};
