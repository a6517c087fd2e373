/* SPDX-License-Identifier: MIT */
/* The laboratory: faults on requests, queue pairs and hosts. */
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

static int fail_request(uint64_t wr_id, uint32_t status)
{
	struct srd_lab command = {
		.kind = SRD_LAB_FAIL, .qp = p.a.qp, .wr_id = wr_id, .status = status};

	return p.v->lab(p.v, &command);
}

static void hold_and_release(void **state)
{
	pair_write(&p, 1, 0, 64);
	pair_write(&p, 2, 64, 64);
	assert_int_equal(lab_locate(&p, p.a.qp, 1), SRD_PLACE_WIRE);
	assert_int_equal(lab_request(&p, p.a.qp, SRD_LAB_HOLD, 1), 0);
	side_expect(&p, &p.a, 2, SRD_EFA_OK);
	assert_int_equal(p.v->wait(p.v, UINT64_MAX), EDEADLK);
	assert_int_equal(lab_locate(&p, p.a.qp, 1), SRD_PLACE_HELD);
	assert_int_equal(lab_request(&p, p.a.qp, SRD_LAB_RELEASE, 1), 0);
	assert_int_equal(p.v->wait(p.v, UINT64_MAX), 0);
	assert_int_equal(lab_locate(&p, p.a.qp, 1), SRD_PLACE_COMPLETED);
	side_expect(&p, &p.a, 1, SRD_EFA_OK);
	assert_int_equal(lab_locate(&p, p.a.qp, 1), SRD_PLACE_UNKNOWN);
	assert_int_equal(lab_request(&p, p.a.qp, SRD_LAB_HOLD, 1), ENOENT);
}

static void release_needs_a_hold(void **state)
{
	pair_write(&p, 1, 0, 64);
	assert_int_equal(lab_request(&p, p.a.qp, SRD_LAB_RELEASE, 1), EINVAL);
	side_expect(&p, &p.a, 1, SRD_EFA_OK);
}

static void fail_moves_no_bytes(void **state)
{
	uint8_t bytes[64], zeros[64] = {0};

	for (uint32_t status = 1; status <= 19; status++) {
		pair_write(&p, status, 0, 64);
		assert_int_equal(fail_request(status, status), 0);
		side_expect(&p, &p.a, status, status);
	}
	assert_int_equal(p.v->read_buffer(p.v, p.b.buffer, 0, bytes, 64), 0);
	assert_memory_equal(bytes, zeros, 64);
	pair_write(&p, 1, 0, 64);
	assert_int_equal(fail_request(1, 0), EINVAL);
	assert_int_equal(fail_request(1, 256), EINVAL);
	side_expect(&p, &p.a, 1, SRD_EFA_OK);
}

static void fail_a_held_request(void **state)
{
	pair_write(&p, 1, 0, 64);
	assert_int_equal(lab_request(&p, p.a.qp, SRD_LAB_HOLD, 1), 0);
	assert_int_equal(p.v->wait(p.v, UINT64_MAX), EDEADLK);
	assert_int_equal(fail_request(1, SRD_EFA_REMOTE_ERROR_ABORT), 0);
	assert_int_equal(lab_request(&p, p.a.qp, SRD_LAB_RELEASE, 1), 0);
	side_expect(&p, &p.a, 1, SRD_EFA_REMOTE_ERROR_ABORT);
}

static void drop(void **state)
{
	pair_write(&p, 1, 0, 64);
	assert_int_equal(lab_request(&p, p.a.qp, SRD_LAB_DROP, 1), 0);
	assert_int_equal(p.v->wait(p.v, UINT64_MAX), EDEADLK);
	assert_int_equal(lab_locate(&p, p.a.qp, 1), SRD_PLACE_LOST);
	/* Not even the end of its queue pair brings it back. */
	assert_int_equal(side_modify(&p, &p.a, SRD_QPS_ERR), 0);
	side_expect_none(&p, &p.a);
	assert_int_equal(lab_request(&p, p.a.qp, SRD_LAB_RELEASE, 1), ENOENT);
}

static void delay(void **state)
{
	struct srd_lab command = {.kind = SRD_LAB_DELAY, .qp = p.a.qp, .wr_id = 1, .time = 1000000};
	uint64_t base;

	pair_write(&p, 1, 0, 64);
	assert_int_equal(p.v->lab(p.v, &command), 0);
	side_expect(&p, &p.a, 1, SRD_EFA_OK);
	base = 2 * p.profile.latency + 4 * p.profile.jitter + 1000;
	assert_in_range(p.v->now(p.v), 1000000 + 2 * p.profile.latency, 1000000 + base);
}

static void duplicate(void **state)
{
	pair_write(&p, 9, 0, 64);
	assert_int_equal(lab_request(&p, p.a.qp, SRD_LAB_DUPLICATE, 9), 0);
	side_expect(&p, &p.a, 9, SRD_EFA_OK);
	side_expect(&p, &p.a, 9, SRD_EFA_OK);
	assert_int_equal(p.v->wait(p.v, UINT64_MAX), EDEADLK);
	/* Whatever the credits are now, nothing is corrupted. */
	for (uint64_t i = 0; i < 40; i++) {
		pair_write(&p, i, 0, 64);
		side_expect(&p, &p.a, i, SRD_EFA_OK);
	}
}

static void planned_by_ordinal(void **state)
{
	struct srd_lab command = {
		.kind = SRD_LAB_FAIL,
		.flags = SRD_LAB_BY_ORDINAL,
		.qp = p.a.qp,
		.ordinal = 2,
		.status = SRD_EFA_REMOTE_ERROR_BAD_STATUS,
	};

	assert_int_equal(p.v->lab(p.v, &command), 0);
	assert_int_equal(lab_ordinal(&p, p.a.qp, SRD_LAB_HOLD, 1), 0);
	assert_int_equal(lab_ordinal(&p, p.a.qp, SRD_LAB_HOLD, 0), 0);
	assert_int_equal(lab_ordinal(&p, p.a.qp, SRD_LAB_RELEASE, 0), 0);
	assert_int_equal(lab_ordinal(&p, p.a.qp, SRD_LAB_RELEASE, 5), EINVAL);
	pair_write(&p, 10, 0, 64);
	side_expect(&p, &p.a, 10, SRD_EFA_OK);
	pair_write(&p, 11, 0, 64);
	pair_write(&p, 12, 0, 64);
	side_expect(&p, &p.a, 12, SRD_EFA_REMOTE_ERROR_BAD_STATUS);
	assert_int_equal(p.v->wait(p.v, UINT64_MAX), EDEADLK);
	assert_int_equal(lab_ordinal(&p, p.a.qp, SRD_LAB_RELEASE, 1), 0);
	side_expect(&p, &p.a, 11, SRD_EFA_OK);
	assert_int_equal(lab_ordinal(&p, p.a.qp, SRD_LAB_HOLD, 1), ENOENT);
	/* A plan that is never used goes with its queue pair. */
	assert_int_equal(lab_ordinal(&p, p.a.qp, SRD_LAB_DROP, 99), 0);
}

static void complete_all(void **state)
{
	for (uint64_t i = 0; i < 4; i++) {
		pair_write(&p, i, 0, 64);
		assert_int_equal(lab_request(&p, p.a.qp, SRD_LAB_HOLD, i), 0);
	}
	assert_int_equal(p.v->wait(p.v, UINT64_MAX), EDEADLK);
	assert_int_equal(lab_request(&p, p.a.qp, SRD_LAB_COMPLETE_ALL, 0), 0);
	for (uint64_t i = 0; i < 4; i++)
		side_expect(&p, &p.a, i, SRD_EFA_OK);
}

static void flush_ends_a_hold(void **state)
{
	pair_write(&p, 1, 0, 64);
	assert_int_equal(lab_request(&p, p.a.qp, SRD_LAB_HOLD, 1), 0);
	assert_int_equal(p.v->wait(p.v, UINT64_MAX), EDEADLK);
	assert_int_equal(side_modify(&p, &p.a, SRD_QPS_ERR), 0);
	side_expect(&p, &p.a, 1, SRD_EFA_FLUSHED);
}

static void device_moves_to_error(void **state)
{
	struct srd_qp_attr attr;

	pair_write(&p, 1, 0, 64);
	assert_int_equal(lab_request(&p, p.a.qp, SRD_LAB_QP_ERR, 0), 0);
	side_expect(&p, &p.a, 1, SRD_EFA_FLUSHED);
	/* The library does not know: a post passes and is flushed. */
	assert_int_equal(p.a.qp->state, SRD_QPS_RTS);
	pair_write(&p, 2, 0, 64);
	side_expect(&p, &p.a, 2, SRD_EFA_FLUSHED);
	assert_int_equal(p.v->query_qp(p.v, p.a.qp, &attr, SRD_QP_STATE), 0);
	assert_int_equal(p.a.qp->state, SRD_QPS_ERR);
	p.v->wr_start(p.v, p.a.qp);
	build_write(&p, 3, 0, 64);
	assert_int_equal(p.v->wr_complete(p.v, p.a.qp), EINVAL);
	assert_int_equal(lab_request(&p, p.a.qp, SRD_LAB_QP_ERR, 0), EINVAL);
	/* And it can be brought back. */
	assert_int_equal(side_modify(&p, &p.a, SRD_QPS_RESET), 0);
	side_connect(&p, &p.a);
	pair_write(&p, 4, 0, 64);
	side_expect(&p, &p.a, 4, SRD_EFA_OK);
}

static void stale_entry(void **state)
{
	struct srd_wc wc[4];

	assert_int_equal(lab_request(&p, p.a.qp, SRD_LAB_STALE_CQE, 0), 0);
	assert_int_equal(p.v->wait(p.v, UINT64_MAX), 0);
	assert_int_equal(p.v->poll_cq(p.v, p.a.cq, 4, wc), -EINVAL);
	assert_int_equal(p.v->poll_cq(p.v, p.a.cq, 4, wc), 0);
}

static void kill_then_timeout(void **state)
{
	uint64_t start;

	pair_write(&p, 1, 0, 64);
	side_expect(&p, &p.a, 1, SRD_EFA_OK);
	assert_int_equal(lab_host(&p, SRD_LAB_KILL, 1), 0);
	start = p.v->now(p.v);
	pair_write(&p, 2, 0, 64);
	side_expect(&p, &p.a, 2, SRD_EFA_LOCAL_ERROR_UNRESP_REMOTE);
	assert_int_equal(p.v->now(p.v) - start, p.profile.unresponsive_timeout);
	assert_int_equal(lab_counter(&p, 0, "unresponsive_remote_events"), 1);
	assert_int_equal(lab_host(&p, SRD_LAB_KILL, 9), ENOENT);
}

static void killed_before_it_ever_answered(void **state)
{
	assert_int_equal(lab_host(&p, SRD_LAB_KILL, 1), 0);
	pair_write(&p, 2, 0, 64);
	side_expect(&p, &p.a, 2, SRD_EFA_LOCAL_ERROR_UNREACH_REMOTE);
}

static void dead_host_finishes_nothing(void **state)
{
	pair_write(&p, 1, 0, 64);
	assert_int_equal(lab_host(&p, SRD_LAB_KILL, 0), 0);
	pair_write(&p, 2, 0, 64);
	assert_int_equal(p.v->wait(p.v, UINT64_MAX), EDEADLK);
	assert_int_equal(lab_locate(&p, p.a.qp, 1), SRD_PLACE_LOST);
	assert_int_equal(lab_locate(&p, p.a.qp, 2), SRD_PLACE_LOST);
}

static void restart(void **state)
{
	struct srd_qp_attr attr = {.qp_state = SRD_QPS_RESET};
	struct srd_qp *old = p.b.qp;

	assert_int_equal(lab_host(&p, SRD_LAB_KILL, 1), 0);
	assert_int_equal(lab_host(&p, SRD_LAB_RESTART, 1), 0);
	pair_write(&p, 1, 0, 64);
	side_expect(&p, &p.a, 1, SRD_EFA_REMOTE_ERROR_BAD_DEST_QPN);
	assert_int_equal(p.v->modify_qp(p.v, old, &attr, SRD_QP_STATE), EIO);
	assert_int_equal(p.v->query_qp(p.v, old, &attr, SRD_QP_STATE), EIO);
	assert_int_equal(lab_request(&p, old, SRD_LAB_QP_ERR, 0), EINVAL);

	/* A new queue pair gets the old number; the peer is not known, then its key is not. */
	p.b.qp = side_create_qp(&p, &p.b);
	assert_int_equal(p.b.qp->qp_num, old->qp_num);
	side_connect(&p, &p.b);
	pair_write(&p, 2, 0, 64);
	side_expect(&p, &p.a, 2, SRD_EFA_REMOTE_ERROR_UNKNOWN_PEER);
	assert_int_equal(p.v->destroy_ah(p.v, p.b.ah), 0);
	p.b.ah = side_create_ah(&p, &p.b, 0);
	pair_write(&p, 3, 0, 64);
	side_expect(&p, &p.a, 3, SRD_EFA_REMOTE_ERROR_BAD_ADDRESS);
	assert_int_equal(p.v->dereg_mr(p.v, p.b.mr), 0);
	p.b.mr = p.v->reg_mr(p.v, p.b.pd, p.b.buffer->addr, PAIR_MEMORY, 7);
	pair_write(&p, 4, 0, 64);
	side_expect(&p, &p.a, 4, SRD_EFA_OK);
	/* The handle of the old one is given back without harm to the new one. */
	assert_int_equal(p.v->destroy_qp(p.v, old), 0);
	pair_write(&p, 5, 0, 64);
	side_expect(&p, &p.a, 5, SRD_EFA_OK);
}

static void settings(void **state)
{
	assert_int_equal(lab_set(&p, "latency", 1000000), 0);
	assert_int_equal(lab_set(&p, "jitter", 0), 0);
	pair_write(&p, 1, 0, 64);
	side_expect(&p, &p.a, 1, SRD_EFA_OK);
	assert_in_range(p.v->now(p.v), 2000000, 2001000);
	assert_int_equal(lab_set(&p, "no such field", 1), ENOENT);
	assert_int_equal(lab_set(&p, "max_qp", 1), EINVAL);
	assert_int_equal(lab_set(&p, "bandwidth", 0), EINVAL);
	assert_int_equal(lab_set(&p, "order", 3), EINVAL);
	assert_int_equal(lab_set(&p, "order", SRD_PROFILE_ORDER_IN_ORDER), 0);
	assert_int_equal(lab_set(&p, "partial_on_error", 2), EINVAL);
	assert_int_equal(lab_set(&p, "partial_on_error", 0), 0);
	assert_int_equal(lab_set(&p, NULL, 0), EINVAL);
}

static void commands_without_an_object(void **state)
{
	struct srd_lab command = {.kind = SRD_LAB_HOLD};

	assert_int_equal(p.v->lab(p.v, &command), EINVAL);
	command.kind = SRD_LAB_QP_ERR;
	assert_int_equal(p.v->lab(p.v, &command), EINVAL);
	command.kind = SRD_LAB_COUNTER;
	assert_int_equal(p.v->lab(p.v, &command), EINVAL);
	command.name = "events";
	assert_int_equal(p.v->lab(p.v, &command), 0);
	command.host = 77;
	assert_int_equal(p.v->lab(p.v, &command), ENOENT);
	command.host = 0;
	command.name = "no such counter";
	assert_int_equal(p.v->lab(p.v, &command), ENOENT);
	command.kind = (enum srd_lab_kind)1000;
	assert_int_equal(p.v->lab(p.v, &command), EOPNOTSUPP);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_pair, close_pair)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(hold_and_release),
		TEST(release_needs_a_hold),
		TEST(fail_moves_no_bytes),
		TEST(fail_a_held_request),
		TEST(drop),
		TEST(delay),
		TEST(duplicate),
		TEST(planned_by_ordinal),
		TEST(complete_all),
		TEST(flush_ends_a_hold),
		TEST(device_moves_to_error),
		TEST(stale_entry),
		TEST(kill_then_timeout),
		TEST(killed_before_it_ever_answered),
		TEST(dead_host_finishes_nothing),
		TEST(restart),
		TEST(settings),
		TEST(commands_without_an_object),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
