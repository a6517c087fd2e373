/* SPDX-License-Identifier: MIT */
/* Striping over scripted queue pairs: what is refused, what fails, and memory that is short. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"
#include "fake_queue_pair.h"
#include "qp/rails.h"
#include "qp/scheduler.h"

#define RAILS   2u
#define CREDITS 2u

static const struct srd_rails_ops *const ops = &srd_striping_rails_ops;
static const struct srd_scheduler_ops *const scheduler_ops = &srd_credit_scheduler_ops;
static struct fake_queue_pair fake[RAILS];
static uint64_t completed[RAILS]; /* ids below it */
static struct srd_rail rails[RAILS];
static struct srd_rails *r;
static struct srd_error error;
static struct srd_rails_result result;

static int open_all(void)
{
	const struct srd_scheduler_config config = {.max_send_wr = CREDITS};
	const struct srd_rails_config striping = {.num_peer_rails = RAILS};
	int rc = 0;

	memset(rails, 0, sizeof(rails));
	r = NULL;
	for (uint32_t i = 0; i < RAILS && !rc; i++) {
		fake_queue_pair_init(&fake[i]);
		completed[i] = fake[i].next_id;
		rails[i] = (struct srd_rail){.ops = &fake_queue_pair_ops,
					     .qp = (struct srd_queue_pair *)&fake[i],
					     .scheduler_ops = scheduler_ops,
					     .max_send_wr = CREDITS};
		rc = scheduler_ops->create(rails[i].ops, rails[i].qp, &config, &rails[i].scheduler,
					   &error);
	}
	return rc ? rc : ops->create(rails, RAILS, &striping, &r, &error);
}

static void close_all(void)
{
	ops->destroy(r);
	for (uint32_t i = 0; i < RAILS; i++)
		if (rails[i].scheduler)
			scheduler_ops->destroy(rails[i].scheduler);
	assert_int_equal(srd_alloc_live(), 0);
}

static int setup(void **state)
{
	return open_all();
}

static int teardown(void **state)
{
	close_all();
	return 0;
}

/* A transfer of NUM stripes. */
static int submit(enum srd_op_kind kind, uint64_t cookie, uint32_t num)
{
	static const struct srd_rail_keys keys[RAILS] = {{1, 2}, {3, 4}};
	struct srd_rails_transfer transfer = {
		.kind = kind,
		.local_addr = 0x1000,
		.local_size = num * fake[0].max,
		.remote_addr = 0x100000,
		.remote_size = num * fake[0].max,
		.keys = keys,
		.cookie = cookie,
	};

	return ops->submit(r, &transfer, &error);
}

/* All that is posted on rail I completes with STATUS. */
static void complete(uint32_t i, enum srd_wc_status status)
{
	for (; completed[i] < fake[i].next_id; completed[i]++)
		fake_queue_pair_complete(&fake[i], completed[i], status);
}

static void expect_result(uint64_t cookie, int want, uint32_t stripes, uint32_t moved)
{
	assert_int_equal(ops->result(r, &result), 1);
	assert_int_equal(result.cookie, cookie);
	assert_int_equal(result.result, want);
	assert_int_equal(result.num_stripes, stripes);
	assert_int_equal(result.num_moved, moved);
}

static void no_rail_at_all(void **state)
{
	const struct srd_rails_config none = {.num_peer_rails = 0};
	struct srd_rails *made;

	assert_int_equal(ops->create(rails, 0, &none, &made, &error), -EINVAL);
	assert_string_equal(error.message, "there is no rail: one at least is needed");
	ops->destroy(NULL);
}

static void the_budget_has_its_bounds(void **state)
{
	struct srd_rails_config huge = {.num_peer_rails = RAILS};
	struct srd_rail many[RAILS] = {rails[0], rails[1]};
	struct srd_rails *made;

	many[0].max_send_wr = many[1].max_send_wr = UINT32_MAX;
	assert_int_equal(ops->create(many, RAILS, &huge, &made, &error), 0);
	assert_int_equal(ops->alive(made), RAILS);
	ops->destroy(made);
}

static void a_refused_post_fails_the_transfer(void **state)
{
	fake[0].post_result = -EINVAL;
	assert_int_equal(submit(SRD_OP_PUT, 7, 6), 0);
	for (int round = 0; round < 4; round++) {
		complete(1, SRD_WC_SUCCESS);
		assert_true(ops->progress(r, &error) >= 0);
	}
	/* Those of the other rail count as sent; the rest is left out. */
	assert_int_equal(ops->result(r, &result), 1);
	assert_int_equal(result.result, -EINVAL);
	assert_string_equal(result.error.message, "the post failed");
	assert_int_equal(ops->result(r, &result), 0);
	assert_int_equal(ops->alive(r), RAILS);
	assert_int_equal(ops->queued(r), 0);
}

static void a_failed_request_leaves_the_rest_out(void **state)
{
	assert_int_equal(submit(SRD_OP_GET, 7, 8), 0);
	assert_int_equal(ops->in_flight(r), 4);
	complete(0, SRD_WC_REM_ACCESS_ERR);
	assert_int_equal(ops->progress(r, &error), 2);
	assert_int_equal(ops->result(r, &result), 0); /* two are out */
	complete(1, SRD_WC_SUCCESS);
	assert_int_equal(ops->progress(r, &error), 2);
	expect_result(7, -EIO, 4, 0);
	assert_int_equal(result.status, SRD_WC_REM_ACCESS_ERR);
}

static void lost_rails_hand_on_what_they_had(void **state)
{
	assert_int_equal(submit(SRD_OP_PUT, 7, 4), 0);
	assert_int_equal(submit(SRD_OP_PUT, 8, 1), 0);
	complete(0, SRD_WC_RESP_TIMEOUT_ERR);
	assert_int_equal(ops->progress(r, &error), 2);
	assert_int_equal(ops->alive(r), 1);
	assert_int_equal(ops->queued(r), 2);
	for (int round = 0; round < 3; round++) {
		complete(1, SRD_WC_SUCCESS);
		ops->progress(r, &error);
	}
	expect_result(8, 0, 1, 0);
	expect_result(7, 0, 6, 2);
	/* Nobody is left for what comes then. */
	assert_int_equal(submit(SRD_OP_PUT, 9, 3), 0);
	complete(1, SRD_WC_WR_FLUSH_ERR);
	ops->progress(r, &error);
	assert_int_equal(ops->alive(r), 0);
	expect_result(9, -ENETDOWN, 2, 2);
	assert_string_equal(result.error.message, "no rail of 2 is left");
	assert_int_equal(submit(SRD_OP_PUT, 10, 1), 0);
	expect_result(10, -ENETDOWN, 0, 0);
}

/* Its transfer has failed when a lost rail's stripe could be sent again. */
static void nobody_needs_the_stripes_of_a_failed_transfer(void **state)
{
	assert_int_equal(submit(SRD_OP_PUT, 7, 4), 0);
	complete(0, SRD_WC_WR_FLUSH_ERR);
	complete(1, SRD_WC_REM_OP_ERR);
	ops->progress(r, &error);
	expect_result(7, -EIO, 4, 2);
	assert_int_equal(result.status, SRD_WC_REM_OP_ERR);
}

static void what_is_unanswered_ends_with_them(void **state)
{
	assert_int_equal(submit(SRD_OP_PUT, 7, 1), 0);
	assert_int_equal(submit(SRD_OP_PUT, 8, 9), 0);
	complete(0, SRD_WC_SUCCESS);
	ops->progress(r, &error);
	/* One is done and was not taken, one has stripes out and more to come. */
	assert_int_equal(ops->queued(r), 1);
}

/* Two transfers to their end; -ENOMEM where one of the calls, or a transfer, says so. */
static int attempt(void)
{
	int rc = open_all(), answers = 0;

	if (!rc)
		rc = submit(SRD_OP_PUT, 7, 6);
	if (!rc)
		rc = submit(SRD_OP_GET, 8, 1);
	for (int round = 0; !rc && answers < 2; round++) {
		assert_true(round < 20);
		complete(0, SRD_WC_SUCCESS);
		complete(1, SRD_WC_SUCCESS);
		rc = ops->progress(r, &error);
		/* The rest waits for the next round, and is not lost. */
		rc = rc == -ENOMEM || rc > 0 ? 0 : rc;
		for (; ops->result(r, &result); answers++)
			rc = result.result ? result.result : rc;
	}
	close_all();
	return rc;
}

static void memory_is_short(void **state)
{
	int failed = 0, got_by = 0;

	for (uint64_t n = 1;; n++) {
		int rc;

		srd_alloc_fail_at(n);
		rc = attempt();
		if (srd_alloc_count() < n) {
			assert_int_equal(rc, 0);
			break;
		}
		assert_true(!rc || rc == -ENOMEM);
		failed += rc != 0;
		got_by += !rc;
	}
	srd_alloc_fail_at(0);
	assert_true(failed > 0 && got_by > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(no_rail_at_all),
		TEST(the_budget_has_its_bounds),
		TEST(a_refused_post_fails_the_transfer),
		TEST(a_failed_request_leaves_the_rest_out),
		TEST(lost_rails_hand_on_what_they_had),
		TEST(nobody_needs_the_stripes_of_a_failed_transfer),
		TEST(what_is_unanswered_ends_with_them),
		cmocka_unit_test(memory_is_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
