/* SPDX-License-Identifier: MIT */
/* Completion-queue leases, and the end of a queue pair that gives one back. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "fake_device.h"
#include "qp/cq_pool.h"
#include "qp/efa_srd.h"
#include "qp/retire.h"
#include "qp/scheduler.h"

static struct fake_device fake;
static struct srd_stream stream;
static struct srd_cq_pool *pool;
static struct srd_error error;

/* The lease events, as text. */
static char events[16][64];
static int num_events;

static void event_read(void *reader, const struct srd_event *event)
{
	if (event->type == SRD_EV_LEASE_ACQUIRE) {
		const struct srd_ev_lease_acquire *e = (const void *)event;

		snprintf(events[num_events++], sizeof(events[0]), "acquire cq %u: %u of %u",
			 event->object, e->leases, e->limit);
	} else if (event->type == SRD_EV_LEASE_RELEASE) {
		const struct srd_ev_lease_release *e = (const void *)event;

		snprintf(events[num_events++], sizeof(events[0]), "release cq %u: %u, discarded %u",
			 event->object, e->leases, e->discarded);
	}
	assert_int_equal(event->source, SRD_SOURCE_ENGINE);
	assert_true(num_events < 16);
}

static int setup(void **state)
{
	fake_device_init(&fake);
	memset(&stream, 0, sizeof(stream));
	num_events = 0;
	assert_int_equal(srd_stream_add(&stream, event_read, NULL), 0);
	assert_int_equal(srd_cq_pool_create(&fake.verbs, &fake.context, 1, &stream, &pool, &error),
			 0);
	EXPECT_CALLS(&fake, "query_device");
	return 0;
}

static int teardown(void **state)
{
	srd_cq_pool_destroy(pool);
	assert_int_equal(fake.live, 0);
	assert_int_equal(srd_alloc_live(), 0);
	return 0;
}

static struct srd_cq *acquire(uint32_t max_send_wr, uint32_t max_recv_wr)
{
	struct srd_cq *cq = NULL;

	assert_int_equal(srd_cq_pool_acquire(pool, max_send_wr, max_recv_wr, &cq, &error), 0);
	return cq;
}

static void release(struct srd_cq *cq, bool clean)
{
	assert_int_equal(srd_cq_pool_release(pool, cq, clean, &error), 0);
}

static void a_clean_queue_is_leased_again(void **state)
{
	struct srd_cq *a = acquire(512, 0), *b = acquire(512, 0);

	assert_ptr_not_equal(a, b);
	EXPECT_CALLS(&fake, "create_cq 512", "create_cq 512");
	release(b, true);
	release(a, true);
	assert_ptr_equal(acquire(512, 0), a);
	assert_ptr_equal(acquire(512, 0), b);
	EXPECT_NO_CALLS(&fake);
	assert_string_equal(events[0], "acquire cq 1: 1 of 1");
	assert_string_equal(events[1], "acquire cq 2: 1 of 1");
	assert_string_equal(events[2], "release cq 2: 0, discarded 0");
	assert_int_equal(num_events, 6);
}

static void a_dirty_queue_is_never_leased_again(void **state)
{
	struct srd_cq *a = acquire(512, 0);

	release(a, false);
	EXPECT_CALLS(&fake, "create_cq 512", "destroy_cq 1");
	assert_string_equal(events[1], "release cq 1: 0, discarded 1");
	acquire(512, 0);
	EXPECT_CALLS(&fake, "create_cq 512");
	assert_string_equal(events[2], "acquire cq 2: 1 of 1");
}

static void a_dirty_queue_that_stays_is_not_leased_either(void **state)
{
	struct srd_cq *a = acquire(512, 0);

	fake.fail_verb = SRD_VERB_DESTROY_CQ;
	fake.fail_nth = 1;
	fake.fail_errno = EBUSY;
	release(a, false);
	assert_ptr_not_equal(acquire(512, 0), a);
	assert_int_equal(srd_cq_pool_release(pool, a, true, &error), -EINVAL);
	assert_string_equal(error.message, "completion queue 1 is not leased");
}

/* A queue is as large as its own user needs, receives and all. */
static void a_lease_is_sized_for_its_own_user(void **state)
{
	struct srd_cq *small = acquire(64, 0), *large;

	release(small, true);
	large = acquire(512, 256);
	assert_ptr_not_equal(large, small);
	EXPECT_CALLS(&fake, "create_cq 64", "create_cq 768");
	assert_ptr_equal(acquire(64, 0), small);
	release(large, true);
	assert_ptr_equal(acquire(1, 0), large);
}

static void a_lease_goes_back_once(void **state)
{
	struct srd_cq other = {.handle = 9};
	struct srd_cq *a = acquire(1, 0);

	release(a, true);
	assert_int_equal(srd_cq_pool_release(pool, a, true, &error), -EINVAL);
	assert_int_equal(srd_cq_pool_release(pool, &other, true, &error), -EINVAL);
	assert_string_equal(error.message, "completion queue 9 is not leased");
}

static void expect_refused(uint32_t max_send_wr, uint32_t max_recv_wr, const char *message)
{
	struct srd_cq *cq = NULL;

	fake_device_clear(&fake);
	assert_int_equal(srd_cq_pool_acquire(pool, max_send_wr, max_recv_wr, &cq, &error), -EINVAL);
	assert_string_equal(error.message, message);
	assert_null(cq);
	EXPECT_NO_CALLS(&fake);
}

static void sizes_are_checked_in_64_bits(void **state)
{
	acquire(32768, 0);
	acquire(32767, 1);
	expect_refused(0, 0,
		       "a completion queue for 1 queue pair of 0 work requests would hold no "
		       "entries");
	expect_refused(
		32768, 1,
		"1 queue pair of 32769 work requests needs 32769 completion entries, but device "
		"fake0 allows 32768 in one queue: lower max_send_wr, max_recv_wr or qps_per_cq");
	expect_refused(
		UINT32_MAX, UINT32_MAX,
		"1 queue pair of 8589934590 work requests needs 8589934590 completion entries, "
		"but device fake0 allows 32768 in one queue: lower max_send_wr, max_recv_wr or "
		"qps_per_cq");
}

/* A device that names no limit is bound by the signed 32 bits of the call. */
static void a_device_without_a_limit_has_that_of_the_call(void **state)
{
	srd_cq_pool_destroy(pool);
	fake.device.max_cqe = 0;
	assert_int_equal(srd_cq_pool_create(&fake.verbs, &fake.context, 1, NULL, &pool, &error), 0);
	acquire(INT32_MAX, 0);
	expect_refused(
		INT32_MAX, 1,
		"1 queue pair of 2147483648 work requests needs 2147483648 completion entries, "
		"but device fake0 allows 2147483647 in one queue: lower max_send_wr, max_recv_wr "
		"or qps_per_cq");
	assert_int_equal(num_events, 0);
}

static void exactly_one_shares_a_queue(void **state)
{
	struct srd_cq_pool *other = NULL;

	for (uint32_t n = 0; n <= 2; n += 2)
		assert_int_equal(
			srd_cq_pool_create(&fake.verbs, &fake.context, n, NULL, &other, &error),
			-EINVAL);
	assert_string_equal(
		error.message,
		"qps_per_cq is 2, but must be 1: each queue pair polls its own completion "
		"queue and would take the completions of others");
	assert_null(other);
}

static void each_failure_leaves_nothing(void **state)
{
	struct srd_cq_pool *other = NULL;
	struct srd_cq *cq = NULL;

	fake.fail_verb = SRD_VERB_QUERY_DEVICE;
	fake.fail_nth = -1;
	fake.fail_errno = EIO;
	assert_int_equal(srd_cq_pool_create(&fake.verbs, &fake.context, 1, NULL, &other, &error),
			 -EIO);
	assert_string_equal(error.message,
			    "the limits of device fake0 could not be queried: Input/output error");
	fake.fail_verb = SRD_VERB_CREATE_CQ;
	fake.fail_errno = ENOMEM;
	assert_int_equal(srd_cq_pool_acquire(pool, 4, 0, &cq, &error), -ENOMEM);
	assert_string_equal(error.message, "no completion queue of 4 entries could be created on "
					   "device fake0: Cannot allocate memory");
	fake.fail_nth = 0;
	srd_alloc_fail_at(1);
	assert_int_equal(srd_cq_pool_acquire(pool, 4, 0, &cq, &error), -ENOMEM);
	srd_alloc_fail_at(1);
	assert_int_equal(srd_cq_pool_create(&fake.verbs, &fake.context, 1, NULL, &other, &error),
			 -ENOMEM);
	srd_alloc_fail_at(0);
	assert_null(other);
	assert_null(cq);
	assert_int_equal(num_events, 0);
	srd_cq_pool_destroy(NULL);
}

/* --- retiring ------------------------------------------------------------------------ */

static struct srd_retirement retirement;

/* A connected queue pair with a scheduler on a leased queue, three requests outstanding. */
static void busy_pair(void)
{
	const struct srd_queue_pair_config config = {
		.max_send_wr = 4, .max_recv_wr = 4, .port_num = 1};
	const struct srd_scheduler_config credits = {.max_send_wr = 4};
	const struct srd_endpoint peer = {.qp_num = 9, .has_gid = true};
	const struct srd_op op = {.kind = SRD_OP_PUT,
				  .local = {.addr = 0x1000, .size = 3000},
				  .remote = {.addr = 0x2000, .size = 3000},
				  .cookie = 1};
	struct srd_cq *cq = acquire(4, 4);

	retirement = (struct srd_retirement){.verbs = &fake.verbs,
					     .ops = &srd_efa_srd_ops,
					     .scheduler_ops = &srd_credit_scheduler_ops,
					     .send_cq = cq,
					     .recv_cq = cq,
					     .grace = 1000};
	assert_int_equal(srd_efa_srd_ops.create(&fake.verbs, &fake.pd, &config, cq, cq,
						&retirement.qp, &error),
			 0);
	assert_int_equal(srd_efa_srd_ops.connect(retirement.qp, &peer, &error), 0);
	assert_int_equal(srd_credit_scheduler_ops.create(&srd_efa_srd_ops, retirement.qp, &credits,
							 &retirement.scheduler, &error),
			 0);
	assert_int_equal(srd_credit_scheduler_ops.submit(retirement.scheduler, &op, &error), 0);
	fake_device_clear(&fake);
}

/* Retire; give the queue back, clean or not; the answers must be ANSWERS. */
static bool retire(int answers)
{
	struct srd_op_result result;
	bool clean;

	srd_queue_pair_drain(&retirement);
	while (retirement.scheduler &&
	       srd_credit_scheduler_ops.result(retirement.scheduler, &result))
		answers--;
	assert_int_equal(answers, 0);
	srd_credit_scheduler_ops.destroy(retirement.scheduler);
	clean = srd_queue_pair_finish(&retirement);
	assert_null(retirement.qp);
	release(retirement.send_cq, clean);
	return clean;
}

static void what_is_outstanding_is_flushed_and_reaped(void **state)
{
	busy_pair();
	fake.flush_on_err = true;
	assert_true(retire(1));
	EXPECT_CALLS(&fake, "modify_qp ERR mask 0x1 qkey 0x0 pkey 0 port 0 psn 0x0", "poll_cq 1",
		     "poll_cq 1", "poll_cq 1", "destroy_qp 1", "destroy_ah 1", "poll_cq 1");
	assert_string_equal(events[1], "release cq 1: 0, discarded 0");
}

/* The destroy itself writes what is missing: stale entries, each taken and counted. */
static void what_the_destroy_leaves_is_swept(void **state)
{
	busy_pair();
	fake.stale_on_destroy = true;
	assert_true(retire(0));
	assert_int_equal(fake.head, fake.tail);
	assert_int_equal(fake.now, 1000);
}

static void a_completion_that_never_came_condemns_the_queue(void **state)
{
	busy_pair();
	assert_false(retire(0));
	assert_string_equal(events[1], "release cq 1: 0, discarded 1");
}

static void an_entry_too_many_condemns_the_queue(void **state)
{
	busy_pair();
	fake.flush_on_err = true;
	fake_device_stale(&fake);
	assert_int_equal(srd_credit_scheduler_ops.progress(retirement.scheduler, &error), 0);
	for (int i = 0; i < 4; i++)
		fake_device_entry(
			&fake,
			&(struct srd_wc){.wr_id = 1, .qp_num = 5, .status = SRD_WC_WR_FLUSH_ERR});
	fake.flush_on_err = false;
	assert_false(retire(0));
}

static void a_poll_that_fails_condemns_the_queue(void **state)
{
	busy_pair();
	fake.fail_verb = SRD_VERB_POLL_CQ;
	fake.fail_nth = -1;
	fake.fail_errno = EIO;
	assert_false(retire(1));
}

/* Receives are flushed too, into a queue of their own or the same. */
static void receives_are_reaped_too(void **state)
{
	struct srd_cq *recv = acquire(4, 4);

	busy_pair();
	fake.flush_on_err = true;
	retirement.recv_cq = recv;
	retirement.receives = 2;
	for (uint64_t i = 0; i < 2; i++)
		fake_device_entry(&fake, &(struct srd_wc){.wr_id = i,
							  .qp_num = 5,
							  .opcode = SRD_WC_RECV,
							  .status = SRD_WC_WR_FLUSH_ERR});
	assert_true(retire(1));
	assert_int_equal(retirement.receives, 0);
	release(recv, true);
}

/* Never connected, no scheduler: nothing to flush, and RESET has no way to ERR. */
static void an_idle_queue_pair_just_goes(void **state)
{
	busy_pair();
	srd_credit_scheduler_ops.destroy(retirement.scheduler);
	retirement.scheduler = NULL;
	srd_efa_srd_ops.verbs_qp(retirement.qp)->state = SRD_QPS_RESET;
	assert_true(retire(0));
	EXPECT_CALLS(&fake, "destroy_qp 1", "destroy_ah 1", "poll_cq 1");
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_clean_queue_is_leased_again),
		TEST(a_dirty_queue_is_never_leased_again),
		TEST(a_dirty_queue_that_stays_is_not_leased_either),
		TEST(a_lease_is_sized_for_its_own_user),
		TEST(a_lease_goes_back_once),
		TEST(sizes_are_checked_in_64_bits),
		TEST(a_device_without_a_limit_has_that_of_the_call),
		TEST(exactly_one_shares_a_queue),
		TEST(each_failure_leaves_nothing),
		TEST(what_is_outstanding_is_flushed_and_reaped),
		TEST(what_the_destroy_leaves_is_swept),
		TEST(a_completion_that_never_came_condemns_the_queue),
		TEST(an_entry_too_many_condemns_the_queue),
		TEST(a_poll_that_fails_condemns_the_queue),
		TEST(receives_are_reaped_too),
		TEST(an_idle_queue_pair_just_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
