/* SPDX-License-Identifier: MIT */
/* The extended poll and completion channels over rdma-core: calls, locks, misuse. */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "efa.h"
#include "hw_config.h"
#include "hw_fake.h"
#include "verbs/alloc.h"

static struct srd_verbs *v;
static struct srd_context *context;
static struct srd_comp_channel *channel;
static struct srd_cq *cq;

static struct srd_cq *create(uint64_t efa_wc_flags)
{
	struct srd_cq_init_attr_ex attr = {
		.cqe = 100,
		.channel = channel,
		.wc_flags = SRD_WC_EX_WITH_BYTE_LEN,
		.efa_wc_flags = efa_wc_flags,
	};

	return v->create_cq_ex(v, context, &attr);
}

static int setup(void **state)
{
	struct srd_backend_options options = {0};

	fake_reset();
	if (srd_backend_find("efa")->open(&options, &v, NULL))
		return -1;
	context = v->open_device(v, 0, NULL);
	channel = v->create_comp_channel(v, context);
	cq = create(0);
	fake_forget();
	return cq ? 0 : -1;
}

static int teardown(void **state)
{
	v->close(v);
	return fake.live || srd_alloc_live() ? -1 : 0;
}

static struct srd_qp *queue_pair(void)
{
	struct srd_efa_qp_init_attr efa = {0};
	struct srd_qp_init_attr_ex attr = {
		.pd = v->alloc_pd(v, context),
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {4, 4, 1, 1, 0},
		.qp_type = SRD_QPT_DRIVER,
		.comp_mask = SRD_QP_INIT_ATTR_PD | SRD_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = SRD_QP_EX_WITH_SEND,
	};
	struct srd_qp *qp = v->create_qp_ex(v, context, &attr, &efa);

	assert_non_null(qp);
	fake_forget();
	return qp;
}

static void entries(int n)
{
	for (int i = 0; i < n; i++)
		fake.wc[i] = (struct ibv_wc){
			.wr_id = 10 + (uint64_t)i, .opcode = IBV_WC_RDMA_WRITE, .qp_num = 7};
	fake.num_wc = n;
}

static void created_for_every_field(void **state)
{
	struct srd_cq_init_attr_ex attr = {.cqe = 3,
					   .wc_flags = SRD_WC_EX_WITH_COMPLETION_TIMESTAMP,
					   .comp_mask = SRD_CQ_INIT_ATTR_MASK_FLAGS,
					   .flags = SRD_CREATE_CQ_ATTR_SINGLE_THREADED,
					   .efa_wc_flags = SRD_EFADV_WC_EX_WITH_SGID};
	struct srd_cq *other = v->create_cq_ex(v, context, &attr);

	assert_int_equal(other->cqe, 4);
	assert_int_equal(other->handle, 2);
	assert_string_equal(fake_log(), "efadv_create_cq cqe=3 channel=none vector=0 wc_flags=0xff "
					"comp_mask=0x1 flags=0x1 efa_wc_flags=0x1 inlen=whole\n");
	assert_int_equal(v->destroy_cq(v, other), 0);
	attr.cqe = 0;
	assert_null(v->create_cq_ex(v, context, &attr));
	assert_int_equal(errno, EINVAL);
	attr.cqe = (uint32_t)INT_MAX + 1;
	assert_null(v->create_cq_ex(v, context, &attr));
	assert_int_equal(errno, EINVAL);
	/* A parent domain: libefa would follow a pointer that there is not. */
	attr.cqe = 3;
	attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
	assert_null(v->create_cq_ex(v, context, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
	fake.fail_at = fake.calls + 1;
	fake.fail_errno = EOPNOTSUPP;
	assert_null(create(0));
	assert_int_equal(errno, EOPNOTSUPP);
}

static void one_entry_after_the_other(void **state)
{
	struct srd_wc_ex wc;

	entries(2);
	assert_int_equal(v->start_poll(v, cq), 0);
	v->read_wc(v, cq, &wc);
	assert_int_equal(wc.wc.wr_id, 10);
	assert_int_equal(wc.wc.opcode, SRD_WC_RDMA_WRITE);
	assert_int_equal(wc.wc.qp_num, 7);
	assert_int_equal(wc.wc.byte_len, 0);
	assert_int_equal(wc.asked, SRD_WC_EX_WITH_BYTE_LEN);
	assert_int_equal(v->next_poll(v, cq), 0);
	v->read_wc(v, cq, &wc);
	assert_int_equal(wc.wc.wr_id, 11);
	assert_int_equal(v->next_poll(v, cq), ENOENT);
	/* libefa would look at an entry that is not there. */
	assert_int_equal(v->next_poll(v, cq), EINVAL);
	v->read_wc(v, cq, &wc);
	assert_int_equal(wc.wc.wr_id, 0);
	v->end_poll(v, cq);
	assert_int_equal(v->start_poll(v, cq), ENOENT);
	v->end_poll(v, cq);
	assert_string_equal(fake_log(), "start_poll comp_mask=0\n"
					"next_poll\n"
					"next_poll\n"
					"end_poll\n"
					"start_poll comp_mask=0\n");
}

static void receives_have_more_fields(void **state)
{
	struct srd_wc_ex wc;
	uint64_t flags = SRD_EFADV_WC_EX_WITH_SGID;

#if HAVE_EFADV_WC_EX_WITH_IS_UNSOLICITED
	flags |= SRD_EFADV_WC_EX_WITH_IS_UNSOLICITED;
#endif
	cq = create(flags);
	fake.wc[0] = (struct ibv_wc){.opcode = IBV_WC_RECV_RDMA_WITH_IMM,
				     .wc_flags = IBV_WC_WITH_IMM,
				     .byte_len = 70000,
				     .imm_data = 0x01020304,
				     .src_qp = 5,
				     .slid = 6,
				     .sl = 7,
				     .dlid_path_bits = 8};
	fake.num_wc = 1;
	fake.unsolicited = true;
	assert_int_equal(v->start_poll(v, cq), 0);
	v->read_wc(v, cq, &wc);
	assert_int_equal(wc.wc.byte_len, 70000);
	assert_int_equal(wc.wc.imm_data, 0x01020304);
	assert_int_equal(wc.wc.src_qp, 5);
	assert_int_equal(wc.wc.slid, 6);
	assert_int_equal(wc.wc.sl, 7);
	assert_int_equal(wc.wc.dlid_path_bits, 8);
	assert_int_equal(wc.unsolicited, HAVE_EFADV_WC_EX_WITH_IS_UNSOLICITED);
	assert_false(wc.has_sgid);
	fake.sender = 0x1234;
	v->read_wc(v, cq, &wc);
	assert_true(wc.has_sgid);
	assert_int_equal(wc.sgid.raw[0], 0x34);
	v->end_poll(v, cq);
}

static void bad_entries_are_passed_over(void **state)
{
	struct srd_wc_ex wc;

	entries(3);
	fake.wc_error_at = 1;
	assert_int_equal(v->start_poll(v, cq), 0);
	assert_int_equal(v->next_poll(v, cq), EINVAL);
	v->read_wc(v, cq, &wc);
	assert_int_equal(wc.wc.wr_id, 0);
	assert_int_equal(v->next_poll(v, cq), 0);
	v->read_wc(v, cq, &wc);
	assert_int_equal(wc.wc.wr_id, 12);
	v->end_poll(v, cq);
}

/* The fake asserts that no lock is taken twice and none released that is not held. */
static void what_would_wait_for_itself(void **state)
{
	struct srd_cq *plain = v->create_cq(v, context, 4);
	struct srd_qp *qp = queue_pair();
	struct srd_wc wc;

	entries(3);
	assert_int_equal(v->start_poll(v, plain), EOPNOTSUPP);
	assert_int_equal(v->next_poll(v, cq), EINVAL);
	assert_int_equal(v->start_poll(v, cq), 0);
	assert_int_equal(v->start_poll(v, cq), EDEADLK);
	assert_int_equal(v->poll_cq(v, cq, 1, &wc), -EDEADLK);
	v->wr_start(v, qp);
	assert_int_equal(v->next_poll(v, cq), EDEADLK);
	v->end_poll(v, cq);
	assert_int_equal(v->wr_complete(v, qp), EINVAL);
	v->wr_start(v, qp);
	assert_int_equal(v->start_poll(v, cq), EDEADLK);
	v->wr_abort(v, qp);
	assert_int_equal(v->start_poll(v, cq), 0);
	assert_int_equal(v->destroy_qp(v, qp), 0);
	assert_int_equal(v->start_poll(v, cq), 0);
	assert_int_equal(v->destroy_cq(v, cq), 0);
}

static void signal_event(void)
{
	uint64_t one = 1;

	assert_int_equal(write(fake.event_fd, &one, sizeof(one)), sizeof(one));
}

static void events_are_given_and_acknowledged(void **state)
{
	struct srd_cq *plain = v->create_cq(v, context, 4), *told = NULL;

	fake_forget();
	assert_int_equal(v->get_cq_event(v, channel, &told), EAGAIN);
	assert_int_equal(v->req_notify_cq(v, cq, 1), EOPNOTSUPP);
	assert_int_equal(v->req_notify_cq(v, cq, 0), 0);
	assert_int_equal(v->req_notify_cq(v, plain, 0), EINVAL);
	assert_int_equal(v->req_notify_cq(v, plain, 1), EOPNOTSUPP);
	signal_event();
	signal_event();
	signal_event();
	assert_int_equal(v->get_cq_event(v, channel, &told), 0);
	assert_ptr_equal(told, cq);
	assert_int_equal(v->get_cq_event(v, channel, &told), 0);
	v->ack_cq_events(v, cq, 1);
	/* More than there are would make the destroy wait. */
	v->ack_cq_events(v, cq, 5);
	v->ack_cq_events(v, cq, 1);
	assert_int_equal(v->get_cq_event(v, channel, &told), 0);
	assert_int_equal(v->destroy_cq(v, cq), 0);
	assert_int_equal(v->destroy_comp_channel(v, channel), 0);
	assert_string_equal(fake_log(), "ibv_req_notify_cq solicited=1\n"
					"ibv_req_notify_cq solicited=0\n"
					"ibv_get_cq_event\n"
					"ibv_get_cq_event\n"
					"ibv_ack_cq_events 1\n"
					"ibv_ack_cq_events 1\n"
					"ibv_get_cq_event\n"
					"ibv_ack_cq_events 1\n"
					"ibv_destroy_cq\n"
					"ibv_destroy_comp_channel\n");
}

static int each_call(void)
{
	struct srd_cq *told;
	struct srd_wc_ex wc;
	int err;

	channel = v->create_comp_channel(v, context);
	if (!channel)
		return errno;
	cq = create(0);
	if (!cq)
		return errno;
	err = v->req_notify_cq(v, cq, 0);
	if (err)
		return err;
	signal_event();
	err = v->get_cq_event(v, channel, &told);
	if (err)
		return err;
	err = v->start_poll(v, cq);
	if (err)
		return err;
	v->read_wc(v, cq, &wc);
	err = v->next_poll(v, cq);
	v->end_poll(v, cq);
	if (err)
		return err;
	err = v->destroy_cq(v, cq);
	return err ? err : v->destroy_comp_channel(v, channel);
}

static void each_single_call_fails(void **state)
{
	for (int i = 1;; i++) {
		int rc;

		fake.fail_at = fake.calls + i;
		fake.fail_errno = EIO;
		fake.failed = NULL;
		fake.polled = 0;
		entries(8);
		rc = each_call();
		assert_int_equal(rc, fake.failed ? EIO : 0);
		if (!fake.failed) {
			assert_true(i > 8);
			break;
		}
	}
	fake.fail_at = 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(created_for_every_field),    CASE(one_entry_after_the_other),
		CASE(receives_have_more_fields),  CASE(bad_entries_are_passed_over),
		CASE(what_would_wait_for_itself), CASE(events_are_given_and_acknowledged),
		CASE(each_single_call_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
