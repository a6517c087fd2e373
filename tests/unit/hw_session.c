/* SPDX-License-Identifier: MIT */
/* The data path: the posting session, receives and completions. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <srdlab/lab.h>
#include "efa.h"
#include "hw_fake.h"
#include "verbs/alloc.h"

static struct srd_verbs *verbs;
static struct srd_context *context;
static struct srd_pd *pd;
static struct srd_cq *send_cq, *recv_cq;
static struct srd_ah *ah;
static struct srd_qp *qp;

#define ALL_OPS                                                                                 \
	(SRD_QP_EX_WITH_RDMA_WRITE | SRD_QP_EX_WITH_RDMA_WRITE_WITH_IMM | SRD_QP_EX_WITH_SEND | \
	 SRD_QP_EX_WITH_SEND_WITH_IMM | SRD_QP_EX_WITH_RDMA_READ)

static struct srd_qp *make_qp(uint32_t comp_mask, uint64_t ops)
{
	struct srd_efa_qp_init_attr efa = {.driver_qp_type = SRD_EFADV_QP_DRIVER_TYPE_SRD};
	struct srd_qp_init_attr_ex attr = {
		.pd = pd,
		.send_cq = send_cq,
		.recv_cq = recv_cq,
		.cap = {16, 16, 2, 1, 32},
		.qp_type = SRD_QPT_DRIVER,
		.comp_mask = SRD_QP_INIT_ATTR_PD | comp_mask,
		.send_ops_flags = ops,
	};
	struct srd_qp_attr rts = {.qp_state = SRD_QPS_RTS};
	struct srd_qp *made = verbs->create_qp_ex(verbs, context, &attr, &efa);

	assert_non_null(made);
	assert_int_equal(verbs->modify_qp(verbs, made, &rts, SRD_QP_STATE), 0);
	fake_forget();
	return made;
}

static int open_all(void)
{
	struct srd_backend_options options = {0};
	struct srd_ah_attr attr = {.port_num = 1, .is_global = 1};

	if (srd_backend_find("efa")->open(&options, &verbs, NULL))
		return -1;
	context = verbs->open_device(verbs, 0, NULL);
	pd = verbs->alloc_pd(verbs, context);
	send_cq = verbs->create_cq(verbs, context, 64);
	recv_cq = verbs->create_cq(verbs, context, 64);
	ah = verbs->create_ah(verbs, pd, &attr);
	qp = make_qp(SRD_QP_INIT_ATTR_SEND_OPS_FLAGS, ALL_OPS);
	return 0;
}

static int setup(void **state)
{
	fake_reset();
	return open_all();
}

static int teardown(void **state)
{
	verbs->close(verbs);
	return fake.live || srd_alloc_live() ? -1 : 0;
}

/* The whole of 2.4: each builder and setter arrives with its operands, in order. */
static void a_session_of_every_operation(void **state)
{
	struct srd_sge list[2] = {{0x100, 8, 1}, {0x200, 9, 2}};
	char text[] = "inline";

	verbs->wr_start(verbs, qp);
	qp->wr_id = 1;
	qp->wr_flags = SRD_SEND_SIGNALED;
	verbs->wr_rdma_write(verbs, qp, 0xaa, 0x1000);
	verbs->wr_set_sge(verbs, qp, 0xbb, 0x2000, 100);
	verbs->wr_set_ud_addr(verbs, qp, ah, 9, 0x4242);
	qp->wr_id = 2;
	verbs->wr_rdma_write_imm(verbs, qp, 0xaa, 0x1000, 5);
	verbs->wr_set_sge_list(verbs, qp, 2, list);
	qp->wr_id = 3;
	verbs->wr_rdma_read(verbs, qp, 0xcc, 0xffffffffffffffff);
	qp->wr_id = UINT64_MAX;
	qp->wr_flags = SRD_SEND_SIGNALED | SRD_SEND_INLINE;
	verbs->wr_send(verbs, qp);
	verbs->wr_set_inline_data(verbs, qp, (uintptr_t)text, 6);
	verbs->wr_send_imm(verbs, qp, 7);
	assert_int_equal(verbs->wr_complete(verbs, qp), 0);
	assert_string_equal(
		fake_log(),
		"wr_start\n"
		"wr_rdma_write id=1 flags=0x2 rkey=0xaa addr=0x1000 imm=0\n"
		"wr_set_sge lkey=0xbb addr=0x2000 length=100\n"
		"wr_set_ud_addr ah=live qpn=9 qkey=0x4242\n"
		"wr_rdma_write_imm id=2 flags=0x2 rkey=0xaa addr=0x1000 imm=5\n"
		"wr_set_sge_list 2 last: lkey=0x2 addr=0x200 length=9\n"
		"wr_rdma_read id=3 flags=0x2 rkey=0xcc addr=0xffffffffffffffff imm=0\n"
		"wr_send id=18446744073709551615 flags=0xa rkey=0x0 addr=0x0 imm=0\n"
		"wr_set_inline_data \"inline\"\n"
		"wr_send_imm id=18446744073709551615 flags=0xa rkey=0x0 addr=0x0 imm=7\n"
		"wr_complete: 0\n");
}

static void abort_ends_a_session(void **state)
{
	verbs->wr_start(verbs, qp);
	verbs->wr_send(verbs, qp);
	verbs->wr_abort(verbs, qp);
	verbs->wr_abort(verbs, qp);
	assert_string_equal(fake_log(), "wr_start\n"
					"wr_send id=0 flags=0x0 rkey=0x0 addr=0x0 imm=0\n"
					"wr_abort\n");
	assert_int_equal(verbs->poll_cq(verbs, send_cq, 1, NULL), 0);
}

/* The state is libefa's to judge, and what it latches comes out of wr_complete. */
static void libefas_own_error_comes_through(void **state)
{
	struct srd_qp_attr err = {.qp_state = SRD_QPS_ERR};

	verbs->modify_qp(verbs, qp, &err, SRD_QP_STATE);
	verbs->wr_start(verbs, qp);
	verbs->wr_rdma_read(verbs, qp, 1, 2);
	assert_int_equal(verbs->wr_complete(verbs, qp), EINVAL);
}

/* Creating with one operation leaves the pointers of the others NULL. */
static void an_operation_that_was_not_asked_for(void **state)
{
	struct srd_qp *writer = make_qp(SRD_QP_INIT_ATTR_SEND_OPS_FLAGS, SRD_QP_EX_WITH_RDMA_WRITE);

	for (int i = 0; i < 4; i++) {
		verbs->wr_start(verbs, writer);
		if (i == 0)
			verbs->wr_rdma_read(verbs, writer, 1, 2);
		if (i == 1)
			verbs->wr_rdma_write_imm(verbs, writer, 1, 2, 3);
		if (i == 2)
			verbs->wr_send(verbs, writer);
		if (i == 3)
			verbs->wr_send_imm(verbs, writer, 4);
		verbs->wr_rdma_write(verbs, writer, 1, 2);
		verbs->wr_set_sge(verbs, writer, 1, 2, 3);
		assert_int_equal(verbs->wr_complete(verbs, writer), EOPNOTSUPP);
		assert_string_equal(fake_log(), "wr_start\nwr_abort\n");
	}
	verbs->wr_start(verbs, writer);
	verbs->wr_rdma_write(verbs, writer, 1, 2);
	assert_int_equal(verbs->wr_complete(verbs, writer), 0);
}

/* A library that leaves out what it granted must not crash us either. */
static void an_operation_that_the_library_lacks(void **state)
{
	struct srd_qp *other;

	fake.missing_ops = SRD_QP_EX_WITH_RDMA_WRITE;
	other = make_qp(SRD_QP_INIT_ATTR_SEND_OPS_FLAGS, ALL_OPS);
	verbs->wr_start(verbs, other);
	verbs->wr_rdma_write(verbs, other, 1, 2);
	assert_int_equal(verbs->wr_complete(verbs, other), EOPNOTSUPP);
}

static void a_queue_pair_without_sessions(void **state)
{
	struct srd_qp *plain = make_qp(0, 0);

	verbs->wr_start(verbs, plain);
	verbs->wr_rdma_write(verbs, plain, 1, 2);
	verbs->wr_set_sge(verbs, plain, 1, 2, 3);
	assert_int_equal(verbs->wr_complete(verbs, plain), EOPNOTSUPP);
	verbs->wr_start(verbs, plain);
	verbs->wr_abort(verbs, plain);
	assert_int_equal(verbs->wr_complete(verbs, plain), EINVAL);
	assert_string_equal(fake_log(), "");
}

static void a_setter_before_any_request(void **state)
{
	struct srd_sge sge = {1, 2, 3};

	for (int i = 0; i < 4; i++) {
		verbs->wr_start(verbs, qp);
		if (i == 0)
			verbs->wr_set_sge(verbs, qp, 1, 2, 3);
		if (i == 1)
			verbs->wr_set_sge_list(verbs, qp, 1, &sge);
		if (i == 2)
			verbs->wr_set_inline_data(verbs, qp, 0, 0);
		if (i == 3)
			verbs->wr_set_ud_addr(verbs, qp, ah, 1, 2);
		verbs->wr_rdma_write(verbs, qp, 1, 2);
		assert_int_equal(verbs->wr_complete(verbs, qp), EINVAL);
		assert_string_equal(fake_log(), "wr_start\nwr_abort\n");
	}
}

static void outside_a_session(void **state)
{
	verbs->wr_rdma_write(verbs, qp, 1, 2);
	verbs->wr_rdma_write_imm(verbs, qp, 1, 2, 3);
	verbs->wr_rdma_read(verbs, qp, 1, 2);
	verbs->wr_send(verbs, qp);
	verbs->wr_send_imm(verbs, qp, 1);
	verbs->wr_set_sge(verbs, qp, 1, 2, 3);
	verbs->wr_set_ud_addr(verbs, qp, ah, 1, 2);
	verbs->wr_abort(verbs, qp);
	assert_int_equal(verbs->wr_complete(verbs, qp), EINVAL);
	assert_string_equal(fake_log(), "");
}

static void a_session_inside_a_session(void **state)
{
	verbs->wr_start(verbs, qp);
	verbs->wr_rdma_write(verbs, qp, 1, 2);
	verbs->wr_start(verbs, qp);
	verbs->wr_rdma_write(verbs, qp, 3, 4);
	assert_int_equal(verbs->wr_complete(verbs, qp), EINVAL);
	assert_int_equal(verbs->wr_complete(verbs, qp), EINVAL);
	assert_string_equal(fake_log(), "wr_start\n"
					"wr_rdma_write id=0 flags=0x0 rkey=0x1 addr=0x2 imm=0\n"
					"wr_abort\n");
}

/* libefa would count its requests back below zero. */
static void a_session_across_a_reset(void **state)
{
	struct srd_qp_attr reset = {.qp_state = SRD_QPS_RESET};

	verbs->wr_start(verbs, qp);
	verbs->wr_send(verbs, qp);
	fake_forget();
	assert_int_equal(verbs->modify_qp(verbs, qp, &reset, SRD_QP_STATE), 0);
	verbs->wr_send(verbs, qp);
	assert_int_equal(verbs->wr_complete(verbs, qp), EINVAL);
	assert_string_equal(fake_log(), "wr_abort\n"
					"ibv_modify_qp mask=0x1 state=0 cur=0 qkey=0x0 port=0 "
					"pkey=0 sq_psn=0 rnr_retry=0\n");
	assert_int_equal(verbs->modify_qp(verbs, qp, &reset, SRD_QP_STATE), 0);
	assert_int_equal(verbs->poll_cq(verbs, send_cq, 1, NULL), 0);
}

static void no_address_handle(void **state)
{
	verbs->wr_set_ud_addr(verbs, qp, NULL, 1, 2);
	verbs->wr_start(verbs, qp);
	verbs->wr_send(verbs, qp);
	verbs->wr_set_ud_addr(verbs, qp, NULL, 1, 2);
	assert_int_equal(verbs->wr_complete(verbs, qp), EINVAL);
}

/* Each queue pair has a session of its own. */
static void two_sessions_at_once(void **state)
{
	struct srd_qp *other = make_qp(SRD_QP_INIT_ATTR_SEND_OPS_FLAGS, ALL_OPS);
	struct srd_wc wc;

	verbs->wr_start(verbs, other);
	assert_int_equal(verbs->poll_cq(verbs, send_cq, 1, &wc), -EDEADLK);
	assert_int_equal(verbs->destroy_qp(verbs, other), 0);
	assert_int_equal(verbs->poll_cq(verbs, send_cq, 1, &wc), 0);
	assert_string_equal(fake_log(), "wr_start\nwr_abort\nibv_destroy_qp\n"
					"ibv_poll_cq cq1 max=1: 0\n");
}

static void polling_the_other_queue_in_a_session(void **state)
{
	struct srd_wc wc;

	verbs->wr_start(verbs, qp);
	fake.locked = false; /* the lock of another send queue than the one polled */
	assert_int_equal(verbs->poll_cq(verbs, recv_cq, 1, &wc), 0);
	fake.locked = true;
	assert_int_equal(verbs->wr_complete(verbs, qp), 0);
}

static void chain(struct srd_recv_wr *wr, struct srd_sge *sge, int n)
{
	for (int i = 0; i < n; i++) {
		sge[i] = (struct srd_sge){0x1000, (uint32_t)i, 7};
		wr[i] = (struct srd_recv_wr){(uint64_t)i, i + 1 < n ? &wr[i + 1] : NULL, &sge[i],
					     1};
	}
}

static void receives_are_posted_as_a_list(void **state)
{
	struct srd_recv_wr wr[3], *bad = NULL;
	struct srd_sge sge[3];

	chain(wr, sge, 3);
	wr[2].num_sge = 0;
	wr[2].sg_list = NULL;
	assert_int_equal(verbs->post_recv(verbs, qp, wr, &bad), 0);
	assert_null(bad);
	assert_string_equal(fake_log(), "ibv_post_recv id=0 sge=1 lkey=7 length=0 ...\n"
					"ibv_post_recv id=1 sge=1 lkey=7 length=1 ...\n"
					"ibv_post_recv id=2 sge=0 lkey=0 length=0\n");
	assert_int_equal(verbs->post_recv(verbs, qp, NULL, &bad), 0);
	assert_string_equal(fake_log(), "ibv_post_recv nothing\n");
}

/* Long lists go in parts; the place of the failure is the caller's own request. */
static void the_receive_that_fails_is_named(void **state)
{
	struct srd_recv_wr wr[80], *bad;
	struct srd_sge sge[80];

	chain(wr, sge, 80);
	for (int room = 0; room < 80; room++) {
		bad = NULL;
		fake.recv_room = room;
		assert_int_equal(verbs->post_recv(verbs, qp, wr, &bad), ENOMEM);
		assert_ptr_equal(bad, &wr[room]);
		fake_forget();
	}
	fake.recv_room = 80;
	bad = NULL;
	assert_int_equal(verbs->post_recv(verbs, qp, wr, &bad), 0);
	assert_null(bad);
	assert_int_equal(fake.recv_room, 0);
}

/* Two completions of the same bytes, padding too, that no queue hands out. */
static void canaries(struct srd_wc *a, struct srd_wc *b)
{
	memset(a, 0x5a, sizeof(*a));
	memset(b, 0x5a, sizeof(*b));
}

/* What rdma-core hands back: the fields of the queue are set, the rest is rubbish. */
static struct ibv_wc entry(enum ibv_wc_opcode opcode, unsigned int flags)
{
	return (struct ibv_wc){
		.wr_id = 42,
		.status = IBV_WC_REM_ACCESS_ERR,
		.opcode = opcode,
		.vendor_err = 7,
		.byte_len = 1000,
		.imm_data = 1001,
		.qp_num = 77,
		.src_qp = 1002,
		.wc_flags = flags,
		.pkey_index = 1003,
		.slid = 1004,
		.sl = 5,
		.dlid_path_bits = 6,
	};
}

static void a_send_completion_sets_few_fields(void **state)
{
	static const enum ibv_wc_opcode opcodes[] = {IBV_WC_SEND, IBV_WC_RDMA_WRITE};

	for (int i = 0; i < 2; i++) {
		struct srd_wc wc, expected;

		canaries(&wc, &expected);
		fake.wc[0] = entry(opcodes[i], 0);
		fake.num_wc = 1;
		fake.polled = 0;
		expected.wr_id = 42;
		expected.status = SRD_WC_REM_ACCESS_ERR;
		expected.opcode = (enum srd_wc_opcode)opcodes[i];
		expected.vendor_err = 7;
		expected.qp_num = 77;
		expected.wc_flags = 0;
		assert_int_equal(verbs->poll_cq(verbs, send_cq, 1, &wc), 1);
		assert_memory_equal(&wc, &expected, sizeof(wc));
	}
}

static void a_receive_completion_sets_more(void **state)
{
	struct srd_wc wc, expected;

	canaries(&wc, &expected);
	fake.wc[0] = entry(IBV_WC_RECV, 0);
	fake.wc[1] = entry(IBV_WC_RECV_RDMA_WITH_IMM, IBV_WC_WITH_IMM);
	fake.num_wc = 2;
	expected.wr_id = 42;
	expected.status = SRD_WC_REM_ACCESS_ERR;
	expected.opcode = SRD_WC_RECV;
	expected.vendor_err = 7;
	expected.byte_len = 1000;
	expected.qp_num = 77;
	expected.src_qp = 1002;
	expected.wc_flags = 0;
	expected.slid = 1004;
	expected.sl = 5;
	assert_int_equal(verbs->poll_cq(verbs, recv_cq, 1, &wc), 1);
	assert_memory_equal(&wc, &expected, sizeof(wc));
	expected.opcode = SRD_WC_RECV_RDMA_WITH_IMM;
	expected.imm_data = 1001;
	expected.wc_flags = SRD_WC_WITH_IMM;
	assert_int_equal(verbs->poll_cq(verbs, recv_cq, 1, &wc), 1);
	assert_memory_equal(&wc, &expected, sizeof(wc));
}

static void fill_queue(int n, int bad)
{
	for (int i = 0; i < n; i++) {
		fake.wc[i] = entry(IBV_WC_SEND, 0);
		fake.wc[i].wr_id = (uint64_t)i;
	}
	fake.num_wc = n;
	fake.polled = 0;
	fake.wc_error_at = bad;
	fake_forget();
}

static void many_completions_at_once(void **state)
{
	struct srd_wc wc[64];

	fill_queue(40, -1);
	assert_int_equal(verbs->poll_cq(verbs, send_cq, 35, wc), 35);
	for (uint64_t i = 0; i < 35; i++)
		assert_int_equal(wc[i].wr_id, i);
	assert_int_equal(verbs->poll_cq(verbs, send_cq, 64, wc), 5);
	assert_int_equal(wc[4].wr_id, 39);
	assert_int_equal(verbs->poll_cq(verbs, send_cq, 64, wc), 0);
	assert_int_equal(verbs->poll_cq(verbs, send_cq, 0, wc), 0);
}

/* It is told only where it is the first of the call, and is consumed in any case. */
static void an_entry_of_no_queue_pair(void **state)
{
	struct srd_wc wc[64];

	for (int bad = 0; bad < 40; bad++) {
		fill_queue(40, bad);
		assert_int_equal(verbs->poll_cq(verbs, send_cq, 64, wc), bad ? bad : -EINVAL);
		assert_int_equal(verbs->poll_cq(verbs, send_cq, 64, wc), 39 - bad);
	}
}

/* What comes starts the pauses of wait again. */
static void completions_and_posts_make_it_busy(void **state)
{
	struct srd_wc wc;

	verbs->wait(verbs, UINT64_MAX);
	fake.clock += 100000;
	fill_queue(1, -1);
	verbs->poll_cq(verbs, send_cq, 1, &wc);
	verbs->wait(verbs, UINT64_MAX);
	fake.clock += 100000;
	verbs->wr_start(verbs, qp);
	verbs->wr_complete(verbs, qp);
	fake_forget();
	verbs->wait(verbs, UINT64_MAX);
	assert_string_equal(fake_log(), "");
	fake.clock += 100000;
	verbs->wait(verbs, UINT64_MAX);
	assert_string_equal(fake_log(), "nanosleep 25000\n");
}

/* The software device: it has taken DEVICE.posted requests, those below DEVICE.done are over. */
static struct {
	uint64_t posted, done;
	bool gone;
	uint32_t fault;
	uint64_t number, value;
} device;

static srdlab_request_t device_next(struct ibv_qp *ibv, uint32_t n)
{
	assert_ptr_equal(ibv, HW_OF(hw_qp, qp)->ibv);
	return (srdlab_request_t){device.gone ? 0 : 7, device.posted + n - 1};
}

static int device_fault(srdlab_request_t request, uint32_t fault, uint64_t value)
{
	assert_int_equal(request.qp, 7);
	if (request.number < device.done)
		return ENOENT;
	device.fault = fault;
	device.number = request.number;
	device.value = value;
	return 0;
}

static int setup_software_device(void **state)
{
	static const struct srdlab_faults calls = {.next = device_next, .fault = device_fault};

	memset(&device, 0, sizeof(device));
	fake_reset();
	fake.faults = &calls;
	return open_all();
}

static int post_ids(uint64_t first, uint64_t last)
{
	int err;

	verbs->wr_start(verbs, qp);
	for (qp->wr_id = first; qp->wr_id <= last; qp->wr_id++) {
		verbs->wr_send(verbs, qp);
		verbs->wr_set_ud_addr(verbs, qp, ah, 9, 0x4242);
	}
	err = verbs->wr_complete(verbs, qp);
	device.posted += err ? 0 : last + 1 - first;
	fake_forget();
	return err;
}

static int by_id(enum srd_lab_kind kind, uint64_t wr_id)
{
	struct srd_lab command = {
		.kind = kind, .qp = qp, .wr_id = wr_id, .status = 8, .time = 1000, .value = 3};

	device.fault = UINT32_MAX;
	return verbs->lab(verbs, &command);
}

static void check_fault(enum srd_lab_kind kind, uint64_t number, uint64_t value)
{
	assert_int_equal(device.fault, kind);
	assert_int_equal(device.number, number);
	assert_int_equal(device.value, value);
}

static void faults_by_id(void **state)
{
	assert_int_equal(verbs->can, SRD_VERBS_CAN_FAULTS);
	assert_int_equal(by_id(SRD_LAB_HOLD, 100), ENOENT);
	assert_int_equal(post_ids(100, 103), 0);
	assert_int_equal(post_ids(102, 103), 0);
	assert_int_equal(by_id(SRD_LAB_HOLD, 100), 0);
	check_fault(SRD_LAB_HOLD, 0, 3);
	assert_int_equal(by_id(SRD_LAB_FAIL, 102), 0);
	check_fault(SRD_LAB_FAIL, 2, 8);
	/* Of two with this id the first is over. */
	device.done = 3;
	assert_int_equal(by_id(SRD_LAB_DELAY, 102), 0);
	check_fault(SRD_LAB_DELAY, 4, 1000);
	assert_int_equal(by_id(SRD_LAB_DROP, 101), ENOENT);
	assert_int_equal(by_id(SRD_LAB_DROP, 104), ENOENT);
	device.gone = true;
	assert_int_equal(by_id(SRD_LAB_DROP, 103), EINVAL);
}

/* HW_SENT ids are known. A session that is not posted leaves those of the others alone. */
static void faults_by_id_after_many(void **state)
{
	for (uint64_t id = 0; id < HW_SENT + 160; id += 16)
		assert_int_equal(post_ids(id, id + 15), 0);
	fake.fail_at = fake.calls + 1;
	fake.fail_errno = ENOMEM;
	assert_int_equal(post_ids(9000, 9050), ENOMEM);
	verbs->wr_start(verbs, qp);
	verbs->wr_send(verbs, qp);
	verbs->wr_abort(verbs, qp);
	for (uint64_t id = 160; id < HW_SENT + 160; id += 5) {
		assert_int_equal(by_id(SRD_LAB_DUPLICATE, id), 0);
		check_fault(SRD_LAB_DUPLICATE, id, 3);
	}
	assert_int_equal(by_id(SRD_LAB_DUPLICATE, 159), ENOENT);
	assert_int_equal(by_id(SRD_LAB_DUPLICATE, 9000), ENOENT);
}

static void faults_by_number_and_by_queue_pair(void **state)
{
	struct srd_lab command = {.kind = SRD_LAB_NOT_READY,
				  .flags = SRD_LAB_BY_ORDINAL,
				  .qp = qp,
				  .ordinal = 12,
				  .value = 2,
				  .status = 9};

	assert_int_equal(verbs->lab(verbs, &command), 0);
	check_fault(SRD_LAB_NOT_READY, 12, 2);
	command.flags = 0;
	command.kind = SRD_LAB_FAIL_RECEIVE;
	assert_int_equal(verbs->lab(verbs, &command), 0);
	check_fault(SRD_LAB_FAIL_RECEIVE, 12, 9);
	command.kind = SRD_LAB_QP_ERR;
	assert_int_equal(verbs->lab(verbs, &command), 0);
	assert_int_equal(device.fault, SRD_LAB_QP_ERR);
	command.kind = SRD_LAB_LOCATE;
	assert_int_equal(verbs->lab(verbs, &command), EOPNOTSUPP);
	command.kind = SRD_LAB_COMPLETE_ALL;
	command.qp = NULL;
	assert_int_equal(verbs->lab(verbs, &command), EINVAL);
}

static void no_memory_for_the_ids(void **state)
{
	struct srd_efa_qp_init_attr efa = {.driver_qp_type = SRD_EFADV_QP_DRIVER_TYPE_SRD};
	struct srd_qp_init_attr_ex attr = {.pd = pd,
					   .send_cq = send_cq,
					   .recv_cq = recv_cq,
					   .cap = {16, 16, 2, 1, 32},
					   .qp_type = SRD_QPT_DRIVER,
					   .comp_mask = SRD_QP_INIT_ATTR_PD};
	int live = fake.live;

	srd_alloc_fail_at(2);
	assert_null(verbs->create_qp_ex(verbs, context, &attr, &efa));
	srd_alloc_fail_at(0);
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(fake.live, live);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_session_of_every_operation),
		CASE(abort_ends_a_session),
		CASE(libefas_own_error_comes_through),
		CASE(an_operation_that_was_not_asked_for),
		CASE(an_operation_that_the_library_lacks),
		CASE(a_queue_pair_without_sessions),
		CASE(a_setter_before_any_request),
		CASE(outside_a_session),
		CASE(a_session_inside_a_session),
		CASE(a_session_across_a_reset),
		CASE(no_address_handle),
		CASE(two_sessions_at_once),
		CASE(polling_the_other_queue_in_a_session),
		CASE(receives_are_posted_as_a_list),
		CASE(the_receive_that_fails_is_named),
		CASE(a_send_completion_sets_few_fields),
		CASE(a_receive_completion_sets_more),
		CASE(many_completions_at_once),
		CASE(an_entry_of_no_queue_pair),
		CASE(completions_and_posts_make_it_busy),
		cmocka_unit_test_setup_teardown(faults_by_id, setup_software_device, teardown),
		cmocka_unit_test_setup_teardown(faults_by_id_after_many, setup_software_device,
						teardown),
		cmocka_unit_test_setup_teardown(faults_by_number_and_by_queue_pair,
						setup_software_device, teardown),
		cmocka_unit_test_setup_teardown(no_memory_for_the_ids, setup_software_device,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
