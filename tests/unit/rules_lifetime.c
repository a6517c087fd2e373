/* SPDX-License-Identifier: MIT */
/* The lifetime family: each rule fires on a stream of its own. */
#include "rules_world.h"

static void post_after_destroy(struct world *w)
{
	EMIT(w, QP_CREATE, qp_create, 9, .qp_num = 99, .pd = H(0), .send_cq = H(0),
	     .recv_cq = H(0));
	EMIT(w, QP_DESTROY, qp_destroy, 9, );
	EMIT(w, SESSION_START, session_start, 9, );
}

static void poll_after_destroy(struct world *w)
{
	EMIT(w, CQ_CREATE, cq_create, 9, .context = H(0), .granted = 4);
	EMIT(w, CQ_DESTROY, cq_destroy, 9, );
	EMIT(w, CQ_POLL, cq_poll, 9, .num_entries = 1);
}

static void built_on_dead(struct world *w)
{
	EMIT(w, PD_ALLOC, pd_alloc, 8, .context = H(0));
	EMIT(w, PD_DEALLOC, pd_dealloc, 8, );
	EMIT(w, MR_REG, mr_reg, 9, .pd = 8, .addr = ADDR(0), .length = 8, .lkey = 5, .rkey = 6);
	EMIT(w, MR_DEREG, mr_dereg, 9, );
}

static void twice(struct world *w)
{
	EMIT(w, AH_CREATE, ah_create, 9, .pd = H(0), .gid_lo = GID(1));
	EMIT(w, AH_DESTROY, ah_destroy, 9, );
	EMIT(w, AH_DESTROY, ah_destroy, 9, );
}

static void pd_before_mr(struct world *w)
{
	EMIT(w, PD_ALLOC, pd_alloc, 8, .context = H(0));
	EMIT(w, MR_REG, mr_reg, 9, .pd = 8, .addr = ADDR(0), .length = 8, .lkey = 5, .rkey = 6);
	EMIT(w, PD_DEALLOC, pd_dealloc, 8, );
	EMIT(w, MR_DEREG, mr_dereg, 9, );
}

static void ah_before_qp(struct world *w)
{
	uint32_t op = good_op(w, SRD_OP_PUT, 100);

	completion(w, 0, 0);
	op_end(w, op, 0, 0, 0);
	EMIT(w, AH_DESTROY, ah_destroy, H(0), );
	EMIT(w, AH_CREATE, ah_create, H(0), .pd = H(0), .gid_lo = GID(1));
}

static void ah_in_use(struct world *w)
{
	raw_post(w, good_post(w, 0, 100));
	EMIT(w, AH_DESTROY, ah_destroy, H(0), );
	completion(w, 0, SRD_EFA_FLUSHED);
	EMIT(w, AH_CREATE, ah_create, H(0), .pd = H(0), .gid_lo = GID(1));
}

static void qp_in_use(struct world *w)
{
	raw_post(w, good_post(w, 0, 100));
	EMIT(w, QP_CLOSE, qp_close, H(0), );
	EMIT(w, QP_DESTROY, qp_destroy, H(0), );
	EMIT(w, QP_CREATE, qp_create, H(0), .qp_num = QPN(0), .pd = H(0), .send_cq = H(0),
	     .recv_cq = H(0));
}

static void forgotten_buffer(struct world *w)
{
	EMIT(w, BUFFER_ALLOC, buffer_alloc, 9, .addr = 1u << 30, .length = 64);
	EMIT(w, BUFFER_ALLOC, buffer_alloc, 10, .addr = 1u << 31, .length = 64);
}

/* Leaks are told kind by kind, with the line that made the first. */
static void leak_names_the_first(void **state)
{
	const struct srd_violation *list;
	struct world w;
	uint32_t line;

	world_open(&w, "lifetime.leak");
	world_unmake(&w);
	EMIT(&w, DEVICE_OPEN, device_open, 7, .gid_lo = GID(0));
	EMIT(&w, PD_ALLOC, pd_alloc, 7, .context = 7);
	EMIT(&w, BUFFER_ALLOC, buffer_alloc, 8, .addr = 1u << 30, .length = 64);
	line = w.line;
	EMIT(&w, BUFFER_ALLOC, buffer_alloc, 9, .addr = 1u << 31, .length = 64);
	assert_int_equal(world_finish(&w, &list), 3);
	assert_int_equal(list[2].line, line);
	assert_non_null(strstr(list[2].evidence, "buffer 8"));
	assert_non_null(strstr(list[2].evidence, "2 of its kind"));
	/* Asking again changes nothing. */
	assert_int_equal(world_finish(&w, &list), 3);
	world_release(&w);
}

/* The kernel releases what a process had that died, requests in flight included. */
static void death_is_no_leak(void **state)
{
	const struct srd_violation *list;
	struct world w;

	world_open(&w, "law");
	raw_post(&w, good_post(&w, 0, 8));
	EMIT(&w, CONTEXT_LOST, context_lost, H(0), );
	EMIT(&w, CONTEXT_LOST, context_lost, H(1), );
	for (uint32_t h = 0; h < 2; h++)
		EMIT(&w, BUFFER_FREE, buffer_free, H(h), );
	if (world_finish(&w, &list))
		fail_msg("%s: %s", rule_of(&list[0]), list[0].evidence);
	world_release(&w);
	/* Only what stood on it is gone. */
	world_open(&w, "law");
	EMIT(&w, CONTEXT_LOST, context_lost, H(0), );
	assert_int_equal(world_finish(&w, &list), 7);
	for (int i = 0; i < 7; i++)
		assert_string_equal(rule_of(&list[i]), "lifetime.leak");
	world_release(&w);
}

static void each_rule_fires(void **state)
{
	static const struct rule_case cases[] = {
		{"lifetime.use", post_after_destroy, NULL},
		{"lifetime.use", poll_after_destroy, NULL},
		{"lifetime.use", built_on_dead, NULL},
		{"lifetime.twice", twice, NULL},
		{"lifetime.order", pd_before_mr, NULL},
		{"lifetime.ah_order", ah_before_qp, NULL},
		{"lifetime.busy_ah", ah_in_use, NULL},
		{"lifetime.busy_qp", qp_in_use, NULL},
		{"lifetime.leak", forgotten_buffer, NULL},
	};

	run_cases("lifetime", cases, sizeof(cases) / sizeof(cases[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_rule_fires),
		cmocka_unit_test(leak_names_the_first),
		cmocka_unit_test(death_is_no_leak),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
