/* SPDX-License-Identifier: MIT */
/* Devices and their objects: what is granted, and each refusal with its errno, in order. */
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

static struct srd_qp_init_attr_ex good(void)
{
	return (struct srd_qp_init_attr_ex){
		.pd = p.a.pd,
		.send_cq = p.a.cq,
		.recv_cq = p.a.cq,
		.cap = {.max_send_wr = 20,
			.max_recv_wr = 100,
			.max_send_sge = 1,
			.max_recv_sge = 3},
		.qp_type = SRD_QPT_DRIVER,
		.comp_mask = SRD_QP_INIT_ATTR_PD | SRD_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = SRD_QP_EX_WITH_RDMA_WRITE | SRD_QP_EX_WITH_RDMA_READ,
	};
}

static int create(struct srd_qp_init_attr_ex *attr, struct srd_efa_qp_init_attr efa)
{
	struct srd_qp *qp;

	errno = 0;
	qp = p.v->create_qp_ex(p.v, p.a.context, attr, &efa);
	if (!qp)
		return errno;
	assert_int_equal(qp->state, SRD_QPS_RESET);
	assert_int_equal(p.v->destroy_qp(p.v, qp), 0);
	return 0;
}

#define PLAIN ((struct srd_efa_qp_init_attr){.driver_qp_type = 0})

static void depths_are_rounded(void **state)
{
	struct srd_qp_init_attr_ex attr = good();

	assert_int_equal(create(&attr, PLAIN), 0);
	assert_int_equal(attr.cap.max_send_wr, 32);
	/* 300 descriptors become 512, of which each receive takes three. */
	assert_int_equal(attr.cap.max_recv_wr, 170);
	assert_int_equal(attr.cap.max_send_sge, 1);
	attr = good();
	attr.cap.max_send_wr = 0;
	attr.cap.max_recv_wr = 0;
	attr.cap.max_recv_sge = 1;
	assert_int_equal(create(&attr, PLAIN), 0);
	assert_int_equal(attr.cap.max_send_wr, 1);
	assert_int_equal(attr.cap.max_recv_wr, 1);
}

static void attributes_in_order(void **state)
{
	struct srd_efa_qp_init_attr efa = {.comp_mask = 1, .driver_qp_type = 9, .flags = 0x8000};
	struct srd_qp_init_attr_ex attr = good();

	attr.qp_type = SRD_QPT_RC;
	attr.comp_mask = 0x80;
	attr.send_ops_flags = 0x1000;
	attr.send_cq = NULL;
	assert_int_equal(create(&attr, efa), EINVAL);
	attr.qp_type = SRD_QPT_DRIVER;
	assert_int_equal(create(&attr, efa), EINVAL);
	efa.comp_mask = 0;
	assert_int_equal(create(&attr, efa), EOPNOTSUPP);
	efa.driver_qp_type = 0;
	assert_int_equal(create(&attr, efa), EOPNOTSUPP);
	efa.flags = 0;
	assert_int_equal(create(&attr, efa), EOPNOTSUPP);
	attr.comp_mask = SRD_QP_INIT_ATTR_SEND_OPS_FLAGS;
	assert_int_equal(create(&attr, efa), EINVAL);
	attr.comp_mask |= SRD_QP_INIT_ATTR_PD;
	assert_int_equal(create(&attr, efa), EOPNOTSUPP);
	attr.send_ops_flags = SRD_QP_EX_WITH_SEND;
	assert_int_equal(create(&attr, efa), EINVAL);
	attr.send_cq = p.a.cq;
	assert_int_equal(create(&attr, efa), 0);
}

static void limits(void **state)
{
	struct srd_qp_init_attr_ex attr = good();

	attr.cap.max_send_sge = 3;
	assert_int_equal(create(&attr, PLAIN), EINVAL);
	/* Refused before anything was rounded. */
	assert_int_equal(attr.cap.max_send_wr, 20);
	attr = good();
	attr.cap.max_recv_sge = 4;
	assert_int_equal(create(&attr, PLAIN), EINVAL);
	attr.cap.max_recv_sge = 0;
	assert_int_equal(create(&attr, PLAIN), EINVAL);
	attr = good();
	attr.cap.max_send_wr = 4097;
	assert_int_equal(create(&attr, PLAIN), EINVAL);
	attr = good();
	attr.cap.max_send_wr = 4096;
	assert_int_equal(create(&attr, PLAIN), 0);
	attr = good();
	attr.cap.max_recv_wr = 32768 / 3 + 1;
	assert_int_equal(create(&attr, PLAIN), EINVAL);
	attr = good();
	attr.cap.max_inline_data = 33;
	assert_int_equal(create(&attr, PLAIN), EINVAL);
	attr.cap.max_inline_data = 32;
	assert_int_equal(create(&attr, PLAIN), 0);
	/* The wide descriptor halves what fits into the device's memory. */
	attr = good();
	attr.cap.max_send_wr = 4096;
	assert_int_equal(
		create(&attr,
		       (struct srd_efa_qp_init_attr){.flags = SRD_EFADV_QP_FLAGS_INLINE_WRITE}),
		EINVAL);
	attr.cap.max_send_wr = 2048;
	assert_int_equal(
		create(&attr,
		       (struct srd_efa_qp_init_attr){.flags = SRD_EFADV_QP_FLAGS_INLINE_WRITE}),
		0);
}

static void kernel_checks_what_was_rounded(void **state)
{
	struct srd_qp_init_attr_ex attr;

	pair_init(&p, "efa1");
	p.profile.max_sq_wr = 100;
	p.profile.min_sq_wr = 8;
	pair_open(&p);
	attr = good();
	attr.cap.max_send_wr = 65;
	assert_int_equal(create(&attr, PLAIN), EINVAL);
	/* And what was rounded is written back all the same. */
	assert_int_equal(attr.cap.max_send_wr, 128);
	attr = good();
	attr.cap.max_send_wr = 64;
	assert_int_equal(create(&attr, PLAIN), 0);
	attr.cap.max_send_wr = 1;
	assert_int_equal(create(&attr, PLAIN), 0);
	assert_int_equal(attr.cap.max_send_wr, 8);
	pair_close(&p);
}

static void capabilities(void **state)
{
	struct srd_efa_device_attr efa;
	struct srd_qp_init_attr_ex attr;

	pair_init(&p, "no_rdma");
	pair_open(&p);
	attr = good();
	attr.send_ops_flags = SRD_QP_EX_WITH_RDMA_READ;
	assert_int_equal(create(&attr, PLAIN), EOPNOTSUPP);
	attr.send_ops_flags = SRD_QP_EX_WITH_RDMA_WRITE;
	assert_int_equal(create(&attr, PLAIN), EOPNOTSUPP);
	attr.send_ops_flags = SRD_QP_EX_WITH_SEND | SRD_QP_EX_WITH_SEND_WITH_IMM;
	assert_int_equal(create(&attr, PLAIN), 0);
	assert_null(p.v->reg_mr(p.v, p.a.pd, p.a.buffer->addr, 8,
				SRD_ACCESS_LOCAL_WRITE | SRD_ACCESS_REMOTE_WRITE));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_null(p.v->reg_mr(p.v, p.a.pd, p.a.buffer->addr, 8, SRD_ACCESS_REMOTE_READ));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(p.v->efa_query_device(p.v, p.a.context, &efa), 0);
	assert_int_equal(efa.max_rdma_size, 0);
	assert_int_equal(efa.device_caps & SRD_EFADV_DEVICE_ATTR_CAPS_RDMA_READ, 0);
	pair_close(&p);
}

static void device_limits(void **state)
{
	struct srd_efa_device_attr efa;
	struct srd_device_attr attr;
	struct srd_port_attr port;
	union srd_gid a, b;

	assert_int_equal(p.v->query_device(p.v, p.a.context, &attr), 0);
	assert_int_equal(attr.max_mr_size, 96ull << 30);
	assert_int_equal(attr.max_qp_wr, 4096);
	assert_int_equal(attr.max_sge, 2);
	assert_int_equal(attr.vendor_id, 0x1d0f);
	assert_int_equal(attr.vendor_part_id, 0xefa1);
	assert_int_equal(p.v->efa_query_device(p.v, p.a.context, &efa), 0);
	assert_int_equal(efa.max_rdma_size, 1u << 30);
	assert_int_equal(efa.device_caps, 15);
	assert_int_equal(p.v->query_port(p.v, p.a.context, 1, &port), 0);
	assert_int_equal(port.max_msg_sz, 8928);
	assert_int_equal(port.state, SRD_PORT_ACTIVE);
	assert_int_equal(p.v->query_port(p.v, p.a.context, 2, &port), EINVAL);
	assert_int_equal(p.v->query_gid(p.v, p.a.context, 1, 1, &a), EINVAL);
	assert_int_equal(p.v->query_gid(p.v, p.a.context, 1, 0, &a), 0);
	assert_int_equal(p.v->query_gid(p.v, p.b.context, 1, 0, &b), 0);
	assert_memory_not_equal(&a, &b, sizeof(a));
	assert_null(p.v->open_device(p.v, 0, "no such device"));
	assert_int_equal(errno, ENODEV);
	assert_null(p.v->open_device(p.v, 100000, NULL));
	assert_int_equal(errno, EINVAL);
}

static void memory_regions(void **state)
{
	static const struct {
		uint64_t offset, length;
		uint32_t access;
		int error;
	} cases[] = {
		{0, 4096, 0, 0},
		{100, 1, SRD_ACCESS_LOCAL_WRITE, 0},
		{0, PAIR_MEMORY, 7, 0},
		{0, 4096, SRD_ACCESS_REMOTE_WRITE, EINVAL},
		{0, 4096, SRD_ACCESS_REMOTE_READ, 0},
		{0, 4096, SRD_ACCESS_LOCAL_WRITE | SRD_ACCESS_REMOTE_ATOMIC, EOPNOTSUPP},
		{0, 4096, SRD_ACCESS_MW_BIND, EOPNOTSUPP},
		{0, 4096, SRD_ACCESS_ZERO_BASED, EOPNOTSUPP},
		{0, 4096, SRD_ACCESS_ON_DEMAND, EOPNOTSUPP},
		{0, 4096, SRD_ACCESS_HUGETLB, EOPNOTSUPP},
		{0, 4096, 1 << 20, 0}, /* relaxed ordering is only a wish */
		{0, 0, 0, EINVAL},
		{1, 0, 0, 0}, /* one page is touched */
		{0, PAIR_MEMORY + 1, 0, EFAULT},
		{0, UINT64_MAX, 0, EINVAL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct srd_mr *mr;

		errno = 0;
		mr = p.v->reg_mr(p.v, p.a.pd, p.a.buffer->addr + cases[i].offset, cases[i].length,
				 cases[i].access);
		assert_int_equal(errno, cases[i].error);
		assert_int_equal(!mr, !!cases[i].error);
		if (!mr)
			continue;
		assert_int_equal(mr->lkey, mr->rkey);
		assert_int_equal(mr->lkey & 0xff000000, 0);
		assert_int_equal(p.v->dereg_mr(p.v, mr), 0);
	}
}

static void region_too_long(void **state)
{
	pair_init(&p, "efa1");
	p.profile.max_mr_pages = 16;
	pair_open(&p);
	assert_null(p.v->reg_mr(p.v, p.a.pd, p.a.buffer->addr + 1, PAIR_MEMORY, 0));
	assert_int_equal(errno, EFAULT);
	/* No more is looked at than a region can have. */
	assert_null(p.v->reg_mr(p.v, p.a.pd, p.a.buffer->addr, UINT64_C(1) << 46, 0));
	assert_int_equal(errno, EINVAL);
	assert_non_null(p.v->reg_mr(p.v, p.a.pd, p.a.buffer->addr + 1, PAIR_MEMORY - 1, 0));
	p.v->close(p.v);
	p.profile.max_mr_pages = 17;
	pair_open(&p);
	p.v->close(p.v);
}

static void keys_are_not_used_again_soon(void **state)
{
	uint32_t last = 0;

	for (int i = 0; i < 40; i++) {
		struct srd_mr *mr = p.v->reg_mr(p.v, p.a.pd, p.a.buffer->addr, 8, 0);

		assert_int_not_equal(mr->lkey, last);
		assert_int_not_equal(mr->lkey, 0);
		last = mr->lkey;
		assert_int_equal(p.v->dereg_mr(p.v, mr), 0);
	}
}

static void buffers(void **state)
{
	struct srd_buffer *b = p.a.buffer;
	uint64_t difference;
	char bytes[8];

	assert_null(p.v->alloc_buffer(p.v, p.a.context, 1ull << 60, SRD_BUFFER_REAL));
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(p.v->fill_buffer(p.v, b, 1, PAIR_MEMORY, 1), ERANGE);
	assert_int_equal(p.v->write_buffer(p.v, b, PAIR_MEMORY + 1, bytes, 0), ERANGE);
	assert_int_equal(p.v->read_buffer(p.v, b, UINT64_MAX, bytes, 2), ERANGE);
	assert_int_equal(p.v->compare_buffer(p.v, b, 0, b, 9, PAIR_MEMORY, &difference), ERANGE);
	assert_int_equal(p.v->compare_buffer(p.v, b, 9, b, 0, PAIR_MEMORY, &difference), ERANGE);
	assert_int_equal(p.v->write_buffer(p.v, b, PAIR_MEMORY, bytes, 0), 0);
}

static void one_device(void **state)
{
	struct srd_device_info list[2];

	assert_int_equal(srd_backend_find("mock")->devices(NULL, 0, NULL), 1);
	assert_int_equal(srd_backend_find("mock")->devices(list, 2, NULL), 1);
	assert_string_equal(list[0].name, "mock0");
}

static void completion_queues(void **state)
{
	struct srd_cq *cq;

	assert_null(p.v->create_cq(p.v, p.a.context, 0));
	assert_int_equal(errno, EINVAL);
	assert_null(p.v->create_cq(p.v, p.a.context, 32769));
	assert_int_equal(errno, EINVAL);
	assert_null(p.v->create_cq(p.v, p.a.context, UINT32_MAX));
	assert_int_equal(errno, EINVAL);
	cq = p.v->create_cq(p.v, p.a.context, 32768);
	assert_int_equal(cq->cqe, 32768);
	assert_int_equal(p.v->destroy_cq(p.v, cq), 0);
	cq = p.v->create_cq(p.v, p.a.context, 771);
	assert_int_equal(cq->cqe, 1024);
	assert_int_equal(p.v->destroy_cq(p.v, cq), 0);
	assert_int_equal(p.v->destroy_cq(p.v, p.a.cq), EBUSY);
}

static void address_handles(void **state)
{
	struct srd_ah_attr attr = {.is_global = 1, .port_num = 1};

	assert_int_equal(p.v->query_gid(p.v, p.b.context, 1, 0, &attr.dgid), 0);
	attr.port_num = 2;
	assert_null(p.v->create_ah(p.v, p.a.pd, &attr));
	assert_int_equal(errno, EINVAL);
	attr.port_num = 1;
	attr.is_global = 0;
	assert_null(p.v->create_ah(p.v, p.a.pd, &attr));
	assert_int_equal(errno, EINVAL);
	attr.is_global = 1;
	attr.sgid_index = 1;
	assert_null(p.v->create_ah(p.v, p.a.pd, &attr));
	assert_int_equal(errno, EINVAL);
}

/* Each has an address of its own, and all reach the host's memory. */
static void a_host_has_several_devices(void **state)
{
	static const char *const wrong[] = {"mock",   "mock01",  "mock1x",  "mock 1",
					    "mock-1", "mock999", "rdmap0s6"};
	struct srd_context *second = p.v->open_device(p.v, 0, "mock1");
	struct srd_context *again = p.v->open_device(p.v, 0, "mock1");
	struct srd_context *other = p.v->open_device(p.v, 1, "mock1");
	union srd_gid gid[3];
	struct srd_pd *pd;
	struct srd_mr *mr;

	assert_non_null(second);
	assert_non_null(other);
	assert_string_equal(second->name, "mock1");
	assert_int_equal(second->host, again->host);
	assert_int_not_equal(second->host, other->host);
	assert_int_equal(p.v->query_gid(p.v, p.a.context, 1, 0, &gid[0]), 0);
	assert_int_equal(p.v->query_gid(p.v, second, 1, 0, &gid[1]), 0);
	assert_int_equal(p.v->query_gid(p.v, other, 1, 0, &gid[2]), 0);
	assert_memory_not_equal(&gid[0], &gid[1], sizeof(gid[0]));
	assert_memory_not_equal(&gid[1], &gid[2], sizeof(gid[0]));
	pd = p.v->alloc_pd(p.v, second);
	mr = p.v->reg_mr(p.v, pd, p.a.buffer->addr, 64, SRD_ACCESS_LOCAL_WRITE);
	assert_non_null(mr);
	assert_int_equal(p.v->dereg_mr(p.v, mr), 0);
	assert_null(p.v->reg_mr(p.v, pd, p.b.buffer->addr, 64, SRD_ACCESS_LOCAL_WRITE));
	assert_int_equal(p.v->dealloc_pd(p.v, pd), 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_null(p.v->open_device(p.v, 0, wrong[i]));
		assert_int_equal(errno, ENODEV);
	}
	assert_int_equal(p.v->close_device(p.v, second), 0);
	assert_int_equal(p.v->close_device(p.v, again), 0);
	assert_int_equal(p.v->close_device(p.v, other), 0);
}

static void busy_until_users_are_gone(void **state)
{
	struct srd_context *context = p.v->open_device(p.v, 0, "mock0");
	struct srd_pd *pd = p.v->alloc_pd(p.v, context);
	struct srd_ah *ah;

	assert_int_equal(p.v->close_device(p.v, context), EBUSY);
	ah = p.a.ah;
	assert_int_equal(p.v->dealloc_pd(p.v, p.a.pd), EBUSY);
	assert_int_equal(p.v->dealloc_pd(p.v, pd), 0);
	assert_int_equal(p.v->close_device(p.v, context), 0);
	assert_int_equal(p.v->close_device(p.v, p.a.context), EBUSY);

	assert_int_equal(p.v->destroy_qp(p.v, p.a.qp), 0);
	assert_int_equal(p.v->dealloc_pd(p.v, p.a.pd), EBUSY);
	assert_int_equal(p.v->destroy_ah(p.v, ah), 0);
	assert_int_equal(p.v->dealloc_pd(p.v, p.a.pd), EBUSY);
	assert_int_equal(p.v->dereg_mr(p.v, p.a.mr), 0);
	assert_int_equal(p.v->dealloc_pd(p.v, p.a.pd), 0);
	assert_int_equal(p.v->destroy_cq(p.v, p.a.cq), 0);
	assert_int_equal(p.v->close_device(p.v, p.a.context), 0);
}

static void tables_are_full(void **state)
{
	struct srd_qp_init_attr_ex attr;
	struct srd_efa_qp_init_attr efa = PLAIN;
	int n = 0;

	pair_init(&p, "small");
	pair_open(&p);
	while (p.v->alloc_pd(p.v, p.a.context))
		n++;
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(n, 3);
	for (n = 0; p.v->create_cq(p.v, p.a.context, 4); n++)
		;
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(n, 15);
	for (n = 0; p.v->reg_mr(p.v, p.a.pd, p.a.buffer->addr, 8, 0); n++)
		;
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(n, 63);
	attr = good();
	attr.cap.max_send_wr = 16;
	attr.cap.max_recv_wr = 5;
	for (n = 0; p.v->create_qp_ex(p.v, p.a.context, &attr, &efa); n++)
		attr.cap.max_recv_wr = 5;
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(n, 7);
	/* A region of a peer takes the last place there, not here. */
	assert_non_null(p.v->reg_mr(p.v, p.b.pd, p.b.buffer->addr, 8, 0));
	pair_close(&p);
}

static void no_more_address_handles(void **state)
{
	struct srd_ah_attr attr = {.is_global = 1, .port_num = 1};
	int n;

	pair_init(&p, "small");
	pair_open(&p);
	assert_int_equal(p.v->query_gid(p.v, p.b.context, 1, 0, &attr.dgid), 0);
	for (n = 0; p.v->create_ah(p.v, p.a.pd, &attr); n++)
		;
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(n, 7);
	pair_close(&p);
}

static void query_fills_everything(void **state)
{
	struct srd_qp_attr attr;

	memset(&attr, 0xff, sizeof(attr));
	assert_int_equal(p.v->query_qp(p.v, p.a.qp, &attr, SRD_QP_QKEY), 0);
	assert_int_equal(attr.qp_state, SRD_QPS_RTS);
	assert_int_equal(attr.qkey, PAIR_QKEY);
	assert_int_equal(attr.port_num, 1);
	assert_int_equal(attr.rnr_retry, 7);
	assert_int_equal(attr.cap.max_send_wr, 16);
	assert_int_equal(attr.cur_qp_state, 0);
	assert_int_equal(attr.dest_qp_num, 0);
	assert_int_equal(p.v->query_qp(p.v, p.a.qp, &attr, SRD_QP_AV), EOPNOTSUPP);
	assert_int_equal(p.v->query_qp(p.v, p.a.qp, &attr, SRD_QP_RATE_LIMIT), EOPNOTSUPP);
}

/* The driver believes a claimed state; the device does not start from one it is not in. */
static void claimed_state(void **state)
{
	struct srd_qp_attr attr = {.qp_state = SRD_QPS_RTS, .cur_qp_state = SRD_QPS_RTR};

	assert_int_equal(
		p.v->modify_qp(p.v, p.a.qp, &attr, SRD_QP_STATE | SRD_QP_CUR_STATE | SRD_QP_SQ_PSN),
		EINVAL);
	attr.cur_qp_state = SRD_QPS_RTS;
	assert_int_equal(p.v->modify_qp(p.v, p.a.qp, &attr, SRD_QP_STATE | SRD_QP_CUR_STATE), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_pair, close_pair)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(depths_are_rounded),
		TEST(attributes_in_order),
		TEST(limits),
		cmocka_unit_test(kernel_checks_what_was_rounded),
		cmocka_unit_test(capabilities),
		TEST(device_limits),
		TEST(memory_regions),
		cmocka_unit_test(region_too_long),
		TEST(keys_are_not_used_again_soon),
		TEST(buffers),
		TEST(one_device),
		TEST(completion_queues),
		TEST(address_handles),
		TEST(a_host_has_several_devices),
		TEST(busy_until_users_are_gone),
		cmocka_unit_test(tables_are_full),
		cmocka_unit_test(no_more_address_handles),
		TEST(query_fills_everything),
		TEST(claimed_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
