/* SPDX-License-Identifier: MIT */
#include "planted.h"
#include "qp/efa_srd.h"
#include "qp/observe.h"
#include "qp/scheduler.h"

static int create_with(const struct srd_queue_pair_ops *ops, struct srd_queue_pair *qp,
		       uint32_t max_send_wr, struct srd_scheduler **out, struct srd_error *error)
{
	const struct srd_scheduler_config config = {.max_send_wr = max_send_wr};

	return srd_credit_scheduler_ops.create(ops, qp, &config, out, error);
}

static int twice_the_credits(const struct srd_queue_pair_ops *ops, struct srd_queue_pair *qp,
			     const struct srd_scheduler_config *config, struct srd_scheduler **out,
			     struct srd_error *error)
{
	return create_with(ops, qp, 2 * config->max_send_wr, out, error);
}

static void plant_twice_the_credits(struct srd_scheduler_ops *ops)
{
	ops->create = twice_the_credits;
}

static int half_the_credits(const struct srd_queue_pair_ops *ops, struct srd_queue_pair *qp,
			    const struct srd_scheduler_config *config, struct srd_scheduler **out,
			    struct srd_error *error)
{
	return create_with(ops, qp, config->max_send_wr / 2, out, error);
}

static void plant_half_the_credits(struct srd_scheduler_ops *ops)
{
	ops->create = half_the_credits;
}

static uint64_t one_too_many(struct srd_queue_pair *qp, enum srd_op_kind kind, uint64_t size)
{
	return srd_efa_srd_ops.num_requests(qp, kind, size) + 1;
}

static void plant_one_too_many(struct srd_queue_pair_ops *ops)
{
	ops->num_requests = one_too_many;
}

static uint64_t always_one(struct srd_queue_pair *qp, enum srd_op_kind kind, uint64_t size)
{
	return 1;
}

static void plant_always_one(struct srd_queue_pair_ops *ops)
{
	ops->num_requests = always_one;
}

static uint32_t one_more(struct srd_scheduler *scheduler)
{
	return srd_credit_scheduler_ops.in_flight(scheduler) + 1;
}

static void plant_one_more(struct srd_scheduler_ops *ops)
{
	ops->in_flight = one_more;
}

static void eight_small(struct stage *s)
{
	for (int i = 0; i < 8; i++)
		submit(op_of(SRD_OP_PUT, 0, 100));
	settle();
}

static void one_of_five(struct stage *s)
{
	submit(op_of(SRD_OP_PUT, 0, 5000));
	settle();
}

static void one_of_four(struct stage *s)
{
	submit(op_of(SRD_OP_PUT, 0, 4000));
	settle();
}

/* An op of one request goes straight through. */
static int small_first(struct srd_scheduler *scheduler, const struct srd_op *op,
		       struct srd_error *error)
{
	uint64_t id[4];
	struct srd_wr_ids ids = {.id = id, .capacity = 4};
	int result;

	if (op->local.size > MAX_RDMA)
		return srd_credit_scheduler_ops.submit(scheduler, op, error);
	result = srd_observed_queue_pair_ops.put(stage->a.qp, &op->remote, &op->local, &ids, error);
	return result ? result : srd_credit_scheduler_ops.adopt(scheduler, &ids, op->cookie, error);
}

static void plant_small_first(struct srd_scheduler_ops *ops)
{
	ops->submit = small_first;
}

static void small_behind_large(struct stage *s)
{
	submit(op_of(SRD_OP_PUT, 0, 3000));
	submit(op_of(SRD_OP_PUT, 0, 2000));
	submit(op_of(SRD_OP_PUT, 0, 100));
	settle();
}

static int asks_for_less(struct srd_verbs *verbs, struct srd_pd *pd,
			 const struct srd_queue_pair_config *config, struct srd_cq *send_cq,
			 struct srd_cq *recv_cq, struct srd_queue_pair **out,
			 struct srd_error *error)
{
	struct srd_queue_pair_config less = *config;

	less.max_send_wr /= 2;
	return srd_efa_srd_ops.create(verbs, pd, &less, send_cq, recv_cq, out, error);
}

static void plant_asks_for_less(struct srd_queue_pair_ops *ops)
{
	ops->create = asks_for_less;
}

/* The library reports half of what it granted. */
static struct srd_qp *reports_half(struct srd_verbs *verbs, struct srd_context *context,
				   struct srd_qp_init_attr_ex *attr,
				   const struct srd_efa_qp_init_attr *efa)
{
	struct srd_qp *qp = verbs->next->create_qp_ex(verbs->next, context, attr, efa);

	attr->cap.max_send_wr /= 2;
	return qp;
}

static void plant_reports_half(struct srd_verbs *verbs)
{
	verbs->create_qp_ex = reports_half;
}

/* The library grants more than it was asked for, as a device with a minimum does. */
static struct srd_qp *grants_more(struct srd_verbs *verbs, struct srd_context *context,
				  struct srd_qp_init_attr_ex *attr,
				  const struct srd_efa_qp_init_attr *efa)
{
	attr->cap.max_send_wr *= 2;
	return verbs->next->create_qp_ex(verbs->next, context, attr, efa);
}

static void plant_grants_more(struct srd_verbs *verbs)
{
	verbs->create_qp_ex = grants_more;
}

static void one_beyond(struct stage *s)
{
	struct srd_wc wc;

	for (uint64_t id = 0; id <= DEPTH; id++)
		raw_write(id, 8);
	for (uint64_t id = 0; id <= DEPTH; id++)
		raw_wait(&wc);
}

static void one_refused(struct stage *s)
{
	struct srd_wc wc;

	for (uint64_t id = 0; id <= DEPTH; id++)
		raw_write(id, 8);
	for (uint64_t id = 0; id < DEPTH; id++)
		raw_wait(&wc);
}

const struct planted planted_credit[] = {
	{"credit.overcommit", NULL, "twice the credits", .scheduler = plant_twice_the_credits},
	{"credit.predict", "credit.idle credit.refused", "num_requests answers one too many",
	 .queue_pair = plant_one_too_many},
	{"credit.count", NULL, "in_flight is one too many", .scheduler = plant_one_more},
	{"credit.too_large", "credit.overcommit", "num_requests answers one for anything",
	 .queue_pair = plant_always_one, .run = one_of_five},
	{"credit.refused", NULL, "half the credits refuse what fits",
	 .scheduler = plant_half_the_credits, .run = one_of_four},
	{"credit.fifo", NULL, "small ops go first", .scheduler = plant_small_first,
	 .run = small_behind_large},
	{"credit.idle", NULL, "half the credits are never used",
	 .scheduler = plant_half_the_credits, .run = eight_small},
	{"credit.depth", NULL, "more credits than slots", .credits = 2 * DEPTH, .run = eight_small},
	{"credit.clamp", "credit.depth credit.overcommit", "half the depth is asked for",
	 .queue_pair = plant_asks_for_less, .run = eight_small},
	{"credit.granted", "credit.depth", "half of the granted depth is reported",
	 .below = plant_reports_half},
	{"credit.requested", "completion.overrun", "one more than asked for is posted",
	 .below = plant_grants_more, .run = one_beyond},
	{"credit.full", NULL, "one more than the queue holds is posted", .run = one_refused},
	{NULL},
};
