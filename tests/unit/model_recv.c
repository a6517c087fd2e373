/* SPDX-License-Identifier: MIT */
/* Sends, immediates and receives. */
#include <endian.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "mock_pair.h"

static struct pair p;

static int open_pair(void **state)
{
	pair_init(&p, "efa1");
	p.max_inline = 32;
	pair_open(&p);
	return 0;
}

static int close_pair(void **state)
{
	pair_close(&p);
	return 0;
}

static int post_recv(uint64_t wr_id, uint64_t offset, uint32_t length)
{
	struct srd_sge sge = {
		.addr = p.b.buffer->addr + offset, .length = length, .lkey = p.b.mr->lkey};
	struct srd_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1}, *bad;

	return p.v->post_recv(p.v, p.b.qp, &wr, &bad);
}

static void begin(uint64_t wr_id)
{
	p.a.qp->wr_id = wr_id;
	p.a.qp->wr_flags = SRD_SEND_SIGNALED;
	p.v->wr_start(p.v, p.a.qp);
}

static void end(uint32_t length)
{
	p.v->wr_set_sge(p.v, p.a.qp, p.a.mr->lkey, p.a.buffer->addr, length);
	p.v->wr_set_ud_addr(p.v, p.a.qp, p.a.ah, p.b.qp->qp_num, PAIR_QKEY);
	assert_int_equal(p.v->wr_complete(p.v, p.a.qp), 0);
}

static void post_send(uint64_t wr_id, uint32_t length)
{
	begin(wr_id);
	p.v->wr_send(p.v, p.a.qp);
	end(length);
}

static void assert_same(uint64_t from, uint64_t to, uint64_t length)
{
	uint64_t same;

	assert_int_equal(p.v->compare_buffer(p.v, p.a.buffer, from, p.b.buffer, to, length, &same),
			 0);
	assert_int_equal(same, length);
}

static void send_into_receive(void **state)
{
	struct srd_wc wc;

	assert_int_equal(post_recv(5, 100, 4096), 0);
	post_send(6, 1000);
	side_expect(&p, &p.a, 6, SRD_EFA_OK);
	wc = side_wait(&p, &p.b);
	assert_int_equal(wc.wr_id, 5);
	assert_int_equal(wc.status, SRD_WC_SUCCESS);
	assert_int_equal(wc.opcode, SRD_WC_RECV);
	assert_int_equal(wc.byte_len, 1000);
	assert_int_equal(wc.src_qp, p.a.qp->qp_num);
	assert_int_equal(wc.qp_num, p.b.qp->qp_num);
	assert_int_equal(wc.wc_flags, 0);
	assert_int_not_equal(wc.slid, 0xffff);
	assert_same(0, 100, 1000);
}

static void immediate_data(void **state)
{
	struct srd_wc wc;

	assert_int_equal(post_recv(5, 0, 4096), 0);
	begin(6);
	p.v->wr_send_imm(p.v, p.a.qp, htobe32(0x12345678));
	end(10);
	side_expect(&p, &p.a, 6, SRD_EFA_OK);
	wc = side_wait(&p, &p.b);
	assert_int_equal(wc.wc_flags, SRD_WC_WITH_IMM);
	assert_int_equal(be32toh(wc.imm_data), 0x12345678);
}

static void write_with_immediate(void **state)
{
	struct srd_wc wc;

	assert_int_equal(post_recv(5, 60000, 16), 0);
	begin(6);
	p.v->wr_rdma_write_imm(p.v, p.a.qp, p.b.mr->rkey, p.b.buffer->addr, htobe32(7));
	end(4096);
	wc = side_wait(&p, &p.a);
	assert_int_equal(wc.wr_id, 6);
	assert_int_equal(wc.opcode, SRD_WC_RDMA_WRITE);
	wc = side_wait(&p, &p.b);
	assert_int_equal(wc.wr_id, 5);
	assert_int_equal(wc.opcode, SRD_WC_RECV_RDMA_WITH_IMM);
	assert_int_equal(wc.byte_len, 4096);
	assert_int_equal(be32toh(wc.imm_data), 7);
	assert_same(0, 0, 4096);
}

static void unsolicited_write(void **state)
{
	struct srd_wc wc;

	pair_init(&p, "efa1");
	p.profile.cap_unsolicited_write_recv = true;
	p.efa_flags = SRD_EFADV_QP_FLAGS_UNSOLICITED_WRITE_RECV;
	pair_open(&p);
	begin(6);
	p.v->wr_rdma_write_imm(p.v, p.a.qp, p.b.mr->rkey, p.b.buffer->addr, htobe32(7));
	end(100);
	side_expect(&p, &p.a, 6, SRD_EFA_OK);
	wc = side_wait(&p, &p.b);
	assert_int_equal(wc.wr_id, 0);
	assert_int_equal(wc.opcode, SRD_WC_RECV_RDMA_WITH_IMM);
	assert_int_equal(wc.byte_len, 100);
	pair_close(&p);
}

static void send_waits_for_receive(void **state)
{
	post_send(1, 100);
	assert_int_equal(p.v->wait(p.v, UINT64_MAX), EDEADLK);
	assert_int_equal(lab_locate(&p, p.a.qp, 1), SRD_PLACE_RNR);
	assert_int_equal(post_recv(2, 0, 4096), 0);
	side_expect(&p, &p.b, 2, SRD_EFA_OK);
	side_expect(&p, &p.a, 1, SRD_EFA_OK);
}

static void waiting_send_ends_with_its_receiver(void **state)
{
	post_send(1, 100);
	assert_int_equal(p.v->wait(p.v, UINT64_MAX), EDEADLK);
	assert_int_equal(side_modify(&p, &p.b, SRD_QPS_ERR), 0);
	side_expect(&p, &p.a, 1, SRD_EFA_REMOTE_ERROR_BAD_DEST_QPN);
}

static void waiting_send_is_failed_dropped_flushed(void **state)
{
	struct srd_lab command = {.kind = SRD_LAB_FAIL, .qp = p.a.qp, .wr_id = 1, .status = 10};

	for (uint64_t i = 1; i <= 3; i++)
		post_send(i, 100);
	assert_int_equal(p.v->wait(p.v, UINT64_MAX), EDEADLK);
	assert_int_equal(p.v->lab(p.v, &command), 0);
	side_expect(&p, &p.a, 1, SRD_EFA_REMOTE_ERROR_RNR);
	assert_int_equal(lab_request(&p, p.a.qp, SRD_LAB_DROP, 2), 0);
	assert_int_equal(lab_locate(&p, p.a.qp, 2), SRD_PLACE_LOST);
	assert_int_equal(side_modify(&p, &p.a, SRD_QPS_ERR), 0);
	side_expect(&p, &p.a, 3, SRD_EFA_FLUSHED);
	/* None of them takes a receive any more. */
	assert_int_equal(post_recv(9, 0, 4096), 0);
	assert_int_equal(p.v->wait(p.v, UINT64_MAX), EDEADLK);
	side_expect_none(&p, &p.b);
}

/* RTR to RTS with RNR_RETRY, on a fresh queue pair. */
static void retries(uint8_t number)
{
	struct srd_qp_attr attr = {.qp_state = SRD_QPS_RTS, .rnr_retry = number};

	assert_int_equal(side_modify(&p, &p.a, SRD_QPS_RESET), 0);
	assert_int_equal(side_modify(&p, &p.a, SRD_QPS_INIT), 0);
	assert_int_equal(side_modify(&p, &p.a, SRD_QPS_RTR), 0);
	assert_int_equal(
		p.v->modify_qp(p.v, p.a.qp, &attr, SRD_QP_STATE | SRD_QP_SQ_PSN | SRD_QP_RNR_RETRY),
		0);
}

static void retries_run_out(void **state)
{
	uint64_t start, took;

	retries(3);
	start = p.v->now(p.v);
	post_send(1, 100);
	side_expect(&p, &p.a, 1, SRD_EFA_REMOTE_ERROR_RNR);
	took = p.v->now(p.v) - start;
	assert_in_range(took, 3 * p.profile.rnr_timer, 4 * p.profile.rnr_timer);
	retries(0);
	start = p.v->now(p.v);
	post_send(2, 100);
	side_expect(&p, &p.a, 2, SRD_EFA_REMOTE_ERROR_RNR);
	assert_in_range(p.v->now(p.v) - start, 0, p.profile.rnr_timer);
}

static void retry_succeeds(void **state)
{
	retries(6);
	post_send(1, 100);
	assert_int_equal(p.v->wait(p.v, p.v->now(p.v) + 200000), ETIMEDOUT);
	assert_int_equal(post_recv(2, 0, 4096), 0);
	side_expect(&p, &p.b, 2, SRD_EFA_OK);
	side_expect(&p, &p.a, 1, SRD_EFA_OK);
}

static void device_without_retries(void **state)
{
	pair_init(&p, "efa1");
	p.profile.cap_rnr_retry = false;
	pair_open(&p);
	post_send(1, 100);
	side_expect(&p, &p.a, 1, SRD_EFA_REMOTE_ERROR_RNR);
	pair_close(&p);
}

static void receive_too_small(void **state)
{
	assert_int_equal(post_recv(2, 0, 99), 0);
	post_send(1, 100);
	side_expect(&p, &p.a, 1, SRD_EFA_REMOTE_ERROR_BAD_LENGTH);
	side_expect(&p, &p.b, 2, SRD_EFA_LOCAL_ERROR_BAD_LENGTH);
}

static void receive_in_no_memory(void **state)
{
	assert_int_equal(post_recv(2, PAIR_MEMORY, 4096), 0);
	post_send(1, 100);
	side_expect(&p, &p.a, 1, SRD_EFA_REMOTE_ERROR_BAD_STATUS);
	side_expect(&p, &p.b, 2, SRD_EFA_LOCAL_ERROR_INVALID_LKEY);
}

static void send_longer_than_a_packet(void **state)
{
	assert_int_equal(post_recv(2, 0, 65535), 0);
	post_send(1, p.profile.mtu + 1);
	side_expect(&p, &p.a, 1, SRD_EFA_LOCAL_ERROR_BAD_LENGTH);
	post_send(2, p.profile.mtu);
	side_expect(&p, &p.a, 2, SRD_EFA_OK);
}

static void inline_send(void **state)
{
	static const char text[] = "it left when it was built";
	char got[sizeof(text)];

	assert_int_equal(p.v->write_buffer(p.v, p.a.buffer, 0, text, sizeof(text)), 0);
	assert_int_equal(post_recv(2, 0, 4096), 0);
	begin(1);
	p.v->wr_send(p.v, p.a.qp);
	p.v->wr_set_inline_data(p.v, p.a.qp, p.a.buffer->addr, sizeof(text));
	p.v->wr_set_ud_addr(p.v, p.a.qp, p.a.ah, p.b.qp->qp_num, PAIR_QKEY);
	assert_int_equal(p.v->fill_buffer(p.v, p.a.buffer, 0, sizeof(text), 0), 0);
	assert_int_equal(p.v->wr_complete(p.v, p.a.qp), 0);
	side_expect(&p, &p.a, 1, SRD_EFA_OK);
	side_expect(&p, &p.b, 2, SRD_EFA_OK);
	assert_int_equal(p.v->read_buffer(p.v, p.b.buffer, 0, got, sizeof(got)), 0);
	assert_string_equal(got, text);
}

static void inline_write_needs_its_flag(void **state)
{
	begin(1);
	p.v->wr_rdma_write(p.v, p.a.qp, p.b.mr->rkey, p.b.buffer->addr);
	p.v->wr_set_inline_data(p.v, p.a.qp, p.a.buffer->addr, 8);
	p.v->wr_set_ud_addr(p.v, p.a.qp, p.a.ah, p.b.qp->qp_num, PAIR_QKEY);
	assert_int_equal(p.v->wr_complete(p.v, p.a.qp), EINVAL);
	pair_close(&p);

	pair_init(&p, "efa1");
	p.efa_flags = SRD_EFADV_QP_FLAGS_INLINE_WRITE;
	p.max_inline = 32;
	pair_open(&p);
	begin(1);
	p.v->wr_rdma_write(p.v, p.a.qp, p.b.mr->rkey, p.b.buffer->addr);
	p.v->wr_set_inline_data(p.v, p.a.qp, p.a.buffer->addr, 8);
	p.v->wr_set_ud_addr(p.v, p.a.qp, p.a.ah, p.b.qp->qp_num, PAIR_QKEY);
	assert_int_equal(p.v->wr_complete(p.v, p.a.qp), 0);
	side_expect(&p, &p.a, 1, SRD_EFA_OK);
	assert_same(0, 0, 8);
	begin(2);
	p.v->wr_rdma_read(p.v, p.a.qp, p.b.mr->rkey, p.b.buffer->addr);
	p.v->wr_set_inline_data(p.v, p.a.qp, p.a.buffer->addr, 8);
	assert_int_equal(p.v->wr_complete(p.v, p.a.qp), EINVAL);
	begin(3);
	p.v->wr_send(p.v, p.a.qp);
	p.v->wr_set_inline_data(p.v, p.a.qp, p.a.buffer->addr, 33);
	assert_int_equal(p.v->wr_complete(p.v, p.a.qp), EINVAL);
}

static void gather_and_scatter(void **state)
{
	struct srd_sge from[2] = {
		{.addr = p.a.buffer->addr, .length = 100, .lkey = p.a.mr->lkey},
		{.addr = p.a.buffer->addr + 5000, .length = 50, .lkey = p.a.mr->lkey},
	};

	assert_int_equal(post_recv(2, 0, 4096), 0);
	begin(1);
	p.v->wr_send(p.v, p.a.qp);
	p.v->wr_set_sge_list(p.v, p.a.qp, 2, from);
	p.v->wr_set_ud_addr(p.v, p.a.qp, p.a.ah, p.b.qp->qp_num, PAIR_QKEY);
	assert_int_equal(p.v->wr_complete(p.v, p.a.qp), 0);
	side_expect(&p, &p.a, 1, SRD_EFA_OK);
	assert_int_equal(side_wait(&p, &p.b).byte_len, 150);
	assert_same(0, 0, 100);
	assert_same(5000, 100, 50);
	/* An RDMA request has one entry. */
	begin(2);
	p.v->wr_rdma_write(p.v, p.a.qp, p.b.mr->rkey, p.b.buffer->addr);
	p.v->wr_set_sge_list(p.v, p.a.qp, 2, from);
	assert_int_equal(p.v->wr_complete(p.v, p.a.qp), EINVAL);
	begin(3);
	p.v->wr_rdma_write(p.v, p.a.qp, p.b.mr->rkey, p.b.buffer->addr);
	p.v->wr_set_sge_list(p.v, p.a.qp, 0, from);
	p.v->wr_set_ud_addr(p.v, p.a.qp, p.a.ah, p.b.qp->qp_num, PAIR_QKEY);
	assert_int_equal(p.v->wr_complete(p.v, p.a.qp), 0);
	side_expect(&p, &p.a, 3, SRD_EFA_OK);
}

static void receive_checks(void **state)
{
	struct srd_sge sge[2] = {{.addr = p.b.buffer->addr, .length = 8, .lkey = p.b.mr->lkey}};
	struct srd_recv_wr many = {.sg_list = sge, .num_sge = 2};
	struct srd_recv_wr second = {.wr_id = 2, .next = &many, .sg_list = sge, .num_sge = 1};
	struct srd_recv_wr first = {.wr_id = 1, .next = &second, .sg_list = sge, .num_sge = 1};
	struct srd_recv_wr *bad = NULL;

	/* Those before the one that fails stay posted. */
	assert_int_equal(p.v->post_recv(p.v, p.b.qp, &first, &bad), EINVAL);
	assert_ptr_equal(bad, &many);
	for (uint64_t i = 2; i < 16; i++)
		assert_int_equal(post_recv(i + 1, 0, 8), 0);
	assert_int_equal(post_recv(99, 0, 8), ENOMEM);
	assert_int_equal(side_modify(&p, &p.b, SRD_QPS_ERR), 0);
	for (uint64_t i = 1; i <= 16; i++)
		side_expect(&p, &p.b, i, SRD_EFA_FLUSHED);
	assert_int_equal(post_recv(99, 0, 8), EINVAL);
	assert_int_equal(side_modify(&p, &p.b, SRD_QPS_RESET), 0);
	assert_int_equal(post_recv(99, 0, 8), EINVAL);
	assert_int_equal(side_modify(&p, &p.b, SRD_QPS_INIT), 0);
	assert_int_equal(post_recv(99, 0, 8), 0);
	side_expect_none(&p, &p.b);
}

static void sender_unknown_to_receiver(void **state)
{
	assert_int_equal(p.v->destroy_ah(p.v, p.b.ah), 0);
	assert_int_equal(post_recv(2, 0, 4096), 0);
	post_send(1, 8);
	side_expect(&p, &p.a, 1, SRD_EFA_OK);
	assert_int_equal(side_wait(&p, &p.b).slid, 0xffff);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_pair, close_pair)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(send_into_receive),
		TEST(immediate_data),
		TEST(write_with_immediate),
		cmocka_unit_test(unsolicited_write),
		TEST(send_waits_for_receive),
		TEST(waiting_send_ends_with_its_receiver),
		TEST(waiting_send_is_failed_dropped_flushed),
		TEST(retries_run_out),
		TEST(retry_succeeds),
		cmocka_unit_test(device_without_retries),
		TEST(receive_too_small),
		TEST(receive_in_no_memory),
		TEST(send_longer_than_a_packet),
		TEST(inline_send),
		TEST(inline_write_needs_its_flag),
		TEST(gather_and_scatter),
		TEST(receive_checks),
		TEST(sender_unknown_to_receiver),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
