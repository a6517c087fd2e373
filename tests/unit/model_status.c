/* SPDX-License-Identifier: MIT */
/* Every completion status that the model comes to by itself. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "mock_pair.h"

/* One write whose parts a test can spoil. */
struct request {
	uint32_t lkey, rkey, qpn, qkey, length;
	uint64_t addr, remote_addr;
	struct srd_ah *ah;
	bool read;
};

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

static struct request good(void)
{
	return (struct request){
		.lkey = p.a.mr->lkey,
		.rkey = p.b.mr->rkey,
		.qpn = p.b.qp->qp_num,
		.qkey = PAIR_QKEY,
		.length = 4096,
		.addr = p.a.buffer->addr,
		.remote_addr = p.b.buffer->addr,
		.ah = p.a.ah,
	};
}

static void post(const struct request *r, uint64_t wr_id)
{
	struct srd_verbs *v = p.v;

	p.a.qp->wr_id = wr_id;
	p.a.qp->wr_flags = SRD_SEND_SIGNALED;
	v->wr_start(v, p.a.qp);
	if (r->read)
		v->wr_rdma_read(v, p.a.qp, r->rkey, r->remote_addr);
	else
		v->wr_rdma_write(v, p.a.qp, r->rkey, r->remote_addr);
	v->wr_set_sge(v, p.a.qp, r->lkey, r->addr, r->length);
	if (r->ah)
		v->wr_set_ud_addr(v, p.a.qp, r->ah, r->qpn, r->qkey);
	assert_int_equal(v->wr_complete(v, p.a.qp), 0);
}

/* The request fails with STATUS; the queue pair stays usable and its neighbours whole. */
static void expect(const struct request *bad, enum srd_efa_status status)
{
	struct srd_qp_attr attr;
	struct request ok = good();

	post(bad, 77);
	side_expect(&p, &p.a, 77, status);
	assert_int_equal(p.v->query_qp(p.v, p.a.qp, &attr, SRD_QP_STATE), 0);
	assert_int_equal(attr.qp_state, SRD_QPS_RTS);
	post(&ok, 78);
	side_expect(&p, &p.a, 78, SRD_EFA_OK);
}

static void bad_lkey(void **state)
{
	struct request r = good();
	struct srd_mr *weak;

	r.lkey ^= 0x10;
	expect(&r, SRD_EFA_LOCAL_ERROR_INVALID_LKEY);
	/* The descriptor has 24 bits for it: the upper eight are not seen. */
	r.lkey = p.a.mr->lkey | 0x5a000000;
	expect(&r, SRD_EFA_OK);

	r = good();
	r.addr += PAIR_MEMORY - 4095;
	expect(&r, SRD_EFA_LOCAL_ERROR_INVALID_LKEY);
	r.addr = p.a.buffer->addr - 1;
	expect(&r, SRD_EFA_LOCAL_ERROR_INVALID_LKEY);

	/* A write only reads local memory, a read writes it. */
	weak = p.v->reg_mr(p.v, p.a.pd, p.a.buffer->addr, 4096, 0);
	assert_non_null(weak);
	r = good();
	r.lkey = weak->lkey;
	expect(&r, SRD_EFA_OK);
	r.read = true;
	expect(&r, SRD_EFA_LOCAL_ERROR_INVALID_LKEY);
}

static void key_of_another_domain(void **state)
{
	struct srd_pd *pd = p.v->alloc_pd(p.v, p.a.context);
	struct srd_mr *mr = p.v->reg_mr(p.v, pd, p.a.buffer->addr, 4096, 1);
	struct request r = good();

	r.lkey = mr->lkey;
	expect(&r, SRD_EFA_LOCAL_ERROR_INVALID_LKEY);
	assert_int_equal(p.v->dealloc_pd(p.v, pd), EBUSY);
	assert_int_equal(p.v->dereg_mr(p.v, mr), 0);
	assert_int_equal(p.v->dealloc_pd(p.v, pd), 0);
}

static void bad_rkey(void **state)
{
	struct request r = good();
	struct srd_mr *mr;

	r.rkey ^= 1;
	expect(&r, SRD_EFA_REMOTE_ERROR_BAD_ADDRESS);
	/* All 32 bits of it count. */
	r.rkey = p.b.mr->rkey | 0x01000000;
	expect(&r, SRD_EFA_REMOTE_ERROR_BAD_ADDRESS);
	r = good();
	r.remote_addr += PAIR_MEMORY - 4095;
	expect(&r, SRD_EFA_REMOTE_ERROR_BAD_ADDRESS);
	r.read = true;
	expect(&r, SRD_EFA_REMOTE_ERROR_BAD_ADDRESS);

	mr = p.v->reg_mr(p.v, p.b.pd, p.b.buffer->addr, 4096, SRD_ACCESS_LOCAL_WRITE);
	r = good();
	r.rkey = mr->rkey;
	expect(&r, SRD_EFA_REMOTE_ERROR_BAD_ADDRESS);
	r.read = true;
	expect(&r, SRD_EFA_REMOTE_ERROR_BAD_ADDRESS);
	assert_int_equal(p.v->dereg_mr(p.v, mr), 0);
	/* The key of a region that is gone, even with its place taken again. */
	mr = p.v->reg_mr(p.v, p.b.pd, p.b.buffer->addr, 4096, 7);
	expect(&r, SRD_EFA_REMOTE_ERROR_BAD_ADDRESS);
	assert_int_equal(p.v->dereg_mr(p.v, mr), 0);
}

static void bad_length(void **state)
{
	struct srd_buffer *big_a = p.v->alloc_buffer(p.v, p.a.context, 1 << 20, SRD_BUFFER_ORIGIN);
	struct srd_buffer *big_b = p.v->alloc_buffer(p.v, p.b.context, 1 << 20, SRD_BUFFER_ORIGIN);
	struct request r = good();

	r.addr = big_a->addr;
	r.remote_addr = big_b->addr;
	r.lkey = p.v->reg_mr(p.v, p.a.pd, big_a->addr, 1 << 20, 7)->lkey;
	r.rkey = p.v->reg_mr(p.v, p.b.pd, big_b->addr, 1 << 20, 7)->rkey;
	r.length = 4096;
	expect(&r, SRD_EFA_OK);
	r.length = 4097;
	expect(&r, SRD_EFA_LOCAL_ERROR_BAD_LENGTH);
}

static int open_small(void **state)
{
	pair_init(&p, "small");
	pair_open(&p);
	return 0;
}

static void bad_address_handle(void **state)
{
	struct request r = good();

	/* Without set_ud_addr libefa names handle 0, which no device gives out. */
	r.ah = NULL;
	expect(&r, SRD_EFA_LOCAL_ERROR_INVALID_AH);
}

static void bad_destination(void **state)
{
	struct request r = good();

	r.qpn = p.b.qp->qp_num + 1;
	expect(&r, SRD_EFA_REMOTE_ERROR_BAD_DEST_QPN);
	/* Sixteen bits travel. */
	r.qpn = p.b.qp->qp_num | 0x10000;
	expect(&r, SRD_EFA_OK);
	r.qpn = 0;
	expect(&r, SRD_EFA_REMOTE_ERROR_BAD_DEST_QPN);
}

static void destination_in_each_state(void **state)
{
	struct request r = good();
	struct side b = p.b;

	b.qp = side_create_qp(&p, &p.b);
	r.qpn = b.qp->qp_num;
	expect(&r, SRD_EFA_REMOTE_ERROR_BAD_DEST_QPN);
	assert_int_equal(side_modify(&p, &b, SRD_QPS_INIT), 0);
	expect(&r, SRD_EFA_REMOTE_ERROR_BAD_DEST_QPN);
	assert_int_equal(side_modify(&p, &b, SRD_QPS_RTR), 0);
	expect(&r, SRD_EFA_OK);
	assert_int_equal(side_modify(&p, &b, SRD_QPS_RTS), 0);
	expect(&r, SRD_EFA_OK);
	assert_int_equal(side_modify(&p, &b, SRD_QPS_SQD), 0);
	expect(&r, SRD_EFA_OK);
	assert_int_equal(side_modify(&p, &b, SRD_QPS_ERR), 0);
	expect(&r, SRD_EFA_REMOTE_ERROR_BAD_DEST_QPN);
	assert_int_equal(p.v->destroy_qp(p.v, b.qp), 0);
	expect(&r, SRD_EFA_REMOTE_ERROR_BAD_DEST_QPN);
}

static void unknown_peer(void **state)
{
	struct request r = good();

	assert_int_equal(p.v->destroy_ah(p.v, p.b.ah), 0);
	post(&r, 1);
	side_expect(&p, &p.a, 1, SRD_EFA_REMOTE_ERROR_UNKNOWN_PEER);
	p.b.ah = side_create_ah(&p, &p.b, 0);
	expect(&r, SRD_EFA_OK);
}

static void unknown_peer_knob(void **state)
{
	pair_init(&p, "efa1");
	p.profile.unknown_peer_check = false;
	pair_open(&p);
	assert_int_equal(p.v->destroy_ah(p.v, p.b.ah), 0);
	pair_write(&p, 1, 0, 64);
	side_expect(&p, &p.a, 1, SRD_EFA_OK);
	pair_close(&p);
}

static void queue_key_mismatch(void **state)
{
	struct request r = good();
	uint64_t start;

	/* Nothing ever came back from this peer. */
	r.qkey++;
	start = p.v->now(p.v);
	post(&r, 1);
	side_expect(&p, &p.a, 1, SRD_EFA_LOCAL_ERROR_UNREACH_REMOTE);
	assert_int_equal(p.v->now(p.v) - start, p.profile.unresponsive_timeout);
	assert_int_equal(lab_counter(&p, 1, "qkey_violations"), 1);
	/* Now something did. */
	pair_write(&p, 2, 0, 64);
	side_expect(&p, &p.a, 2, SRD_EFA_OK);
	expect(&r, SRD_EFA_LOCAL_ERROR_UNRESP_REMOTE);
}

static void queue_key_knobs(void **state)
{
	struct request r;

	pair_init(&p, "efa1");
	p.profile.qkey_mismatch = SRD_PROFILE_QKEY_MISMATCH_BAD_QPN;
	pair_open(&p);
	r = good();
	r.qkey++;
	expect(&r, SRD_EFA_REMOTE_ERROR_BAD_DEST_QPN);
	pair_close(&p);

	pair_init(&p, "efa1");
	p.profile.qkey_mismatch = SRD_PROFILE_QKEY_MISMATCH_NEVER;
	pair_open(&p);
	r = good();
	r.qkey++;
	post(&r, 1);
	assert_int_equal(p.v->wait(p.v, UINT64_MAX), EDEADLK);
	assert_int_equal(lab_locate(&p, p.a.qp, 1), SRD_PLACE_QKEY);
	pair_close(&p);
}

static void host_that_is_not_there(void **state)
{
	struct srd_ah_attr attr = {.is_global = 1, .port_num = 1};
	struct request r = good();

	assert_int_equal(p.v->query_gid(p.v, p.a.context, 1, 0, &attr.dgid), 0);
	attr.dgid.raw[15] = 200;
	r.ah = p.v->create_ah(p.v, p.a.pd, &attr);
	assert_non_null(r.ah);
	expect(&r, SRD_EFA_LOCAL_ERROR_UNREACH_REMOTE);
	attr.dgid.raw[0] = 0;
	assert_null(p.v->create_ah(p.v, p.a.pd, &attr));
	assert_int_equal(errno, EINVAL);
}

static void loopback(void **state)
{
	struct request r = good();
	struct side other = p.a;

	other.qp = side_create_qp(&p, &p.a);
	side_connect(&p, &other);
	r.ah = side_create_ah(&p, &p.a, 0);
	r.qpn = other.qp->qp_num;
	r.rkey = p.a.mr->rkey;
	r.remote_addr = p.a.buffer->addr + 8192;
	expect(&r, SRD_EFA_OK);
}

static void loopback_knob(void **state)
{
	struct request r;

	pair_init(&p, "efa1");
	p.profile.loopback = false;
	pair_open(&p);
	r = good();
	r.ah = side_create_ah(&p, &p.a, 0);
	post(&r, 1);
	assert_int_equal(p.v->wait(p.v, UINT64_MAX), EDEADLK);
	pair_close(&p);
}

static void empty_request_and_keys(void **state)
{
	struct request r = good();

	r.length = 0;
	r.lkey = 0xffffff;
	r.rkey = 0xffffff;
	expect(&r, SRD_EFA_OK);
	r.read = true;
	expect(&r, SRD_EFA_OK);
}

static void empty_request_knob(void **state)
{
	struct request r;

	pair_init(&p, "efa1");
	p.profile.zero_length_checks_key = true;
	pair_open(&p);
	r = good();
	r.length = 0;
	expect(&r, SRD_EFA_OK);
	r.rkey = 0xffffff;
	expect(&r, SRD_EFA_REMOTE_ERROR_BAD_ADDRESS);
	r.lkey = 0xffffff;
	expect(&r, SRD_EFA_LOCAL_ERROR_INVALID_LKEY);
	pair_close(&p);
}

static void partial_placement(void **state)
{
	struct request r = good();
	struct srd_mr *mr = p.v->reg_mr(p.v, p.b.pd, p.b.buffer->addr, 40960, 7);
	uint64_t same, whole = 0;
	uint8_t byte;

	/* The last of eight packets does not fit: some of the others may be there. */
	r.rkey = mr->rkey;
	r.length = 65536;
	expect(&r, SRD_EFA_REMOTE_ERROR_BAD_ADDRESS);
	for (uint64_t at = 4096 * 2; at + 8928 <= 40960; at += 8928) {
		assert_int_equal(
			p.v->compare_buffer(p.v, p.a.buffer, at, p.b.buffer, at, 64, &same), 0);
		whole += same == 64;
	}
	assert_in_range(whole, 0, 4);
	assert_int_equal(p.v->read_buffer(p.v, p.b.buffer, 40960, &byte, 1), 0);
	assert_int_equal(byte, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_pair, close_pair)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(bad_lkey),
		TEST(key_of_another_domain),
		TEST(bad_rkey),
		cmocka_unit_test_setup_teardown(bad_length, open_small, close_pair),
		TEST(bad_address_handle),
		TEST(bad_destination),
		TEST(destination_in_each_state),
		TEST(unknown_peer),
		cmocka_unit_test(unknown_peer_knob),
		TEST(queue_key_mismatch),
		cmocka_unit_test(queue_key_knobs),
		TEST(host_that_is_not_there),
		TEST(loopback),
		cmocka_unit_test(loopback_knob),
		TEST(empty_request_and_keys),
		cmocka_unit_test(empty_request_knob),
		TEST(partial_placement),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
