/* SPDX-License-Identifier: MIT */
/* The posting session: checks and their order, the latch, the undo, the slots. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "mock_pair.h"

static struct pair p;

static int open_pair(void **state)
{
	pair_init(&p, "efa1");
	pair_open(&p);
	return 0;
}

static int close_pair(void **state)
{
	pair_close(&p);
	return 0;
}

static int complete(void)
{
	return p.v->wr_complete(p.v, p.a.qp);
}

static void start(void)
{
	p.v->wr_start(p.v, p.a.qp);
}

/* A builder with these flags, alone in a session. */
static int try_flags(uint32_t flags)
{
	start();
	p.a.qp->wr_flags = flags;
	p.v->wr_rdma_write(p.v, p.a.qp, p.b.mr->rkey, p.b.buffer->addr);
	p.v->wr_set_ud_addr(p.v, p.a.qp, p.a.ah, p.b.qp->qp_num, PAIR_QKEY);
	return complete();
}

static void flags(void **state)
{
	assert_int_equal(try_flags(0), EINVAL);
	assert_int_equal(try_flags(SRD_SEND_SIGNALED | SRD_SEND_FENCE), EINVAL);
	assert_int_equal(try_flags(SRD_SEND_SIGNALED | SRD_SEND_SOLICITED), EINVAL);
	assert_int_equal(try_flags(SRD_SEND_SIGNALED | SRD_SEND_IP_CSUM), EINVAL);
	side_expect_none(&p, &p.a);
	assert_int_equal(try_flags(SRD_SEND_SIGNALED), 0);
	assert_int_equal(try_flags(SRD_SEND_SIGNALED | SRD_SEND_INLINE), 0);
}

static void states(void **state)
{
	static const struct {
		enum srd_qp_state state;
		int error;
	} walk[] = {
		{SRD_QPS_SQD, 0},        {SRD_QPS_RTS, 0},       {SRD_QPS_ERR, EINVAL},
		{SRD_QPS_RESET, EINVAL}, {SRD_QPS_INIT, EINVAL}, {SRD_QPS_RTR, EINVAL},
	};

	for (size_t i = 0; i < sizeof(walk) / sizeof(walk[0]); i++) {
		assert_int_equal(side_modify(&p, &p.a, walk[i].state), 0);
		assert_int_equal(try_flags(SRD_SEND_SIGNALED), walk[i].error);
	}
}

/* A bad state is found before bad flags, bad flags before a full queue. */
static void order_of_checks(void **state)
{
	for (int i = 0; i < 16; i++)
		assert_int_equal(try_flags(SRD_SEND_SIGNALED), 0);
	assert_int_equal(try_flags(SRD_SEND_SIGNALED), ENOMEM);
	assert_int_equal(try_flags(0), EINVAL);
	assert_int_equal(side_modify(&p, &p.a, SRD_QPS_ERR), 0);
	assert_int_equal(try_flags(SRD_SEND_SIGNALED), EINVAL);
}

static void all_or_nothing(void **state)
{
	start();
	for (uint64_t i = 0; i < 17; i++)
		build_write(&p, i, 0, 64);
	assert_int_equal(complete(), ENOMEM);
	assert_int_equal(p.v->wait(p.v, UINT64_MAX), EDEADLK);
	side_expect_none(&p, &p.a);
	/* All the credit is still there. */
	start();
	for (uint64_t i = 0; i < 16; i++)
		build_write(&p, 100 + i, 0, 64);
	assert_int_equal(complete(), 0);
	for (int i = 0; i < 16; i++)
		assert_in_range(side_wait(&p, &p.a).wr_id, 100, 115);
}

static void credit_comes_back_when_polled(void **state)
{
	for (uint64_t i = 0; i < 16; i++)
		pair_write(&p, i, 0, 64);
	while (p.v->wait(p.v, UINT64_MAX) != EDEADLK)
		;
	assert_int_equal(try_flags(SRD_SEND_SIGNALED), ENOMEM);
	side_wait(&p, &p.a);
	assert_int_equal(try_flags(SRD_SEND_SIGNALED), 0);
	assert_int_equal(try_flags(SRD_SEND_SIGNALED), ENOMEM);
}

static void first_error_stays_latched(void **state)
{
	start();
	build_write(&p, 1, 0, 64);
	p.a.qp->wr_flags = 0;
	p.v->wr_rdma_write(p.v, p.a.qp, 0, 0);
	/* These would be good, but come too late. */
	build_write(&p, 2, 0, 64);
	assert_int_equal(complete(), EINVAL);
	side_expect_none(&p, &p.a);
	assert_int_equal(p.v->wait(p.v, UINT64_MAX), EDEADLK);
	/* start clears it. */
	pair_write(&p, 3, 0, 64);
	side_expect(&p, &p.a, 3, SRD_EFA_OK);
}

static void abort_undoes(void **state)
{
	start();
	for (uint64_t i = 0; i < 16; i++)
		build_write(&p, i, 0, 64);
	p.v->wr_abort(p.v, p.a.qp);
	assert_int_equal(p.v->wait(p.v, UINT64_MAX), EDEADLK);
	for (uint64_t i = 0; i < 16; i++)
		pair_write(&p, i, 0, 64);
}

static void empty_session(void **state)
{
	start();
	assert_int_equal(complete(), 0);
	side_expect_none(&p, &p.a);
}

static void misuse_is_refused(void **state)
{
	/* No session. */
	assert_int_equal(complete(), EINVAL);
	p.v->wr_abort(p.v, p.a.qp);
	build_write(&p, 1, 0, 64);
	side_expect_none(&p, &p.a);
	/* A setter before any builder. */
	start();
	p.v->wr_set_sge(p.v, p.a.qp, 0, 0, 0);
	assert_int_equal(complete(), EINVAL);
	start();
	p.v->wr_set_ud_addr(p.v, p.a.qp, p.a.ah, 1, 1);
	assert_int_equal(complete(), EINVAL);
	start();
	p.v->wr_set_inline_data(p.v, p.a.qp, p.a.buffer->addr, 0);
	assert_int_equal(complete(), EINVAL);
	/* A start within a session. */
	start();
	build_write(&p, 1, 0, 64);
	start();
	build_write(&p, 2, 0, 64);
	assert_int_equal(complete(), EINVAL);
	assert_int_equal(complete(), EINVAL);
	/* No address handle. */
	start();
	build_write(&p, 1, 0, 64);
	p.v->wr_set_ud_addr(p.v, p.a.qp, NULL, 1, 1);
	assert_int_equal(complete(), EINVAL);
	side_expect_none(&p, &p.a);
	pair_write(&p, 3, 0, 64);
	side_expect(&p, &p.a, 3, SRD_EFA_OK);
}

static void reset_within_a_session(void **state)
{
	start();
	build_write(&p, 1, 0, 64);
	assert_int_equal(side_modify(&p, &p.a, SRD_QPS_RESET), 0);
	assert_int_equal(complete(), EINVAL);
	side_connect(&p, &p.a);
	pair_write(&p, 3, 0, 64);
	side_expect(&p, &p.a, 3, SRD_EFA_OK);
}

static void destroy_within_a_session(void **state)
{
	struct srd_qp *qp = p.a.qp;

	start();
	build_write(&p, 1, 0, 64);
	build_write(&p, 3, 0, 64);
	assert_int_equal(lab_locate(&p, qp, 1), SRD_PLACE_SESSION);
	assert_int_equal(lab_locate(&p, qp, 3), SRD_PLACE_SESSION);
	assert_int_equal(lab_locate(&p, qp, 2), SRD_PLACE_UNKNOWN);
	assert_int_equal(p.v->destroy_qp(p.v, qp), 0);
	p.a.qp = side_create_qp(&p, &p.a);
}

static void builder_that_was_not_asked_for(void **state)
{
	struct srd_qp_init_attr_ex attr = {
		.pd = p.a.pd,
		.send_cq = p.a.cq,
		.recv_cq = p.a.cq,
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = SRD_QPT_DRIVER,
		.comp_mask = SRD_QP_INIT_ATTR_PD | SRD_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = SRD_QP_EX_WITH_SEND,
	};
	struct srd_efa_qp_init_attr efa = {.flags = 0};

	p.a.qp = p.v->create_qp_ex(p.v, p.a.context, &attr, &efa);
	assert_non_null(p.a.qp);
	side_connect(&p, &p.a);
	start();
	build_write(&p, 1, 0, 64);
	assert_int_equal(complete(), EOPNOTSUPP);
}

static void signal_all_replaces_the_flag(void **state)
{
	struct srd_qp_init_attr_ex attr = {
		.pd = p.a.pd,
		.send_cq = p.a.cq,
		.recv_cq = p.a.cq,
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = SRD_QPT_DRIVER,
		.sq_sig_all = 1,
		.comp_mask = SRD_QP_INIT_ATTR_PD | SRD_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = SRD_QP_EX_WITH_RDMA_WRITE,
	};
	struct srd_efa_qp_init_attr efa = {.flags = 0};

	p.a.qp = p.v->create_qp_ex(p.v, p.a.context, &attr, &efa);
	side_connect(&p, &p.a);
	assert_int_equal(try_flags(0), 0);
	side_expect(&p, &p.a, 0, SRD_EFA_OK);
}

/* Post two, complete the first, RESET: libefa hands out slot 0 twice, and one id is lost. */
static void reset_spoils_the_slots(void **state)
{
	struct srd_wc wc;

	pair_write(&p, 1, 0, 64);
	pair_write(&p, 2, 0, 64);
	assert_int_equal(lab_request(&p, p.a.qp, SRD_LAB_HOLD, 2), 0);
	side_expect(&p, &p.a, 1, SRD_EFA_OK);
	assert_int_equal(side_modify(&p, &p.a, SRD_QPS_RESET), 0);
	side_connect(&p, &p.a);
	pair_write(&p, 3, 0, 64);
	pair_write(&p, 4, 0, 64);
	wc = side_wait(&p, &p.a);
	assert_int_equal(wc.wr_id, 4);
	wc = side_wait(&p, &p.a);
	assert_int_equal(wc.wr_id, 4);
}

/* An entry from before a RESET is taken for one of now; the pool does not run backwards. */
static void late_entry_after_reset(void **state)
{
	pair_write(&p, 1, 0, 64);
	while (p.v->wait(p.v, UINT64_MAX) != EDEADLK)
		;
	assert_int_equal(side_modify(&p, &p.a, SRD_QPS_RESET), 0);
	side_connect(&p, &p.a);
	side_expect(&p, &p.a, 1, SRD_EFA_OK);
	for (uint64_t i = 0; i < 100; i++) {
		pair_write(&p, i, 0, 64);
		side_expect(&p, &p.a, i, SRD_EFA_OK);
	}
	start();
	for (uint64_t i = 0; i < 20; i++)
		build_write(&p, i, 0, 64);
	assert_int_equal(complete(), ENOMEM);
}

static void ids_of_64_bits(void **state)
{
	pair_init(&p, "efa1");
	p.profile.id64 = true;
	pair_open(&p);
	for (uint64_t i = 0; i < 40; i++) {
		pair_write(&p, 0x123456789abcdef0u + i, 0, 64);
		side_expect(&p, &p.a, 0x123456789abcdef0u + i, SRD_EFA_OK);
	}
	start();
	for (uint64_t i = 0; i < 17; i++)
		build_write(&p, i, 0, 64);
	assert_int_equal(complete(), ENOMEM);
	pair_close(&p);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_pair, close_pair)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(flags),
		TEST(states),
		TEST(order_of_checks),
		TEST(all_or_nothing),
		TEST(credit_comes_back_when_polled),
		TEST(first_error_stays_latched),
		TEST(abort_undoes),
		TEST(empty_session),
		TEST(misuse_is_refused),
		TEST(reset_within_a_session),
		TEST(destroy_within_a_session),
		TEST(builder_that_was_not_asked_for),
		TEST(signal_all_replaces_the_flag),
		TEST(reset_spoils_the_slots),
		TEST(late_entry_after_reset),
		cmocka_unit_test(ids_of_64_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
