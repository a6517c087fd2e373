/* SPDX-License-Identifier: MIT */
/* Objects and attributes: what each operation of the seam makes of rdma-core's. */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <srdlab/lab.h>
#include <srdlab/pattern.h>
#include "efa.h"
#include "hw_config.h"
#include "hw_fake.h"
#include "verbs/alloc.h"

static struct srd_verbs *verbs;
static struct srd_context *context;

static int setup(void **state)
{
	struct srd_backend_options options = {0};

	fake_reset();
	if (srd_backend_find("efa")->open(&options, &verbs, NULL))
		return -1;
	context = verbs->open_device(verbs, 0, NULL);
	fake_forget();
	return context ? 0 : -1;
}

static int teardown(void **state)
{
	verbs->close(verbs);
	return fake.live || srd_alloc_live() ? -1 : 0;
}

static void device_attributes(void **state)
{
	struct srd_device_attr attr;
	struct srd_efa_device_attr efa;
	struct srd_port_attr port;
	union srd_gid gid = {{0}};

	assert_int_equal(verbs->query_device(verbs, context, &attr), 0);
	assert_int_equal(attr.max_mr_size, 96ull << 30);
	assert_int_equal(attr.vendor_id, 0x1d0f);
	assert_int_equal(attr.vendor_part_id, 0xefa1);
	assert_int_equal(attr.max_qp, 256);
	assert_int_equal(attr.max_qp_wr, 4096);
	assert_int_equal(attr.max_sge, 2);
	assert_int_equal(attr.max_sge_rd, 1);
	assert_int_equal(attr.max_cq, 512);
	assert_int_equal(attr.max_cqe, 32768);
	assert_int_equal(attr.max_mr, 262144);
	assert_int_equal(attr.max_pd, 255);
	assert_int_equal(attr.max_ah, 1024);
	assert_int_equal(attr.phys_port_cnt, 1);

	assert_int_equal(verbs->efa_query_device(verbs, context, &efa), 0);
	assert_int_equal(efa.max_sq_wr, 4096);
	assert_int_equal(efa.max_rq_wr, 32768);
	assert_int_equal(efa.max_sq_sge, 2);
	assert_int_equal(efa.max_rq_sge, 3);
	assert_int_equal(efa.inline_buf_size, 32);
	assert_int_equal(efa.inline_buf_size_ex, 32);
	assert_int_equal(efa.device_caps, 0xf);
	assert_int_equal(efa.max_rdma_size, 1 << 30);

	assert_int_equal(verbs->query_port(verbs, context, 1, &port), 0);
	assert_int_equal(port.state, SRD_PORT_ACTIVE);
	assert_int_equal(port.max_msg_sz, 8928);
	assert_int_equal(port.gid_tbl_len, 1);
	assert_int_equal(port.pkey_tbl_len, 1);
	assert_int_equal(port.lid, 0);
	assert_int_equal(verbs->query_port(verbs, context, 2, &port), EINVAL);

	assert_int_equal(verbs->query_gid(verbs, context, 1, 0, &gid), 0);
	assert_int_equal(gid.raw[0], 0xa0);
	assert_int_equal(gid.raw[15], 0xaf);
	assert_int_equal(verbs->query_gid(verbs, context, 1, 1, &gid), EINVAL);
	assert_string_equal(fake_log(), "ibv_query_device\n"
					"efadv_query_device inlen=whole\n"
					"ibv_query_port port=1\n"
					"ibv_query_port port=2\n"
					"ibv_query_gid port=1 index=0\n"
					"ibv_query_gid port=1 index=1\n");
}

/* 0: a library that is older than the headers. */
static void extended_inline_size(void **state)
{
	struct srd_efa_device_attr efa;

	assert_int_equal(verbs->efa_query_device(verbs, context, &efa), 0);
	assert_int_equal(efa.inline_buf_size_ex, 32);
	fake.inline_ex = 80;
	assert_int_equal(verbs->efa_query_device(verbs, context, &efa), 0);
	assert_int_equal(efa.inline_buf_size_ex, HAVE_INLINE_BUF_SIZE_EX ? 80 : 32);
}

/* Handles count each kind from 1; a context is busy as long as it has children. */
static void handles_and_busy_contexts(void **state)
{
	struct srd_context *second = verbs->open_device(verbs, 1, "efa_0");
	struct srd_pd *pd = verbs->alloc_pd(verbs, second);
	struct srd_cq *cq = verbs->create_cq(verbs, second, 100);
	struct srd_pd *other = verbs->alloc_pd(verbs, context);

	assert_int_equal(context->handle, 1);
	assert_int_equal(second->handle, 2);
	assert_int_equal(pd->handle, 1);
	assert_int_equal(other->handle, 2);
	assert_int_equal(cq->handle, 1);
	assert_int_equal(cq->cqe, 128);
	assert_ptr_equal(cq->context, second);
	assert_ptr_equal(pd->context, second);
	assert_int_equal(verbs->close_device(verbs, second), EBUSY);
	assert_int_equal(verbs->dealloc_pd(verbs, pd), 0);
	assert_int_equal(verbs->close_device(verbs, second), EBUSY);
	assert_int_equal(verbs->destroy_cq(verbs, cq), 0);
	assert_int_equal(verbs->close_device(verbs, second), 0);
	assert_int_equal(verbs->close_device(verbs, context), EBUSY);
	pd = verbs->alloc_pd(verbs, context);
	assert_int_equal(pd->handle, 3);
	assert_string_equal(fake_log(), "ibv_alloc_pd\n"
					"ibv_create_cq cqe=100 channel=none vector=0\n"
					"ibv_alloc_pd\n"
					"ibv_dealloc_pd\n"
					"ibv_destroy_cq\n"
					"ibv_alloc_pd\n");
}

static void queues_of_impossible_sizes_are_refused(void **state)
{
	errno = 0;
	assert_null(verbs->create_cq(verbs, context, 0));
	assert_int_equal(errno, EINVAL);
	errno = 0;
	assert_null(verbs->create_cq(verbs, context, (uint32_t)INT_MAX + 1));
	assert_int_equal(errno, EINVAL);
	assert_string_equal(fake_log(), "");
}

static void memory_region(void **state)
{
	struct srd_pd *pd = verbs->alloc_pd(verbs, context);
	struct srd_buffer *buffer = verbs->alloc_buffer(verbs, context, 100, SRD_BUFFER_REAL);
	struct srd_mr *mr;

	fake_forget();
	mr = verbs->reg_mr(verbs, pd, buffer->addr, 100,
			   SRD_ACCESS_LOCAL_WRITE | SRD_ACCESS_REMOTE_WRITE |
				   SRD_ACCESS_REMOTE_READ);
	assert_int_equal(mr->handle, 1);
	assert_ptr_equal(mr->pd, pd);
	assert_int_equal(mr->addr, buffer->addr);
	assert_int_equal(mr->length, 100);
	assert_int_equal(mr->lkey, 0x1111);
	assert_int_equal(mr->rkey, 0x2222);
	assert_int_equal(verbs->dereg_mr(verbs, mr), 0);
	assert_string_equal(fake_log(), "ibv_reg_mr length=100 iova=addr access=0x7\n"
					"ibv_dereg_mr\n");
}

static struct srd_qp *make_qp(struct srd_qp_init_attr_ex *attr)
{
	struct srd_efa_qp_init_attr efa = {.driver_qp_type = SRD_EFADV_QP_DRIVER_TYPE_SRD};

	*attr = (struct srd_qp_init_attr_ex){
		.pd = verbs->alloc_pd(verbs, context),
		.send_cq = verbs->create_cq(verbs, context, 64),
		.recv_cq = verbs->create_cq(verbs, context, 64),
		.cap = {20, 21, 1, 2, 3},
		.qp_type = SRD_QPT_DRIVER,
		.comp_mask = SRD_QP_INIT_ATTR_PD | SRD_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = SRD_QP_EX_WITH_RDMA_WRITE | SRD_QP_EX_WITH_RDMA_READ,
	};
	fake_forget();
	return verbs->create_qp_ex(verbs, context, attr, &efa);
}

static void queue_pair_creation(void **state)
{
	struct srd_qp_init_attr_ex attr;
	struct srd_qp *qp;

	fake.grant_pow2 = true;
	qp = make_qp(&attr);
	assert_int_equal(qp->handle, 1);
	assert_int_equal(qp->qp_num, 77);
	assert_int_equal(qp->state, SRD_QPS_RESET);
	assert_ptr_equal(qp->pd, attr.pd);
	assert_ptr_equal(qp->send_cq, attr.send_cq);
	assert_ptr_equal(qp->recv_cq, attr.recv_cq);
	assert_int_equal(attr.cap.max_send_wr, 32);
	assert_int_equal(attr.cap.max_recv_wr, 32);
	assert_int_equal(verbs->destroy_qp(verbs, qp), 0);
	assert_string_equal(fake_log(),
			    "efadv_create_qp_ex type=0xff driver=0 cqs=both pd=set srq=none "
			    "sig_all=0 wr=20/21 sge=1/2 inline=3 comp_mask=0x41 ops=0x11 "
			    "efa_comp_mask=0 inlen=whole\n"
			    "ibv_destroy_qp\n");
}

/* libefa rounds the depths before the step that fails. */
static void granted_depths_come_back_from_a_failure(void **state)
{
	struct srd_qp_init_attr_ex attr;

	fake.grant_pow2 = true;
	fake.fail_at = fake.calls + 4; /* domain, two completion queues, queue pair */
	fake.fail_errno = ENOMEM;
	errno = 0;
	assert_null(make_qp(&attr));
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(attr.cap.max_send_wr, 32);
}

/* It would stop the process with SIGFPE inside libefa. */
static void no_receive_entries_are_refused(void **state)
{
	struct srd_efa_qp_init_attr efa = {0};
	struct srd_qp_init_attr_ex attr = {.cap = {1, 1, 1, 0, 0}};

	errno = 0;
	assert_null(verbs->create_qp_ex(verbs, context, &attr, &efa));
	assert_int_equal(errno, EINVAL);
	assert_string_equal(fake_log(), "");
}

/* A flag that the headers have no field for cannot be given to libefa. */
static void queue_pair_flags(void **state)
{
	struct srd_efa_qp_init_attr efa = {.flags = SRD_EFADV_QP_FLAGS_UNSOLICITED_WRITE_RECV};
	struct srd_qp_init_attr_ex attr = {.cap = {1, 1, 1, 1, 0}};
	struct srd_qp *qp;

	errno = 0;
	qp = verbs->create_qp_ex(verbs, context, &attr, &efa);
	if (HAVE_QP_INIT_ATTR_FLAGS) {
		assert_non_null(qp);
		assert_int_equal(fake.qp_flags, SRD_EFADV_QP_FLAGS_UNSOLICITED_WRITE_RECV);
	} else {
		assert_null(qp);
		assert_int_equal(errno, EOPNOTSUPP);
	}
}

static void modify_and_query(void **state)
{
	struct srd_qp_init_attr_ex init;
	struct srd_qp *qp = make_qp(&init);
	struct srd_qp_attr attr = {
		.qp_state = SRD_QPS_INIT,
		.cur_qp_state = SRD_QPS_RTR,
		.qkey = 0x4242,
		.sq_psn = 0xabcdef,
		.pkey_index = 5,
		.port_num = 1,
		.rnr_retry = 6,
	};

	fake_forget();
	assert_int_equal(verbs->modify_qp(verbs, qp, &attr, 0x71), 0);
	assert_int_equal(qp->state, SRD_QPS_INIT);
	fake.fail_at = fake.calls + 1;
	fake.fail_errno = EOPNOTSUPP;
	attr.qp_state = SRD_QPS_RTR;
	assert_int_equal(verbs->modify_qp(verbs, qp, &attr, 0x81), EOPNOTSUPP);
	assert_int_equal(qp->state, SRD_QPS_INIT);
	memset(&attr, 0xff, sizeof(attr));
	assert_int_equal(verbs->query_qp(verbs, qp, &attr, SRD_QP_STATE), 0);
	assert_int_equal(attr.qp_state, SRD_QPS_INIT);
	assert_int_equal(attr.cur_qp_state, SRD_QPS_INIT);
	assert_int_equal(attr.qkey, 0x4242);
	assert_int_equal(attr.rq_psn, 11);
	assert_int_equal(attr.sq_psn, 12);
	assert_int_equal(attr.dest_qp_num, 13);
	assert_int_equal(attr.qp_access_flags, 14);
	assert_int_equal(attr.path_mtu, IBV_MTU_4096);
	assert_int_equal(attr.cap.max_send_wr, 16);
	assert_int_equal(attr.cap.max_recv_wr, 17);
	assert_int_equal(attr.cap.max_send_sge, 18);
	assert_int_equal(attr.cap.max_recv_sge, 19);
	assert_int_equal(attr.cap.max_inline_data, 20);
	assert_int_equal(attr.pkey_index, 21);
	assert_int_equal(attr.en_sqd_async_notify, 22);
	assert_int_equal(attr.sq_draining, 23);
	assert_int_equal(attr.max_rd_atomic, 24);
	assert_int_equal(attr.max_dest_rd_atomic, 25);
	assert_int_equal(attr.min_rnr_timer, 26);
	assert_int_equal(attr.port_num, 1);
	assert_int_equal(attr.timeout, 27);
	assert_int_equal(attr.retry_cnt, 28);
	assert_int_equal(attr.rnr_retry, 7);
	assert_string_equal(fake_log(),
			    "ibv_modify_qp mask=0x71 state=1 cur=2 qkey=0x4242 port=1 pkey=5 "
			    "sq_psn=11259375 rnr_retry=6\n"
			    "ibv_modify_qp mask=0x81 state=2 cur=2 qkey=0x4242 port=1 pkey=5 "
			    "sq_psn=11259375 rnr_retry=6\n"
			    "  port=0 global=0 dgid=00..00 sgid=0 hop=0 lid=0 mtu=0 dest=0x0 "
			    "rq_psn=0 dest_rd=0 rnr_timer=0\n"
			    "ibv_query_qp mask=0x1\n");
}

static void address_handle(void **state)
{
	struct srd_ah_attr attr = {
		.dgid = {{1, [15] = 2}},
		.flow_label = 3,
		.dlid = 4,
		.sgid_index = 5,
		.hop_limit = 6,
		.traffic_class = 7,
		.sl = 8,
		.is_global = 1,
		.port_num = 9,
	};
	struct srd_pd *pd = verbs->alloc_pd(verbs, context);
	struct srd_ah *ah;

	fake_forget();
	ah = verbs->create_ah(verbs, pd, &attr);
	assert_int_equal(ah->handle, 1);
	assert_ptr_equal(ah->pd, pd);
	assert_ptr_equal(ah->context, context);
	assert_int_equal(verbs->destroy_ah(verbs, ah), 0);
	assert_string_equal(fake_log(), "ibv_create_ah port=9 global=1 dgid=01..02 sgid=5 hop=6 "
					"class=7 sl=8 lid=4 flow=3\n"
					"ibv_destroy_ah\n");
}

static void close_releases_what_is_left(void **state)
{
	struct srd_qp_init_attr_ex init;
	struct srd_ah_attr attr = {.port_num = 1};
	struct srd_backend_options options = {0};

	assert_non_null(make_qp(&init));
	assert_non_null(verbs->create_ah(verbs, init.pd, &attr));
	assert_non_null(verbs->alloc_buffer(verbs, context, 1, SRD_BUFFER_REAL));
	assert_non_null(verbs->reg_mr(verbs, init.pd, 0, 1, 1));
	fake_forget();
	verbs->close(verbs);
	assert_string_equal(fake_log(), "ibv_destroy_qp\n"
					"ibv_destroy_ah\n"
					"ibv_dereg_mr\n"
					"ibv_destroy_cq\n"
					"ibv_destroy_cq\n"
					"ibv_dealloc_pd\n"
					"ibv_close_device\n");
	assert_int_equal(fake.live, 0);
	assert_int_equal(srd_backend_find("efa")->open(&options, &verbs, NULL), 0);
}

static void buffers_are_pages_of_zeros(void **state)
{
	struct srd_buffer *a = verbs->alloc_buffer(verbs, context, 10000, SRD_BUFFER_REAL);
	struct srd_buffer *empty = verbs->alloc_buffer(verbs, context, 0, SRD_BUFFER_REAL);
	uint8_t bytes[10000], zeros[10000] = {0};

	assert_int_equal(a->handle, 1);
	assert_int_equal(empty->handle, 2);
	assert_int_equal(a->addr % (uint64_t)getpagesize(), 0);
	assert_int_equal(a->length, 10000);
	assert_int_equal(verbs->read_buffer(verbs, a, 0, bytes, sizeof(bytes)), 0);
	assert_memory_equal(bytes, zeros, sizeof(bytes));
	assert_true(empty->addr);
	assert_int_equal(verbs->read_buffer(verbs, empty, 0, bytes, 1), ERANGE);
	assert_int_equal(verbs->free_buffer(verbs, a), 0);
	errno = 0;
	assert_null(verbs->alloc_buffer(verbs, context, 1, SRD_BUFFER_ORIGIN));
	assert_int_equal(errno, EOPNOTSUPP);
	fake.fail_at = fake.calls + 1;
	fake.fail_errno = ENOMEM;
	errno = 0;
	assert_null(verbs->alloc_buffer(verbs, context, 1, SRD_BUFFER_REAL));
	assert_int_equal(errno, ENOMEM);
}

static void buffers_hold_patterns(void **state)
{
	struct srd_buffer *a = verbs->alloc_buffer(verbs, context, 20000, SRD_BUFFER_REAL);
	uint8_t bytes[20000];

	assert_int_equal(verbs->fill_buffer(verbs, a, 3, 10014, 42), 0);
	verbs->read_buffer(verbs, a, 0, bytes, sizeof(bytes));
	for (uint64_t i = 0; i < sizeof(bytes); i++)
		assert_int_equal(bytes[i], i < 3 || i >= 10017 ? 0 : srd_pattern_byte(42, i));
	assert_int_equal(verbs->fill_buffer(verbs, a, 0, 20000, 0), 0);
	verbs->read_buffer(verbs, a, 5000, bytes, 1);
	assert_int_equal(bytes[0], 0);
}

static void accesses_outside_a_buffer(void **state)
{
	struct srd_buffer *a = verbs->alloc_buffer(verbs, context, 100, SRD_BUFFER_REAL);
	struct srd_buffer *b = verbs->alloc_buffer(verbs, context, 50, SRD_BUFFER_REAL);
	uint8_t bytes[200] = {0};
	uint64_t first;

	assert_int_equal(verbs->fill_buffer(verbs, a, 1, 100, 1), ERANGE);
	assert_int_equal(verbs->fill_buffer(verbs, a, UINT64_MAX, 2, 1), ERANGE);
	assert_int_equal(verbs->fill_buffer(verbs, a, 100, 0, 1), 0);
	assert_int_equal(verbs->write_buffer(verbs, a, 0, bytes, 101), ERANGE);
	assert_int_equal(verbs->read_buffer(verbs, a, 101, bytes, 0), ERANGE);
	assert_int_equal(verbs->compare_buffer(verbs, a, 0, b, 0, 51, &first), ERANGE);
	assert_int_equal(verbs->compare_buffer(verbs, b, 0, a, 0, 51, &first), ERANGE);
}

static void comparison_finds_the_first_difference(void **state)
{
	struct srd_buffer *a = verbs->alloc_buffer(verbs, context, 20000, SRD_BUFFER_REAL);
	struct srd_buffer *b = verbs->alloc_buffer(verbs, context, 20000, SRD_BUFFER_REAL);
	static const uint64_t places[] = {0, 1, 4095, 4096, 8191, 9999, 14998};
	uint64_t first;

	verbs->fill_buffer(verbs, a, 0, 20000, 7);
	verbs->fill_buffer(verbs, b, 0, 20000, 7);
	assert_int_equal(verbs->compare_buffer(verbs, a, 8, b, 8, 19992, &first), 0);
	assert_int_equal(first, 19992);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		uint8_t was, other;

		verbs->read_buffer(verbs, b, 5001 + places[i], &was, 1);
		other = (uint8_t)~was;
		verbs->write_buffer(verbs, b, 5001 + places[i], &other, 1);
		assert_int_equal(verbs->compare_buffer(verbs, a, 5001, b, 5001, 14999, &first), 0);
		assert_int_equal(first, places[i]);
		verbs->write_buffer(verbs, b, 5001 + places[i], &was, 1);
	}
}

static void time_counts_from_open(void **state)
{
	assert_int_equal(verbs->now(verbs), 0);
	fake.clock += 1500000000;
	assert_int_equal(verbs->now(verbs), 1500000000);
}

/* No nap at first; then a quarter of the idle time, a millisecond at most. */
static void waiting_backs_off(void **state)
{
	fake.clock += 1000;
	assert_int_equal(verbs->wait(verbs, UINT64_MAX), 0);
	fake.clock += 49999;
	assert_int_equal(verbs->wait(verbs, UINT64_MAX), 0);
	assert_string_equal(fake_log(), "");
	fake.clock += 1;
	assert_int_equal(verbs->wait(verbs, UINT64_MAX), 0);
	fake.clock += 37500;
	assert_int_equal(verbs->wait(verbs, UINT64_MAX), 0);
	fake.clock += 1000000000;
	assert_int_equal(verbs->wait(verbs, UINT64_MAX), 0);
	assert_string_equal(fake_log(), "nanosleep 12500\nnanosleep 25000\nnanosleep 1000000\n");
}

static void waiting_ends_at_the_deadline(void **state)
{
	assert_int_equal(verbs->wait(verbs, 0), ETIMEDOUT);
	fake.clock += 100;
	assert_int_equal(verbs->wait(verbs, 101), 0);
	fake.clock += 1000000;
	assert_int_equal(verbs->wait(verbs, 1000100), ETIMEDOUT);
	assert_int_equal(verbs->wait(verbs, 1000200), ETIMEDOUT);
	assert_string_equal(fake_log(), "nanosleep 100\n");
	assert_int_equal(verbs->now(verbs), 1000200);
}

static void store(const char *folder, const char *name, const char *text)
{
	char path[300];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int counter(const char *name, uint64_t *value)
{
	struct srd_lab command = {.kind = SRD_LAB_COUNTER, .name = name};
	int err = verbs->lab(verbs, &command);

	*value = command.value;
	return err;
}

static void counters_are_those_of_sysfs(void **state)
{
	char root[] = "/tmp/srdlab-hw-XXXXXX", folder[200], command[300];
	uint64_t value;

	assert_non_null(mkdtemp(root));
	snprintf(folder, sizeof(folder), "%s/hw_counters", root);
	assert_int_equal(mkdir(folder, 0700), 0);
	store(folder, "lifespan", "12\n");
	snprintf(folder, sizeof(folder), "%s/ports", root);
	assert_int_equal(mkdir(folder, 0700), 0);
	strcat(folder, "/1");
	assert_int_equal(mkdir(folder, 0700), 0);
	strcat(folder, "/hw_counters");
	assert_int_equal(mkdir(folder, 0700), 0);
	store(folder, "rdma_write_wrs", "18446744073709551615\n");
	store(folder, "broken", "none\n");

	snprintf(to_hw(verbs)->ibv->device->ibdev_path, sizeof(fake.sysfs), "%s", root);
	assert_int_equal(counter("rdma_write_wrs", &value), 0);
	assert_int_equal(value, UINT64_MAX);
	assert_int_equal(counter("lifespan", &value), 0);
	assert_int_equal(value, 12);
	assert_int_equal(counter("broken", &value), EIO);
	assert_int_equal(counter("no_such", &value), ENOENT);
	assert_int_equal(counter("../../hw_counters/lifespan", &value), EINVAL);
	assert_int_equal(counter("", &value), EINVAL);
	assert_int_equal(counter(NULL, &value), EINVAL);

	snprintf(command, sizeof(command), "rm -r %s", root);
	assert_int_equal(system(command), 0);
}

static void no_other_laboratory(void **state)
{
	struct srd_lab command = {.kind = SRD_LAB_HOLD};

	assert_int_equal(verbs->lab(verbs, &command), EOPNOTSUPP);
	command.kind = SRD_LAB_AUDIT;
	assert_int_equal(verbs->lab(verbs, &command), EOPNOTSUPP);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(device_attributes),
		CASE(extended_inline_size),
		CASE(handles_and_busy_contexts),
		CASE(queues_of_impossible_sizes_are_refused),
		CASE(memory_region),
		CASE(queue_pair_creation),
		CASE(granted_depths_come_back_from_a_failure),
		CASE(no_receive_entries_are_refused),
		CASE(queue_pair_flags),
		CASE(modify_and_query),
		CASE(address_handle),
		CASE(close_releases_what_is_left),
		CASE(buffers_are_pages_of_zeros),
		CASE(buffers_hold_patterns),
		CASE(accesses_outside_a_buffer),
		CASE(comparison_finds_the_first_difference),
		CASE(time_counts_from_open),
		CASE(waiting_backs_off),
		CASE(waiting_ends_at_the_deadline),
		CASE(counters_are_those_of_sysfs),
		CASE(no_other_laboratory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
