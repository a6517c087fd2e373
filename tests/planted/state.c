/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "planted.h"

static int rekeys_on_the_way(struct srd_verbs *verbs, struct srd_qp *qp,
			     const struct srd_qp_attr *attr, uint32_t mask)
{
	struct srd_qp_attr more = *attr;

	if (attr->qp_state == SRD_QPS_RTR) {
		more.qkey = SRD_DEFAULT_QKEY;
		mask |= SRD_QP_QKEY;
	}
	return verbs->next->modify_qp(verbs->next, qp, &more, mask);
}

static void plant_rekeys_on_the_way(struct srd_verbs *verbs)
{
	verbs->modify_qp = rekeys_on_the_way;
}

/* The library says that it posted, and drops it. */
static int accepts_anything(struct srd_verbs *verbs, struct srd_qp *qp)
{
	verbs->next->wr_abort(verbs->next, qp);
	return 0;
}

static void plant_accepts_anything(struct srd_verbs *verbs)
{
	verbs->wr_complete = accepts_anything;
}

static void posts_in_err(struct stage *s)
{
	const struct srd_qp_attr attr = {.qp_state = SRD_QPS_ERR};

	s->verbs->modify_qp(s->verbs, raw_qp(), &attr, SRD_QP_STATE);
	raw_write(0, 8);
}

static int no_connect(struct srd_queue_pair *qp, const struct srd_endpoint *peer,
		      struct srd_error *error)
{
	return srd_error_set(error, -EIO, "not connected");
}

static int posts_regardless(struct srd_queue_pair *qp, const struct srd_remote_view *to,
			    const struct srd_local_view *from, struct srd_wr_ids *ids,
			    struct srd_error *error)
{
	const struct srd_op op = {.kind = SRD_OP_PUT, .local = *from, .remote = *to};

	return small_post(qp, &op, ids, error);
}

static void plant_posts_regardless(struct srd_queue_pair_ops *ops)
{
	ops->connect = no_connect;
	ops->put = posts_regardless;
}

static void one_put(struct stage *s)
{
	submit(op_of(SRD_OP_PUT, 0, 100));
	settle();
}

/* The device below lets any move pass. */
static int any_move(struct srd_verbs *verbs, struct srd_qp *qp, const struct srd_qp_attr *attr,
		    uint32_t mask)
{
	verbs->next->modify_qp(verbs->next, qp, attr, mask);
	return 0;
}

static void plant_any_move(struct srd_verbs *verbs)
{
	verbs->modify_qp = any_move;
}

static void back_to_init(struct stage *s)
{
	const struct srd_qp_attr attr = {.qp_state = SRD_QPS_INIT, .port_num = 1};

	s->verbs->modify_qp(s->verbs, raw_qp(), &attr, 0x71);
}

static int wide_psn(struct srd_verbs *verbs, struct srd_qp *qp, const struct srd_qp_attr *attr,
		    uint32_t mask)
{
	struct srd_qp_attr more = *attr;

	more.sq_psn |= 1u << 24;
	return verbs->next->modify_qp(verbs->next, qp, &more, mask);
}

static void plant_wide_psn(struct srd_verbs *verbs)
{
	verbs->modify_qp = wide_psn;
}

static int answers_err(struct srd_verbs *verbs, struct srd_qp *qp, struct srd_qp_attr *attr,
		       uint32_t mask)
{
	int result = verbs->next->query_qp(verbs->next, qp, attr, mask);

	attr->qp_state = SRD_QPS_ERR;
	return result;
}

static void plant_answers_err(struct srd_verbs *verbs)
{
	verbs->query_qp = answers_err;
}

static void asks_after_a_put(struct stage *s)
{
	struct srd_qp_attr attr;

	one_put(s);
	s->verbs->query_qp(s->verbs, raw_qp(), &attr, SRD_QP_STATE);
}

const struct planted planted_state[] = {
	{"state.path", NULL, "the queue key is set again on the way to RTR",
	 .above = plant_rekeys_on_the_way},
	{"state.post", NULL, "requests are accepted in ERR", .below = plant_accepts_anything,
	 .run = posts_in_err},
	{"state.refused", NULL, "requests are posted in ERR", .run = posts_in_err},
	{"state.connected", "credit.refused session.destination", "a put without a peer is posted",
	 .queue_pair = plant_posts_regardless, .run = one_put},
	{"state.table", NULL, "RTS to INIT succeeds", .below = plant_any_move, .run = back_to_init},
	{"state.psn", NULL, "a PSN of 25 bits", .above = plant_wide_psn},
	{"state.silent", "state.table", "a put leaves the queue pair in ERR",
	 .below = plant_answers_err, .run = asks_after_a_put},
	{NULL},
};
