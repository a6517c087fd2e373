/* SPDX-License-Identifier: MIT */
/* The credit scheduler over a scripted queue pair: each of its promises by itself. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"
#include "fake_queue_pair.h"
#include "qp/scheduler.h"

#define MS UINT64_C(1000000)

static const struct srd_scheduler_ops *const ops = &srd_credit_scheduler_ops;
static struct fake_queue_pair fake;
static struct srd_scheduler *s;
static struct srd_error error;
static struct srd_op_result result;

static void create(uint32_t max_send_wr, uint64_t poll_window)
{
	const struct srd_scheduler_config config = {.max_send_wr = max_send_wr,
						    .poll_window = poll_window};

	assert_int_equal(ops->create(&fake_queue_pair_ops, (struct srd_queue_pair *)&fake, &config,
				     &s, &error),
			 0);
}

static int setup(void **state)
{
	fake_queue_pair_init(&fake);
	create(4, 0);
	return 0;
}

static int teardown(void **state)
{
	ops->destroy(s);
	assert_int_equal(srd_alloc_live(), 0);
	return 0;
}

static struct srd_op put_op(uint64_t cookie, uint64_t size)
{
	return (struct srd_op){.kind = SRD_OP_PUT,
			       .local = {.addr = 0x1000, .size = size, .lkey = 1},
			       .remote = {.addr = 0x2000, .size = size, .rkey = 2},
			       .cookie = cookie};
}

static void submit(uint64_t cookie, uint64_t size)
{
	struct srd_op op = put_op(cookie, size);

	assert_int_equal(ops->submit(s, &op, &error), 0);
}

static void complete(uint64_t wr_id)
{
	fake_queue_pair_complete(&fake, wr_id, SRD_WC_SUCCESS);
}

static int progress(void)
{
	return ops->progress(s, &error);
}

/* The next answer is that of COOKIE, with this result. */
static void expect_result(uint64_t cookie, int rc)
{
	assert_int_equal(ops->result(s, &result), 1);
	assert_int_equal(result.cookie, cookie);
	assert_int_equal(result.result, rc);
	assert_int_equal(result.error.code, rc);
}

static void expect_no_result(void)
{
	assert_int_equal(ops->result(s, &result), 0);
}

static void an_op_is_posted_at_once_and_answered_after_its_last_request(void **state)
{
	submit(11, 2500);
	assert_int_equal(fake.num_posts, 1);
	assert_int_equal(fake.polls, 0);
	assert_int_equal(ops->in_flight(s), 3);
	assert_int_equal(ops->queued(s), 0);
	complete(2);
	complete(0);
	assert_int_equal(progress(), 2);
	assert_int_equal(error.code, 0);
	assert_int_equal(ops->in_flight(s), 1);
	expect_no_result();
	complete(1);
	assert_int_equal(progress(), 1);
	expect_result(11, 0);
	assert_int_equal(result.num_wr, 3);
	assert_string_equal(result.error.message, "");
	expect_no_result();
	assert_int_equal(ops->in_flight(s), 0);
}

/* What is smaller and would fit does not overtake. */
static void a_head_without_credit_holds_the_line(void **state)
{
	submit(1, 3000);
	submit(2, 2000);
	submit(3, 1);
	assert_int_equal(fake.num_posts, 1);
	assert_int_equal(ops->in_flight(s), 3);
	assert_int_equal(ops->queued(s), 2);
	complete(0);
	assert_int_equal(progress(), 1);
	assert_int_equal(fake.num_posts, 2);
	assert_int_equal(fake.posts[1].local.size, 2000);
	assert_int_equal(ops->in_flight(s), 4);
	assert_int_equal(ops->queued(s), 1);
	complete(3);
	assert_int_equal(progress(), 1);
	assert_int_equal(fake.posts[2].local.size, 1);
	assert_int_equal(ops->queued(s), 0);
	assert_int_equal(ops->in_flight(s), 4);
}

static void an_op_may_take_every_credit(void **state)
{
	submit(1, 4000);
	assert_int_equal(ops->in_flight(s), 4);
	submit(2, 0);
	assert_int_equal(ops->queued(s), 1);
}

static void an_op_that_is_too_large_is_answered_and_the_next_go_on(void **state)
{
	submit(1, 4001);
	assert_int_equal(fake.num_posts, 0);
	submit(2, 1);
	assert_int_equal(fake.num_posts, 1);
	expect_result(1, -E2BIG);
	assert_string_equal(
		result.error.message,
		"put is too large: 4001 bytes between local 0x1000 and remote 0x2000 are 5 "
		"requests of at most 1000 bytes, more than max_send_wr 4");
	assert_int_equal(result.num_wr, 0);
	/* also from the middle of the line */
	submit(3, 4000);
	submit(4, 9000);
	submit(5, 1);
	expect_no_result();
	complete(0);
	assert_int_equal(progress(), 1);
	expect_result(2, 0);
	for (uint64_t id = 1; id <= 4; id++)
		complete(id);
	assert_int_equal(progress(), 4);
	/* it came to the head of the line when op 3 was posted */
	expect_result(4, -E2BIG);
	expect_result(3, 0);
	assert_int_equal(ops->in_flight(s), 1);
}

/* A count that 32 bits cannot hold is not a small one. */
static void a_count_beyond_32_bits_is_too_large(void **state)
{
	fake.max = 1;
	submit(1, UINT64_C(1) << 32);
	submit(2, (UINT64_C(1) << 32) + 2);
	expect_result(1, -E2BIG);
	expect_result(2, -E2BIG);
	assert_int_equal(fake.num_posts, 0);
}

/* in_flight + the op's requests is more than 32 bits hold. */
static void the_gate_does_not_overflow(void **state)
{
	ops->destroy(s);
	create(UINT32_MAX, 0);
	submit(1, 3000);
	fake.max = 1;
	submit(2, UINT32_MAX);
	assert_int_equal(ops->queued(s), 1);
	assert_int_equal(fake.num_posts, 1);
}

/* A get transfers the remote size: the local side may be far larger. */
static void a_get_is_counted_by_its_remote_size(void **state)
{
	struct srd_op op = {.kind = SRD_OP_GET,
			    .local = {.size = 1 << 20},
			    .remote = {.size = 10},
			    .cookie = 1};

	assert_int_equal(ops->submit(s, &op, &error), 0);
	assert_int_equal(ops->in_flight(s), 1);
	assert_int_equal(fake.posts[0].kind, SRD_OP_GET);
	complete(0);
	progress();
	expect_result(1, 0);
}

static void nothing_is_polled_while_nothing_is_outstanding(void **state)
{
	assert_int_equal(progress(), 0);
	assert_int_equal(fake.polls, 0);
	submit(1, 1);
	complete(0);
	complete(99);
	assert_int_equal(progress(), 1);
	assert_int_equal(fake.polls, 1);
}

static void the_cause_is_never_a_flush_where_there_is_another(void **state)
{
	submit(1, 4000);
	fake_queue_pair_complete(&fake, 0, SRD_WC_WR_FLUSH_ERR);
	fake_queue_pair_complete(&fake, 3, SRD_WC_REM_ACCESS_ERR);
	fake_queue_pair_complete(&fake, 1, SRD_WC_RESP_TIMEOUT_ERR);
	assert_int_equal(progress(), 3);
	expect_no_result();
	fake_queue_pair_complete(&fake, 2, SRD_WC_WR_FLUSH_ERR);
	assert_int_equal(progress(), 1);
	expect_result(1, -EIO);
	assert_int_equal(result.status, SRD_WC_REM_ACCESS_ERR);
	assert_int_equal(result.vendor_err, 7);
	assert_int_equal(result.wr_id, 3);
	assert_int_equal(result.num_wr, 4);
	assert_string_equal(result.error.message, "request 3 failed with IBV_WC_REM_ACCESS_ERR "
						  "(EFA_IO_COMP_STATUS_REMOTE_ERROR_BAD_ADDRESS)");
}

static void a_flush_is_the_cause_where_there_is_nothing_else(void **state)
{
	submit(1, 2000);
	fake_queue_pair_complete(&fake, 1, SRD_WC_WR_FLUSH_ERR);
	fake_queue_pair_complete(&fake, 0, SRD_WC_WR_FLUSH_ERR);
	progress();
	expect_result(1, -EIO);
	assert_int_equal(result.status, SRD_WC_WR_FLUSH_ERR);
	assert_int_equal(result.wr_id, 1);
}

static void the_error_of_one_op_leaves_the_others_alone(void **state)
{
	submit(1, 1);
	submit(2, 1);
	fake_queue_pair_complete(&fake, 0, SRD_WC_REM_ACCESS_ERR);
	complete(1);
	assert_int_equal(progress(), 2);
	expect_result(1, -EIO);
	expect_result(2, 0);
	submit(3, 1);
	assert_int_equal(fake.num_posts, 3);
}

static void a_post_that_fails_is_the_result_of_its_op_alone(void **state)
{
	fake.post_result = -EMSGSIZE;
	submit(1, 1);
	fake.post_result = 0;
	submit(2, 1);
	expect_result(1, -EMSGSIZE);
	assert_string_equal(result.error.message, "the post failed");
	assert_int_equal(ops->in_flight(s), 1);
	complete(0);
	progress();
	expect_result(2, 0);
	/* one that says nothing gets the errno's own words */
	fake.post_result = -EINVAL;
	fake.silent = true;
	submit(3, 1);
	expect_result(3, -EINVAL);
	assert_string_equal(result.error.message, "Invalid argument");
}

static void a_full_send_queue_is_tried_again_after_a_completion(void **state)
{
	submit(1, 1);
	submit(2, 1);
	fake.post_result = -ENOMEM;
	submit(3, 1);
	submit(4, 1);
	expect_no_result();
	assert_int_equal(fake.num_posts, 3);
	assert_int_equal(ops->queued(s), 2);
	/* not again before something completed */
	assert_int_equal(progress(), 0);
	assert_int_equal(fake.num_posts, 3);
	fake.post_result = 0;
	complete(0);
	assert_int_equal(progress(), 1);
	assert_int_equal(fake.num_posts, 5);
	assert_int_equal(fake.posts[3].local.size, 1);
	assert_int_equal(ops->queued(s), 0);
	expect_result(1, 0);
}

static void no_memory_with_nothing_outstanding_is_the_ops_error(void **state)
{
	fake.post_result = -ENOMEM;
	submit(1, 1);
	expect_result(1, -ENOMEM);
	assert_int_equal(ops->queued(s), 0);
}

/* Some queue pairs post nothing for an empty transfer: that op must not wait for ever. */
static void an_op_without_requests_is_done(void **state)
{
	fake.extra = -1;
	submit(1, 0);
	expect_result(1, 0);
	assert_int_equal(result.num_wr, 0);
	assert_int_equal(ops->in_flight(s), 0);
}

/* The ledger holds what was posted, not what was asked for. */
static void more_requests_than_asked_for_are_counted(void **state)
{
	fake.extra = 2;
	submit(1, 3000);
	assert_int_equal(ops->in_flight(s), 5);
	fake.extra = 0;
	submit(2, 1);
	assert_int_equal(ops->queued(s), 1);
	for (uint64_t id = 0; id < 5; id++)
		complete(id);
	assert_int_equal(progress(), 5);
	expect_result(1, 0);
	assert_int_equal(result.num_wr, 5);
}

static void more_ids_than_there_is_room_for_are_an_error(void **state)
{
	fake.too_many = true;
	submit(1, 1);
	expect_result(1, -EPROTO);
	assert_string_equal(result.error.message,
			    "the queue pair returned 65 ids where there is room for 64");
}

static void an_op_of_no_kind_is_an_error(void **state)
{
	struct srd_op op = {.kind = 9, .cookie = 1};

	assert_int_equal(ops->submit(s, &op, &error), 0);
	expect_result(1, -EINVAL);
	assert_string_equal(result.error.message, "an op of kind 9 is neither put nor get");
}

static void unknown_and_repeated_ids_credit_nothing(void **state)
{
	submit(1, 2000);
	complete(0);
	complete(0);
	complete(77);
	assert_int_equal(progress(), 1);
	assert_int_equal(error.code, -ENOENT);
	assert_string_equal(error.message, "a completion with id 77 (IBV_WC_SUCCESS), which no "
					   "outstanding request has");
	assert_int_equal(ops->in_flight(s), 1);
	complete(1);
	assert_int_equal(progress(), 1);
	assert_int_equal(error.code, 0);
	expect_result(1, 0);
}

static void a_stale_entry_is_passed_over(void **state)
{
	submit(1, 2000);
	complete(1);
	fake_queue_pair_poll_error(&fake, EINVAL);
	complete(0);
	assert_int_equal(progress(), 2);
	assert_int_equal(error.code, -EINVAL);
	expect_result(1, 0);
}

static void stale_entries_without_end_do_not_hold_a_round(void **state)
{
	submit(1, 1);
	for (int i = 0; i < 3000; i++)
		fake_queue_pair_poll_error(&fake, EINVAL);
	complete(0);
	assert_int_equal(progress(), 0);
	assert_int_equal(progress(), 0);
	assert_int_equal(progress(), 1);
	expect_result(1, 0);
}

static void a_broken_poll_answers_everybody(void **state)
{
	submit(1, 2000);
	submit(2, 2000);
	submit(3, 1);
	complete(0);
	fake_queue_pair_poll_error(&fake, EIO);
	assert_int_equal(progress(), -EIO);
	assert_string_equal(error.message, "the poll failed");
	expect_result(1, -ECANCELED);
	assert_string_equal(result.error.message, "the scheduler ended: the poll failed");
	assert_int_equal(result.status, SRD_WC_SUCCESS);
	expect_result(2, -ECANCELED);
	expect_result(3, -ECANCELED);
	expect_no_result();
	/* and whoever comes later */
	submit(4, 1);
	assert_int_equal(fake.num_posts, 2);
	expect_result(4, -ECANCELED);
	assert_string_equal(result.error.message,
			    "the scheduler ended after a poll failed: Input/output error");
	assert_int_equal(progress(), -EIO);
	assert_int_equal(ops->adopt(s, &(struct srd_wr_ids){0}, 5, &error), -EIO);
}

static void a_poll_without_memory_may_be_tried_again(void **state)
{
	submit(1, 1);
	fake_queue_pair_poll_error(&fake, ENOMEM);
	complete(0);
	assert_int_equal(progress(), -ENOMEM);
	expect_no_result();
	assert_int_equal(progress(), 1);
	expect_result(1, 0);
}

static void a_silent_broken_poll_has_words(void **state)
{
	fake.silent = true;
	submit(1, 1);
	fake_queue_pair_poll_error(&fake, EIO);
	assert_int_equal(ops->progress(s, NULL), -EIO);
	expect_result(1, -ECANCELED);
	assert_string_equal(result.error.message, "the scheduler ended: Input/output error");
}

static void direct_posts_are_counted_though_not_gated(void **state)
{
	uint64_t id[] = {100, 101, 102, 103, 104};
	const struct srd_wr_ids ids = {.id = id, .capacity = 5, .count = 5};

	assert_int_equal(ops->adopt(s, &ids, 9, &error), 0);
	assert_int_equal(ops->in_flight(s), 5);
	submit(1, 1);
	assert_int_equal(ops->queued(s), 1);
	for (int i = 0; i < 4; i++)
		complete(id[i]);
	assert_int_equal(progress(), 4);
	assert_int_equal(ops->in_flight(s), 2);
	expect_no_result();
	complete(104);
	complete(0);
	assert_int_equal(progress(), 2);
	expect_result(9, 0);
	assert_int_equal(result.num_wr, 5);
	expect_result(1, 0);
	assert_int_equal(ops->adopt(s, &(struct srd_wr_ids){0}, 10, &error), 0);
	expect_result(10, 0);
}

/* A plug-in's ids may be anything, even all the same. */
static void ids_that_repeat_are_taken_one_by_one(void **state)
{
	fake.id_step = 0;
	fake.next_id = 5;
	submit(1, 3000);
	complete(5);
	complete(5);
	assert_int_equal(progress(), 2);
	assert_int_equal(ops->in_flight(s), 1);
	complete(5);
	assert_int_equal(progress(), 1);
	expect_result(1, 0);
	complete(5);
	fake.id_step = UINT64_MAX / 3;
	submit(2, 4000);
	for (uint64_t i = 0; i < 4; i++)
		complete(5 + i * fake.id_step);
	assert_int_equal(progress(), 4);
	assert_int_equal(error.code, -ENOENT);
	expect_result(2, 0);
}

static void without_a_window_polls_are_never_spaced(void **state)
{
	for (uint64_t now = 0; now < 100 * MS; now += MS)
		assert_int_equal(ops->poll_delay(s, now), 0);
}

static void polls_are_spaced_after_the_window(void **state)
{
	const uint64_t steps[] = {1, 2, 4, 8, 10, 10, 10};
	uint64_t now = 50 * MS;

	ops->destroy(s);
	create(4, 3 * MS);
	for (int again = 0; again < 2; again++) {
		assert_int_equal(ops->poll_delay(s, now), 0);
		assert_int_equal(ops->poll_delay(s, now + 3 * MS - 1), 0);
		now += 3 * MS;
		for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
			assert_int_equal(ops->poll_delay(s, now), steps[i] * MS);
			/* asked too early, what is left */
			assert_int_equal(ops->poll_delay(s, now + MS / 2), steps[i] * MS - MS / 2);
			now += steps[i] * MS;
		}
		/* a completion starts it over */
		submit(1, 1);
		complete((uint64_t)again);
		assert_int_equal(progress(), 1);
		expect_result(1, 0);
	}
}

static void a_scheduler_needs_a_credit(void **state)
{
	const struct srd_scheduler_config none = {.max_send_wr = 0};
	struct srd_scheduler *out = NULL;

	assert_int_equal(ops->create(&fake_queue_pair_ops, (struct srd_queue_pair *)&fake, &none,
				     &out, &error),
			 -EINVAL);
	assert_string_equal(error.message, "max_send_wr is 0: no op could ever be posted");
	ops->destroy(NULL);
}

/* A hundred thousand ops cost the memory of those that were outstanding at once. */
static void memory_does_not_grow_with_completed_requests(void **state)
{
	uint64_t id = 0, first = 0;

	for (uint64_t i = 0; i < 100000; i++) {
		submit(i, 1000 * (i % 4) + 1);
		for (uint64_t n = i % 4 + 1; n; n--)
			complete(id++);
		fake.num_posts = 0;
		assert_true(progress() > 0);
		expect_result(i, 0);
		if (i == 10) {
			srd_alloc_fail_at(0);
			first = srd_alloc_count();
		}
	}
	assert_int_equal(srd_alloc_count(), first);
}

/* Each allocation fails in turn: the op is answered or refused, and nothing is lost. */
static void every_allocation_fails(void **state)
{
	for (uint64_t nth = 1; nth < 8; nth++) {
		uint64_t id[] = {1000, 1001};
		const struct srd_wr_ids ids = {.id = id, .capacity = 2, .count = 2};
		const struct srd_scheduler_config config = {.max_send_wr = 4};
		struct srd_op op = put_op(1, 4000);
		int answers = 0, accepted = 0;

		ops->destroy(s);
		s = NULL;
		fake_queue_pair_init(&fake);
		srd_alloc_fail_at(nth);
		if (ops->create(&fake_queue_pair_ops, (struct srd_queue_pair *)&fake, &config, &s,
				&error)) {
			assert_int_equal(nth, 1);
			assert_int_equal(error.code, -ENOMEM);
			continue;
		}
		for (int i = 0; i < 3; i++) {
			int rc = ops->submit(s, &op, &error);

			assert_true(!rc || rc == -ENOMEM);
			accepted += !rc;
		}
		accepted += !ops->adopt(s, &ids, 2, &error);
		for (int round = 0; round < 8; round++) {
			for (uint64_t i = 0; i < fake.next_id; i++)
				complete(i);
			complete(1000);
			complete(1001);
			assert_true(progress() >= 0);
			while (ops->result(s, &result)) {
				assert_true(!result.result || result.result == -ENOMEM);
				answers++;
			}
		}
		assert_int_equal(answers, accepted);
		assert_int_equal(ops->in_flight(s), 0);
		assert_int_equal(ops->queued(s), 0);
	}
	srd_alloc_fail_at(0);
}

/* An op that finds no room for its ids has none, least of all those of the op before it. */
static void an_op_without_memory_takes_no_ids_of_another(void **state)
{
	ops->destroy(s);
	create(1000, 0);
	submit(1, 1);
	srd_alloc_fail_at(1);
	submit(2, 500 * 1000);
	srd_alloc_fail_at(0);
	expect_result(2, -ENOMEM);
	assert_int_equal(ops->in_flight(s), 1);
	complete(0);
	assert_int_equal(progress(), 1);
	expect_result(1, 0);
	assert_int_equal(ops->in_flight(s), 0);
}

/* The message of an error is lost with the memory for it, the error is not. */
static void an_error_without_memory_keeps_its_code(void **state)
{
	submit(1, 1);
	complete(0);
	progress();
	expect_result(1, 0);
	fake.post_result = -EINVAL;
	srd_alloc_fail_at(1);
	submit(2, 1);
	expect_result(2, -EINVAL);
	assert_string_equal(result.error.message, "Invalid argument");
	srd_alloc_fail_at(0);
}

/* Posts one request and is refused the next, as ibv_post_send may be. */
static int put_one(struct srd_queue_pair *qp, const struct srd_remote_view *to,
		   const struct srd_local_view *from, struct srd_wr_ids *ids, struct srd_error *e)
{
	ids->id[0] = fake.next_id++;
	ids->count = 1;
	return srd_error_set(e, -EINVAL, "the second is refused");
}

static void an_op_that_is_posted_in_part_goes_with_its_scheduler(void **state)
{
	const struct srd_scheduler_config config = {.max_send_wr = 4};
	struct srd_queue_pair_ops part = fake_queue_pair_ops;

	part.one_by_one = true;
	part.put = put_one;
	ops->destroy(s);
	assert_int_equal(ops->create(&part, (struct srd_queue_pair *)&fake, &config, &s, &error),
			 0);
	submit(1, 2000);
	submit(2, 2000);
	assert_int_equal(ops->in_flight(s), 2);
	complete(0);
	assert_int_equal(progress(), 1);
	expect_result(1, -EINVAL);
	assert_string_equal(result.error.message, "the second is refused");
	/* The other one is unanswered still. */
	ops->destroy(s);
	assert_int_equal(srd_alloc_live(), 0);
	create(4, 0);
}

/* Results that nobody took are released with the scheduler. */
static void a_scheduler_goes_with_what_it_holds(void **state)
{
	submit(1, 5000);
	submit(2, 4000);
	submit(3, 4000);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_op_is_posted_at_once_and_answered_after_its_last_request),
		TEST(a_head_without_credit_holds_the_line),
		TEST(an_op_may_take_every_credit),
		TEST(an_op_that_is_too_large_is_answered_and_the_next_go_on),
		TEST(a_count_beyond_32_bits_is_too_large),
		TEST(the_gate_does_not_overflow),
		TEST(a_get_is_counted_by_its_remote_size),
		TEST(nothing_is_polled_while_nothing_is_outstanding),
		TEST(the_cause_is_never_a_flush_where_there_is_another),
		TEST(a_flush_is_the_cause_where_there_is_nothing_else),
		TEST(the_error_of_one_op_leaves_the_others_alone),
		TEST(a_post_that_fails_is_the_result_of_its_op_alone),
		TEST(a_full_send_queue_is_tried_again_after_a_completion),
		TEST(no_memory_with_nothing_outstanding_is_the_ops_error),
		TEST(an_op_without_requests_is_done),
		TEST(more_requests_than_asked_for_are_counted),
		TEST(more_ids_than_there_is_room_for_are_an_error),
		TEST(an_op_of_no_kind_is_an_error),
		TEST(unknown_and_repeated_ids_credit_nothing),
		TEST(a_stale_entry_is_passed_over),
		TEST(stale_entries_without_end_do_not_hold_a_round),
		TEST(a_broken_poll_answers_everybody),
		TEST(a_poll_without_memory_may_be_tried_again),
		TEST(a_silent_broken_poll_has_words),
		TEST(direct_posts_are_counted_though_not_gated),
		TEST(ids_that_repeat_are_taken_one_by_one),
		TEST(without_a_window_polls_are_never_spaced),
		TEST(polls_are_spaced_after_the_window),
		TEST(a_scheduler_needs_a_credit),
		TEST(memory_does_not_grow_with_completed_requests),
		TEST(every_allocation_fails),
		TEST(an_op_that_is_posted_in_part_goes_with_its_scheduler),
		TEST(an_op_without_memory_takes_no_ids_of_another),
		TEST(an_error_without_memory_keeps_its_code),
		TEST(a_scheduler_goes_with_what_it_holds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
