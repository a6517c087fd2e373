/* SPDX-License-Identifier: MIT */
#include "alloc.h"
#include "fake.h"
#include "forward.h"
#include "inject.h"
#include "inject_internal.h"

static struct fake fake;
static struct srd_inject *inject;
static struct srd_verbs *verbs;

static int setup(void **state)
{
	struct srd_error error = {0};

	fake_init(&fake);
	assert_int_equal(srd_inject_open(&fake.verbs, &inject, &error), 0);
	verbs = srd_inject_verbs(inject);
	return 0;
}

static int teardown(void **state)
{
	verbs->close(verbs);
	assert_true(fake.closed);
	assert_int_equal(srd_alloc_live(), 0);
	return 0;
}

/* What a call that failed with ERRNUM returns. */
static intptr_t failure(enum srd_verb verb, int errnum)
{
	switch (verb) {
	case SRD_VERB_OPEN_DEVICE:
	case SRD_VERB_ALLOC_PD:
	case SRD_VERB_REG_MR:
	case SRD_VERB_CREATE_CQ:
	case SRD_VERB_CREATE_CQ_EX:
	case SRD_VERB_CREATE_COMP_CHANNEL:
	case SRD_VERB_CREATE_AH:
	case SRD_VERB_CREATE_QP_EX:
	case SRD_VERB_ALLOC_BUFFER:
		return 0;
	case SRD_VERB_POLL_CQ:
		return -errnum;
	default:
		return errnum;
	}
}

static void each_call_reaches_the_table_below(void **state)
{
	uint64_t failing = 0;

	for (int v = 0; v < SRD_NUM_VERBS; v++) {
		if (v == SRD_VERB_CLOSE)
			continue;
		failing += srd_inject_can_fail[v];
		fake.num = 0;
		fake_invoke(verbs, (enum srd_verb)v);
		assert_int_equal(fake.num, 1);
		assert_int_equal(fake.log[0], v);
		assert_int_equal(srd_inject_calls(inject, v), srd_inject_can_fail[v]);
	}
	assert_int_equal(srd_inject_calls(inject, SRD_INJECT_ANY), failing);
	assert_false(srd_inject_take_hit(inject));
}

static void each_call_that_can_fails_alone(void **state)
{
	struct srd_error error;

	for (int v = 0; v < SRD_NUM_VERBS; v++) {
		if (!srd_inject_can_fail[v])
			continue;
		assert_int_equal(srd_inject_fail(inject, v, 2, EIO, &error), 0);
		fake.num = 0;
		fake_invoke(verbs, (enum srd_verb)v);
		assert_int_equal(fake.num, 1);
		assert_false(srd_inject_take_hit(inject));
		errno = 0;
		assert_int_equal(fake_invoke(verbs, (enum srd_verb)v),
				 failure((enum srd_verb)v, EIO));
		if (!failure((enum srd_verb)v, EIO))
			assert_int_equal(errno, EIO);
		assert_true(srd_inject_take_hit(inject));
		assert_false(srd_inject_take_hit(inject));
		if (v == SRD_VERB_WR_COMPLETE) { /* rolled back below */
			assert_int_equal(fake.num, 2);
			assert_int_equal(fake.log[1], SRD_VERB_WR_ABORT);
		} else {
			assert_int_equal(fake.num, 1);
		}
		fake_invoke(verbs, (enum srd_verb)v);
		assert_false(srd_inject_take_hit(inject));
		assert_int_equal(srd_inject_calls(inject, v), 3);
	}
}

static void a_failed_post_names_the_first_entry(void **state)
{
	struct srd_recv_wr second = {.wr_id = 2}, first = {.wr_id = 1, .next = &second};
	struct srd_recv_wr *bad = NULL;
	struct srd_error error;

	assert_int_equal(srd_inject_fail(inject, SRD_VERB_POST_RECV, 1, ENOMEM, &error), 0);
	assert_int_equal(verbs->post_recv(verbs, NULL, &first, &bad), ENOMEM);
	assert_ptr_equal(bad, &first);
	assert_int_equal(fake.num, 0);
}

static void any_verb_every_call_and_clear(void **state)
{
	struct srd_error error;

	assert_int_equal(srd_inject_fail(inject, SRD_INJECT_ANY, 3, EPERM, &error), 0);
	assert_int_equal(fake_invoke(verbs, SRD_VERB_DEALLOC_PD), 0);
	assert_int_equal(fake_invoke(verbs, SRD_VERB_DESTROY_CQ), 0);
	fake_invoke(verbs, SRD_VERB_WR_START); /* not counted */
	assert_int_equal(fake_invoke(verbs, SRD_VERB_MODIFY_QP), EPERM);
	assert_int_equal(fake_invoke(verbs, SRD_VERB_MODIFY_QP), 0);

	assert_int_equal(srd_inject_fail(inject, SRD_VERB_MODIFY_QP, 0, EINVAL, &error), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(fake_invoke(verbs, SRD_VERB_MODIFY_QP), EINVAL);
	assert_int_equal(fake_invoke(verbs, SRD_VERB_QUERY_QP), 0);
	srd_inject_clear(inject);
	assert_int_equal(fake_invoke(verbs, SRD_VERB_MODIFY_QP), 0);
}

static void two_rules_for_one_call(void **state)
{
	struct srd_error error;

	assert_int_equal(srd_inject_fail(inject, SRD_VERB_REG_MR, 1, ENOMEM, &error), 0);
	assert_int_equal(srd_inject_fail(inject, SRD_VERB_REG_MR, 1, EFAULT, &error), 0);
	fake_invoke(verbs, SRD_VERB_REG_MR);
	assert_int_equal(errno, ENOMEM);
	fake_invoke(verbs, SRD_VERB_REG_MR);
	assert_int_equal(errno, EFAULT);
	assert_int_not_equal(fake_invoke(verbs, SRD_VERB_REG_MR), 0);
}

static void suspended(void **state)
{
	struct srd_error error;

	assert_int_equal(srd_inject_fail(inject, SRD_INJECT_ANY, 1, EPERM, &error), 0);
	srd_inject_suspend(inject, true);
	assert_int_equal(fake_invoke(verbs, SRD_VERB_QUERY_DEVICE), 0);
	assert_int_equal(srd_inject_calls(inject, SRD_INJECT_ANY), 0);
	srd_inject_suspend(inject, false);
	assert_int_equal(fake_invoke(verbs, SRD_VERB_QUERY_DEVICE), EPERM);
}

static void refused(void **state)
{
	struct srd_error error;

	assert_int_equal(srd_inject_fail(inject, SRD_VERB_WR_RDMA_WRITE, 1, EIO, &error), -EINVAL);
	assert_string_equal(error.message, "wr_rdma_write cannot be made to fail: the error of a "
					   "session comes out of wr_complete");
	assert_int_equal(srd_inject_fail(inject, SRD_VERB_WAIT, 1, EIO, &error), -EINVAL);
	assert_string_equal(error.message, "wait cannot be made to fail");
	assert_int_equal(srd_inject_fail(inject, SRD_VERB_REG_MR, 1, -EIO, &error), -EINVAL);
	assert_string_equal(error.message, "a call fails with a positive errno, not with -5");
	assert_int_equal(srd_inject_fail(inject, SRD_NUM_VERBS, 1, EIO, &error), -EINVAL);
	assert_int_equal(srd_inject_fail(inject, -2, 1, EIO, &error), -EINVAL);
	fake_invoke(verbs, SRD_VERB_REG_MR);
	assert_false(srd_inject_take_hit(inject));
}

static void no_memory(void **state)
{
	struct srd_error error = {0};
	struct srd_inject *other = NULL;

	srd_alloc_fail_at(1);
	assert_int_equal(srd_inject_open(&fake.verbs, &other, &error), -ENOMEM);
	assert_false(fake.closed);
	srd_alloc_fail_at(1);
	assert_int_equal(srd_inject_fail(inject, SRD_VERB_REG_MR, 1, EIO, &error), -ENOMEM);
	assert_string_equal(error.message, "no memory for a fault of reg_mr");
	srd_alloc_fail_at(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_call_reaches_the_table_below, setup, teardown),
		cmocka_unit_test_setup_teardown(each_call_that_can_fails_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(a_failed_post_names_the_first_entry, setup,
						teardown),
		cmocka_unit_test_setup_teardown(any_verb_every_call_and_clear, setup, teardown),
		cmocka_unit_test_setup_teardown(two_rules_for_one_call, setup, teardown),
		cmocka_unit_test_setup_teardown(suspended, setup, teardown),
		cmocka_unit_test_setup_teardown(refused, setup, teardown),
		cmocka_unit_test_setup_teardown(no_memory, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
