/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>

#include "planted.h"
#include "qp/efa_srd.h"
#include "qp/rc.h"
#include "qp/observe.h"
#include "qp/retire.h"
#include "qp/scheduler.h"
#include "verbs/alloc.h"
#include "verbs/observe.h"

#define RIGHTS (SRD_ACCESS_LOCAL_WRITE | SRD_ACCESS_REMOTE_WRITE | SRD_ACCESS_REMOTE_READ)

struct stage *stage;

/* --- a small queue pair --- */

uint32_t good_plan(uint64_t size, struct piece *out)
{
	uint32_t count = 0;
	uint64_t at = 0;

	do {
		uint64_t length = size - at < MAX_RDMA ? size - at : MAX_RDMA;

		out[count++] = (struct piece){at, at, length};
		at += length;
	} while (at < size);
	return count;
}

void good_build(struct stage *s, struct srd_qp *qp, const struct srd_op *op,
		const struct piece *piece, uint32_t number)
{
	struct srd_verbs *v = &s->above.verbs;

	if (op->kind == SRD_OP_PUT)
		v->wr_rdma_write(v, qp, op->remote.rkey, op->remote.addr + piece->remote);
	else
		v->wr_rdma_read(v, qp, op->remote.rkey, op->remote.addr + piece->remote);
	v->wr_set_sge(v, qp, op->local.lkey, op->local.addr + piece->local,
		      (uint32_t)piece->length);
	v->wr_set_ud_addr(v, qp, s->above.ah, s->b.endpoint.qp_num, SRD_DEFAULT_QKEY);
}

int small_post(struct srd_queue_pair *queue_pair, const struct srd_op *op, struct srd_wr_ids *ids,
	       struct srd_error *error)
{
	const struct planted *p = stage->planted;
	struct srd_verbs *v = &stage->above.verbs;
	struct srd_qp *qp = srd_efa_srd_ops.verbs_qp(queue_pair);
	bool put = op->kind == SRD_OP_PUT;
	uint64_t source = put ? op->local.size : op->remote.size;
	uint64_t destination = put ? op->remote.size : op->local.size;
	struct piece pieces[64];
	uint32_t count = (p->plan ? p->plan : good_plan)(source, pieces);
	int result;

	if (destination < source)
		return srd_error_set(error, -EMSGSIZE, "the destination is too small");
	v->wr_start(v, qp);
	for (uint32_t i = 0; i < count; i++) {
		qp->wr_id = p->next_id ? p->next_id(stage) : stage->next_id++;
		qp->wr_flags = SRD_SEND_SIGNALED;
		ids->id[i] = qp->wr_id;
		(p->build ? p->build : good_build)(stage, qp, op, &pieces[i], i);
	}
	ids->count = count;
	result = v->wr_complete(v, qp);
	return result ? srd_error_set(error, -result, "not posted") : 0;
}

static int small_put(struct srd_queue_pair *qp, const struct srd_remote_view *to,
		     const struct srd_local_view *from, struct srd_wr_ids *ids,
		     struct srd_error *error)
{
	const struct srd_op op = {.kind = SRD_OP_PUT, .local = *from, .remote = *to};

	return small_post(qp, &op, ids, error);
}

static int small_get(struct srd_queue_pair *qp, const struct srd_local_view *to,
		     const struct srd_remote_view *from, struct srd_wr_ids *ids,
		     struct srd_error *error)
{
	const struct srd_op op = {.kind = SRD_OP_GET, .local = *to, .remote = *from};

	return small_post(qp, &op, ids, error);
}

/* --- the stage --- */

static void ignore_close(struct srd_verbs *verbs)
{
}

static struct srd_ah *remember_ah(struct srd_verbs *verbs, struct srd_pd *pd,
				  const struct srd_ah_attr *attr)
{
	struct tamper *t = (struct tamper *)verbs;

	t->ah = verbs->next->create_ah(verbs->next, pd, attr);
	return t->ah;
}

static void tables_open(struct stage *s)
{
	struct srd_backend_options options = {
		.profile = &s->profile, .seed = s->seed, .stream = &s->stream};
	struct srd_verbs *mock;

	assert_int_equal(srd_backend_find("mock")->open(&options, &mock, NULL), 0);
	srd_verbs_forward(&s->below.verbs, "below", mock);
	if (s->planted->below)
		s->planted->below(&s->below.verbs);
	assert_int_equal(srd_observe_open(&s->below.verbs, &s->stream, NULL, &s->verbs, NULL), 0);
	srd_verbs_forward(&s->above.verbs, "above", s->verbs);
	s->above.verbs.close = ignore_close;
	s->above.verbs.create_ah = remember_ah;
	if (s->planted->above)
		s->planted->above(&s->above.verbs);
}

void side_open(struct stage *s, struct side *side, uint32_t host, const char *name)
{
	const struct srd_queue_pair_ops *good = s->planted->rc ? &srd_rc_ops : &srd_efa_srd_ops;
	struct srd_queue_pair_config config = {
		.max_send_wr = s->depth, .max_recv_wr = s->depth, .psn = 7, .port_num = 1};
	struct srd_verbs *v = s->verbs;

	srd_rc_defaults(&config);
	side->context = v->open_device(v, host, name);
	assert_non_null(side->context);
	side->pd = v->alloc_pd(v, side->context);
	side->buffer = v->alloc_buffer(v, side->context, BUFFER_SIZE, SRD_BUFFER_REAL);
	side->mr = v->reg_mr(v, side->pd, side->buffer->addr, BUFFER_SIZE, RIGHTS);
	assert_non_null(side->mr);
	assert_int_equal(srd_cq_pool_create(v, side->context, 1, &s->stream, &side->pool, NULL), 0);
	assert_int_equal(srd_cq_pool_acquire(side->pool, s->depth, 0, &side->cq, NULL), 0);
	assert_int_equal(srd_observed_queue_pair_create(
				 host ? good : &s->qp_ops, &s->stream, host ? v : &s->above.verbs,
				 side->pd, &config, side->cq, side->cq, &side->qp, NULL),
			 0);
	assert_int_equal(srd_observed_queue_pair_ops.endpoint(side->qp, &side->endpoint, NULL), 0);
}

void stage_init(struct stage *s, const struct planted *planted, const char *select)
{
	*s = (struct stage){
		.planted = planted,
		.select = select,
		.profile = *srd_profile_find(planted->rc ? "rc" : "efa1"),
		.seed = 1,
		.depth = DEPTH,
	};
	s->profile.max_rdma_size = MAX_RDMA;
}

void stage_open(struct stage *s)
{
	const struct srd_scheduler_config config = {
		.max_send_wr = s->planted->credits ? s->planted->credits : s->depth};

	stage = s;
	s->qp_ops = s->planted->rc ? srd_rc_ops : srd_efa_srd_ops;
	s->scheduler_ops = srd_credit_scheduler_ops;
	if (s->planted->plan || s->planted->build || s->planted->next_id) {
		s->qp_ops.put = small_put;
		s->qp_ops.get = small_get;
	}
	if (s->planted->queue_pair)
		s->planted->queue_pair(&s->qp_ops);
	if (s->planted->scheduler)
		s->planted->scheduler(&s->scheduler_ops);
	assert_int_equal(srd_rules_create(s->select, NULL, &s->rules, NULL), 0);
	srd_stream_add(&s->stream, srd_rules_event, s->rules);
	tables_open(s);
	side_open(s, &s->a, 0, NULL);
	side_open(s, &s->b, 1, NULL);
	if (s->planted->connect_b)
		s->planted->connect_b(s);
	else
		srd_observed_queue_pair_ops.connect(s->b.qp, &s->a.endpoint, NULL);
	srd_observed_queue_pair_ops.connect(s->a.qp, &s->b.endpoint, NULL);
	assert_int_equal(srd_observed_scheduler_create(&s->scheduler_ops, s->a.qp, &config,
						       &s->a.scheduler, NULL),
			 0);
}

void take_results(struct stage *s)
{
	while (srd_observed_scheduler_ops.result(s->a.scheduler, &s->last_result)) {
		s->answers++;
		if (s->outstanding)
			s->outstanding--;
	}
}

/* In the order of qp/retire.h, whatever the defect has left. */
void side_close(struct stage *s, struct side *side)
{
	struct srd_retirement r = {
		.verbs = s->verbs,
		.ops = &srd_observed_queue_pair_ops,
		.qp = side->qp,
		.scheduler_ops = &srd_observed_scheduler_ops,
		.scheduler = side->scheduler,
		.send_cq = side->cq,
		.recv_cq = side->cq,
		.grace = 1000000,
	};
	struct srd_verbs *v = s->verbs;

	if (!side->context)
		return;
	if (side->qp) {
		srd_queue_pair_drain(&r);
		if (side->scheduler) {
			take_results(s);
			srd_observed_scheduler_ops.destroy(side->scheduler);
		}
		srd_cq_pool_release(side->pool, side->cq, srd_queue_pair_finish(&r), NULL);
	}
	srd_cq_pool_destroy(side->pool);
	if (side->mr)
		v->dereg_mr(v, side->mr);
	if (side->buffer)
		v->free_buffer(v, side->buffer);
	if (side->pd)
		v->dealloc_pd(v, side->pd);
	v->close_device(v, side->context);
	*side = (struct side){0};
}

void stage_close(struct stage *s)
{
	side_close(s, &s->a);
	side_close(s, &s->b);
	s->verbs->close(s->verbs);
	assert_int_equal(srd_rules_finish(s->rules, NULL), 0);
}

struct srd_op op_of(enum srd_op_kind kind, uint64_t offset, uint64_t size)
{
	return (struct srd_op){
		.kind = kind,
		.local = {stage->a.buffer->addr + offset, size, stage->a.mr->lkey},
		.remote = {stage->b.buffer->addr + offset, size, stage->b.mr->rkey},
	};
}

void submit(struct srd_op op)
{
	if (!srd_observed_scheduler_ops.submit(stage->a.scheduler, &op, NULL))
		stage->outstanding++;
	take_results(stage);
}

void settle(void)
{
	struct srd_verbs *v = stage->verbs;

	for (int round = 0; round < 1000 && stage->outstanding; round++) {
		int reaped = srd_observed_scheduler_ops.progress(stage->a.scheduler, NULL);

		take_results(stage);
		if (reaped < 0 || (!reaped && stage->outstanding && v->wait(v, UINT64_MAX)))
			return;
	}
}

void standard_run(struct stage *s)
{
	static const uint64_t sizes[] = {1, 1000, 2000, 1001, 0, 2500, 3999, 4000};

	for (int kind = SRD_OP_PUT; kind <= SRD_OP_GET; kind++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
			submit(op_of((enum srd_op_kind)kind, 4096 * i, sizes[i]));
	settle();
}

struct srd_qp *raw_qp(void)
{
	return srd_observed_queue_pair_ops.verbs_qp(stage->a.qp);
}

void raw_post(uint64_t wr_id, const struct srd_op *op, struct srd_ah *ah)
{
	uint64_t size = op->kind == SRD_OP_PUT ? op->local.size : op->remote.size;
	struct srd_verbs *v = &stage->above.verbs;
	struct srd_qp *qp = raw_qp();

	v->wr_start(v, qp);
	qp->wr_id = wr_id;
	qp->wr_flags = SRD_SEND_SIGNALED;
	if (op->kind == SRD_OP_PUT)
		v->wr_rdma_write(v, qp, op->remote.rkey, op->remote.addr);
	else
		v->wr_rdma_read(v, qp, op->remote.rkey, op->remote.addr);
	v->wr_set_sge(v, qp, op->local.lkey, op->local.addr, (uint32_t)size);
	v->wr_set_ud_addr(v, qp, ah, stage->b.endpoint.qp_num, SRD_DEFAULT_QKEY);
	v->wr_complete(v, qp);
}

void raw_write(uint64_t wr_id, uint64_t length)
{
	struct srd_op op = op_of(SRD_OP_PUT, 0, length);

	raw_post(wr_id, &op, stage->above.ah);
}

static const struct srd_queue_pair_config second_config = {
	.max_send_wr = DEPTH, .max_recv_wr = 1, .port_num = 1};

struct srd_queue_pair *second_open(const struct srd_queue_pair_ops *ops, struct srd_cq *cq)
{
	struct srd_queue_pair *qp;

	if (ops == &srd_observed_queue_pair_ops)
		assert_int_equal(srd_observed_queue_pair_create(&srd_efa_srd_ops, &stage->stream,
								stage->verbs, stage->a.pd,
								&second_config, cq, cq, &qp, NULL),
				 0);
	else
		assert_int_equal(
			ops->create(stage->verbs, stage->a.pd, &second_config, cq, cq, &qp, NULL),
			0);
	assert_int_equal(ops->connect(qp, &stage->b.endpoint, NULL), 0);
	return qp;
}

void second_write(struct srd_queue_pair *queue_pair, uint64_t wr_id)
{
	struct srd_qp *qp = srd_efa_srd_ops.verbs_qp(queue_pair);
	struct srd_op op = op_of(SRD_OP_PUT, 0, 8);
	struct srd_verbs *v = stage->verbs;

	v->wr_start(v, qp);
	qp->wr_id = wr_id;
	qp->wr_flags = SRD_SEND_SIGNALED;
	v->wr_rdma_write(v, qp, op.remote.rkey, op.remote.addr);
	v->wr_set_sge(v, qp, op.local.lkey, op.local.addr, 8);
	v->wr_set_ud_addr(v, qp, stage->above.ah, stage->b.endpoint.qp_num, SRD_DEFAULT_QKEY);
	v->wr_complete(v, qp);
}

void fault(enum srd_lab_kind kind, uint64_t ordinal, enum srd_efa_status status)
{
	struct srd_lab command = {
		.kind = kind,
		.flags = SRD_LAB_BY_ORDINAL,
		.qp = raw_qp(),
		.ordinal = ordinal,
		.status = status,
	};

	assert_int_equal(stage->verbs->lab(stage->verbs, &command), 0);
}

int raw_wait(struct srd_wc *wc)
{
	struct srd_verbs *v = stage->verbs;
	int n;

	while (!(n = v->poll_cq(v, stage->a.cq, 1, wc)))
		if (v->wait(v, UINT64_MAX))
			return 0;
	return n;
}

void forge(struct srd_event *event)
{
	event->source = srd_event_infos[event->type].source;
	srd_stream_emit(&stage->stream, event);
}
