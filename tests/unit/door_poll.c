/* SPDX-License-Identifier: MIT */
/* Polling: fields, old entries, overrun, rings. */
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
	pair_open(&p);
	return 0;
}

static int close_pair(void **state)
{
	pair_close(&p);
	return 0;
}

static void drain_events(void)
{
	while (p.v->wait(p.v, UINT64_MAX) != EDEADLK)
		;
}

static int poll(int n, struct srd_wc *wc)
{
	return p.v->poll_cq(p.v, p.a.cq, n, wc);
}

static void only_these_fields_are_set(void **state)
{
	struct srd_wc wc, before;

	memset(&wc, 0xab, sizeof(wc));
	before = wc;
	pair_write(&p, 1, 0, 64);
	drain_events();
	assert_int_equal(poll(1, &wc), 1);
	assert_int_equal(wc.wr_id, 1);
	assert_int_equal(wc.status, SRD_WC_SUCCESS);
	assert_int_equal(wc.vendor_err, 0);
	assert_int_equal(wc.opcode, SRD_WC_RDMA_WRITE);
	assert_int_equal(wc.qp_num, p.a.qp->qp_num);
	assert_int_equal(wc.wc_flags, 0);
	assert_int_equal(wc.byte_len, before.byte_len);
	assert_int_equal(wc.src_qp, before.src_qp);
	assert_int_equal(wc.imm_data, before.imm_data);
	assert_int_equal(wc.pkey_index, before.pkey_index);
	assert_int_equal(wc.slid, before.slid);
	assert_int_equal(wc.sl, before.sl);
	assert_int_equal(wc.dlid_path_bits, before.dlid_path_bits);
}

static void batches(void **state)
{
	struct srd_wc wc[16];

	for (uint64_t i = 0; i < 10; i++)
		pair_write(&p, i, 0, 64);
	drain_events();
	assert_int_equal(poll(0, wc), 0);
	assert_int_equal(poll(4, wc), 4);
	assert_int_equal(poll(16, wc), 6);
	assert_int_equal(poll(16, wc), 0);
}

/* Write WR_IDs 0 to N - 1 and let them all complete; then the queue pair is destroyed. */
static void leave_entries(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		pair_write(&p, i, 0, 64);
	drain_events();
	assert_int_equal(p.v->destroy_qp(p.v, p.a.qp), 0);
}

static void entries_of_a_destroyed_queue_pair(void **state)
{
	struct srd_wc wc[16];
	struct srd_qp *old = p.a.qp;
	uint32_t number = old->qp_num;

	leave_entries(2);
	/* Each is an error of its own call, and consumed. */
	assert_int_equal(poll(16, wc), -EINVAL);
	p.a.qp = side_create_qp(&p, &p.a);
	assert_int_equal(p.a.qp->qp_num, number);
	side_connect(&p, &p.a);
	pair_write(&p, 7, 0, 64);
	drain_events();
	/* The second has the number of the new one, but another generation. */
	assert_int_equal(poll(16, wc), -EINVAL);
	assert_int_equal(poll(16, wc), 1);
	assert_int_equal(wc[0].wr_id, 7);
	assert_int_equal(poll(16, wc), 0);
}

static void error_behind_a_good_entry_is_swallowed(void **state)
{
	struct srd_wc wc[16];
	struct side other = p.a;

	other.qp = side_create_qp(&p, &p.a);
	side_connect(&p, &other);
	pair_write(&p, 1, 0, 64);
	drain_events();
	assert_int_equal(lab_request(&p, p.a.qp, SRD_LAB_STALE_CQE, 0), 0);
	pair_write(&p, 2, 0, 64);
	drain_events();
	assert_int_equal(poll(16, wc), 1);
	assert_int_equal(wc[0].wr_id, 1);
	assert_int_equal(poll(16, wc), 1);
	assert_int_equal(wc[0].wr_id, 2);
}

/* They come back raised by as much as libefa's table has entries, and from the lowest again. */
static void numbers_that_are_raised(void **state)
{
	struct srd_wc wc[16];
	uint32_t lowest;

	pair_init(&p, "small");
	p.profile.max_qp = 6;
	p.profile.first_qpn = 300;
	p.profile.qpn_reuse = SRD_PROFILE_QPN_REUSE_RAISED;
	pair_open(&p);
	lowest = p.a.qp->qp_num;
	assert_int_equal(lowest, 300);
	leave_entries(1);
	for (uint32_t n = lowest + 8; n < 65536; n += 8) {
		p.a.qp = side_create_qp(&p, &p.a);
		assert_int_equal(p.a.qp->qp_num, n);
		assert_int_equal(p.v->destroy_qp(p.v, p.a.qp), 0);
	}
	p.a.qp = side_create_qp(&p, &p.a);
	assert_int_equal(p.a.qp->qp_num, lowest);
	assert_int_equal(p.v->destroy_qp(p.v, p.a.qp), 0);
	p.a.qp = side_create_qp(&p, &p.a);
	side_connect(&p, &p.a);
	pair_write(&p, 7, 0, 64);
	drain_events();
	/* What is left has another number, though the same entry of the table. */
	assert_int_equal(poll(16, wc), -EINVAL);
	assert_int_equal(poll(16, wc), 1);
	assert_int_equal(wc[0].wr_id, 7);
	assert_int_equal(wc[0].qp_num, lowest + 8);
	pair_close(&p);
}

static void old_libefa_mistakes_entries(void **state)
{
	struct srd_wc wc[16];

	pair_init(&p, "efa1");
	p.profile.stale_check = SRD_PROFILE_STALE_CHECK_QPN;
	pair_open(&p);
	leave_entries(1);
	p.a.qp = side_create_qp(&p, &p.a);
	side_connect(&p, &p.a);
	pair_write(&p, 77, 0, 64);
	/* The old entry is taken for the new request. */
	assert_int_equal(poll(16, wc), 1);
	assert_int_equal(wc[0].wr_id, 77);
	drain_events();
	assert_int_equal(poll(16, wc), 1);
	pair_close(&p);
}

/* With 4096 entries the id leaves 4 bits for the generation: after 16 it comes again. */
static void generation_wraps(void **state)
{
	struct srd_wc wc;

	pair_init(&p, "efa1");
	p.depth = 4096;
	pair_open(&p);
	leave_entries(1);
	for (int i = 1; i < 16; i++) {
		p.a.qp = side_create_qp(&p, &p.a);
		assert_int_equal(p.v->destroy_qp(p.v, p.a.qp), 0);
	}
	p.a.qp = side_create_qp(&p, &p.a);
	assert_int_equal(poll(1, &wc), 1);
	pair_close(&p);
}

/* A completion queue of 4 and 8 writes; the buffer is whole, completions are lost. */
static void overrun(enum srd_profile_cq_overrun how, uint64_t first)
{
	struct srd_wc wc[8];
	struct srd_cq *cq;
	int n;

	pair_init(&p, "efa1");
	p.profile.cq_overrun = how;
	p.profile.order = SRD_PROFILE_ORDER_IN_ORDER;
	pair_open(&p);
	cq = p.a.cq;
	p.a.cq = p.v->create_cq(p.v, p.a.context, 4);
	p.a.qp = side_create_qp(&p, &p.a);
	side_connect(&p, &p.a);
	for (uint64_t i = 0; i < 8; i++)
		pair_write(&p, i, 0, 64);
	drain_events();
	n = poll(8, wc);
	assert_int_equal(n, 4);
	for (int i = 0; i < n; i++)
		assert_int_equal(wc[i].wr_id, first + (uint64_t)i);
	assert_int_equal(poll(8, wc), 0);
	assert_int_equal(lab_counter(&p, 0, "cq_overruns"), 4);
	/* The credit of the others never comes back. */
	p.v->wr_start(p.v, p.a.qp);
	for (uint64_t i = 0; i < 13; i++)
		build_write(&p, i, 0, 64);
	assert_int_equal(p.v->wr_complete(p.v, p.a.qp), ENOMEM);
	p.a.cq = cq;
	pair_close(&p);
}

static void overrun_drops_newest(void **state)
{
	overrun(SRD_PROFILE_CQ_OVERRUN_DROP_NEWEST, 0);
}

static void overrun_overwrites_oldest(void **state)
{
	overrun(SRD_PROFILE_CQ_OVERRUN_OVERWRITE_OLDEST, 4);
}

static void several_rings(void **state)
{
	struct side other;
	bool seen[8] = {false};

	pair_init(&p, "efa1");
	p.profile.sub_cqs_per_cq = 4;
	pair_open(&p);
	other = p.a;
	other.qp = side_create_qp(&p, &p.a);
	side_connect(&p, &other);
	for (uint64_t i = 0; i < 4; i++)
		pair_write(&p, i, 0, 64);
	p.a.qp = other.qp;
	for (uint64_t i = 4; i < 8; i++)
		pair_write(&p, i, 0, 64);
	for (int i = 0; i < 8; i++)
		seen[side_wait(&p, &p.a).wr_id] = true;
	for (int i = 0; i < 8; i++)
		assert_true(seen[i]);
	side_expect_none(&p, &p.a);
	pair_close(&p);
}

static void a_thousand_queue_pairs(void **state)
{
	struct side sides[1000];
	uint64_t sum = 0;

	pair_init(&p, "huge");
	p.depth = 4;
	pair_open(&p);
	for (int i = 0; i < 1000; i++) {
		sides[i] = p.a;
		sides[i].cq = p.v->create_cq(p.v, p.a.context, 8);
		assert_non_null(sides[i].cq);
		sides[i].qp = side_create_qp(&p, &sides[i]);
		side_connect(&p, &sides[i]);
		p.a.qp = sides[i].qp;
		pair_write(&p, (uint64_t)i, 0, 64);
	}
	pair_audit(&p);
	for (int i = 0; i < 1000; i++)
		sum += side_wait(&p, &sides[i]).wr_id;
	assert_int_equal(sum, 999 * 1000 / 2);
	for (int i = 0; i < 1000; i += 2)
		assert_int_equal(p.v->destroy_qp(p.v, sides[i].qp), 0);
	pair_close(&p);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_pair, close_pair)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(only_these_fields_are_set),
		TEST(batches),
		TEST(entries_of_a_destroyed_queue_pair),
		TEST(error_behind_a_good_entry_is_swallowed),
		cmocka_unit_test(old_libefa_mistakes_entries),
		cmocka_unit_test(numbers_that_are_raised),
		cmocka_unit_test(generation_wraps),
		cmocka_unit_test(overrun_drops_newest),
		cmocka_unit_test(overrun_overwrites_oldest),
		cmocka_unit_test(several_rings),
		cmocka_unit_test(a_thousand_queue_pairs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
