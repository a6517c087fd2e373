/* SPDX-License-Identifier: MIT */
/* The completion family: each rule fires on a stream of its own. */
#include <errno.h>

#include "rules_world.h"

static void unknown(struct world *w)
{
	raw_post(w, good_post(w, 0, 100));
	completion(w, 0, 0);
	completion(w, 77, 0);
}

static void no_such_queue_pair(struct world *w)
{
	raw_post(w, good_post(w, 0, 100));
	completion(w, 0, 0);
	EMIT(w, WC, wc, H(0), .wr_id = 1, .qp_num = 999, .opcode = SRD_WC_RDMA_WRITE);
}

static void twice(struct world *w)
{
	uint32_t op = good_op(w, SRD_OP_PUT, 100);

	completion(w, 0, 0);
	completion(w, 0, 0);
	op_end(w, op, 0, 0, 0);
}

static void of_refused(struct world *w)
{
	session_start(w);
	post(w, good_post(w, 0, 100));
	session_complete(w, 22, 1);
	completion(w, 0, 0);
}

static void stale(struct world *w)
{
	EMIT(w, QP_CREATE, qp_create, 9, .qp_num = 99, .pd = H(0), .send_cq = H(0), .recv_cq = H(0),
	     .requested_send_wr = 4, .granted_send_wr = 4);
	EMIT(w, QP_DESTROY, qp_destroy, 9, );
	EMIT(w, WC, wc, H(0), .wr_id = 0, .qp_num = 99, .opcode = SRD_WC_RDMA_WRITE);
}

static void wrong_opcode(struct world *w)
{
	raw_post(w, good_post(w, 0, 100));
	EMIT(w, WC, wc, H(0), .wr_id = 0, .qp_num = QPN(0), .opcode = SRD_WC_SEND);
}

/* Of two requests of a connected queue pair the second completes first. */
static void out_of_order(struct world *w)
{
	const uint32_t masks[] = {0x39, 0x129181, 0x12e01};

	EMIT(w, QP_CREATE, qp_create, 9, .qp_num = 99, .pd = H(0), .send_cq = H(0), .recv_cq = H(0),
	     .requested_send_wr = 4, .granted_send_wr = 4, .qp_type = SRD_QPT_RC,
	     .send_ops_flags = 1);
	for (uint32_t i = 0; i < 3; i++)
		EMIT(w, QP_MODIFY, qp_modify, 9, .mask = masks[i], .from = i, .to = i + 1,
		     .port_num = !i);
	for (uint32_t id = 0; id < 2; id++) {
		EMIT(w, SESSION_START, session_start, 9, .state = SRD_QPS_RTS);
		EMIT(w, WR_POST, wr_post, 9, .wr_id = id, .opcode = SRD_WR_RDMA_WRITE, .num_sge = 1,
		     .setters = 1, .wr_flags = SRD_SEND_SIGNALED);
		EMIT(w, SESSION_COMPLETE, session_complete, 9, .num_wr = 1);
	}
	for (uint32_t id = 2; id--;)
		EMIT(w, WC, wc, H(0), .wr_id = id, .qp_num = 99, .opcode = SRD_WC_RDMA_WRITE);
	EMIT(w, QP_DESTROY, qp_destroy, 9, );
}

static void wrong_status(struct world *w)
{
	raw_post(w, good_post(w, 0, 100));
	EMIT(w, WC, wc, H(0), .wr_id = 0, .qp_num = QPN(0), .opcode = SRD_WC_RDMA_WRITE,
	     .status = SRD_WC_REM_ACCESS_ERR, .vendor_err = SRD_EFA_REMOTE_ERROR_ABORT);
}

static void entry_lost(struct world *w)
{
	EMIT(w, DEV_CQE, dev_cqe, H(0), .ordinal = 8, .qp = H(0), .occupancy = 8, .lost = 1);
}

static void no_room(struct world *w)
{
	EMIT(w, QP_CREATE, qp_create, 9, .qp_num = 99, .pd = H(0), .send_cq = H(0), .recv_cq = H(0),
	     .requested_send_wr = 4, .granted_send_wr = 4, .requested_recv_wr = 8,
	     .granted_recv_wr = 8);
	for (int i = 0; i < 8; i++)
		EMIT(w, RECV_POST, recv_post, 9, .num_sge = 1);
	raw_post(w, good_post(w, 0, 100));
	completion(w, 0, 0);
	EMIT(w, QP_DESTROY, qp_destroy, 9, );
	EMIT(w, CQ_POLL, cq_poll, H(0), .num_entries = 1, .result = 0);
}

static void small_queue(struct world *w)
{
	EMIT(w, CQ_CREATE, cq_create, 9, .context = H(0), .requested = 2, .granted = 2);
	EMIT(w, QP_CREATE, qp_create, 9, .qp_num = 99, .pd = H(0), .send_cq = 9, .recv_cq = 9,
	     .requested_send_wr = 4, .granted_send_wr = 4);
	EMIT(w, QP_OPEN, qp_open, 9, .max_msg_size = MAX_RDMA, .max_send_wr = 4);
	EMIT(w, QP_CLOSE, qp_close, 9, );
	EMIT(w, QP_DESTROY, qp_destroy, 9, );
	EMIT(w, CQ_DESTROY, cq_destroy, 9, );
}

/* A second queue pair of host 0 posts an op with the same completion queue. */
static void shared(struct world *w)
{
	uint32_t op = good_op(w, SRD_OP_PUT, 100);
	struct srd_ev_wr_post request;

	EMIT(w, QP_CREATE, qp_create, 9, .qp_num = 99, .pd = H(0), .send_cq = H(0), .recv_cq = H(0),
	     .requested_send_wr = 4, .granted_send_wr = 4, .send_ops_flags = 0x11);
	EMIT(w, QP_OPEN, qp_open, 9, .max_msg_size = MAX_RDMA, .max_send_wr = 4);
	EMIT(w, CONNECT, connect, 9, .result = (uint32_t)-22);
	w->op = ++w->last_op;
	EMIT(w, OP_BEGIN, op_begin, 9, .local_addr = ADDR(0), .local_size = 100,
	     .remote_addr = ADDR(1), .remote_size = 100, .lkey = LKEY(0), .rkey = RKEY(1));
	EMIT(w, SESSION_START, session_start, 9, );
	request = good_post(w, 0, 100);
	request.wr_id = 0;
	request.ev.object = 9;
	emit(w, &request.ev);
	EMIT(w, SESSION_ABORT, session_abort, 9, .num_wr = 1);
	op_end(w, w->last_op, -22, 0, 0);
	EMIT(w, QP_CLOSE, qp_close, 9, );
	EMIT(w, QP_DESTROY, qp_destroy, 9, );
	completion(w, 0, 0);
	op_end(w, op, 0, 0, 0);
}

static void third_lease(struct world *w)
{
	EMIT(w, LEASE_ACQUIRE, lease_acquire, H(0), .leases = 3, .limit = 2);
}

static void early_release(struct world *w)
{
	uint32_t op = good_op(w, SRD_OP_PUT, 100);

	completion(w, 0, 0);
	op_end(w, op, 0, 0, 0);
	EMIT(w, LEASE_RELEASE, lease_release, H(0), );
}

static void stale_lease(struct world *w)
{
	raw_post(w, good_post(w, 0, 100));
	EMIT(w, QP_CLOSE, qp_close, H(0), );
	EMIT(w, QP_DESTROY, qp_destroy, H(0), );
	EMIT(w, LEASE_RELEASE, lease_release, H(0), );
	EMIT(w, LEASE_ACQUIRE, lease_acquire, H(0), .leases = 1, .limit = 1);
	EMIT(w, QP_CREATE, qp_create, H(0), .qp_num = QPN(0), .pd = H(0), .send_cq = H(0),
	     .recv_cq = H(0));
}

static void receive(struct world *w)
{
	EMIT(w, WC, wc, H(0), .wr_id = 3, .qp_num = QPN(0), .opcode = SRD_WC_RECV);
}

static void not_ready(struct world *w)
{
	raw_post(w, good_post(w, 0, 8));
	completion(w, 0, SRD_EFA_REMOTE_ERROR_RNR);
}

static void empty_receive(struct world *w)
{
	EMIT(w, RECV_POST, recv_post, H(0), .wr_id = 1, .result = ENOMEM);
	EMIT(w, RECV_POST, recv_post, H(0), .wr_id = 2, .num_sge = 1);
	EMIT(w, RECV_POST, recv_post, H(0), .wr_id = 3);
}

static void early_answer(struct world *w)
{
	uint32_t op = good_op(w, SRD_OP_PUT, 2000);

	completion(w, 1, 0);
	op_end(w, op, 0, 0, 0);
	completion(w, 0, 0);
}

static void two_answers(struct world *w)
{
	uint32_t op = good_op(w, SRD_OP_PUT, 100);

	completion(w, 0, 0);
	op_end(w, op, 0, 0, 0);
	op_end(w, op, 0, 0, 0);
}

static void answer_to_nobody(struct world *w)
{
	uint32_t op = good_op(w, SRD_OP_PUT, 100);

	completion(w, 0, 0);
	op_end(w, op, 0, 0, 0);
	op_end(w, 0, 0, 0, 0);
}

static void unanswered(struct world *w)
{
	good_op(w, SRD_OP_PUT, 100);
	completion(w, 0, 0);
}

static void hole(struct world *w)
{
	uint32_t op = good_op(w, SRD_OP_PUT, 2000);

	completion(w, 1, SRD_EFA_REMOTE_ERROR_ABORT);
	completion(w, 0, 0);
	op_end(w, op, 0, 0, 0);
}

static void false_failure(struct world *w)
{
	uint32_t op = good_op(w, SRD_OP_PUT, 100);

	completion(w, 0, 0);
	op_end(w, op, -5, 0, SRD_EFA_REMOTE_ERROR_ABORT);
}

static void flush_for_cause(struct world *w)
{
	uint32_t op = good_op(w, SRD_OP_PUT, 2000);

	completion(w, 0, SRD_EFA_FLUSHED);
	completion(w, 1, SRD_EFA_REMOTE_ERROR_BAD_ADDRESS);
	op_end(w, op, -5, 0, SRD_EFA_FLUSHED);
}

static void cause_is_kept(void **state)
{
	const struct srd_violation *list;
	struct world w;
	uint32_t op;

	world_open(&w, "all");
	op = good_op(&w, SRD_OP_PUT, 3000);
	completion(&w, 2, SRD_EFA_FLUSHED);
	completion(&w, 0, SRD_EFA_REMOTE_ERROR_BAD_ADDRESS);
	completion(&w, 1, SRD_EFA_REMOTE_ERROR_ABORT);
	op_end(&w, op, -5, 0, SRD_EFA_REMOTE_ERROR_BAD_ADDRESS);
	op = good_op(&w, SRD_OP_PUT, 2000);
	completion(&w, 4, SRD_EFA_FLUSHED);
	completion(&w, 3, SRD_EFA_FLUSHED);
	op_end(&w, op, -5, 4, SRD_EFA_FLUSHED);
	world_unmake(&w);
	if (world_finish(&w, &list))
		fail_msg("%s: %s", rule_of(&list[0]), list[0].evidence);
	world_release(&w);
}

/* The run ends with a live queue pair that owes a completion. */
static void missing_at_the_end(void **state)
{
	const struct srd_violation *list;
	struct world w;

	world_open(&w, "completion.missing");
	raw_post(&w, good_post(&w, 0, 100));
	raw_post(&w, good_post(&w, 0, 100));
	assert_int_equal(world_finish(&w, &list), 1);
	assert_string_equal(rule_of(&list[0]), "completion.missing");
	assert_non_null(strstr(list[0].evidence, "id 0"));
	assert_non_null(strstr(list[0].evidence, "2 like it"));
	world_release(&w);
}

/* A reset drops what is out: that it does not come is no fault. */
static void reset_drops(void **state)
{
	const struct srd_violation *list;
	struct world w;

	world_open(&w, "all");
	raw_post(&w, good_post(&w, 0, 100));
	raw_post(&w, good_post(&w, 0, 100));
	EMIT(&w, QP_MODIFY, qp_modify, H(0), .mask = 1, .from = SRD_QPS_RTS, .to = SRD_QPS_RESET);
	EMIT(&w, MR_DEREG, mr_dereg, H(0), );
	EMIT(&w, MR_REG, mr_reg, 9, .pd = H(0), .addr = ADDR(0), .length = 8, .lkey = 1, .rkey = 2);
	EMIT(&w, MR_DEREG, mr_dereg, 9, );
	EMIT(&w, MR_REG, mr_reg, H(0), .pd = H(0), .addr = ADDR(0), .length = 8);
	world_unmake(&w);
	if (world_finish(&w, &list))
		fail_msg("%s: %s", rule_of(&list[0]), list[0].evidence);
	world_release(&w);
}

/*
 * Who told of requests tells no more: what is under way keeps nothing busy, ids that it had are
 * others', receives are those that the device counts, and an open session is nobody's.
 */
static void exposed(void **state)
{
	const struct srd_violation *list;
	struct world w;

	world_open(&w, "all");
	raw_post(&w, good_post(&w, 0, 100));
	completion(&w, 0, 0);
	raw_post(&w, good_post(&w, 0, 100));
	EMIT(&w, DEV_REQUEST, dev_request, H(0), .ordinal = 1, .length = 100,
	     .opcode = SRD_WR_RDMA_WRITE);
	session_start(&w);
	EMIT(&w, QP_EXPOSED, qp_exposed, H(0), .num_posted = 3, .receives = 1);
	EMIT(&w, MR_DEREG, mr_dereg, H(0), );
	EMIT(&w, MR_REG, mr_reg, H(0), .pd = H(0), .addr = ADDR(0), .length = 4096,
	     .access = SRD_ACCESS_LOCAL_WRITE, .lkey = LKEY(0), .rkey = RKEY(0));
	EMIT(&w, WC, wc, H(0), .qp_num = QPN(0), .opcode = SRD_WC_RECV);
	for (int i = 0; i < 2; i++) {
		struct srd_ev_wr_post again = good_post(&w, 0, 100);

		again.wr_id = 1;
		raw_post(&w, again);
		completion(&w, 1, 0);
	}
	EMIT(&w, WC, wc, H(0), .qp_num = QPN(0), .opcode = SRD_WC_RECV);
	world_unmake(&w);
	assert_int_equal(world_finish(&w, &list), 1);
	assert_string_equal(rule_of(&list[0]), "completion.receive");
	assert_int_equal(list[0].count, 1);
	world_release(&w);
}

/* What rdma-core 44 and 56.1 have no name for, and what has one. */
static void old_names(void **state)
{
	const struct srd_violation *list;
	struct world w;

	world_open(&w, "law");
	for (uint64_t id = 0; id < 3; id++)
		raw_post(&w, good_post(&w, 0, 8));
	EMIT(&w, WC, wc, H(0), .wr_id = 0, .qp_num = QPN(0), .status = SRD_WC_GENERAL_ERR,
	     .vendor_err = SRD_EFA_REMOTE_ERROR_BAD_ADDRESS, .opcode = SRD_WC_RDMA_WRITE);
	EMIT(&w, WC, wc, H(0), .wr_id = 2, .qp_num = QPN(0), .status = SRD_WC_GENERAL_ERR,
	     .vendor_err = SRD_EFA_REMOTE_ERROR_FEATURE_MISMATCH, .opcode = SRD_WC_RDMA_WRITE);
	EMIT(&w, WC, wc, H(0), .wr_id = 1, .qp_num = QPN(0), .status = SRD_WC_GENERAL_ERR,
	     .vendor_err = SRD_EFA_LOCAL_ERROR_INVALID_LKEY, .opcode = SRD_WC_RDMA_WRITE);
	world_unmake(&w);
	assert_int_equal(world_finish(&w, &list), 1);
	assert_string_equal(rule_of(&list[0]), "completion.vendor");
	assert_non_null(strstr(list[0].evidence, "id 1:"));
	world_release(&w);
}

static void after_reset(struct world *w)
{
	raw_post(w, good_post(w, 0, 100));
	EMIT(w, QP_MODIFY, qp_modify, H(0), .mask = 1, .from = SRD_QPS_RTS, .to = SRD_QPS_RESET);
	completion(w, 0, SRD_EFA_FLUSHED);
}

static void cq_misuse(struct world *w, enum srd_cq_misuse what)
{
	EMIT(w, CQ_MISUSE, cq_misuse, H(0), .what = what);
}

static void not_extended(struct world *w)
{
	cq_misuse(w, SRD_CQ_MISUSE_NOT_EXTENDED);
}

static void poll_twice(struct world *w)
{
	cq_misuse(w, SRD_CQ_MISUSE_POLL_TWICE);
}

static void poll_without_start(struct world *w)
{
	cq_misuse(w, SRD_CQ_MISUSE_POLL_WITHOUT_START);
}

static void next_after_empty(struct world *w)
{
	cq_misuse(w, SRD_CQ_MISUSE_NEXT_AFTER_EMPTY);
}

static void destroy_in_poll(struct world *w)
{
	cq_misuse(w, SRD_CQ_MISUSE_DESTROY_IN_POLL);
}

static void no_channel(struct world *w)
{
	cq_misuse(w, SRD_CQ_MISUSE_NOTIFY_WITHOUT_CHANNEL);
}

static void not_acked(struct world *w)
{
	cq_misuse(w, SRD_CQ_MISUSE_EVENT_NOT_ACKED);
}

static void acked_too_many(struct world *w)
{
	cq_misuse(w, SRD_CQ_MISUSE_ACK_TOO_MANY);
}

static void each_rule_fires(void **state)
{
	static const struct rule_case cases[] = {
		{"completion.unknown", unknown, NULL},
		{"completion.unknown", no_such_queue_pair, NULL},
		{"completion.twice", twice, NULL},
		{"completion.refused", of_refused, NULL},
		{"completion.stale", stale, NULL},
		{"completion.missing", NULL, NULL},
		{"completion.opcode", wrong_opcode, NULL},
		{"completion.vendor", wrong_status, NULL},
		{"completion.order", out_of_order, NULL},
		{"completion.overrun", entry_lost, NULL},
		{"completion.room", no_room, "lifetime.busy_qp"},
		{"completion.after_reset", after_reset, NULL},
		{"completion.poll", not_extended, NULL},
		{"completion.poll", poll_twice, NULL},
		{"completion.poll", poll_without_start, NULL},
		{"completion.poll", next_after_empty, NULL},
		{"completion.poll", destroy_in_poll, NULL},
		{"completion.event", no_channel, NULL},
		{"completion.event", not_acked, NULL},
		{"completion.event", acked_too_many, NULL},
		{"completion.cq_size", small_queue, NULL},
		{"completion.shared_queue", shared, "state.connected"},
		{"completion.lease_limit", third_lease, NULL},
		{"completion.lease_early", early_release, NULL},
		{"completion.lease_stale", stale_lease, "lifetime.busy_qp"},
		{"completion.receive", receive, NULL},
		{"completion.empty_receive", empty_receive, NULL},
		{"completion.not_ready", not_ready, NULL},
		{"completion.op_early", early_answer, NULL},
		{"completion.op_twice", two_answers, NULL},
		{"completion.op_twice", answer_to_nobody, NULL},
		{"completion.op_unanswered", unanswered, NULL},
		{"completion.op_result", hole, NULL},
		{"completion.op_result", false_failure, NULL},
		{"completion.op_cause", flush_for_cause, NULL},
	};

	run_cases("completion", cases, sizeof(cases) / sizeof(cases[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_rule_fires), cmocka_unit_test(old_names),
		cmocka_unit_test(cause_is_kept),   cmocka_unit_test(missing_at_the_end),
		cmocka_unit_test(reset_drops),     cmocka_unit_test(exposed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
