/* SPDX-License-Identifier: MIT */
/* Two hosts of a laboratory, by nothing but its public functions. */
#include <errno.h>
#include <string.h>

#include <srdlab/srdlab.h>

#include "qp/retire.h"

#define RIGHTS (SRD_ACCESS_LOCAL_WRITE | SRD_ACCESS_REMOTE_WRITE | SRD_ACCESS_REMOTE_READ)
#define GRACE  UINT64_C(200000000) /* virtual ns that a queue pair which ends is waited for */

static int side_objects(struct srd_verbs *v, uint32_t host, uint32_t depth, uint64_t memory,
			struct srdlab_side *side)
{
	side->context = v->open_device(v, host, NULL);
	if (side->context)
		side->pd = v->alloc_pd(v, side->context);
	if (side->pd)
		side->cq = v->create_cq(v, side->context, 2 * depth);
	if (side->cq)
		side->buffer = v->alloc_buffer(v, side->context, memory, SRD_BUFFER_REAL);
	if (side->buffer)
		side->mr = v->reg_mr(v, side->pd, side->buffer->addr, memory, RIGHTS);
	return side->mr ? 0 : -errno;
}

static int side_open(struct srdlab *lab, const struct srdlab_pair_options *options, uint32_t host,
		     struct srdlab_side *side, struct srd_error *error)
{
	uint32_t depth = options->max_send_wr ? options->max_send_wr : 16;
	const struct srd_queue_pair_config config = {
		.max_send_wr = depth,
		.max_recv_wr = 1,
		.max_send_sge = 1,
		.max_recv_sge = 1,
		.psn = host + 1,
		.port_num = 1,
	};
	const struct srd_scheduler_config of_scheduler = {.max_send_wr = depth};
	int rc = side_objects(srdlab_verbs(lab), host, depth,
			      options->memory ? options->memory : 65536, side);

	if (rc)
		return srd_error_set(error, rc, "the device, memory or queue of host %u: %s", host,
				     strerror(-rc));
	rc = srdlab_queue_pair(lab, options->queue_pair, side->pd, &config, side->cq, side->cq,
			       &side->qp, error);
	if (!rc)
		rc = srdlab_scheduler(lab, options->scheduler, side->qp, &of_scheduler,
				      &side->scheduler, error);
	return rc;
}

static void side_close(struct srdlab *lab, struct srdlab_side *side)
{
	struct srd_verbs *v = srdlab_verbs(lab);
	struct srd_retirement retirement = {
		.verbs = v,
		.ops = srdlab_queue_pair_ops(),
		.qp = side->qp,
		.scheduler_ops = srdlab_scheduler_ops(),
		.scheduler = side->scheduler,
		.send_cq = side->cq,
		.recv_cq = side->cq,
		.grace = GRACE,
	};
	struct srd_op_result result;

	if (side->qp) {
		srd_queue_pair_drain(&retirement);
		while (side->scheduler &&
		       srdlab_scheduler_ops()->result(side->scheduler, &result) > 0)
			;
		srdlab_scheduler_ops()->destroy(side->scheduler);
		srd_queue_pair_finish(&retirement);
	}
	if (side->mr)
		v->dereg_mr(v, side->mr);
	if (side->buffer)
		v->free_buffer(v, side->buffer);
	if (side->cq)
		v->destroy_cq(v, side->cq);
	if (side->pd)
		v->dealloc_pd(v, side->pd);
	if (side->context)
		v->close_device(v, side->context);
	*side = (struct srdlab_side){0};
}

/* The passive one first. */
static int connect_both(struct srdlab_pair *pair, struct srd_error *error)
{
	const struct srd_queue_pair_ops *ops = srdlab_queue_pair_ops();
	struct srd_endpoint a, b;
	int rc = ops->endpoint(pair->a.qp, &a, error);

	if (!rc)
		rc = ops->endpoint(pair->b.qp, &b, error);
	if (!rc)
		rc = ops->connect(pair->b.qp, &a, error);
	if (!rc)
		rc = ops->connect(pair->a.qp, &b, error);
	return rc;
}

int srdlab_pair_open(struct srdlab *lab, const struct srdlab_pair_options *options,
		     struct srdlab_pair *pair, struct srd_error *error)
{
	static const struct srdlab_pair_options none;
	int rc;

	*pair = (struct srdlab_pair){{0}};
	options = options ? options : &none;
	rc = side_open(lab, options, 0, &pair->a, error);
	if (!rc)
		rc = side_open(lab, options, 1, &pair->b, error);
	if (!rc)
		rc = connect_both(pair, error);
	if (rc)
		srdlab_pair_close(lab, pair);
	return rc;
}

void srdlab_pair_close(struct srdlab *lab, struct srdlab_pair *pair)
{
	side_close(lab, &pair->a);
	side_close(lab, &pair->b);
}

int srdlab_submit(struct srdlab_pair *pair, enum srd_op_kind kind, uint64_t offset, uint64_t size,
		  uint64_t cookie, struct srd_error *error)
{
	const struct srd_op op = {
		.kind = kind,
		.local = {pair->a.buffer->addr + offset, size, pair->a.mr->lkey},
		.remote = {pair->b.buffer->addr + offset, size, pair->b.mr->rkey},
		.cookie = cookie,
	};

	return srdlab_scheduler_ops()->submit(pair->a.scheduler, &op, error);
}

int srdlab_wait(struct srdlab *lab, struct srd_scheduler *scheduler, struct srd_op_result *out,
		struct srd_error *error)
{
	const struct srd_scheduler_ops *ops = srdlab_scheduler_ops();
	struct srd_verbs *v = srdlab_verbs(lab);

	for (;;) {
		int rc;

		if (ops->result(scheduler, out) > 0)
			return 0;
		rc = ops->progress(scheduler, error);
		if (rc > 0)
			continue;
		if (ops->result(scheduler, out) > 0)
			return 0;
		if (rc < 0)
			return rc;
		rc = v->wait(v, UINT64_MAX);
		if (rc)
			return srd_error_set(error, -rc,
					     "nothing can happen any more, and no op has a result: "
					     "requests in flight: %u, ops queued: %u",
					     ops->in_flight(scheduler), ops->queued(scheduler));
	}
}
