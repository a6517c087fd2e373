/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "planted.h"
#include "qp/efa_srd.h"
#include "qp/observe.h"
#include "qp/scheduler.h"

/* --- a device that lies: the third completion is changed --- */

static bool third(struct srd_verbs *verbs, int polled)
{
	struct tamper *t = (struct tamper *)verbs;

	return polled == 1 && ++t->calls == 3;
}

static int another_id(struct srd_verbs *verbs, struct srd_cq *cq, int num_entries,
		      struct srd_wc *wc)
{
	int n = verbs->next->poll_cq(verbs->next, cq, num_entries, wc);

	if (third(verbs, n))
		wc->wr_id += 1000;
	return n;
}

static void plant_another_id(struct srd_verbs *verbs)
{
	verbs->poll_cq = another_id;
}

static int another_opcode(struct srd_verbs *verbs, struct srd_cq *cq, int num_entries,
			  struct srd_wc *wc)
{
	int n = verbs->next->poll_cq(verbs->next, cq, num_entries, wc);

	if (third(verbs, n))
		wc->opcode = SRD_WC_SEND;
	return n;
}

static void plant_another_opcode(struct srd_verbs *verbs)
{
	verbs->poll_cq = another_opcode;
}

static int another_vendor_err(struct srd_verbs *verbs, struct srd_cq *cq, int num_entries,
			      struct srd_wc *wc)
{
	int n = verbs->next->poll_cq(verbs->next, cq, num_entries, wc);

	if (third(verbs, n))
		wc->vendor_err = SRD_EFA_REMOTE_ERROR_ABORT;
	return n;
}

static void plant_another_vendor_err(struct srd_verbs *verbs)
{
	verbs->poll_cq = another_vendor_err;
}

/* The first completion tells of a receiver that was not ready. */
static int as_not_ready(struct srd_verbs *verbs, struct srd_cq *cq, int num_entries,
			struct srd_wc *wc)
{
	int n = verbs->next->poll_cq(verbs->next, cq, num_entries, wc);

	if (n > 0) {
		wc->vendor_err = SRD_EFA_REMOTE_ERROR_RNR;
		wc->status = SRD_WC_RNR_RETRY_EXC_ERR;
	}
	return n;
}

static void plant_as_not_ready(struct srd_verbs *verbs)
{
	verbs->poll_cq = as_not_ready;
}

/* The same completion as a receive. */
static int as_receive(struct srd_verbs *verbs, struct srd_cq *cq, int num_entries,
		      struct srd_wc *wc)
{
	struct tamper *t = (struct tamper *)verbs;

	if (t->calls++ != 3)
		return verbs->next->poll_cq(verbs->next, cq, num_entries, wc);
	*wc = (struct srd_wc){.qp_num = stage->a.endpoint.qp_num, .opcode = SRD_WC_RECV};
	return 1;
}

static void plant_as_receive(struct srd_verbs *verbs)
{
	verbs->poll_cq = as_receive;
}

/* A completion of the queue pair that LAST names, which is gone. */
static int of_the_dead(struct srd_verbs *verbs, struct srd_cq *cq, int num_entries,
		       struct srd_wc *wc)
{
	struct tamper *t = (struct tamper *)verbs;

	if (!t->last.qp_num)
		return verbs->next->poll_cq(verbs->next, cq, num_entries, wc);
	*wc = t->last;
	t->last.qp_num = 0;
	return 1;
}

static void plant_of_the_dead(struct srd_verbs *verbs)
{
	verbs->poll_cq = of_the_dead;
}

static void poll_after_second(struct stage *s)
{
	struct srd_queue_pair *second = second_open(&srd_efa_srd_ops, s->a.cq);
	struct srd_wc wc;

	s->below.last = (struct srd_wc){.qp_num = srd_efa_srd_ops.verbs_qp(second)->qp_num,
					.opcode = SRD_WC_RDMA_WRITE};
	raw_write(0, 8);
	srd_efa_srd_ops.destroy(second);
	raw_wait(&wc);
	raw_wait(&wc);
}

static void duplicated(struct stage *s)
{
	fault(SRD_LAB_DUPLICATE, 1, 0);
	standard_run(s);
}

static int posts_and_refuses(struct srd_verbs *verbs, struct srd_qp *qp)
{
	verbs->next->wr_complete(verbs->next, qp);
	return EINVAL;
}

static void plant_posts_and_refuses(struct srd_verbs *verbs)
{
	verbs->wr_complete = posts_and_refuses;
}

static void one_raw(struct stage *s)
{
	struct srd_wc wc;

	raw_write(0, 8);
	raw_wait(&wc);
}

/* --- completion queues --- */

static void four_into_two(struct stage *s)
{
	struct srd_cq *cq = s->verbs->create_cq(s->verbs, s->a.context, 2);
	struct srd_queue_pair *second = second_open(&srd_efa_srd_ops, cq);
	struct srd_wc wc;

	for (uint64_t id = 0; id < DEPTH; id++)
		second_write(second, id);
	raw_write(0, 8);
	raw_wait(&wc);
	srd_efa_srd_ops.destroy(second);
	s->verbs->destroy_cq(s->verbs, cq);
}

static void small_queue(struct stage *s)
{
	struct srd_cq *cq = s->verbs->create_cq(s->verbs, s->a.context, 2);
	struct srd_queue_pair *second = second_open(&srd_observed_queue_pair_ops, cq);

	srd_observed_queue_pair_ops.destroy(second);
	s->verbs->destroy_cq(s->verbs, cq);
}

static void shared_queue(struct stage *s)
{
	struct srd_queue_pair *second = second_open(&srd_observed_queue_pair_ops, s->a.cq);
	struct srd_op op = op_of(SRD_OP_PUT, 0, 100);
	struct srd_wr_ids ids = {.id = (uint64_t[4]){0}, .capacity = 4};
	struct srd_wc wc;

	submit(op);
	settle();
	srd_observed_queue_pair_ops.put(second, &op.remote, &op.local, &ids, NULL);
	raw_wait(&wc);
	srd_observed_queue_pair_ops.destroy(second);
}

static void two_leases(struct stage *s)
{
	FORGE(LEASE_ACQUIRE, lease_acquire, s->a.cq->handle, .leases = 2, .limit = 1);
}

static void early_release(struct stage *s)
{
	standard_run(s);
	srd_cq_pool_release(s->a.pool, s->a.cq, true, NULL);
}

/* The lease goes back as if all was reaped. */
static void dirty_lease(struct stage *s)
{
	struct srd_queue_pair *second;
	struct srd_cq *cq;

	srd_cq_pool_acquire(s->a.pool, DEPTH, 0, &cq, NULL);
	second = second_open(&srd_efa_srd_ops, cq);
	second_write(second, 0);
	srd_efa_srd_ops.destroy(second);
	srd_cq_pool_release(s->a.pool, cq, true, NULL);
	srd_cq_pool_acquire(s->a.pool, DEPTH, 0, &cq, NULL);
	srd_cq_pool_release(s->a.pool, cq, true, NULL);
}

/* --- answers --- */

/* Waits for the first request of an op only. */
static int waits_for_first(struct srd_scheduler *scheduler, const struct srd_op *op,
			   struct srd_error *error)
{
	uint64_t id[8];
	struct srd_wr_ids ids = {.id = id, .capacity = 8};
	int result =
		srd_observed_queue_pair_ops.put(stage->a.qp, &op->remote, &op->local, &ids, error);

	if (result)
		return result;
	ids.count = 1;
	return srd_credit_scheduler_ops.adopt(scheduler, &ids, op->cookie, error);
}

static void plant_waits_for_first(struct srd_scheduler_ops *ops)
{
	ops->submit = waits_for_first;
}

static void two_requests(struct stage *s)
{
	submit(op_of(SRD_OP_PUT, 0, 2000));
	settle();
}

/* The second request is held back until the op was answered. */
static void second_is_late(struct stage *s)
{
	struct srd_lab release = {.kind = SRD_LAB_COMPLETE_ALL, .qp = raw_qp()};

	fault(SRD_LAB_HOLD, 1, 0);
	two_requests(s);
	s->verbs->lab(s->verbs, &release);
}

static int result_again(struct srd_scheduler *scheduler, struct srd_op_result *out)
{
	static struct srd_op_result kept;
	static int again;

	if (again) {
		again = 0;
		*out = kept;
		return 1;
	}
	if (!srd_credit_scheduler_ops.result(scheduler, out))
		return 0;
	kept = *out;
	again = 1;
	return 1;
}

static void plant_result_again(struct srd_scheduler_ops *ops)
{
	ops->result = result_again;
}

static int no_result(struct srd_scheduler *scheduler, struct srd_op_result *out)
{
	while (srd_credit_scheduler_ops.result(scheduler, out))
		;
	return 0;
}

static void plant_no_result(struct srd_scheduler_ops *ops)
{
	ops->result = no_result;
}

static int always_fine(struct srd_scheduler *scheduler, struct srd_op_result *out)
{
	int n = srd_credit_scheduler_ops.result(scheduler, out);

	out->result = 0;
	return n;
}

static void plant_always_fine(struct srd_scheduler_ops *ops)
{
	ops->result = always_fine;
}

static void one_fails(struct stage *s)
{
	fault(SRD_LAB_FAIL, 1, SRD_EFA_REMOTE_ERROR_ABORT);
	two_requests(s);
}

/* It blames the first request, whichever failed. */
static int blames_the_first(struct srd_scheduler *scheduler, struct srd_op_result *out)
{
	int n = srd_credit_scheduler_ops.result(scheduler, out);

	out->wr_id = 0;
	return n;
}

static void plant_blames_the_first(struct srd_scheduler_ops *ops)
{
	ops->result = blames_the_first;
}

static void never_completed(struct stage *s)
{
	FORGE(QP_CREATE, qp_create, 99, .qp_num = 999, .pd = s->a.pd->handle,
	      .send_cq = s->a.cq->handle, .recv_cq = s->a.cq->handle, .requested_send_wr = 4,
	      .granted_send_wr = 4, .send_ops_flags = 0x11);
	FORGE(QP_MODIFY, qp_modify, 99, .mask = 0x71, .to = SRD_QPS_INIT, .port_num = 1);
	FORGE(QP_MODIFY, qp_modify, 99, .mask = 1, .from = SRD_QPS_INIT, .to = SRD_QPS_RTR);
	FORGE(QP_MODIFY, qp_modify, 99, .mask = 0x10001, .from = SRD_QPS_RTR, .to = SRD_QPS_RTS);
	FORGE(SESSION_START, session_start, 99, );
	FORGE(WR_POST, wr_post, 99, .wr_id = 5, .setters = 0x31, .num_sge = 1,
	      .ah = s->above.ah->handle, .remote_qpn = s->b.endpoint.qp_num,
	      .remote_qkey = SRD_DEFAULT_QKEY, .wr_flags = SRD_SEND_SIGNALED);
	FORGE(SESSION_COMPLETE, session_complete, 99, .num_wr = 1);
}

#define ID_LOST "credit.count credit.idle completion.op_unanswered"

static void receive_of_nothing(struct stage *s)
{
	struct srd_verbs *v = &s->above.verbs;
	struct srd_recv_wr wr = {.wr_id = 5}, *bad;

	assert_int_equal(v->post_recv(v, raw_qp(), &wr, &bad), 0);
}

static struct srd_cq *extended_cq(struct stage *s, struct srd_comp_channel *channel)
{
	struct srd_verbs *v = s->verbs;
	struct srd_cq_init_attr_ex attr = {.cqe = 4, .channel = channel};
	struct srd_cq *cq = v->create_cq_ex(v, s->a.context, &attr);

	assert_non_null(cq);
	return cq;
}

static void resets_before_it_polls(struct stage *s)
{
	const struct srd_qp_attr attr = {.qp_state = SRD_QPS_RESET};
	struct srd_wc wc;

	raw_write(0, 100);
	s->verbs->wait(s->verbs, UINT64_MAX);
	s->verbs->modify_qp(s->verbs, raw_qp(), &attr, SRD_QP_STATE);
	raw_wait(&wc);
}

static void polls_a_plain_queue(struct stage *s)
{
	s->verbs->start_poll(s->verbs, s->a.cq);
}

static void ends_what_never_began(struct stage *s)
{
	struct srd_cq *cq = extended_cq(s, NULL);

	/* It was empty: there is nothing to end. */
	s->verbs->start_poll(s->verbs, cq);
	s->verbs->end_poll(s->verbs, cq);
	s->verbs->destroy_cq(s->verbs, cq);
}

static void asks_without_a_channel(struct stage *s)
{
	s->verbs->req_notify_cq(s->verbs, s->a.cq, 0);
}

static void acknowledges_twice(struct stage *s)
{
	struct srd_comp_channel *channel = s->verbs->create_comp_channel(s->verbs, s->a.context);
	struct srd_cq *cq = extended_cq(s, channel);

	s->verbs->req_notify_cq(s->verbs, cq, 0);
	s->verbs->ack_cq_events(s->verbs, cq, 1);
	s->verbs->destroy_cq(s->verbs, cq);
	s->verbs->destroy_comp_channel(s->verbs, channel);
}

/* Of two that are there, the second comes first. */
static int swapped(struct srd_verbs *verbs, struct srd_cq *cq, int num_entries, struct srd_wc *wc)
{
	struct tamper *t = (struct tamper *)verbs;
	struct srd_wc two[2];
	int n;

	if (t->calls) {
		t->calls = 0;
		*wc = t->last;
		return 1;
	}
	n = verbs->next->poll_cq(verbs->next, cq, 2, two);
	if (n == 2) {
		t->calls = 1;
		t->last = two[0];
		*wc = two[1];
		return 1;
	}
	if (n == 1)
		*wc = two[0];
	return n;
}

static void plant_swapped(struct srd_verbs *verbs)
{
	verbs->poll_cq = swapped;
}

/* Both are done before anybody looks. */
static void two_at_once(struct stage *s)
{
	submit(op_of(SRD_OP_PUT, 0, 64));
	submit(op_of(SRD_OP_PUT, 64, 64));
	s->verbs->wait(s->verbs, s->verbs->now(s->verbs) + 10000000);
	s->verbs->wait(s->verbs, s->verbs->now(s->verbs) + 10000000);
	settle();
}

const struct planted planted_completion[] = {
	{.rule = "completion.order",
	 .what = "a connected queue pair's completions are taken out of order",
	 .rc = true,
	 .below = plant_swapped,
	 .run = two_at_once},
	{"completion.unknown", ID_LOST, "a completion has an id of nobody",
	 .below = plant_another_id},
	{"completion.twice", NULL, "the device delivers a completion twice", .run = duplicated},
	{"completion.refused", "session.atomic", "a refused request completes",
	 .below = plant_posts_and_refuses, .run = one_raw},
	{"completion.stale", NULL, "a completion of a destroyed queue pair is delivered",
	 .below = plant_of_the_dead, .run = poll_after_second},
	{"completion.missing", "lifetime.leak lifetime.order completion.lease_early",
	 "a request never completes", .run = never_completed},
	{"completion.opcode", NULL, "a write completes as a send", .below = plant_another_opcode},
	{"completion.after_reset", NULL, "a queue pair is reset before its completion is polled",
	 .run = resets_before_it_polls},
	{"completion.poll", NULL, "an extended poll of a plain queue", .run = polls_a_plain_queue},
	{"completion.poll", NULL, "the end of a poll that found nothing",
	 .run = ends_what_never_began},
	{"completion.event", NULL, "an event is asked for without a channel",
	 .run = asks_without_a_channel},
	{"completion.event", NULL, "an event that never came is acknowledged",
	 .run = acknowledges_twice},
	{"completion.vendor", NULL, "a success has the vendor_err of a failure",
	 .below = plant_another_vendor_err},
	{"completion.overrun", NULL, "nobody polls, and the queue is too small",
	 .run = four_into_two},
	{"completion.room", "completion.overrun", "more is outstanding than the queue holds",
	 .run = four_into_two},
	{"completion.cq_size", "address.mutual", "a queue of two for a depth of four",
	 .run = small_queue},
	{"completion.shared_queue", "address.mutual", "two queue pairs post with one queue",
	 .run = shared_queue},
	{"completion.lease_limit", NULL, "a queue is leased twice", .run = two_leases},
	{"completion.lease_early", NULL, "a lease goes back before the destroy",
	 .run = early_release},
	{"completion.lease_stale", NULL, "a queue with a flush in it is leased again",
	 .run = dirty_lease},
	{"completion.receive", "credit.count", "a receive completes that nobody posted",
	 .below = plant_as_receive},
	{"completion.empty_receive", NULL, "a receive without a scatter entry",
	 .run = receive_of_nothing},
	{"completion.not_ready", NULL, "a request finds no receive", .below = plant_as_not_ready,
	 .run = one_raw},
	{"completion.op_early", "credit.count", "only the first request is waited for",
	 .scheduler = plant_waits_for_first, .run = second_is_late},
	{"completion.op_twice", NULL, "every answer is given twice",
	 .scheduler = plant_result_again},
	{"completion.op_unanswered", NULL, "no answer is given", .scheduler = plant_no_result},
	{"completion.op_result", NULL, "every answer is success", .scheduler = plant_always_fine,
	 .run = one_fails},
	{"completion.op_cause", NULL, "the first request is blamed",
	 .scheduler = plant_blames_the_first, .run = one_fails},
	{NULL},
};
