/* SPDX-License-Identifier: MIT */
#include "alloc.h"
#include "fake.h"
#include "limit_table.h"

static struct fake fake;
static struct srd_limits *limits;
static struct srd_verbs *verbs;
static struct srd_context *context;

static void open_limits(const struct srd_limit *list, int num)
{
	struct srd_error error = {0};

	fake_init(&fake);
	fake.attr = (struct srd_device_attr){.max_mr_size = UINT64_C(1) << 40,
					     .max_qp = 256,
					     .max_qp_wr = 4096,
					     .max_sge = 2,
					     .max_sge_rd = 1,
					     .max_cq = 512,
					     .max_cqe = 32768,
					     .max_mr = 1000,
					     .max_pd = 256,
					     .max_ah = 1024};
	fake.efa = (struct srd_efa_device_attr){.max_sq_wr = 4096,
						.max_rq_wr = 32768,
						.max_sq_sge = 2,
						.max_rq_sge = 3,
						.inline_buf_size = 32,
						.inline_buf_size_ex = 80,
						.device_caps = 9,
						.max_rdma_size = 1 << 30};
	assert_int_equal(srd_limits_open(&fake.verbs, list, num, &limits, &error), 0);
	verbs = srd_limits_verbs(limits);
	context = verbs->open_device(verbs, 1, NULL);
}

#define OPEN(...)                                            \
	open_limits((const struct srd_limit[]){__VA_ARGS__}, \
		    sizeof((struct srd_limit[]){__VA_ARGS__}) / sizeof(struct srd_limit))

static int teardown(void **state)
{
	verbs->close(verbs);
	assert_true(fake.closed);
	assert_int_equal(srd_alloc_live(), 0);
	return 0;
}

static void nothing_lowered(void **state)
{
	struct srd_efa_device_attr efa;
	struct srd_device_attr attr;

	open_limits(NULL, 0);
	assert_int_equal(verbs->query_device(verbs, context, &attr), 0);
	assert_memory_equal(&attr, &fake.attr, sizeof(attr));
	assert_int_equal(verbs->efa_query_device(verbs, context, &efa), 0);
	assert_memory_equal(&efa, &fake.efa, sizeof(efa));
	assert_int_equal(srd_limits_error(limits)->code, 0);
}

static void everything_lowered(void **state)
{
	struct srd_efa_device_attr efa;
	struct srd_device_attr attr;

	OPEN({"max_qp", 1}, {"max_cq", 2}, {"max_cqe", 4}, {"max_mr", 3}, {"max_mr_size", 5000},
	     {"max_pd", 6}, {"max_ah", 7}, {"max_sge_rd", 1}, {"max_send_wr", 8},
	     {"max_recv_wr", 16}, {"max_sq_sge", 1}, {"max_rq_sge", 1}, {"inline_buf_size", 0},
	     {"inline_buf_size_ex", 16}, {"max_rdma_size", 1000});
	assert_int_equal(verbs->query_device(verbs, context, &attr), 0);
	assert_int_equal(attr.max_qp, 1);
	assert_int_equal(attr.max_cq, 2);
	assert_int_equal(attr.max_cqe, 4);
	assert_int_equal(attr.max_mr, 3);
	assert_int_equal(attr.max_mr_size, 5000);
	assert_int_equal(attr.max_pd, 6);
	assert_int_equal(attr.max_ah, 7);
	assert_int_equal(attr.max_sge_rd, 1);
	assert_int_equal(attr.max_qp_wr, 8); /* the smaller of the two depths */
	assert_int_equal(attr.max_sge, 1);
	assert_int_equal(verbs->efa_query_device(verbs, context, &efa), 0);
	assert_int_equal(efa.max_sq_wr, 8);
	assert_int_equal(efa.max_rq_wr, 16);
	assert_int_equal(efa.max_sq_sge, 1);
	assert_int_equal(efa.max_rq_sge, 1);
	assert_int_equal(efa.inline_buf_size, 0);
	assert_int_equal(efa.inline_buf_size_ex, 16);
	assert_int_equal(efa.max_rdma_size, 1000);
	assert_int_equal(efa.device_caps, 9);
}

static void a_failed_query_passes_through(void **state)
{
	struct srd_efa_device_attr efa;
	struct srd_device_attr attr;

	OPEN({"max_qp", 1});
	fake.answer[SRD_VERB_QUERY_DEVICE] = EIO;
	fake.answer[SRD_VERB_EFA_QUERY_DEVICE] = EOPNOTSUPP;
	assert_int_equal(verbs->query_device(verbs, context, &attr), EIO);
	assert_int_equal(verbs->efa_query_device(verbs, context, &efa), EOPNOTSUPP);
	assert_null(verbs->open_device(verbs, 0, NULL));
	assert_int_equal(errno, EIO);
	fake.answer[SRD_VERB_OPEN_DEVICE] = ENODEV;
	assert_null(verbs->open_device(verbs, 0, NULL));
	assert_int_equal(errno, ENODEV);
}

static void raising_is_refused(void **state)
{
	OPEN({"max_qp", 200}, {"max_rdma_size", UINT64_C(1) << 31});
	assert_null(context);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(srd_limits_error(limits)->code, -EINVAL);
	assert_string_equal(srd_limits_error(limits)->message,
			    "limit max_rdma_size = 2147483648 is above the 1073741824 that the "
			    "device fake0 reports: a limit can only be lowered");
	assert_int_equal(fake.log[fake.num - 1], SRD_VERB_CLOSE_DEVICE);
}

static void counts(void **state)
{
	struct srd_qp_init_attr_ex init = {.cap = {.max_send_sge = 1, .max_recv_sge = 1}};
	struct srd_ah_attr ah_attr = {0};
	struct srd_context *other;
	struct srd_pd *pd;
	struct srd_cq *cq;
	struct srd_mr *mr;
	struct srd_ah *ah;
	struct srd_qp *qp;

	OPEN({"max_qp", 1}, {"max_cq", 1}, {"max_mr", 1}, {"max_pd", 1}, {"max_ah", 1});
	for (int round = 0; round < 2; round++) {
		errno = 0;
		pd = verbs->alloc_pd(verbs, context);
		assert_non_null(pd);
		assert_null(verbs->alloc_pd(verbs, context));
		assert_int_equal(errno, ENOMEM);
		cq = verbs->create_cq(verbs, context, 1);
		assert_non_null(cq);
		assert_null(verbs->create_cq(verbs, context, 1));
		mr = verbs->reg_mr(verbs, pd, 0, 1, 1);
		assert_non_null(mr);
		assert_null(verbs->reg_mr(verbs, pd, 0, 1, 1));
		ah = verbs->create_ah(verbs, pd, &ah_attr);
		assert_non_null(ah);
		assert_null(verbs->create_ah(verbs, pd, &ah_attr));
		init.pd = pd;
		init.send_cq = init.recv_cq = cq;
		qp = verbs->create_qp_ex(verbs, context, &init, NULL);
		assert_non_null(qp);
		assert_null(verbs->create_qp_ex(verbs, context, &init, NULL));
		assert_int_equal(errno, ENOMEM);

		fake.answer[SRD_VERB_DESTROY_QP] = EBUSY; /* it stays, and is counted */
		assert_int_equal(verbs->destroy_qp(verbs, qp), EBUSY);
		assert_null(verbs->create_qp_ex(verbs, context, &init, NULL));
		fake.answer[SRD_VERB_DESTROY_QP] = 0;
		assert_int_equal(verbs->destroy_qp(verbs, qp), 0);
		assert_int_equal(verbs->destroy_ah(verbs, ah), 0);
		assert_int_equal(verbs->dereg_mr(verbs, mr), 0);
		assert_int_equal(verbs->destroy_cq(verbs, cq), 0);
		assert_int_equal(verbs->dealloc_pd(verbs, pd), 0);
	}
	assert_non_null(verbs->alloc_pd(verbs, context));
	other = verbs->open_device(verbs, 3, NULL); /* each host has its own devices */
	assert_non_null(verbs->alloc_pd(verbs, other));
	fake.answer[SRD_VERB_CREATE_CQ] = EINVAL; /* what failed below is not counted */
	assert_null(verbs->create_cq(verbs, context, 1));
	fake.answer[SRD_VERB_CREATE_CQ] = 0;
	assert_non_null(verbs->create_cq(verbs, context, 1));
}

static void create(struct srd_qp_cap cap, int want)
{
	struct srd_qp_init_attr_ex attr = {.cap = cap};
	struct srd_qp *qp;

	errno = 0;
	qp = verbs->create_qp_ex(verbs, context, &attr, NULL);
	assert_int_equal(errno, want);
	assert_int_equal(!qp, want != 0);
}

static void sizes(void **state)
{
	struct srd_pd pd;

	OPEN({"max_send_wr", 8}, {"max_recv_wr", 32}, {"max_rq_sge", 2}, {"max_sq_sge", 1},
	     {"inline_buf_size_ex", 16}, {"max_cqe", 6}, {"max_mr_size", 4096});
	create((struct srd_qp_cap){8, 16, 1, 2, 16}, 0);
	create((struct srd_qp_cap){5, 32, 1, 1, 0}, 0);
	create((struct srd_qp_cap){9, 1, 1, 1, 0}, EINVAL);
	create((struct srd_qp_cap){1, 17, 1, 2, 0}, EINVAL);
	create((struct srd_qp_cap){1, UINT32_MAX, 1, 2, 0}, EINVAL);
	create((struct srd_qp_cap){1, 1, 2, 1, 0}, EINVAL);
	create((struct srd_qp_cap){1, 1, 1, 3, 0}, EINVAL);
	create((struct srd_qp_cap){1, 1, 1, 1, 17}, EINVAL);

	assert_non_null(verbs->create_cq(verbs, context, 4));
	errno = 0;
	assert_null(verbs->create_cq(verbs, context, 5)); /* 8 after rounding */
	assert_int_equal(errno, EINVAL);

	pd.context = context;
	assert_non_null(verbs->reg_mr(verbs, &pd, 0, 4096, 1));
	errno = 0;
	assert_null(verbs->reg_mr(verbs, &pd, 0, 4097, 1));
	assert_int_equal(errno, EINVAL);
}

static void depths_beyond_all_numbers(void **state)
{
	OPEN({"max_recv_wr", 32});
	create((struct srd_qp_cap){1, UINT32_MAX, 1, UINT32_MAX, 0}, EINVAL);
}

static void refuse(const char *name, uint64_t value, const char *message)
{
	struct srd_limit limit = {name, value};
	struct srd_limits *none = NULL;
	struct srd_error error;

	assert_int_equal(srd_limits_open(&fake.verbs, &limit, 1, &none, &error), -EINVAL);
	assert_int_equal(error.code, -EINVAL);
	assert_string_equal(error.message, message);
	assert_null(none);
}

static void bad_limits(void **state)
{
	open_limits(NULL, 0);
	refuse("max_rdma_sise", 1, "there is no limit max_rdma_sise: did you mean max_rdma_size?");
	refuse("bandwidth", 1,
	       "there is no limit bandwidth: it is a field of a device such as "
	       "max_rdma_size");
	refuse("max_qp", 0, "limit max_qp cannot be 0: the least is 1");
	assert_false(fake.closed);
}

static void no_memory(void **state)
{
	struct srd_limits *none = NULL;
	struct srd_error error;

	open_limits(NULL, 0);
	srd_alloc_fail_at(1);
	assert_int_equal(srd_limits_open(&fake.verbs, NULL, 0, &none, &error), -ENOMEM);
	srd_alloc_fail_at(1);
	assert_null(verbs->open_device(verbs, 9, NULL));
	assert_int_equal(errno, ENOMEM);
	srd_alloc_fail_at(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(nothing_lowered, teardown),
		cmocka_unit_test_teardown(everything_lowered, teardown),
		cmocka_unit_test_teardown(a_failed_query_passes_through, teardown),
		cmocka_unit_test_teardown(raising_is_refused, teardown),
		cmocka_unit_test_teardown(counts, teardown),
		cmocka_unit_test_teardown(sizes, teardown),
		cmocka_unit_test_teardown(depths_beyond_all_numbers, teardown),
		cmocka_unit_test_teardown(bad_limits, teardown),
		cmocka_unit_test_teardown(no_memory, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
