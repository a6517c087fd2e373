/* SPDX-License-Identifier: MIT */
/*
 * The observer of queue pairs and schedulers: which events, of which op. The schedulers
 * under observation are ours and some that are not as they should be.
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"
#include "fake_queue_pair.h"
#include "qp/observe.h"
#include "qp/scheduler.h"

static const struct srd_queue_pair_ops *const qp_ops = &srd_observed_queue_pair_ops;
static const struct srd_scheduler_ops *const ops = &srd_observed_scheduler_ops;
static struct fake_queue_pair fake;
static struct srd_stream stream;
static struct srd_queue_pair *qp;
static struct srd_scheduler *s;
static struct srd_error error;
static struct srd_op_result result;
static uint64_t id[8];
static struct srd_wr_ids ids = {.id = id, .capacity = 8};

/* The events so far, a line each. */
static char log_text[64][96];
static int num_log;
static bool quiet; /* keep no log */

static void event_line(char *line, size_t size, const struct srd_event *event)
{
	const struct srd_ev_op_begin *begin = (const void *)event;
	const struct srd_ev_op_post_begin *post = (const void *)event;
	const struct srd_ev_op_post_end *posted = (const void *)event;
	const struct srd_ev_op_end *end = (const void *)event;
	const struct srd_ev_scheduler_state *state = (const void *)event;
	const struct srd_ev_qp_open *open = (const void *)event;
	const struct srd_ev_connect *connect = (const void *)event;

	switch ((enum srd_event_type)event->type) {
	case SRD_EV_OP_BEGIN:
		snprintf(line, size,
			 "op %u begin kind %u path %u: %" PRIx64 "+%" PRIu64 " key %u, %" PRIx64
			 "+%" PRIu64 " key %u",
			 event->op, begin->kind, begin->path, begin->local_addr, begin->local_size,
			 begin->lkey, begin->remote_addr, begin->remote_size, begin->rkey);
		break;
	case SRD_EV_OP_POST_BEGIN:
		snprintf(line, size, "op %u post %" PRIu64, event->op, post->num_wr_asked);
		break;
	case SRD_EV_OP_POST_END:
		snprintf(line, size, "op %u posted %d: %u ids %" PRIu64 " to %" PRIu64, event->op,
			 (int)posted->result, posted->num_ids, posted->first_id, posted->last_id);
		break;
	case SRD_EV_OP_END:
		snprintf(line, size, "op %u end %d status %u/%u id %" PRIu64 " of %u", event->op,
			 (int)end->result, end->status, end->vendor_err, end->wr_id, end->num_wr);
		break;
	case SRD_EV_SCHEDULER_STATE:
		snprintf(line, size, "op %u state %u %u", event->op, state->in_flight,
			 state->queued);
		break;
	case SRD_EV_QP_OPEN:
		snprintf(line, size, "open %" PRIu64 " %u %u", open->max_msg_size,
			 open->max_send_wr, open->max_recv_wr);
		break;
	case SRD_EV_CONNECT:
		snprintf(line, size, "connect %d qpn %u gid %" PRIx64 " %" PRIx64,
			 (int)connect->result, connect->remote_qpn, connect->gid_hi,
			 connect->gid_lo);
		break;
	default:
		snprintf(line, size, "%s", srd_event_infos[event->type].name);
	}
}

static void event_read(void *reader, const struct srd_event *event)
{
	if (quiet)
		return;
	assert_int_equal(event->source, SRD_SOURCE_ENGINE);
	assert_int_equal(event->object, 7);
	assert_int_equal(event->host, 2);
	assert_true(num_log < 64);
	event_line(log_text[num_log++], sizeof(log_text[0]), event);
}

static void expect(const char *const *lines)
{
	int i = 0;

	for (; lines[i]; i++)
		assert_string_equal(i < num_log ? log_text[i] : "(no more events)", lines[i]);
	if (i < num_log)
		fail_msg("one event too many: %s", log_text[i]);
	num_log = 0;
}

#define EXPECT(...) expect((const char *const[]){__VA_ARGS__, NULL})

static void open_scheduler(const struct srd_scheduler_ops *below)
{
	const struct srd_scheduler_config config = {.max_send_wr = 4};

	assert_int_equal(srd_observed_scheduler_create(below, qp, &config, &s, &error), 0);
	if (!quiet)
		EXPECT("scheduler_open");
}

static int setup(void **state)
{
	const struct srd_queue_pair_config config = {.max_send_wr = 4, .max_recv_wr = 3};

	fake_queue_pair_init(&fake);
	memset(&stream, 0, sizeof(stream));
	num_log = 0;
	assert_int_equal(srd_stream_add(&stream, event_read, NULL), 0);
	assert_int_equal(srd_observed_queue_pair_create(&fake_queue_pair_ops, &stream, NULL,
							(struct srd_pd *)&fake, &config, NULL, NULL,
							&qp, &error),
			 0);
	EXPECT("open 1000 4 3");
	s = NULL;
	return 0;
}

static int teardown(void **state)
{
	num_log = 0;
	quiet = false;
	ops->destroy(s);
	if (s)
		EXPECT("scheduler_close");
	qp_ops->destroy(qp);
	EXPECT("qp_close");
	assert_true(fake.destroyed);
	assert_int_equal(srd_alloc_live(), 0);
	return 0;
}

static struct srd_op put_op(uint64_t cookie, uint64_t addr, uint64_t size)
{
	return (struct srd_op){.kind = SRD_OP_PUT,
			       .local = {.addr = addr, .size = size, .lkey = 3},
			       .remote = {.addr = addr + 0x1000, .size = size, .rkey = 4},
			       .cookie = cookie};
}

static void submit(uint64_t cookie, uint64_t addr, uint64_t size)
{
	struct srd_op op = put_op(cookie, addr, size);

	assert_int_equal(ops->submit(s, &op, &error), 0);
}

static void an_op_through_the_scheduler(void **state)
{
	open_scheduler(&srd_credit_scheduler_ops);
	submit(99, 0x100, 2500);
	EXPECT("op 1 begin kind 0 path 1: 100+2500 key 3, 1100+2500 key 4", "op 1 post 3",
	       "op 1 posted 0: 3 ids 0 to 2", "op 0 state 3 0");
	fake_queue_pair_complete(&fake, 2, SRD_WC_SUCCESS);
	fake_queue_pair_complete(&fake, 0, SRD_WC_REM_ACCESS_ERR);
	fake_queue_pair_complete(&fake, 1, SRD_WC_SUCCESS);
	assert_int_equal(ops->progress(s, &error), 3);
	EXPECT("op 0 state 0 0");
	assert_int_equal(ops->result(s, &result), 1);
	assert_int_equal(result.cookie, 99);
	EXPECT("op 1 end -5 status 10/7 id 0 of 3");
	assert_int_equal(ops->result(s, &result), 0);
	assert_int_equal(ops->in_flight(s), 0);
	assert_int_equal(ops->queued(s), 0);
	assert_int_equal(ops->poll_delay(s, 0), 0);
}

/* Posted from a later call, an op still has its own number. */
static void an_op_that_waited(void **state)
{
	open_scheduler(&srd_credit_scheduler_ops);
	submit(1, 0x100, 4000);
	submit(2, 0x200, 10);
	submit(3, 0x200, 10); /* the same in all but its cookie */
	num_log = 0;
	for (uint64_t i = 0; i < 4; i++)
		fake_queue_pair_complete(&fake, i, SRD_WC_SUCCESS);
	assert_int_equal(ops->progress(s, &error), 4);
	EXPECT("op 2 post 1", "op 2 posted 0: 1 ids 4 to 4", "op 3 post 1",
	       "op 3 posted 0: 1 ids 5 to 5", "op 0 state 2 0");
	fake_queue_pair_complete(&fake, 5, SRD_WC_SUCCESS);
	assert_int_equal(ops->progress(s, &error), 1);
	num_log = 0;
	assert_int_equal(ops->result(s, &result), 1);
	assert_int_equal(result.cookie, 1);
	assert_int_equal(ops->result(s, &result), 1);
	assert_int_equal(result.cookie, 3);
	EXPECT("op 1 end 0 status 0/0 id 0 of 4", "op 3 end 0 status 0/0 id 0 of 1");
}

/* A post that is refused and tried again is the same op both times. */
static void an_op_that_is_posted_twice(void **state)
{
	open_scheduler(&srd_credit_scheduler_ops);
	submit(1, 0x100, 1);
	fake.post_result = -ENOMEM;
	submit(2, 0x200, 1);
	num_log = 0;
	fake.post_result = 0;
	fake_queue_pair_complete(&fake, 0, SRD_WC_SUCCESS);
	ops->progress(s, &error);
	EXPECT("op 2 post 1", "op 2 posted 0: 1 ids 1 to 1", "op 0 state 1 0");
}

static void an_op_that_is_refused(void **state)
{
	open_scheduler(&srd_credit_scheduler_ops);
	submit(1, 0x100, 9000);
	EXPECT("op 1 begin kind 0 path 1: 100+9000 key 3, 1100+9000 key 4", "op 0 state 0 0");
	assert_int_equal(ops->result(s, &result), 1);
	assert_int_equal(result.result, -E2BIG);
	EXPECT("op 1 end -7 status 0/0 id 0 of 0");
	fake.post_result = -EINVAL;
	submit(2, 0x100, 1);
	assert_int_equal(ops->result(s, &result), 1);
	assert_int_equal(result.cookie, 2);
	EXPECT("op 2 begin kind 0 path 1: 100+1 key 3, 1100+1 key 4", "op 2 post 1",
	       "op 2 posted -22: 0 ids 0 to 0", "op 0 state 0 0",
	       "op 2 end -22 status 0/0 id 0 of 0");
}

/* One that is refused for good, and not taken out yet, is not mistaken for the next one. */
static void an_op_like_one_that_was_refused(void **state)
{
	open_scheduler(&srd_credit_scheduler_ops);
	fake.post_result = -EINVAL;
	submit(1, 0x1000, 500);
	fake.post_result = 0;
	num_log = 0;
	submit(2, 0x1000, 500);
	EXPECT("op 2 begin kind 0 path 1: 1000+500 key 3, 2000+500 key 4", "op 2 post 1",
	       "op 2 posted 0: 1 ids 0 to 0", "op 0 state 1 0");
}

static void a_direct_op_ends_where_it_is_adopted(void **state)
{
	const struct srd_op op = put_op(0, 0x100, 1500);

	open_scheduler(&srd_credit_scheduler_ops);
	assert_int_equal(qp_ops->put(qp, &op.remote, &op.local, &ids, &error), 0);
	EXPECT("op 1 begin kind 0 path 0: 100+1500 key 3, 1100+1500 key 4", "op 1 post 2",
	       "op 1 posted 0: 2 ids 0 to 1");
	assert_int_equal(ops->adopt(s, &ids, 42, &error), 0);
	fake_queue_pair_complete(&fake, 1, SRD_WC_SUCCESS);
	fake_queue_pair_complete(&fake, 0, SRD_WC_SUCCESS);
	assert_int_equal(ops->progress(s, &error), 2);
	assert_int_equal(ops->result(s, &result), 1);
	assert_int_equal(result.cookie, 42);
	EXPECT("op 0 state 0 0", "op 1 end 0 status 0/0 id 0 of 2");
}

static void a_direct_op_that_is_refused_ends_at_once(void **state)
{
	const struct srd_op op = {.kind = SRD_OP_GET,
				  .local = {.addr = 0x100, .size = 9, .lkey = 3},
				  .remote = {.addr = 0x200, .size = 5, .rkey = 4}};

	fake.post_result = -EMSGSIZE;
	assert_int_equal(qp_ops->get(qp, &op.local, &op.remote, &ids, &error), -EMSGSIZE);
	EXPECT("op 1 begin kind 1 path 0: 100+9 key 3, 200+5 key 4", "op 1 post 1",
	       "op 1 posted -90: 0 ids 0 to 0", "op 1 end -90 status 0/0 id 0 of 0");
	assert_int_equal(stream.num_ops, 1);
}

static void the_rest_is_handed_on(void **state)
{
	struct srd_endpoint endpoint, peer = {.qp_num = 6, .has_gid = true};
	struct srd_completion completion;
	enum srd_qp_state reached;

	peer.gid.raw[7] = 1;
	peer.gid.raw[15] = 2;
	assert_int_equal(qp_ops->connect(qp, &peer, &error), 0);
	EXPECT("connect 0 qpn 6 gid 1 2");
	peer.has_gid = false;
	assert_int_equal(qp_ops->connect(qp, &peer, &error), -EINVAL);
	EXPECT("connect -22 qpn 6 gid 0 0");
	assert_int_equal(qp_ops->endpoint(qp, &endpoint, &error), 0);
	assert_int_equal(endpoint.qp_num, 5);
	assert_int_equal(qp_ops->state(qp, &reached, &error), 0);
	assert_int_equal(reached, SRD_QPS_RTS);
	assert_int_equal(qp_ops->max_msg_size(qp), 1000);
	assert_int_equal(qp_ops->num_requests(qp, SRD_OP_PUT, 1001), 2);
	assert_int_equal(qp_ops->poll(qp, SRD_QUEUE_SEND, &completion, &error), 0);
	assert_ptr_equal(qp_ops->verbs_qp(qp), &fake.verbs_qp);
}

/* --- schedulers that are not as they should be ---------------------------------------- */

struct bad_scheduler {
	const struct srd_queue_pair_ops *ops;
	struct srd_queue_pair *qp;
	struct srd_op held[8];
	int num_held;
	struct srd_op_result answers[300];
	int num_answers, next_answer;
	int submit_result;
};

static struct bad_scheduler bad;

static int bad_create(const struct srd_queue_pair_ops *below, struct srd_queue_pair *over,
		      const struct srd_scheduler_config *config, struct srd_scheduler **out,
		      struct srd_error *e)
{
	bad = (struct bad_scheduler){.ops = below, .qp = over};
	*out = (struct srd_scheduler *)&bad;
	return config->max_send_wr ? 0 : srd_error_set(e, -EINVAL, "no credits");
}

static void bad_destroy(struct srd_scheduler *scheduler)
{
}

static int bad_submit(struct srd_scheduler *scheduler, const struct srd_op *op, struct srd_error *e)
{
	bad.held[bad.num_held++] = *op;
	return bad.submit_result;
}

static void bad_post(struct srd_op op)
{
	struct srd_wr_ids posted = {.id = id, .capacity = 8};

	if (op.kind == SRD_OP_PUT)
		bad.ops->put(bad.qp, &op.remote, &op.local, &posted, NULL);
	else
		bad.ops->get(bad.qp, &op.local, &op.remote, &posted, NULL);
}

/* The newest first; then a part of the oldest, it whole again, and what nobody asked for. */
static int bad_progress(struct srd_scheduler *scheduler, struct srd_error *e)
{
	struct srd_op op = bad.held[0];

	bad_post(bad.held[1]);
	op.local.size = 4;
	op.remote.size = 4;
	op.local.addr += 6;
	op.remote.addr += 6;
	bad_post(op);
	bad_post(bad.held[0]);
	op.local.addr = 0x900000;
	op.remote.addr = 0x900000;
	bad_post(op);
	op = bad.held[0];
	op.kind = SRD_OP_GET;
	bad_post(op);
	return 0;
}

static int bad_result(struct srd_scheduler *scheduler, struct srd_op_result *out)
{
	if (bad.next_answer == bad.num_answers)
		return 0;
	*out = bad.answers[bad.next_answer++];
	return 1;
}

static uint32_t bad_number(struct srd_scheduler *scheduler)
{
	return 0;
}

static int bad_adopt(struct srd_scheduler *scheduler, const struct srd_wr_ids *adopted,
		     uint64_t cookie, struct srd_error *e)
{
	return srd_error_set(e, -ENOSYS, "cannot adopt");
}

static const struct srd_scheduler_ops bad_ops = {
	.create = bad_create,
	.destroy = bad_destroy,
	.submit = bad_submit,
	.progress = bad_progress,
	.result = bad_result,
	.in_flight = bad_number,
	.queued = bad_number,
	.adopt = bad_adopt,
};

static void posts_find_their_op_in_any_order(void **state)
{
	open_scheduler(&bad_ops);
	submit(1, 0x1000, 10);
	submit(2, 0x5000, 10);
	num_log = 0;
	ops->progress(s, &error);
	EXPECT("op 2 post 1", "op 2 posted 0: 1 ids 0 to 0", "op 1 post 1",
	       "op 1 posted 0: 1 ids 1 to 1", "op 1 post 1", "op 1 posted 0: 1 ids 2 to 2",
	       "op 0 post 1", "op 0 posted 0: 1 ids 3 to 3", "op 0 post 1",
	       "op 0 posted 0: 1 ids 4 to 4", "op 0 state 0 0");
}

static void a_second_answer_is_seen_and_goes_no_further(void **state)
{
	open_scheduler(&bad_ops);
	submit(71, 0x1000, 10);
	submit(72, 0x5000, 10);
	for (int i = 0; i < 3; i++)
		bad.answers[bad.num_answers++].cookie = bad.held[0].cookie;
	bad.answers[bad.num_answers++].cookie = 0xdeadbeefdeadbeef;
	bad.answers[bad.num_answers++].cookie = 0;
	bad.answers[bad.num_answers++].cookie = bad.held[1].cookie;
	num_log = 0;
	assert_int_equal(ops->result(s, &result), 1);
	assert_int_equal(result.cookie, 71);
	EXPECT("op 1 end 0 status 0/0 id 0 of 0");
	assert_int_equal(ops->result(s, &result), 1);
	assert_int_equal(result.cookie, 72);
	EXPECT("op 1 end 0 status 0/0 id 0 of 0", "op 1 end 0 status 0/0 id 0 of 0",
	       "op 0 end 0 status 0/0 id 0 of 0", "op 0 end 0 status 0/0 id 0 of 0",
	       "op 2 end 0 status 0/0 id 0 of 0");
	assert_int_equal(ops->result(s, &result), 0);
}

/* The place of an answered op is used again: its old cookie is not the new op's. */
static void an_old_cookie_is_not_a_new_one(void **state)
{
	open_scheduler(&bad_ops);
	submit(1, 0x1000, 10);
	bad.answers[bad.num_answers++].cookie = bad.held[0].cookie;
	assert_int_equal(ops->result(s, &result), 1);
	submit(2, 0x1000, 10);
	assert_int_not_equal(bad.held[1].cookie, bad.held[0].cookie);
	bad.answers[bad.num_answers++].cookie = bad.held[0].cookie;
	num_log = 0;
	assert_int_equal(ops->result(s, &result), 0);
	EXPECT("op 0 end 0 status 0/0 id 0 of 0");
}

static void answers_without_end_do_not_hold_a_call(void **state)
{
	quiet = true;
	open_scheduler(&bad_ops);
	bad.num_answers = 300;
	assert_int_equal(ops->result(s, &result), 0);
	assert_true(bad.next_answer < 300);
}

static void errors_of_the_scheduler_are_handed_on(void **state)
{
	const struct srd_scheduler_config none = {0};
	const struct srd_op op = put_op(1, 0x100, 1);
	struct srd_scheduler *out = NULL;

	open_scheduler(&bad_ops);
	assert_int_equal(srd_observed_scheduler_create(&bad_ops, qp, &none, &out, &error), -EINVAL);
	bad.submit_result = -ENOMEM;
	assert_int_equal(ops->submit(s, &op, &error), -ENOMEM);
	EXPECT("op 1 begin kind 0 path 1: 100+1 key 3, 1100+1 key 4",
	       "op 1 end -12 status 0/0 id 0 of 0", "op 0 state 0 0");
	assert_int_equal(ops->adopt(s, &ids, 1, &error), -ENOSYS);
	assert_string_equal(error.message, "cannot adopt");
}

/* Many ops at once, and each allocation failing in turn. */
static void every_allocation_fails(void **state)
{
	const struct srd_queue_pair_config config = {.max_send_wr = 4};
	const struct srd_scheduler_config credits = {.max_send_wr = 4};
	struct srd_queue_pair *other = NULL;

	srd_alloc_fail_at(1);
	assert_int_equal(srd_observed_queue_pair_create(&fake_queue_pair_ops, &stream, NULL,
							(struct srd_pd *)&fake, &config, NULL, NULL,
							&other, &error),
			 -ENOMEM);
	srd_alloc_fail_at(1);
	assert_int_equal(
		srd_observed_scheduler_create(&srd_credit_scheduler_ops, qp, &credits, &s, &error),
		-ENOMEM);
	srd_alloc_fail_at(2);
	assert_int_equal(
		srd_observed_scheduler_create(&srd_credit_scheduler_ops, qp, &credits, &s, &error),
		-ENOMEM);
	assert_null(s);
	quiet = true;
	open_scheduler(&srd_credit_scheduler_ops);
	for (uint64_t nth = 1; nth < 8; nth++) {
		int accepted = 0, answered = 0;

		srd_alloc_fail_at(nth);
		for (uint64_t i = 0; i < 70; i++) {
			struct srd_op op = put_op(i, 0x1000 * i, 1);

			accepted += !ops->submit(s, &op, &error);
		}
		accepted += !ops->adopt(s, &(struct srd_wr_ids){0}, 70, &error);
		for (int round = 0; round < 20; round++) {
			for (uint64_t i = 0; i < fake.next_id; i++)
				fake_queue_pair_complete(&fake, i, SRD_WC_SUCCESS);
			assert_true(ops->progress(s, &error) >= 0);
			fake.head = fake.tail = 0;
			while (ops->result(s, &result))
				answered++;
		}
		assert_int_equal(answered, accepted);
		assert_int_equal(ops->in_flight(s), 0);
		ops->destroy(s);
		fake.next_id = 0;
		fake.num_posts = 0;
		srd_alloc_fail_at(0);
		open_scheduler(&srd_credit_scheduler_ops);
	}
}

/* With nobody to read, numbers are given all the same. */
static void without_readers_nothing_is_built(void **state)
{
	srd_stream_remove(&stream, event_read, NULL);
	quiet = true;
	open_scheduler(&srd_credit_scheduler_ops);
	submit(7, 0x100, 1);
	fake_queue_pair_complete(&fake, 0, SRD_WC_SUCCESS);
	assert_int_equal(ops->progress(s, &error), 1);
	assert_int_equal(ops->result(s, &result), 1);
	assert_int_equal(result.cookie, 7);
	assert_int_equal(stream.num_ops, 1);
	assert_int_equal(srd_stream_add(&stream, event_read, NULL), 0);
}

/* A plug-in that stands on no verbs queue pair is object 0. */
static void a_queue_pair_without_verbs(void **state)
{
	const struct srd_queue_pair_config config = {.max_send_wr = 4};
	struct srd_queue_pair *other;

	quiet = true;
	fake.verbs_qp.handle = 0;
	assert_int_equal(srd_observed_queue_pair_create(&fake_queue_pair_ops, &stream, NULL,
							(struct srd_pd *)&fake, &config, NULL, NULL,
							&other, &error),
			 0);
	assert_null(qp_ops->verbs_qp(other));
	qp_ops->destroy(other);
	qp_ops->destroy(NULL);
	fake.destroyed = false;
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_op_through_the_scheduler),
		TEST(an_op_that_waited),
		TEST(an_op_that_is_posted_twice),
		TEST(an_op_that_is_refused),
		TEST(an_op_like_one_that_was_refused),
		TEST(a_direct_op_ends_where_it_is_adopted),
		TEST(a_direct_op_that_is_refused_ends_at_once),
		TEST(the_rest_is_handed_on),
		TEST(posts_find_their_op_in_any_order),
		TEST(a_second_answer_is_seen_and_goes_no_further),
		TEST(an_old_cookie_is_not_a_new_one),
		TEST(answers_without_end_do_not_hold_a_call),
		TEST(errors_of_the_scheduler_are_handed_on),
		TEST(every_allocation_fails),
		TEST(without_readers_nothing_is_built),
		TEST(a_queue_pair_without_verbs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
