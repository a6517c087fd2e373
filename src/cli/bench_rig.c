/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "cli/bench_rig.h"
#include "qp/efa_srd.h"
#include "qp/observe.h"
#include "qp/scheduler.h"
#include "verbs/backend.h"
#include "verbs/observe.h"

#define DEPTH 512

static int verbs_error(const char *call, struct srd_error *error)
{
	return srd_error_set(error, -errno, "%s: %s", call, strerror(errno));
}

static int watch_open(struct srd_bench_rig *rig, enum srd_bench_watch watch,
		      struct srd_error *error)
{
	const struct srd_trace_run run = {.script = "bench", .backend = "mock"};
	int rc = srd_rules_create(NULL, NULL, &rig->rules, error);

	if (!rc)
		rc = srd_stream_add(&rig->stream, srd_rules_event, rig->rules);
	if (rc || watch != SRD_BENCH_TRACED)
		return rc;
	rc = srd_trace_create("/dev/null", &run, &rig->trace, error);
	return rc ? rc : srd_stream_add(&rig->stream, srd_trace_event, rig->trace);
}

static int table_open(struct srd_bench_rig *rig, const struct srd_profile *profile,
		      enum srd_bench_watch watch, struct srd_error *error)
{
	bool rules = watch != SRD_BENCH_ALONE;
	const struct srd_backend_options options = {
		.profile = profile,
		.seed = 1,
		.stream = rules ? &rig->stream : NULL,
	};
	const struct srd_backend *mock = srd_backend_find("mock");
	struct srd_verbs *observed;
	int rc;

	if (!mock)
		return srd_error_set(error, -ENODEV, "this program was built without the mock");
	rc = mock->open(&options, &rig->verbs, error);
	if (rc || !rules)
		return rc;
	rc = srd_observe_open(rig->verbs, &rig->stream, NULL, &observed, error);
	if (rc)
		return rc;
	rig->verbs = observed;
	return watch_open(rig, watch, error);
}

static int device_open(struct srd_bench_rig *rig, uint32_t host, uint64_t memory,
		       enum srd_buffer_kind kind, struct srd_error *error)
{
	const uint32_t access = SRD_ACCESS_LOCAL_WRITE | SRD_ACCESS_REMOTE_WRITE;
	struct srd_bench_side *side = &rig->side[host];
	struct srd_verbs *v = rig->verbs;

	side->context = v->open_device(v, host, NULL);
	if (!side->context)
		return verbs_error("open_device", error);
	side->pd = v->alloc_pd(v, side->context);
	if (!side->pd)
		return verbs_error("alloc_pd", error);
	side->buffer = v->alloc_buffer(v, side->context, memory, kind);
	if (!side->buffer)
		return verbs_error("alloc_buffer", error);
	side->mr = v->reg_mr(v, side->pd, side->buffer->addr, memory, access);
	return side->mr ? 0 : verbs_error("reg_mr", error);
}

static int queue_pair_open(struct srd_bench_rig *rig, struct srd_bench_side *side,
			   struct srd_error *error)
{
	const struct srd_queue_pair_config config = {
		.max_send_wr = DEPTH,
		.max_recv_wr = 1,
		.port_num = 1,
	};
	int rc;

	rc = srd_cq_pool_create(rig->verbs, side->context, 1, &rig->stream, &side->pool, error);
	if (!rc)
		rc = srd_cq_pool_acquire(side->pool, DEPTH, 0, &side->cq, error);
	if (rc)
		return rc;
	if (rig->rules)
		rc = srd_observed_queue_pair_create(&srd_efa_srd_ops, &rig->stream, rig->verbs,
						    side->pd, &config, side->cq, side->cq,
						    &side->qp, error);
	else
		rc = srd_efa_srd_ops.create(rig->verbs, side->pd, &config, side->cq, side->cq,
					    &side->qp, error);
	return rc ? rc : rig->qp_ops->endpoint(side->qp, &side->endpoint, error);
}

static int scheduler_open(struct srd_bench_rig *rig, struct srd_error *error)
{
	const struct srd_scheduler_config config = {.max_send_wr = DEPTH};
	struct srd_queue_pair *qp = rig->side[0].qp;

	if (rig->rules)
		return srd_observed_scheduler_create(&srd_credit_scheduler_ops, qp, &config,
						     &rig->scheduler, error);
	return srd_credit_scheduler_ops.create(&srd_efa_srd_ops, qp, &config, &rig->scheduler,
					       error);
}

int srd_bench_rig_open(struct srd_bench_rig *rig, const struct srd_profile *profile,
		       enum srd_bench_watch watch, uint64_t memory, enum srd_buffer_kind kind,
		       struct srd_error *error)
{
	bool rules = watch != SRD_BENCH_ALONE;
	int rc;

	memset(rig, 0, sizeof(*rig));
	rig->qp_ops = rules ? &srd_observed_queue_pair_ops : &srd_efa_srd_ops;
	rig->scheduler_ops = rules ? &srd_observed_scheduler_ops : &srd_credit_scheduler_ops;
	rc = table_open(rig, profile, watch, error);
	for (uint32_t host = 0; !rc && host < 2; host++) {
		rc = device_open(rig, host, memory, kind, error);
		if (!rc)
			rc = queue_pair_open(rig, &rig->side[host], error);
	}
	for (int i = 1; !rc && i >= 0; i--)
		rc = rig->qp_ops->connect(rig->side[i].qp, &rig->side[!i].endpoint, error);
	return rc ? rc : scheduler_open(rig, error);
}

static void side_close(struct srd_bench_rig *rig, struct srd_bench_side *side)
{
	struct srd_verbs *v = rig->verbs;

	rig->qp_ops->destroy(side->qp);
	srd_cq_pool_destroy(side->pool);
	if (side->mr)
		v->dereg_mr(v, side->mr);
	if (side->buffer)
		v->free_buffer(v, side->buffer);
	if (side->pd)
		v->dealloc_pd(v, side->pd);
	if (side->context)
		v->close_device(v, side->context);
}

void srd_bench_rig_close(struct srd_bench_rig *rig)
{
	rig->scheduler_ops->destroy(rig->scheduler);
	for (int i = 0; i < 2; i++)
		side_close(rig, &rig->side[i]);
	if (rig->verbs)
		rig->verbs->close(rig->verbs);
	srd_rules_destroy(rig->rules);
	srd_trace_close(rig->trace, NULL);
}

/* The answers that are there; the first error among them ends it. */
static int results_take(struct srd_bench_rig *rig, uint64_t *done, struct srd_error *error)
{
	struct srd_op_result result;

	while (rig->scheduler_ops->result(rig->scheduler, &result)) {
		++*done;
		if (result.result)
			return srd_error_set(error, result.result, "%s", result.error.message);
	}
	return 0;
}

/* Where the next one goes. */
static void advance(const struct srd_bench_rig *rig, struct srd_op *op)
{
	const struct srd_mr *from = rig->side[0].mr, *to = rig->side[1].mr;

	op->local.addr += op->local.size;
	op->remote.addr += op->remote.size;
	if (op->local.addr - from->addr <= from->length - op->local.size)
		return;
	op->local.addr = from->addr;
	op->remote.addr = to->addr;
}

static int window_fill(struct srd_bench_rig *rig, struct srd_op *op, uint64_t until,
		       struct srd_error *error)
{
	for (; op->cookie < until; op->cookie++) {
		int rc = rig->scheduler_ops->submit(rig->scheduler, op, error);

		if (rc)
			return rc;
		advance(rig, op);
	}
	return 0;
}

int srd_bench_rig_put(struct srd_bench_rig *rig, uint64_t count, uint64_t size, uint32_t window,
		      struct srd_error *error)
{
	const struct srd_mr *from = rig->side[0].mr, *to = rig->side[1].mr;
	struct srd_op op = {
		.kind = SRD_OP_PUT,
		.local = {.addr = from->addr, .size = size, .lkey = from->lkey},
		.remote = {.addr = to->addr, .size = size, .rkey = to->rkey},
	};
	uint64_t done = 0;
	int rc;

	while (done < count) {
		uint64_t until = done + window < count ? done + window : count;

		rc = window_fill(rig, &op, until, error);
		if (rc)
			return rc;
		rc = rig->verbs->wait(rig->verbs, UINT64_MAX);
		if (rc)
			return srd_error_set(error, -rc, "the mock has nothing left to do");
		rc = rig->scheduler_ops->progress(rig->scheduler, error);
		if (rc < 0)
			return rc;
		rc = results_take(rig, &done, error);
		if (rc)
			return rc;
	}
	return 0;
}
