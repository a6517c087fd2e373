/* SPDX-License-Identifier: MIT */
/* The mock answers a misused session as the seam promises, and as the EFA backend does. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mock_pair.h"

static struct pair p;
static struct srd_verbs *v;

static int setup(void **state)
{
	pair_init(&p, "efa1");
	pair_open(&p);
	v = p.v;
	return 0;
}

static int teardown(void **state)
{
	pair_close(&p);
	return 0;
}

static void an_operation_that_was_not_asked_for(void **state)
{
	struct srd_efa_qp_init_attr efa = {.driver_qp_type = SRD_EFADV_QP_DRIVER_TYPE_SRD};
	struct srd_qp_init_attr_ex attr = {
		.pd = p.a.pd,
		.send_cq = p.a.cq,
		.recv_cq = p.a.cq,
		.cap = {1, 1, 1, 1, 0},
		.qp_type = SRD_QPT_DRIVER,
		.comp_mask = SRD_QP_INIT_ATTR_PD | SRD_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = SRD_QP_EX_WITH_RDMA_WRITE,
	};
	struct srd_qp *writer = v->create_qp_ex(v, p.a.context, &attr, &efa);

	assert_non_null(writer);
	v->wr_start(v, writer);
	v->wr_rdma_read(v, writer, 1, 2);
	assert_int_equal(v->wr_complete(v, writer), EOPNOTSUPP);
	assert_int_equal(v->destroy_qp(v, writer), 0);
}

static void a_setter_before_any_request(void **state)
{
	v->wr_start(v, p.a.qp);
	v->wr_set_sge(v, p.a.qp, 1, 2, 3);
	build_write(&p, 1, 0, 10);
	assert_int_equal(v->wr_complete(v, p.a.qp), EINVAL);
	side_expect_none(&p, &p.a);
}

static void outside_a_session(void **state)
{
	v->wr_rdma_write(v, p.a.qp, 1, 2);
	v->wr_set_sge(v, p.a.qp, 1, 2, 3);
	v->wr_abort(v, p.a.qp);
	assert_int_equal(v->wr_complete(v, p.a.qp), EINVAL);
	pair_write(&p, 7, 0, 10);
	side_expect(&p, &p.a, 7, SRD_EFA_OK);
}

static void a_session_inside_a_session(void **state)
{
	v->wr_start(v, p.a.qp);
	build_write(&p, 1, 0, 10);
	v->wr_start(v, p.a.qp);
	assert_int_equal(v->wr_complete(v, p.a.qp), EINVAL);
	assert_int_equal(v->wr_complete(v, p.a.qp), EINVAL);
	side_expect_none(&p, &p.a);
}

static void polling_in_a_session(void **state)
{
	struct srd_wc wc;

	v->wr_start(v, p.a.qp);
	assert_int_equal(v->poll_cq(v, p.a.cq, 1, &wc), -EDEADLK);
	assert_int_equal(v->poll_cq(v, p.b.cq, 1, &wc), 0);
	v->wr_abort(v, p.a.qp);
	assert_int_equal(v->poll_cq(v, p.a.cq, 1, &wc), 0);
	v->wr_start(v, p.a.qp);
	assert_int_equal(v->destroy_qp(v, p.a.qp), 0);
	assert_int_equal(v->poll_cq(v, p.a.cq, 1, &wc), 0);
	p.a.qp = side_create_qp(&p, &p.a);
}

static void a_session_across_a_reset(void **state)
{
	v->wr_start(v, p.a.qp);
	build_write(&p, 1, 0, 10);
	assert_int_equal(side_modify(&p, &p.a, SRD_QPS_RESET), 0);
	assert_int_equal(v->wr_complete(v, p.a.qp), EINVAL);
	side_expect_none(&p, &p.a);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(an_operation_that_was_not_asked_for),
		CASE(a_setter_before_any_request),
		CASE(outside_a_session),
		CASE(a_session_inside_a_session),
		CASE(polling_in_a_session),
		CASE(a_session_across_a_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
