/* SPDX-License-Identifier: MIT */
/* The end of queue pairs, address handles and regions while requests are under way. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "mock_pair.h"
#include "verbs/alloc.h"

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

static void write_four(void)
{
	for (uint64_t i = 0; i < 4; i++)
		pair_write(&p, i, i * 64, 64);
}

static void expect_four(enum srd_efa_status status)
{
	for (uint64_t i = 0; i < 4; i++)
		side_expect(&p, &p.a, i, status);
	side_expect_none(&p, &p.a);
	assert_int_equal(p.v->wait(p.v, UINT64_MAX), EDEADLK);
}

static void error_flushes_in_posting_order(void **state)
{
	uint64_t before;

	write_four();
	before = p.v->now(p.v);
	assert_int_equal(side_modify(&p, &p.a, SRD_QPS_ERR), 0);
	/* A wait tells of what a call has written. */
	assert_int_equal(p.v->wait(p.v, UINT64_MAX), 0);
	assert_int_equal(p.v->now(p.v), before);
	expect_four(SRD_EFA_FLUSHED);
	/* The events left behind move nothing, not even the clock. */
	assert_int_equal(p.v->now(p.v), before);
}

static void reset_drops_silently(void **state)
{
	write_four();
	assert_int_equal(side_modify(&p, &p.a, SRD_QPS_RESET), 0);
	side_expect_none(&p, &p.a);
	assert_int_equal(p.v->wait(p.v, UINT64_MAX), EDEADLK);
}

static void reset_knob(void **state)
{
	pair_init(&p, "efa1");
	p.profile.flush_on_reset = true;
	pair_open(&p);
	write_four();
	assert_int_equal(side_modify(&p, &p.a, SRD_QPS_RESET), 0);
	expect_four(SRD_EFA_FLUSHED);
	pair_close(&p);
}

static void destroy_flushes(void **state)
{
	struct srd_wc wc;

	write_four();
	assert_int_equal(p.v->destroy_qp(p.v, p.a.qp), 0);
	/* libefa does not know their queue pair any more. */
	for (int i = 0; i < 4; i++)
		assert_int_equal(p.v->poll_cq(p.v, p.a.cq, 1, &wc), -EINVAL);
	assert_int_equal(p.v->poll_cq(p.v, p.a.cq, 1, &wc), 0);
}

static void destroy_knob(void **state)
{
	pair_init(&p, "efa1");
	p.profile.flush_on_destroy = false;
	pair_open(&p);
	write_four();
	assert_int_equal(p.v->destroy_qp(p.v, p.a.qp), 0);
	side_expect_none(&p, &p.a);
	pair_close(&p);
}

static void last_address_handle_aborts(void **state)
{
	struct srd_ah *second = side_create_ah(&p, &p.a, 1);

	write_four();
	/* Both are one number: the other one still counts. */
	assert_int_equal(p.v->destroy_ah(p.v, second), 0);
	side_expect_none(&p, &p.a);
	assert_int_equal(p.v->destroy_ah(p.v, p.a.ah), 0);
	expect_four(SRD_EFA_FLUSHED);
	p.a.ah = side_create_ah(&p, &p.a, 1);
	pair_write(&p, 9, 0, 64);
	side_expect(&p, &p.a, 9, SRD_EFA_OK);
}

static void first_address_handle_aborts(void **state)
{
	struct srd_ah *second;

	pair_init(&p, "efa1");
	p.profile.ah_tokens = SRD_PROFILE_AH_TOKENS_SHARED_FIRST;
	pair_open(&p);
	second = side_create_ah(&p, &p.a, 1);
	write_four();
	assert_int_equal(p.v->destroy_ah(p.v, second), 0);
	expect_four(SRD_EFA_FLUSHED);
	/* The one that is left names nothing any more. */
	pair_write(&p, 9, 0, 64);
	side_expect(&p, &p.a, 9, SRD_EFA_LOCAL_ERROR_INVALID_AH);
	second = side_create_ah(&p, &p.a, 1);
	assert_int_equal(p.v->destroy_ah(p.v, p.a.ah), 0);
	p.a.ah = second;
	pair_write(&p, 10, 0, 64);
	side_expect(&p, &p.a, 10, SRD_EFA_OK);
	pair_close(&p);
}

static void separate_address_handles(void **state)
{
	struct srd_ah *second;

	pair_init(&p, "efa1");
	p.profile.ah_tokens = SRD_PROFILE_AH_TOKENS_UNIQUE;
	pair_open(&p);
	second = side_create_ah(&p, &p.a, 1);
	pair_write(&p, 1, 0, 64);
	assert_int_equal(p.v->destroy_ah(p.v, second), 0);
	side_expect(&p, &p.a, 1, SRD_EFA_OK);
	pair_write(&p, 2, 0, 64);
	assert_int_equal(p.v->destroy_ah(p.v, p.a.ah), 0);
	side_expect(&p, &p.a, 2, SRD_EFA_FLUSHED);
	pair_close(&p);
}

static void address_handle_knob(void **state)
{
	pair_init(&p, "efa1");
	p.profile.flush_on_ah_destroy = false;
	pair_open(&p);
	pair_write(&p, 1, 0, 64);
	assert_int_equal(p.v->destroy_ah(p.v, p.a.ah), 0);
	side_expect(&p, &p.a, 1, SRD_EFA_OK);
	pair_close(&p);
}

static void local_region_goes_under_a_request(void **state)
{
	write_four();
	assert_int_equal(p.v->dereg_mr(p.v, p.a.mr), 0);
	/* At once: nobody waits for the peer. */
	expect_four(SRD_EFA_LOCAL_ERROR_INVALID_LKEY);
	assert_int_equal(p.v->now(p.v), 0);
}

static void remote_region_goes_under_a_request(void **state)
{
	pair_write(&p, 1, 0, 64);
	assert_int_equal(p.v->dereg_mr(p.v, p.b.mr), 0);
	side_expect(&p, &p.a, 1, SRD_EFA_REMOTE_ERROR_BAD_ADDRESS);
}

static void buffer_goes_under_a_request(void **state)
{
	pair_write(&p, 1, 0, 64);
	assert_int_equal(p.v->free_buffer(p.v, p.b.buffer), 0);
	side_expect(&p, &p.a, 1, SRD_EFA_REMOTE_ERROR_BAD_ADDRESS);
	p.b.buffer = p.v->alloc_buffer(p.v, p.b.context, 64, SRD_BUFFER_REAL);
	pair_read(&p, 2, 0, 64);
	side_expect(&p, &p.a, 2, SRD_EFA_REMOTE_ERROR_BAD_ADDRESS);
}

static void own_buffer_goes_under_a_request(void **state)
{
	struct srd_buffer gone;

	pair_write(&p, 1, 0, 64);
	assert_int_equal(p.v->free_buffer(p.v, p.a.buffer), 0);
	side_expect(&p, &p.a, 1, SRD_EFA_LOCAL_ERROR_INVALID_LKEY);
	gone = (struct srd_buffer){.addr = p.a.mr->addr};
	p.a.buffer = &gone;
	pair_read(&p, 2, 0, 64);
	side_expect(&p, &p.a, 2, SRD_EFA_LOCAL_ERROR_INVALID_LKEY);
}

/* The mock cannot note where the bytes came from. */
static void no_memory_for_the_bytes(void **state)
{
	struct srd_buffer *buffer =
		p.v->alloc_buffer(p.v, p.b.context, PAIR_MEMORY, SRD_BUFFER_ORIGIN);
	struct srd_mr *mr = p.v->reg_mr(p.v, p.b.pd, buffer->addr, PAIR_MEMORY, 7);
	struct srd_buffer *real = p.b.buffer;

	assert_int_equal(p.v->dereg_mr(p.v, p.b.mr), 0);
	p.b.mr = mr;
	p.b.buffer = buffer;
	pair_write(&p, 1, 100, 64);
	srd_alloc_fail_at(1);
	side_expect(&p, &p.a, 1, SRD_EFA_LOCAL_ERROR_QP_INTERNAL_ERROR);
	srd_alloc_fail_at(0);
	pair_write(&p, 2, 100, 64);
	side_expect(&p, &p.a, 2, SRD_EFA_OK);
	assert_int_equal(p.v->free_buffer(p.v, real), 0);
}

static void peer_goes_under_a_request(void **state)
{
	pair_write(&p, 1, 0, 64);
	assert_int_equal(p.v->destroy_qp(p.v, p.b.qp), 0);
	side_expect(&p, &p.a, 1, SRD_EFA_REMOTE_ERROR_BAD_DEST_QPN);
	/* A new one gets the number: an old peer reaches it. */
	p.b.qp = side_create_qp(&p, &p.b);
	side_connect(&p, &p.b);
	pair_write(&p, 2, 0, 64);
	side_expect(&p, &p.a, 2, SRD_EFA_OK);
}

static void flush_at_every_step(void **state)
{
	/* Stop after each number of nanoseconds: before, at and behind every event. */
	for (uint64_t stop = 0; stop < 40000; stop += 400) {
		struct srd_wc wc[8];
		int n;

		pair_init(&p, "efa1");
		p.seed = stop;
		pair_open(&p);
		write_four();
		while (p.v->wait(p.v, stop) == 0)
			;
		assert_int_equal(side_modify(&p, &p.a, SRD_QPS_ERR), 0);
		n = p.v->poll_cq(p.v, p.a.cq, 8, wc);
		assert_int_equal(n, 4);
		assert_int_equal(p.v->wait(p.v, UINT64_MAX), EDEADLK);
		side_expect_none(&p, &p.a);
		pair_close(&p);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_pair, close_pair)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(error_flushes_in_posting_order),
		TEST(reset_drops_silently),
		cmocka_unit_test(reset_knob),
		TEST(destroy_flushes),
		cmocka_unit_test(destroy_knob),
		TEST(last_address_handle_aborts),
		cmocka_unit_test(first_address_handle_aborts),
		cmocka_unit_test(separate_address_handles),
		cmocka_unit_test(address_handle_knob),
		TEST(local_region_goes_under_a_request),
		TEST(remote_region_goes_under_a_request),
		TEST(buffer_goes_under_a_request),
		TEST(own_buffer_goes_under_a_request),
		TEST(no_memory_for_the_bytes),
		TEST(peer_goes_under_a_request),
		cmocka_unit_test(flush_at_every_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
