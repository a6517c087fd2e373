/* SPDX-License-Identifier: MIT */
/*
 * The whole way down: our queue pairs, of EFA and of other vendors' devices, over the EFA
 * backend over a fake rdma-core. First every call in order with its arguments; then the same
 * way with each single call failing, and with each allocation failing: the error comes up,
 * nothing is left.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "efa.h"
#include "hw_fake.h"
#include "qp/efa_srd.h"
#include "qp/rc.h"
#include "verbs/alloc.h"

static const struct srd_queue_pair_ops *ops;

static const struct srd_queue_pair_config config = {
	.max_send_wr = 500,
	.max_recv_wr = 4,
	.max_send_sge = 30,
	.max_recv_sge = 30,
	.psn = 0xabc,
	.port_num = 1,
	.timeout = 14,
	.retry_cnt = 7,
	.rnr_retry = 6,
	.min_rnr_timer = 12,
	.max_rd_atomic = 16,
	.max_dest_rd_atomic = 15,
};

static bool is_rc(void)
{
	return ops == &srd_rc_ops;
}

/* All that one run makes. */
struct way {
	struct srd_verbs *verbs;
	struct srd_context *context;
	struct srd_pd *pd;
	struct srd_cq *cq;
	struct srd_buffer *buffer;
	struct srd_mr *mr;
	struct srd_queue_pair *qp;
	struct srd_error error;
	uint64_t id[8];
	struct srd_wr_ids ids;
};

static int no(void)
{
	return errno ? -errno : -1;
}

static int make_objects(struct way *w)
{
	struct srd_verbs *verbs = w->verbs;

	errno = 0;
	w->context = verbs->open_device(verbs, 0, NULL);
	if (!w->context)
		return no();
	w->pd = verbs->alloc_pd(verbs, w->context);
	if (!w->pd)
		return no();
	w->cq = verbs->create_cq(verbs, w->context, 500);
	if (!w->cq)
		return no();
	w->buffer = verbs->alloc_buffer(verbs, w->context, 4096, SRD_BUFFER_REAL);
	if (!w->buffer)
		return no();
	w->mr = verbs->reg_mr(verbs, w->pd, w->buffer->addr, 4096, 7);
	if (!w->mr)
		return no();
	fake.base = w->buffer->addr;
	return ops->create(verbs, w->pd, &config, w->cq, w->cq, &w->qp, &w->error);
}

static int connect_to_itself(struct way *w)
{
	struct srd_endpoint self;
	enum srd_qp_state state;
	int rc = ops->endpoint(w->qp, &self, &w->error);

	if (!rc)
		rc = ops->connect(w->qp, &self, &w->error);
	return rc ? rc : ops->state(w->qp, &state, &w->error);
}

/* 2500 bytes at 1000 a request are three requests. */
static int transfer(struct way *w)
{
	struct srd_local_view local = {w->buffer->addr, 2500, w->mr->lkey};
	struct srd_remote_view remote = {w->buffer->addr + 1, 2500, w->mr->rkey};
	struct srd_completion completion;
	int rc;

	w->ids = (struct srd_wr_ids){.id = w->id, .capacity = 8};
	rc = ops->put(w->qp, &remote, &local, &w->ids, &w->error);
	if (rc)
		return rc;
	local.size = remote.size = 10;
	rc = ops->get(w->qp, &local, &remote, &w->ids, &w->error);
	if (rc)
		return rc;
	rc = ops->poll(w->qp, SRD_QUEUE_SEND, &completion, &w->error);
	return rc < 0 ? rc : 0;
}

static int release(struct way *w)
{
	struct srd_verbs *verbs = w->verbs;
	int err = verbs->dereg_mr(verbs, w->mr);

	if (!err)
		err = verbs->free_buffer(verbs, w->buffer);
	if (!err)
		err = verbs->destroy_cq(verbs, w->cq);
	if (!err)
		err = verbs->dealloc_pd(verbs, w->pd);
	if (!err)
		err = verbs->close_device(verbs, w->context);
	return -err;
}

/* There and back; stops at the first error and leaves the rest to the table's close. */
static int go(struct way *w)
{
	struct srd_backend_options options = {.device = is_rc() ? "mlx5_0" : NULL};
	int rc;

	*w = (struct way){0};
	rc = srd_backend_find("efa")->open(&options, &w->verbs, &w->error);
	if (rc)
		return rc;
	rc = make_objects(w);
	if (!rc)
		rc = connect_to_itself(w);
	if (!rc)
		rc = transfer(w);
	ops->destroy(w->qp);
	if (!rc)
		rc = release(w);
	w->verbs->close(w->verbs);
	return rc;
}

static void start(void)
{
	fake_reset();
	fake.devices[0].max_rdma_size = 1000;
	fake.grant_pow2 = true;
	if (is_rc()) {
		fake.devices[0] = (struct fake_device){.name = "mlx5_0"};
		fake.max_msg_sz = 1000;
	}
}

static int on_efa(void **state)
{
	ops = &srd_efa_srd_ops;
	return 0;
}

static int on_another(void **state)
{
	ops = &srd_rc_ops;
	return 0;
}

static void every_call_in_order(void **state)
{
	struct way w;

	start();
	assert_int_equal(go(&w), 0);
	assert_string_equal(
		fake_log(),
		"ibv_open_device efa_0\n"
		"efadv_query_device inlen=whole\n"
		"ibv_alloc_pd\n"
		"ibv_create_cq cqe=500 channel=none vector=0\n"
		"ibv_reg_mr length=4096 iova=addr access=0x7\n"
		/* create: port, GID, capabilities, then the queue pair */
		"ibv_query_port port=1\n"
		"ibv_query_gid port=1 index=0\n"
		"efadv_query_device inlen=whole\n"
		"efadv_create_qp_ex type=0xff driver=0 cqs=both pd=set srq=none sig_all=0 wr=500/4 "
		"sge=1/1 inline=0 comp_mask=0x41 ops=0x11 efa_comp_mask=0 inlen=whole\n"
		"ibv_query_port port=1\n"
		/* connect: address handle, INIT, RTR, RTS */
		"ibv_create_ah port=1 global=1 dgid=a0..af sgid=0 hop=0 class=0 sl=0 lid=0 flow=0\n"
		"ibv_modify_qp mask=0x71 state=1 cur=0 qkey=0x4242 port=1 pkey=0 sq_psn=0 "
		"rnr_retry=0\n"
		"ibv_modify_qp mask=0x1 state=2 cur=0 qkey=0x0 port=0 pkey=0 sq_psn=0 rnr_retry=0\n"
		"ibv_modify_qp mask=0x10001 state=3 cur=0 qkey=0x0 port=0 pkey=0 sq_psn=2748 "
		"rnr_retry=0\n"
		"ibv_query_qp mask=0x1\n"
		/* put */
		"wr_start\n"
		"wr_rdma_write id=0 flags=0x2 rkey=0x2222 addr=0x1 imm=0\n"
		"wr_set_sge lkey=0x1111 addr=0x0 length=1000\n"
		"wr_set_ud_addr ah=live qpn=77 qkey=0x4242\n"
		"wr_rdma_write id=1 flags=0x2 rkey=0x2222 addr=0x3e9 imm=0\n"
		"wr_set_sge lkey=0x1111 addr=0x3e8 length=1000\n"
		"wr_set_ud_addr ah=live qpn=77 qkey=0x4242\n"
		"wr_rdma_write id=2 flags=0x2 rkey=0x2222 addr=0x7d1 imm=0\n"
		"wr_set_sge lkey=0x1111 addr=0x7d0 length=500\n"
		"wr_set_ud_addr ah=live qpn=77 qkey=0x4242\n"
		"wr_complete: 0\n"
		/* get */
		"wr_start\n"
		"wr_rdma_read id=3 flags=0x2 rkey=0x2222 addr=0x1 imm=0\n"
		"wr_set_sge lkey=0x1111 addr=0x0 length=10\n"
		"wr_set_ud_addr ah=live qpn=77 qkey=0x4242\n"
		"wr_complete: 0\n"
		"ibv_poll_cq cq1 max=1: 0\n"
		/* destroy: queue pair, address handle, memory, completion queue, domain */
		"ibv_destroy_qp\n"
		"ibv_destroy_ah\n"
		"ibv_dereg_mr\n"
		"ibv_destroy_cq\n"
		"ibv_dealloc_pd\n"
		"ibv_close_device\n");
	assert_int_equal(fake.live, 0);
	assert_int_equal(srd_alloc_live(), 0);
}

/* No address handle, all of the peer in the queue pair, and a session for each request. */
static void every_call_of_a_connection(void **state)
{
	struct way w;

	start();
	assert_int_equal(go(&w), 0);
	assert_string_equal(
		fake_log(),
		"ibv_open_device mlx5_0\n"
		"efadv_query_device inlen=whole\n"
		"ibv_alloc_pd\n"
		"ibv_create_cq cqe=500 channel=none vector=0\n"
		"ibv_reg_mr length=4096 iova=addr access=0x7\n"
		"ibv_query_port port=1\n"
		"ibv_query_gid port=1 index=0\n"
		"ibv_create_qp_ex type=2 sig_all=0 wr=500/4 sge=30/30 inline=0 comp_mask=0x41 "
		"ops=0x11\n"
		"ibv_query_port port=1\n"
		/* connect: INIT, RTR, RTS */
		"ibv_modify_qp mask=0x39 state=1 cur=0 qkey=0x0 port=1 pkey=0 sq_psn=0 "
		"rnr_retry=0\n"
		"  access=0x7\n"
		"ibv_modify_qp mask=0x129181 state=2 cur=0 qkey=0x0 port=0 pkey=0 sq_psn=0 "
		"rnr_retry=0\n"
		"  port=1 global=1 dgid=a0..af sgid=0 hop=255 lid=0 mtu=5 dest=0x123456 "
		"rq_psn=2748 "
		"dest_rd=15 rnr_timer=12\n"
		"ibv_modify_qp mask=0x12e01 state=3 cur=0 qkey=0x0 port=0 pkey=0 sq_psn=2748 "
		"rnr_retry=6\n"
		"  timeout=14 retry=7 rd=16\n"
		"ibv_query_qp mask=0x1\n"
		/* put */
		"wr_start\n"
		"wr_rdma_write id=0 flags=0x2 rkey=0x2222 addr=0x1 imm=0\n"
		"wr_set_sge lkey=0x1111 addr=0x0 length=1000\n"
		"wr_complete: 0\n"
		"wr_start\n"
		"wr_rdma_write id=1 flags=0x2 rkey=0x2222 addr=0x3e9 imm=0\n"
		"wr_set_sge lkey=0x1111 addr=0x3e8 length=1000\n"
		"wr_complete: 0\n"
		"wr_start\n"
		"wr_rdma_write id=2 flags=0x2 rkey=0x2222 addr=0x7d1 imm=0\n"
		"wr_set_sge lkey=0x1111 addr=0x7d0 length=500\n"
		"wr_complete: 0\n"
		/* get */
		"wr_start\n"
		"wr_rdma_read id=3 flags=0x2 rkey=0x2222 addr=0x1 imm=0\n"
		"wr_set_sge lkey=0x1111 addr=0x0 length=10\n"
		"wr_complete: 0\n"
		"ibv_poll_cq cq1 max=1: 0\n"
		"ibv_destroy_qp\n"
		"ibv_dereg_mr\n"
		"ibv_destroy_cq\n"
		"ibv_dealloc_pd\n"
		"ibv_close_device\n");
	assert_int_equal(fake.live, 0);
	assert_int_equal(srd_alloc_live(), 0);
}

/* What a connected queue pair has no function for is refused before it is called. */
static void a_connection_has_no_destinations(void **state)
{
	struct srd_backend_options options = {.device = "mlx5_0"};
	struct way w = {0};
	struct srd_qp *qp;

	start();
	assert_int_equal(srd_backend_find("efa")->open(&options, &w.verbs, NULL), 0);
	assert_int_equal(make_objects(&w), 0);
	qp = ops->verbs_qp(w.qp);
	w.verbs->wr_start(w.verbs, qp);
	w.verbs->wr_rdma_write(w.verbs, qp, 1, 2);
	w.verbs->wr_set_ud_addr(w.verbs, qp, &(struct srd_ah){0}, 1, 2);
	assert_int_equal(w.verbs->wr_complete(w.verbs, qp), EOPNOTSUPP);
	assert_false(fake.locked);
	ops->destroy(w.qp);
	w.verbs->close(w.verbs);
	assert_int_equal(fake.live, 0);
}

/* Before there is a table, every failure means that there is no device. */
static int expected(const char *call, int discovering, int err)
{
	if (discovering)
		return -ENODEV;
	/* The queue pair's destroy has no result; the object is destroyed when the table closes. */
	if (!strcmp(call, "ibv_destroy_qp") || !strcmp(call, "ibv_destroy_ah"))
		return 0;
	return -err;
}

static void each_single_call_fails(void **state)
{
	struct way w;
	int total;

	start();
	assert_int_equal(go(&w), 0);
	total = fake.calls;
	assert_true(total > 20);
	for (int i = 1; i <= total; i++) {
		int rc, want;

		start();
		fake.fail_at = i;
		fake.fail_errno = EIO;
		rc = go(&w);
		assert_non_null(fake.failed);
		want = expected(fake.failed, i <= (is_rc() ? 2 : 3), EIO);
		if (rc != want)
			print_error("call %d, %s\n", i, fake.failed);
		assert_int_equal(rc, want);
		if (w.error.code)
			assert_int_equal(w.error.code, rc);
		if (fake.live)
			print_error("call %d, %s: %d left\n", i, fake.failed, fake.live);
		assert_int_equal(fake.live, 0);
		assert_int_equal(srd_alloc_live(), 0);
		assert_false(fake.locked);
	}
}

static void each_allocation_fails(void **state)
{
	struct way w;
	uint64_t total;

	start();
	srd_alloc_fail_at(0);
	assert_int_equal(go(&w), 0);
	total = srd_alloc_count();
	assert_true(total > 7);
	for (uint64_t i = 1; i <= total; i++) {
		start();
		srd_alloc_fail_at(i);
		assert_int_equal(go(&w), -ENOMEM);
		assert_int_equal(fake.live, 0);
		assert_int_equal(srd_alloc_live(), 0);
	}
	srd_alloc_fail_at(0);
}

/* A failed connect leaves nothing but the state that it reached, and can be repeated. */
static void connect_can_be_repeated(void **state)
{
	struct way w = {0};
	struct srd_backend_options options = {0};

	start();
	assert_int_equal(srd_backend_find("efa")->open(&options, &w.verbs, NULL), 0);
	assert_int_equal(make_objects(&w), 0);
	fake.fail_at = fake.calls + 4; /* port, address handle, INIT, RTR */
	fake.fail_errno = EINVAL;
	assert_int_equal(connect_to_itself(&w), -EINVAL);
	fake_forget();
	assert_int_equal(connect_to_itself(&w), 0);
	assert_int_equal(ops->verbs_qp(w.qp)->state, SRD_QPS_RTS);
	assert_string_equal(
		fake_log(),
		"ibv_query_port port=1\n"
		"ibv_create_ah port=1 global=1 dgid=a0..af sgid=0 hop=0 class=0 sl=0 lid=0 flow=0\n"
		"ibv_modify_qp mask=0x1 state=2 cur=0 qkey=0x0 port=0 pkey=0 sq_psn=0 rnr_retry=0\n"
		"ibv_modify_qp mask=0x10001 state=3 cur=0 qkey=0x0 port=0 pkey=0 sq_psn=2748 "
		"rnr_retry=0\n"
		"ibv_query_qp mask=0x1\n");
	ops->destroy(w.qp);
	w.verbs->close(w.verbs);
	assert_int_equal(fake.live, 0);
}

/* Completions of the device come up as the queue pair's. */
static void completions_come_up(void **state)
{
	struct way w = {0};
	struct srd_backend_options options = {0};
	struct srd_completion completion;

	start();
	assert_int_equal(srd_backend_find("efa")->open(&options, &w.verbs, NULL), 0);
	assert_int_equal(make_objects(&w), 0);
	assert_int_equal(connect_to_itself(&w), 0);
	fake.wc[0] = (struct ibv_wc){.wr_id = 3,
				     .status = IBV_WC_REM_ACCESS_ERR,
				     .vendor_err = 7,
				     .opcode = IBV_WC_RDMA_WRITE,
				     .qp_num = 77};
	fake.num_wc = 1;
	assert_int_equal(ops->poll(w.qp, SRD_QUEUE_SEND, &completion, &w.error), 1);
	assert_int_equal(completion.wr_id, 3);
	assert_int_equal(completion.status, SRD_WC_REM_ACCESS_ERR);
	assert_int_equal(completion.vendor_err, 7);
	assert_int_equal(completion.opcode, SRD_WC_RDMA_WRITE);
	assert_int_equal(ops->poll(w.qp, SRD_QUEUE_SEND, &completion, &w.error), 0);
	ops->destroy(w.qp);
	w.verbs->close(w.verbs);
}

int main(void)
{
#define ON_EFA(f)     cmocka_unit_test_setup(f, on_efa)
#define ON_ANOTHER(f) cmocka_unit_test_setup(f, on_another)
	const struct CMUnitTest tests[] = {
		ON_EFA(every_call_in_order),
		ON_EFA(each_single_call_fails),
		ON_EFA(each_allocation_fails),
		ON_EFA(connect_can_be_repeated),
		ON_EFA(completions_come_up),
		ON_ANOTHER(every_call_of_a_connection),
		ON_ANOTHER(each_single_call_fails),
		ON_ANOTHER(each_allocation_fails),
		ON_ANOTHER(a_connection_has_no_destinations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
