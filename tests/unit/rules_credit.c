/* SPDX-License-Identifier: MIT */
/* The credit family: each rule fires on a stream of its own. */
#include "rules_world.h"

static void finish_ids(struct world *w, uint64_t from, uint64_t to)
{
	for (; from < to; from++)
		completion(w, from, 0);
}

static void fifth_of_four(struct world *w)
{
	uint32_t first = good_op(w, SRD_OP_PUT, 3000), second = good_op(w, SRD_OP_PUT, 2000);

	finish_ids(w, 0, 5);
	op_end(w, first, 0, 0, 0);
	op_end(w, second, 0, 0, 0);
}

/* Refused by the device: the scheduler should not have asked. */
static void refused_for_room(struct world *w)
{
	uint32_t first = good_op(w, SRD_OP_PUT, 4000), second;

	op_begin(w, SRD_OP_PUT, 100, 100);
	second = w->last_op;
	post_begin(w, 1);
	post(w, good_post(w, 0, 100));
	session_complete(w, 12, 1);
	EMIT(w, OP_POST_END, op_post_end, H(0), .result = (uint32_t)-12);
	finish_ids(w, 0, 4);
	op_end(w, first, 0, 0, 0);
	op_end(w, second, -12, 0, 0);
}

/* Outside any op: only the answer says that it was not posted. */
static void one_too_many(struct world *w)
{
	for (uint32_t i = 0; i < DEPTH; i++)
		raw_post(w, good_post(w, 0, 8));
	session_start(w);
	post(w, good_post(w, 0, 8));
	session_complete(w, 12, 1);
	finish_ids(w, 0, DEPTH);
}

static void two_for_one(struct world *w)
{
	op_begin(w, SRD_OP_PUT, 2000, 2000);
	post_begin(w, 1);
	post(w, good_post(w, 0, 1000));
	post(w, good_post(w, 1000, 1000));
	post_end(w, 2);
	finish_ids(w, 0, 2);
	op_end(w, w->last_op, 0, 0, 0);
}

static void credit_not_returned(struct world *w)
{
	uint32_t op = good_op(w, SRD_OP_PUT, 1000);

	completion(w, 0, SRD_EFA_REMOTE_ERROR_ABORT);
	op_end(w, op, -5, 0, SRD_EFA_REMOTE_ERROR_ABORT);
	w->in_flight++;
	scheduler_state(w, 0);
}

static void too_large(struct world *w)
{
	op_begin(w, SRD_OP_PUT, 5000, 5000);
	post_begin(w, 5);
	EMIT(w, SESSION_ABORT, session_abort, H(0), );
	EMIT(w, OP_POST_END, op_post_end, H(0), .result = (uint32_t)-12);
	op_end(w, w->last_op, -12, 0, 0);
}

static void waits_for_ever(struct world *w)
{
	op_begin(w, SRD_OP_PUT, 5000, 5000);
	scheduler_state(w, 1);
	EMIT(w, SCHEDULER_CLOSE, scheduler_close, H(0), );
	op_end(w, w->last_op, -125, 0, 0);
}

/* A get of one request into a buffer that is larger than the send queue. */
static void refused_by_local_size(struct world *w)
{
	op_begin(w, SRD_OP_GET, 9000, 500);
	op_end(w, w->last_op, -7, 0, 0);
	EMIT(w, OP_POST_BEGIN, op_post_begin, H(0), .num_wr_asked = 1);
}

static void overtaken(struct world *w)
{
	uint32_t out = good_op(w, SRD_OP_PUT, 3000), head, small;

	op_begin(w, SRD_OP_PUT, 2000, 2000);
	head = w->last_op;
	small = good_op(w, SRD_OP_PUT, 100);
	finish_ids(w, 0, 4);
	op_end(w, out, 0, 0, 0);
	op_end(w, small, 0, 0, 0);
	op_end(w, head, -103, 0, 0);
}

static void withheld(struct world *w)
{
	uint32_t op;

	op_begin(w, SRD_OP_PUT, 2000, 2000);
	op = w->last_op;
	scheduler_state(w, 1);
	op_end(w, op, -103, 0, 0);
}

static void more_than_granted(struct world *w)
{
	EMIT(w, SCHEDULER_OPEN, scheduler_open, H(0), .max_send_wr = DEPTH + 1);
}

static void clamped(struct world *w)
{
	EMIT(w, QP_OPEN, qp_open, H(0), .max_msg_size = MAX_RDMA, .max_send_wr = DEPTH + 4);
}

static void raw_posts(struct world *w, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		raw_post(w, good_post(w, 0, 8));
	finish_ids(w, 0, count);
}

static void beyond_granted(struct world *w)
{
	raw_posts(w, DEPTH + 1);
}

static void beyond_requested(struct world *w)
{
	/* Another queue pair: 3 asked, 4 granted, on the same completion queue. */
	EMIT(w, QP_DESTROY, qp_destroy, H(0), );
	EMIT(w, QP_CREATE, qp_create, H(0), .qp_num = QPN(0), .pd = H(0), .send_cq = H(0),
	     .recv_cq = H(0), .requested_send_wr = 3, .granted_send_wr = 4, .send_ops_flags = 0x11);
	EMIT(w, QP_MODIFY, qp_modify, H(0), .mask = 0x71, .from = SRD_QPS_RESET, .to = SRD_QPS_INIT,
	     .qkey = QKEY, .port_num = 1);
	EMIT(w, QP_MODIFY, qp_modify, H(0), .mask = 1, .from = SRD_QPS_INIT, .to = SRD_QPS_RTR);
	EMIT(w, QP_MODIFY, qp_modify, H(0), .mask = 0x10001, .from = SRD_QPS_RTR,
	     .to = SRD_QPS_RTS);
	raw_posts(w, 4);
}

/* What a good scheduler does when there is no room: the head waits, and all behind it. */
static void waiting_is_fine(void **state)
{
	const struct srd_violation *list;
	uint32_t out, head, small;
	struct world w;

	world_open(&w, "all");
	out = good_op(&w, SRD_OP_PUT, 3000);
	op_begin(&w, SRD_OP_PUT, 2000, 2000);
	head = w.op;
	scheduler_state(&w, 1);
	op_begin(&w, SRD_OP_PUT, 100, 100);
	small = w.op;
	scheduler_state(&w, 2);
	finish_ids(&w, 0, 3);
	op_end(&w, out, 0, 0, 0);
	w.op = head;
	post_begin(&w, 2);
	post(&w, good_post(&w, 0, 1000));
	post(&w, good_post(&w, 1000, 1000));
	post_end(&w, 2);
	w.op = small;
	post_begin(&w, 1);
	post(&w, good_post(&w, 0, 100));
	post_end(&w, 1);
	scheduler_state(&w, 0);
	finish_ids(&w, 3, 6);
	op_end(&w, small, 0, 0, 0);
	op_end(&w, head, 0, 0, 0);
	/* One that never fits is answered at once. */
	op_begin(&w, SRD_OP_PUT, 5000, 5000);
	op_end(&w, w.last_op, -7, 0, 0);
	scheduler_state(&w, 0);
	world_unmake(&w);
	if (world_finish(&w, &list))
		fail_msg("%s: %s", rule_of(&list[0]), list[0].evidence);
	world_release(&w);
}

static void each_rule_fires(void **state)
{
	static const struct rule_case cases[] = {
		{"credit.overcommit", fifth_of_four, "credit.granted"},
		{"credit.overcommit", refused_for_room, "credit.full"},
		{"credit.full", one_too_many, NULL},
		{"credit.predict", two_for_one, NULL},
		{"credit.count", credit_not_returned, NULL},
		{"credit.too_large", too_large, NULL},
		{"credit.too_large", waits_for_ever, NULL},
		{"credit.refused", refused_by_local_size, NULL},
		{"credit.fifo", overtaken, NULL},
		{"credit.idle", withheld, NULL},
		{"credit.depth", more_than_granted, NULL},
		{"credit.clamp", clamped, "completion.cq_size"},
		{"credit.granted", beyond_granted, NULL},
		{"credit.requested", beyond_requested, NULL},
	};

	run_cases("credit", cases, sizeof(cases) / sizeof(cases[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_rule_fires),
		cmocka_unit_test(waiting_is_fine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
