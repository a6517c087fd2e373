/* SPDX-License-Identifier: MIT */
/* Writes and reads through the mock: bytes, times, order, counters. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "mock_pair.h"

static void assert_same(struct pair *p, uint64_t offset, uint64_t length)
{
	uint64_t difference;

	assert_int_equal(p->v->compare_buffer(p->v, p->a.buffer, offset, p->b.buffer, offset,
					      length, &difference),
			 0);
	assert_int_equal(difference, length);
}

static void write_moves_bytes(void **state)
{
	struct srd_wc wc;
	uint8_t byte;
	struct pair p;

	pair_init(&p, "efa1");
	pair_open(&p);
	pair_write(&p, 41, 100, 5000);
	wc = side_wait(&p, &p.a);
	assert_int_equal(wc.wr_id, 41);
	assert_int_equal(wc.status, SRD_WC_SUCCESS);
	assert_int_equal(wc.vendor_err, 0);
	assert_int_equal(wc.opcode, SRD_WC_RDMA_WRITE);
	assert_int_equal(wc.qp_num, p.a.qp->qp_num);
	assert_same(&p, 100, 5000);
	/* Not a byte beside it. */
	assert_int_equal(p.v->read_buffer(p.v, p.b.buffer, 99, &byte, 1), 0);
	assert_int_equal(byte, 0);
	assert_int_equal(p.v->read_buffer(p.v, p.b.buffer, 5100, &byte, 1), 0);
	assert_int_equal(byte, 0);
	assert_true(p.v->now(p.v) >= 2 * p.profile.latency);
	assert_int_equal(lab_counter(&p, 0, "rdma_write_bytes"), 5000);
	assert_int_equal(lab_counter(&p, 1, "rdma_write_recv_bytes"), 5000);
	pair_close(&p);
}

static void read_moves_bytes_and_completes_as_send(void **state)
{
	struct srd_wc wc;
	struct pair p;

	pair_init(&p, "efa1");
	pair_open(&p);
	assert_int_equal(p.v->fill_buffer(p.v, p.b.buffer, 0, PAIR_MEMORY, 9), 0);
	pair_read(&p, 42, 0, PAIR_MEMORY);
	wc = side_wait(&p, &p.a);
	assert_int_equal(wc.wr_id, 42);
	assert_int_equal(wc.status, SRD_WC_SUCCESS);
	assert_int_equal(wc.opcode, SRD_WC_SEND);
	assert_same(&p, 0, PAIR_MEMORY);
	pair_close(&p);
}

static void read_opcode_knob(void **state)
{
	struct pair p;

	pair_init(&p, "efa1");
	p.profile.read_opcode = SRD_PROFILE_READ_OPCODE_RDMA_READ;
	pair_open(&p);
	pair_read(&p, 1, 0, 8);
	assert_int_equal(side_wait(&p, &p.a).opcode, SRD_WC_RDMA_READ);
	pair_close(&p);
}

#define WINDOW 16

/* The order in which 16 equal writes, posted at once, complete. */
static void completion_order(enum srd_profile_order order, uint64_t seed, uint64_t ids[WINDOW])
{
	struct pair p;

	pair_init(&p, "efa1");
	p.profile.order = order;
	p.seed = seed;
	pair_open(&p);
	p.v->wr_start(p.v, p.a.qp);
	for (int i = 0; i < WINDOW; i++)
		build_write(&p, (uint64_t)i, (uint64_t)i * 64, 64);
	assert_int_equal(p.v->wr_complete(p.v, p.a.qp), 0);
	for (int i = 0; i < WINDOW; i++)
		ids[i] = side_wait(&p, &p.a).wr_id;
	side_expect_none(&p, &p.a);
	assert_same(&p, 0, WINDOW * 64);
	pair_close(&p);
}

static void in_order_keeps_order(void **state)
{
	uint64_t ids[WINDOW];

	completion_order(SRD_PROFILE_ORDER_IN_ORDER, 3, ids);
	for (int i = 0; i < WINDOW; i++)
		assert_int_equal(ids[i], i);
}

static void random_order_is_seeded(void **state)
{
	uint64_t first[WINDOW], again[WINDOW], other[WINDOW];
	int out_of_place = 0;

	completion_order(SRD_PROFILE_ORDER_RANDOM, 3, first);
	completion_order(SRD_PROFILE_ORDER_RANDOM, 3, again);
	completion_order(SRD_PROFILE_ORDER_RANDOM, 4, other);
	assert_memory_equal(first, again, sizeof(first));
	assert_memory_not_equal(first, other, sizeof(first));
	for (int i = 0; i < WINDOW; i++)
		out_of_place += first[i] != (uint64_t)i;
	assert_true(out_of_place > WINDOW / 2);
}

static void adversary_turns_order_round(void **state)
{
	uint64_t ids[WINDOW];
	int falling = 0;

	completion_order(SRD_PROFILE_ORDER_ADVERSARIAL, 3, ids);
	for (int i = 1; i < WINDOW; i++)
		falling += ids[i] < ids[i - 1];
	assert_true(falling >= WINDOW - 4);
}

static void bandwidth_takes_time(void **state)
{
	struct pair p;

	pair_init(&p, "efa1");
	p.profile.latency = 0;
	p.profile.jitter = 0;
	p.profile.bandwidth = 1000000; /* a byte a microsecond */
	pair_open(&p);
	pair_write(&p, 1, 0, 1000);
	pair_write(&p, 2, 0, 1000);
	assert_int_equal(lab_locate(&p, p.a.qp, 1), SRD_PLACE_WIRE);
	assert_int_equal(lab_locate(&p, p.a.qp, 2), SRD_PLACE_SEND_QUEUE);
	side_expect(&p, &p.a, 1, SRD_EFA_OK);
	assert_int_equal(p.v->now(p.v), 1000000);
	side_expect(&p, &p.a, 2, SRD_EFA_OK);
	assert_int_equal(p.v->now(p.v), 2000000);
	pair_close(&p);
}

static void wait_knows_deadlock_and_deadline(void **state)
{
	struct pair p;

	pair_init(&p, "efa1");
	pair_open(&p);
	assert_int_equal(p.v->wait(p.v, UINT64_MAX), EDEADLK);
	assert_int_equal(p.v->wait(p.v, 1000), ETIMEDOUT);
	assert_int_equal(p.v->now(p.v), 1000);
	pair_write(&p, 1, 0, 64);
	assert_int_equal(p.v->wait(p.v, 1001), ETIMEDOUT);
	assert_int_equal(p.v->now(p.v), 1001);
	assert_int_equal(p.v->wait(p.v, UINT64_MAX), 0);
	assert_int_equal(p.v->wait(p.v, UINT64_MAX), EDEADLK);
	side_expect(&p, &p.a, 1, SRD_EFA_OK);
	pair_close(&p);
}

static void loss_is_repaired(void **state)
{
	struct pair p;

	pair_init(&p, "efa1");
	p.profile.loss = 300000;
	pair_open(&p);
	for (int i = 0; i < 200; i++) {
		pair_write(&p, (uint64_t)i, 0, 64);
		side_expect(&p, &p.a, (uint64_t)i, SRD_EFA_OK);
	}
	assert_in_range(lab_counter(&p, 0, "retrans_pkts"), 40, 200);
	assert_int_equal(lab_set(&p, "loss", 1000000), 0);
	pair_write(&p, 1, 0, 64);
	side_expect(&p, &p.a, 1, SRD_EFA_LOCAL_ERROR_UNRESP_REMOTE);
	pair_close(&p);
}

static void empty_write_is_one_request(void **state)
{
	struct pair p;

	pair_init(&p, "efa1");
	pair_open(&p);
	pair_write(&p, 5, 0, 0);
	side_expect(&p, &p.a, 5, SRD_EFA_OK);
	side_expect_none(&p, &p.a);
	pair_close(&p);
}

static void origin_memory_carries_terabytes(void **state)
{
	struct srd_buffer *from, *to;
	struct srd_mr *lmr, *rmr;
	uint64_t size = 1ull << 40, difference;
	struct pair p;

	pair_init(&p, "huge");
	pair_open(&p);
	from = p.v->alloc_buffer(p.v, p.a.context, size, SRD_BUFFER_ORIGIN);
	to = p.v->alloc_buffer(p.v, p.b.context, size, SRD_BUFFER_ORIGIN);
	assert_non_null(from);
	assert_non_null(to);
	assert_int_equal(p.v->fill_buffer(p.v, from, 0, size, 11), 0);
	lmr = p.v->reg_mr(p.v, p.a.pd, from->addr, size, 0);
	rmr = p.v->reg_mr(p.v, p.b.pd, to->addr, size,
			  SRD_ACCESS_LOCAL_WRITE | SRD_ACCESS_REMOTE_WRITE);
	assert_non_null(lmr);
	assert_non_null(rmr);
	p.a.qp->wr_flags = SRD_SEND_SIGNALED;
	for (uint64_t offset = 0; offset < size; offset += 1ull << 30) {
		p.a.qp->wr_id = offset;
		p.v->wr_start(p.v, p.a.qp);
		p.v->wr_rdma_write(p.v, p.a.qp, rmr->rkey, to->addr + offset);
		p.v->wr_set_sge(p.v, p.a.qp, lmr->lkey, from->addr + offset, 1u << 30);
		p.v->wr_set_ud_addr(p.v, p.a.qp, p.a.ah, p.b.qp->qp_num, PAIR_QKEY);
		assert_int_equal(p.v->wr_complete(p.v, p.a.qp), 0);
		side_expect(&p, &p.a, offset, SRD_EFA_OK);
	}
	assert_int_equal(p.v->compare_buffer(p.v, from, 0, to, 0, size, &difference), 0);
	assert_int_equal(difference, size);
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(write_moves_bytes),
		cmocka_unit_test(read_moves_bytes_and_completes_as_send),
		cmocka_unit_test(read_opcode_knob),
		cmocka_unit_test(in_order_keeps_order),
		cmocka_unit_test(random_order_is_seeded),
		cmocka_unit_test(adversary_turns_order_round),
		cmocka_unit_test(bandwidth_takes_time),
		cmocka_unit_test(wait_knows_deadlock_and_deadline),
		cmocka_unit_test(loss_is_repaired),
		cmocka_unit_test(empty_write_is_one_request),
		cmocka_unit_test(origin_memory_carries_terabytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
