/* SPDX-License-Identifier: MIT */
/* cc -o test_put test_put.c $(pkg-config --cflags --libs srdlab cmocka) && ./test_put */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <srdlab/srdlab.h>

/* A put in three requests, whose second fails: the op tells that one, after all three. */
static void an_op_tells_its_cause(void **state)
{
	const struct srdlab_limit limits[] = {{"max_rdma_size", 1000}};
	const struct srdlab_options options = {.seed = 7, .limits = limits, .num_limits = 1};
	struct srd_lab fail = {.kind = SRD_LAB_FAIL,
			       .flags = SRD_LAB_BY_ORDINAL,
			       .ordinal = 1,
			       .status = SRD_EFA_REMOTE_ERROR_BAD_ADDRESS};
	struct srd_op_result result;
	struct srdlab_pair pair;
	struct srd_verbs *verbs;
	struct srdlab *lab;

	assert_int_equal(srdlab_open(&options, &lab, NULL), 0);
	/* Options in place of the NULL name a queue pair and a scheduler of your own. */
	assert_int_equal(srdlab_pair_open(lab, NULL, &pair, NULL), 0);
	verbs = srdlab_verbs(lab);
	fail.qp = srdlab_queue_pair_ops()->verbs_qp(pair.a.qp);
	assert_int_equal(verbs->lab(verbs, &fail), 0);

	assert_int_equal(srdlab_submit(&pair, SRD_OP_PUT, 0, 2500, 42, NULL), 0);
	assert_int_equal(srdlab_wait(lab, pair.a.scheduler, &result, NULL), 0);
	assert_int_equal(result.cookie, 42);
	assert_int_equal(result.num_wr, 3);
	assert_int_equal(result.result, -EIO);
	assert_int_equal(result.wr_id, 1);
	assert_int_equal(result.status, SRD_WC_REM_ACCESS_ERR);

	srdlab_pair_close(lab, &pair);
	assert_int_equal(srdlab_judge(lab, NULL), 0); /* violations of rules */
	srdlab_close(lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(an_op_tells_its_cause)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
