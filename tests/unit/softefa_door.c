/* SPDX-License-Identifier: MIT */
/* The door of the software device, from inside: calls as a library makes them, and rings. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>

#include "../fuzz/softefa.h"
#include "softefa/efa_abi.h"
#include "softefa/event.h"
#include "softefa/guard.h"
#include "softefa/memory.h"
#include "softefa/ring.h"

#define QKEY    0x11
#define ENTRIES 16u

/* Under other names in the preloaded library: its descriptors. */
static struct soft_object *channels[64];

struct soft_object *soft_channel_of(int fd)
{
	return fd >= 0 && fd < 64 ? channels[fd] : NULL;
}

void soft_channel_note(int fd, struct soft_object *channel)
{
	if (fd < 64)
		channels[fd] = channel;
}

void soft_wrap_qp(struct soft_object *qp)
{
}

void soft_unwrap_qp(uint32_t handle)
{
}

/* A call that is put together attribute by attribute; what it points to outlives it, for sweep. */
static uint64_t words[(sizeof(struct ib_uverbs_ioctl_hdr) +
		       (SOFT_MAX_ATTRS + 1) * sizeof(struct ib_uverbs_attr)) /
		      8];
static struct ib_uverbs_ioctl_hdr *const header = (struct ib_uverbs_ioctl_hdr *)words;

static void begin(uint16_t object, uint16_t method)
{
	memset(words, 0, sizeof(words));
	header->object_id = object;
	header->method_id = method;
}

static struct ib_uverbs_attr *add(uint16_t id, uint16_t len, uint64_t data)
{
	struct ib_uverbs_attr *attr = &header->attrs[header->num_attrs++];

	*attr = (struct ib_uverbs_attr){.attr_id = id, .len = len, .data = data};
	return attr;
}

static void add_bytes(uint16_t id, const void *bytes, uint16_t len)
{
	struct ib_uverbs_attr *attr = add(id, len, (uintptr_t)bytes);

	if (len <= 8) {
		attr->data = 0;
		memcpy(&attr->data, bytes, len);
	}
}

static int go(void)
{
	struct soft_call call = {.file = FUZZ_FILE};
	int err;

	header->length = (uint16_t)(sizeof(*header) + header->num_attrs * sizeof(header->attrs[0]));
	err = soft_call_read(&call, (uintptr_t)header);
	return err ? err : soft_command(&call);
}

/* Legacy command NUMBER with its core and driver parts. */
static int legacy(uint32_t number, const void *in, uint16_t in_len, void *out, uint16_t out_len,
		  void *driver, uint16_t driver_len)
{
	begin(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
	add_bytes(UVERBS_ATTR_WRITE_CMD, &number, 4);
	if (in)
		add_bytes(UVERBS_ATTR_CORE_IN, in, in_len);
	if (out)
		add(UVERBS_ATTR_CORE_OUT, out_len, (uintptr_t)out);
	if (driver)
		add(UVERBS_ATTR_UHW_OUT, driver_len, (uintptr_t)driver);
	return go();
}

static int destroy(uint16_t object, uint16_t method, uint64_t handle)
{
	uint64_t reported;

	begin(object, method);
	add(0, 0, handle);
	add(1, 8, (uintptr_t)&reported);
	return go();
}

static uint32_t new_pd(void)
{
	struct ib_uverbs_alloc_pd_resp r;
	struct efa_ibv_alloc_pd_resp efa;

	assert_int_equal(legacy(IB_USER_VERBS_CMD_ALLOC_PD, NULL, 0, &r, sizeof(r), &efa, 8), 0);
	assert_true(efa.pdn > 0);
	return r.pd_handle;
}

static int reg_mr(uint32_t pd, uint64_t start, uint64_t length, uint64_t iova, uint32_t access,
		  struct ib_uverbs_reg_mr_resp *r)
{
	static struct ib_uverbs_reg_mr in;

	in = (struct ib_uverbs_reg_mr){.start = start,
				       .length = length,
				       .hca_va = iova,
				       .pd_handle = pd,
				       .access_flags = access};
	return legacy(IB_USER_VERBS_CMD_REG_MR, &in, sizeof(in), r, sizeof(*r), NULL, 0);
}

static int new_ah(uint32_t pd, const union srd_gid *gid, struct ib_uverbs_create_ah_resp *r,
		  struct efa_ibv_create_ah_resp *efa)
{
	static struct ib_uverbs_create_ah in;

	in = (struct ib_uverbs_create_ah){.pd_handle = pd, .attr = {.is_global = 1, .port_num = 1}};
	memcpy(in.attr.grh.dgid, gid->raw, 16);
	return legacy(IB_USER_VERBS_CMD_CREATE_AH, &in, sizeof(in), r, sizeof(*r), efa,
		      sizeof(*efa));
}

struct cq_args {
	uint32_t entries, vector, flags;
	int channel; /* -1: none */
	struct efa_ibv_create_cq efa;
};

static const struct cq_args good_cq = {
	.entries = ENTRIES, .channel = -1, .efa = {.cq_entry_size = 32, .num_sub_cqs = 1}};

static int new_cq(const struct cq_args *args, uint32_t *handle)
{
	static struct efa_ibv_create_cq_resp efa;
	static uint32_t granted;
	int err;

	begin(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);
	add(UVERBS_ATTR_CREATE_CQ_HANDLE, 0, 0);
	add_bytes(UVERBS_ATTR_CREATE_CQ_CQE, &args->entries, 4);
	add(UVERBS_ATTR_CREATE_CQ_USER_HANDLE, 8, 0x1234);
	add_bytes(UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, &args->vector, 4);
	add_bytes(UVERBS_ATTR_CREATE_CQ_FLAGS, &args->flags, 4);
	add(UVERBS_ATTR_CREATE_CQ_RESP_CQE, 4, (uintptr_t)&granted);
	add_bytes(UVERBS_ATTR_UHW_IN, &args->efa, sizeof(args->efa));
	add(UVERBS_ATTR_UHW_OUT, sizeof(efa), (uintptr_t)&efa);
	if (args->channel != -1)
		add(UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, 0, 0)->data_s64 = args->channel;
	err = go();
	*handle = (uint32_t)header->attrs[0].data;
	if (!err)
		assert_int_equal(granted, args->entries);
	return err;
}

struct qp_args {
	uint64_t pd, send_cq, recv_cq, flags;
	uint32_t type;
	struct ib_uverbs_qp_cap cap;
	struct efa_ibv_create_qp efa;
};

static const struct qp_args good_qp = {
	.type = IB_UVERBS_QPT_DRIVER,
	.cap = {ENTRIES, ENTRIES, 2, 1, 32},
	.efa = {.sq_ring_size = ENTRIES * 64, .rq_ring_size = ENTRIES * 16}};

static int new_qp(const struct qp_args *args, uint32_t *handle)
{
	static struct efa_ibv_create_qp_resp efa;
	static struct ib_uverbs_qp_cap cap;
	static uint32_t number;
	int err;

	begin(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
	add(UVERBS_ATTR_CREATE_QP_HANDLE, 0, 0);
	add(UVERBS_ATTR_CREATE_QP_PD_HANDLE, 0, args->pd);
	add(UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, 0, args->send_cq);
	add(UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, 0, args->recv_cq);
	add(UVERBS_ATTR_CREATE_QP_USER_HANDLE, 8, 0x4321);
	add_bytes(UVERBS_ATTR_CREATE_QP_CAP, &args->cap, sizeof(args->cap));
	add_bytes(UVERBS_ATTR_CREATE_QP_TYPE, &args->type, 4);
	if (args->flags)
		add(UVERBS_ATTR_CREATE_QP_FLAGS, 4, args->flags);
	add(UVERBS_ATTR_CREATE_QP_RESP_CAP, sizeof(cap), (uintptr_t)&cap);
	add(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, 4, (uintptr_t)&number);
	add_bytes(UVERBS_ATTR_UHW_IN, &args->efa, sizeof(args->efa));
	add(UVERBS_ATTR_UHW_OUT, sizeof(efa), (uintptr_t)&efa);
	err = go();
	*handle = (uint32_t)header->attrs[0].data;
	if (!err)
		assert_memory_equal(&cap, &args->cap, sizeof(cap));
	return err;
}

static int modify(uint32_t qp, uint32_t mask, uint8_t state)
{
	static struct ib_uverbs_modify_qp in;

	in = (struct ib_uverbs_modify_qp){
		.qp_handle = qp, .attr_mask = mask, .qp_state = state, .port_num = 1, .qkey = QKEY};
	return legacy(IB_USER_VERBS_CMD_MODIFY_QP, &in, sizeof(in), NULL, 0, NULL, 0);
}

/* All that a queue pair needs which sends to itself. */
static struct {
	uint32_t pd, cq, qp, mr, key;
	uint16_t ah;
} w;

static void make_world(uint32_t type, int channel)
{
	struct ib_uverbs_reg_mr_resp mr;
	struct ib_uverbs_create_ah_resp ah;
	struct efa_ibv_create_ah_resp efa;
	struct cq_args cq = good_cq;
	struct qp_args qp = good_qp;
	union srd_gid gid;

	w.pd = new_pd();
	assert_int_equal(reg_mr(w.pd, FUZZ_MEMORY, FUZZ_BYTES, FUZZ_MEMORY, 7, &mr), 0);
	w.mr = mr.mr_handle;
	w.key = mr.lkey;
	srd_model_gid(0, &gid);
	assert_int_equal(new_ah(w.pd, &gid, &ah, &efa), 0);
	w.ah = efa.efa_address_handle;
	cq.channel = channel;
	cq.efa.flags = EFA_CREATE_CQ_WITH_SGID;
	assert_int_equal(new_cq(&cq, &w.cq), 0);
	qp.type = type;
	qp.pd = w.pd;
	qp.send_cq = w.cq;
	qp.recv_cq = w.cq;
	assert_int_equal(new_qp(&qp, &w.qp), 0);
	assert_int_equal(modify(w.qp, 0x71, SRD_QPS_INIT), 0);
	assert_int_equal(modify(w.qp, 0x1, SRD_QPS_RTR), 0);
	assert_int_equal(modify(w.qp, 0x10001, SRD_QPS_RTS), 0);
}

static void ring(struct soft_ring *r, uint32_t value)
{
	memcpy(soft.rings + r->doorbell, &value, 4);
}

static struct efa_io_tx_meta_desc meta(uint8_t op, uint16_t length)
{
	return (struct efa_io_tx_meta_desc){
		.req_id = 7,
		.ctrl1 = (uint8_t)(op | EFA_IO_TX_META_DESC_META_DESC_MASK),
		.ctrl2 = EFA_IO_TX_META_DESC_FIRST_MASK | EFA_IO_TX_META_DESC_LAST_MASK,
		.dest_qp_num = soft_object(w.qp)->qp.qpn,
		.length = length,
		.ah = w.ah,
		.qkey = QKEY,
	};
}

struct rdma_entry {
	struct efa_io_tx_meta_desc meta;
	struct efa_io_remote_mem_addr remote;
	struct efa_io_tx_buf_desc local;
};

static struct rdma_entry rdma(uint8_t op, uint64_t remote, uint64_t local, uint32_t length)
{
	return (struct rdma_entry){
		.meta = meta(op, 1),
		.remote = {length, w.key, (uint32_t)remote, (uint32_t)(remote >> 32)},
		.local = {length, w.key, (uint32_t)local, (uint32_t)(local >> 32)},
	};
}

/* Post ENTRY as number N of the send queue; the completion entry number WHICH that comes. */
static const struct efa_io_rx_cdesc *post(const void *entry, uint32_t n, uint32_t which)
{
	struct soft_object *qp = soft_object(w.qp), *cq = soft_object(w.cq);

	memcpy(soft.rings + qp->qp.sq.key + (n % ENTRIES) * 64, entry, 64);
	ring(&qp->qp.sq, n + 1);
	assert_int_equal(soft_doorbell(qp), 1);
	soft_run(NULL);
	return (void *)(soft.rings + cq->cq.ring.key + which % ENTRIES * 32);
}

static void post_recv(uint32_t n, uint64_t addr, uint16_t length)
{
	struct soft_object *qp = soft_object(w.qp);
	struct efa_io_rx_desc rx = {
		.buf_addr_lo = (uint32_t)addr,
		.req_id = (uint16_t)(100 + n),
		.length = length,
		.lkey_ctrl = w.key | EFA_IO_RX_DESC_FIRST_MASK | EFA_IO_RX_DESC_LAST_MASK,
	};

	memcpy(soft.rings + qp->qp.rq.key + n % ENTRIES * 16, &rx, sizeof(rx));
	ring(&qp->qp.rq, n + 1);
	assert_int_equal(soft_doorbell(qp), 1);
}

static int setup(void **state)
{
	fuzz_device_open();
	memset((void *)FUZZ_MEMORY, 0, FUZZ_BYTES);
	return soft_lock();
}

static int teardown(void **state)
{
	soft_run(NULL);
	soft_file_release(FUZZ_FILE);
	soft_run(NULL);
	fuzz_device_check();
	soft_unlock();
	return 0;
}

/* Of a call that was good: what cannot be left out, and how to undo it once more. */
struct swept {
	uint16_t needed[8];
	int num_needed;
	uint16_t object, method; /* that destroys it; 0: there is nothing to undo */
	const uint32_t *handle;  /* NULL: in the first attribute */
};

static bool is_needed(const struct swept *s, uint16_t id)
{
	for (int i = 0; i < s->num_needed; i++)
		if (s->needed[i] == id)
			return true;
	return false;
}

/* The last call again, without each attribute in turn, and with each pointer to nothing. */
static void sweep(struct swept s)
{
	uint64_t kept[sizeof(words) / sizeof(words[0])], made;
	uint16_t num = header->num_attrs, id;
	int err;

	memcpy(kept, words, sizeof(words));
	for (uint16_t i = 0; i < num; i++) {
		struct ib_uverbs_attr *attr = &header->attrs[i];

		memcpy(words, kept, sizeof(words));
		id = attr->attr_id;
		if (attr->len > 8 || attr->data > UINT32_MAX) {
			attr->data = 16;
			assert_int_equal(go(), EFAULT);
		}
		memcpy(words, kept, sizeof(words));
		header->num_attrs--;
		memmove(attr, attr + 1, (size_t)(num - 1 - i) * sizeof(*attr));
		err = go();
		if (!err == is_needed(&s, id))
			fail_msg("without attribute 0x%x: %s", id, strerror(err));
		made = s.handle ? *s.handle : header->attrs[0].data;
		if (!err && s.object)
			assert_int_equal(destroy(s.object, s.method, made), 0);
	}
}

static void calls_that_are_none(void **state)
{
	struct soft_call call;
	uint8_t dirty[64] = {[40] = 1};

	assert_int_equal(soft_call_read(&call, 16), EFAULT);
	begin(99, 0);
	assert_int_equal(go(), EPROTONOSUPPORT);
	for (uint16_t object = 0; object <= UVERBS_OBJECT_ASYNC_EVENT; object++) {
		begin(object, 99);
		assert_int_equal(go(), EPROTONOSUPPORT);
	}
	header->reserved1 = 1;
	assert_int_equal(go(), EPROTONOSUPPORT);
	begin(0, 0);
	for (int i = 0; i < SOFT_MAX_ATTRS + 1; i++)
		add((uint16_t)i, 0, 0);
	assert_int_equal(go(), E2BIG);
	begin(0, 0);
	add(2, 4, 1);
	add(2, 4, 1);
	assert_int_equal(go(), EINVAL);
	begin(0, 0);
	assert_int_equal(go(), EINVAL); /* no number of the command */
	assert_int_equal(legacy(IB_USER_VERBS_CMD_OPEN_XRCD, NULL, 0, NULL, 0, NULL, 0),
			 EOPNOTSUPP);
	/* The library's way to ask what there is. */
	assert_int_equal(legacy(IB_USER_VERBS_CMD_QUERY_DEVICE, NULL, 0, NULL, 0, NULL, 0), ENOSPC);
	/* What is given beyond what is known must be zero. */
	begin(0, UVERBS_METHOD_GET_CONTEXT);
	add_bytes(UVERBS_ATTR_UHW_IN, dirty, sizeof(dirty));
	assert_int_equal(go(), EOPNOTSUPP);
	begin(0, UVERBS_METHOD_GET_CONTEXT);
	add(UVERBS_ATTR_UHW_IN, 64, 16);
	assert_int_equal(go(), EFAULT);
	begin(0, UVERBS_METHOD_QUERY_PORT);
	add(UVERBS_ATTR_QUERY_PORT_PORT_NUM, 1, 1);
	add(UVERBS_ATTR_QUERY_PORT_RESP, 64, 16);
	assert_int_equal(go(), EFAULT);
}

/* What a method does not know is passed over, or is not, as the program wants it. */
static void attributes_that_are_not_known(void **state)
{
	struct ib_uverbs_query_port_resp_ex port;
	static const uint16_t unknown[] = {UVERBS_ATTR_QUERY_PORT_RESP + 1, UVERBS_ATTR_UHW_IN,
					   UVERBS_ATTR_UHW_IN + 77, 0xffff};

	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		for (uint16_t flags = 0; flags <= UVERBS_ATTR_F_MANDATORY; flags++) {
			begin(0, UVERBS_METHOD_QUERY_PORT);
			add(UVERBS_ATTR_QUERY_PORT_PORT_NUM, 1, 1)->flags = flags;
			add(UVERBS_ATTR_QUERY_PORT_RESP, sizeof(port), (uintptr_t)&port);
			add(unknown[i], 8, 0)->flags = flags;
			assert_int_equal(go(), flags ? EPROTONOSUPPORT : 0);
		}
	}
	/* The driver's input of a command that has one is known. */
	begin(0, UVERBS_METHOD_GET_CONTEXT);
	add(UVERBS_ATTR_UHW_IN, 8, 0)->flags = UVERBS_ATTR_F_MANDATORY;
	assert_int_not_equal(go(), EPROTONOSUPPORT);
}

static void what_the_device_says(void **state)
{
	struct ib_uverbs_ex_query_device_resp ex;
	struct efa_ibv_ex_query_device_resp efa;
	struct efa_ibv_alloc_ucontext_resp context;
	struct ib_uverbs_query_port_resp_ex port;
	struct ib_uverbs_gid_entry gid[2];
	union srd_gid want;
	uint64_t number = 0;
	uint32_t known = 3;

	assert_int_equal(legacy(IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_QUERY_DEVICE,
				NULL, 0, &ex, sizeof(ex), &efa, sizeof(efa)),
			 0);
	assert_int_equal(ex.base.max_qp, 8);
	assert_int_equal(ex.response_length, sizeof(ex));
	assert_int_equal(efa.max_rdma_size, 4096);
	assert_true(efa.device_caps & EFA_QUERY_DEVICE_CAPS_RDMA_WRITE);
	sweep((struct swept){{UVERBS_ATTR_WRITE_CMD, UVERBS_ATTR_CORE_OUT}, 2});
	begin(0, UVERBS_METHOD_GET_CONTEXT);
	add(UVERBS_ATTR_UHW_OUT, sizeof(context), (uintptr_t)&context);
	/* The profile limits the batch: a library that does not know of it is refused. */
	assert_int_equal(go(), EOPNOTSUPP);
	add_bytes(UVERBS_ATTR_UHW_IN, &known, 4);
	assert_int_equal(go(), 0);
	assert_int_equal(context.max_tx_batch, 4);
	sweep((struct swept){{UVERBS_ATTR_UHW_IN}, 1});
	begin(0, UVERBS_METHOD_QUERY_CONTEXT);
	assert_int_equal(go(), 0);
	begin(0, UVERBS_METHOD_QUERY_PORT);
	add(UVERBS_ATTR_QUERY_PORT_PORT_NUM, 1, 2);
	add(UVERBS_ATTR_QUERY_PORT_RESP, sizeof(port), (uintptr_t)&port);
	assert_int_equal(go(), EINVAL);
	header->attrs[0].data = 1;
	assert_int_equal(go(), 0);
	assert_int_equal(port.legacy_resp.active_speed, 32);
	sweep((struct swept){{UVERBS_ATTR_QUERY_PORT_PORT_NUM}, 1});
	begin(0, 7);
	add(0, 1, 1);
	add(1, 8, (uintptr_t)&number);
	assert_int_equal(go(), 0);
	assert_int_equal(number, 1000);
	begin(0, UVERBS_METHOD_QUERY_GID_TABLE);
	add(UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, 8, sizeof(gid[0]));
	add(UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, 8, (uintptr_t)&number);
	assert_int_equal(go(), EINVAL); /* no room */
	add(UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, sizeof(gid), (uintptr_t)gid);
	assert_int_equal(go(), 0);
	assert_int_equal(number, 1);
	srd_model_gid(0, &want);
	assert_memory_equal(gid[0].gid, want.raw, 16);
	sweep((struct swept){
		{UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES},
		2});
	add(UVERBS_ATTR_QUERY_GID_TABLE_FLAGS, 4, 1);
	assert_int_equal(go(), EINVAL);
	begin(0, UVERBS_METHOD_QUERY_GID_ENTRY);
	add(UVERBS_ATTR_QUERY_GID_ENTRY_PORT, 4, 1);
	add(UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, 4, 1);
	assert_int_equal(go(), EINVAL);
	add(UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, 4, 1);
	assert_int_equal(go(), EINVAL);
}

static void objects_that_cannot_be(void **state)
{
	union srd_gid nowhere = {.raw = {1}};
	struct ib_uverbs_reg_mr_resp mr;
	struct ib_uverbs_create_ah_resp ah;
	struct efa_ibv_create_ah_resp efa;
	uint32_t pd = new_pd();

	assert_int_equal(reg_mr(99, FUZZ_MEMORY, 64, FUZZ_MEMORY, 7, &mr), EINVAL);
	assert_int_equal(reg_mr(pd, FUZZ_MEMORY, 64, FUZZ_MEMORY + 1, 7, &mr), EINVAL);
	assert_int_equal(reg_mr(pd, FUZZ_MEMORY, 64, FUZZ_MEMORY, 2, &mr), EINVAL);
	assert_int_equal(reg_mr(pd, FUZZ_MEMORY, 64, FUZZ_MEMORY, 8 | 1, &mr), EOPNOTSUPP);
	assert_int_equal(reg_mr(pd, 4096, 64, 4096, 7, &mr), EFAULT);
	assert_int_equal(reg_mr(pd, FUZZ_MEMORY, 64, FUZZ_MEMORY, 7, (void *)16), EFAULT);
	assert_int_equal(new_ah(99, &nowhere, &ah, &efa), EINVAL);
	assert_int_equal(new_ah(pd, &nowhere, &ah, &efa), EINVAL);
	assert_int_equal(destroy(UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, 0), EINVAL);
	assert_int_equal(destroy(UVERBS_OBJECT_AH, UVERBS_METHOD_AH_DESTROY, pd), EINVAL);
	assert_int_equal(destroy(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY, 1 << 20), EINVAL);
	assert_int_equal(modify(77, 1, 0), EINVAL);
}

static void queues_that_cannot_be(void **state)
{
	struct cq_args cq;
	struct qp_args qp;
	uint32_t handle, good;

#define CQ(err, change)                                      \
	do {                                                 \
		cq = good_cq;                                \
		change;                                      \
		assert_int_equal(new_cq(&cq, &handle), err); \
	} while (0)
	CQ(EINVAL, cq.entries = 0);
	CQ(EINVAL, cq.entries = 17);
	CQ(EINVAL, cq.entries = 128);
	CQ(EINVAL, cq.vector = 2);
	CQ(EOPNOTSUPP, cq.flags = 1);
	CQ(EBADF, cq.channel = 63);
	CQ(EINVAL, cq.efa.comp_mask = 1);
	CQ(EINVAL, cq.efa.reserved_58[4] = 1);
	CQ(EINVAL, cq.efa.cq_entry_size = 64);
	CQ(EINVAL, cq.efa.num_sub_cqs = 2);
	CQ(0, cq.efa.cq_entry_size = 16);
	good = handle;
#define QP(err, change)                                      \
	do {                                                 \
		qp = good_qp;                                \
		qp.pd = w.pd;                                \
		qp.send_cq = qp.recv_cq = good;              \
		change;                                      \
		assert_int_equal(new_qp(&qp, &handle), err); \
	} while (0)
	w.pd = new_pd();
	QP(EINVAL, qp.pd = good);
	QP(EINVAL, qp.send_cq = 0);
	QP(EOPNOTSUPP, qp.type = IB_UVERBS_QPT_RC);
	QP(EOPNOTSUPP, qp.flags = IB_UVERBS_QP_CREATE_SCATTER_FCS);
	QP(EINVAL, qp.efa.comp_mask = 1);
	QP(EINVAL, qp.efa.reserved_98[0] = 1);
	QP(EOPNOTSUPP, qp.efa.flags = 8);
	QP(EOPNOTSUPP, qp.efa.driver_qp_type = 1);
	QP(EINVAL, qp.efa.sq_ring_size = 100);
	QP(EINVAL, qp.efa.rq_ring_size = 100);
	QP(EINVAL, qp.efa.rq_ring_size = 48);
	QP(EINVAL, (qp.cap.max_send_wr = 12, qp.efa.sq_ring_size = 12 * 64));
	QP(EINVAL, qp.cap.max_send_sge = 3);
	QP(0, qp.flags = IB_UVERBS_QP_CREATE_SQ_SIG_ALL);
	assert_int_equal(destroy(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY, good), EBUSY);
	assert_int_equal(destroy(UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, w.pd), EBUSY);
	assert_int_equal(destroy(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY, handle), 0);
	assert_int_equal(destroy(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY, good), 0);
	assert_int_equal(destroy(UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, w.pd), 0);
}

static void states_are_the_models(void **state)
{
	struct ib_uverbs_query_qp query = {.attr_mask = 0x90871};
	struct ib_uverbs_query_qp_resp r;

	make_world(IB_UVERBS_QPT_DRIVER, -1);
	query.qp_handle = w.qp;
	assert_int_equal(
		legacy(IB_USER_VERBS_CMD_QUERY_QP, &query, sizeof(query), &r, sizeof(r), NULL, 0),
		0);
	assert_int_equal(r.qp_state, SRD_QPS_RTS);
	assert_int_equal(r.qkey, QKEY);
	assert_int_equal(r.max_send_wr, ENTRIES);
	query.attr_mask = 1 << 7;
	assert_int_equal(
		legacy(IB_USER_VERBS_CMD_QUERY_QP, &query, sizeof(query), &r, sizeof(r), NULL, 0),
		EOPNOTSUPP);
	assert_int_equal(modify(w.qp, 0x401, SRD_QPS_ERR), EOPNOTSUPP);
	assert_int_equal(modify(w.qp, 0x1, SRD_QPS_INIT), EINVAL);
	assert_int_equal(modify(w.qp, 0x1, SRD_QPS_RESET), 0);
}

static void bytes_move(void **state)
{
	uint8_t *memory = (uint8_t *)FUZZ_MEMORY;
	struct rdma_entry entry;
	const struct efa_io_rx_cdesc *cqe;

	make_world(IB_UVERBS_QPT_DRIVER, -1);
	memset(memory, 'a', 100);
	entry = rdma(EFA_IO_RDMA_WRITE, FUZZ_MEMORY + 4096, FUZZ_MEMORY, 100);
	cqe = post(&entry, 0, 0);
	assert_int_equal(cqe->common.req_id, 7);
	assert_int_equal(cqe->common.status, 0);
	assert_int_equal(cqe->common.flags, 1 | EFA_IO_SEND_QUEUE << 1 | EFA_IO_RDMA_WRITE << 4);
	assert_memory_equal(memory + 4096, memory, 100);
	memset(memory + 4096, 'b', 50);
	entry = rdma(EFA_IO_RDMA_READ, FUZZ_MEMORY + 4096, FUZZ_MEMORY + 200, 50);
	assert_int_equal(post(&entry, 1, 1)->common.status, 0);
	assert_memory_equal(memory + 200, memory + 4096, 50);
	/* Behind the region; then with a key of nobody's. */
	entry = rdma(EFA_IO_RDMA_WRITE, FUZZ_MEMORY + FUZZ_BYTES - 10, FUZZ_MEMORY, 100);
	assert_int_equal(post(&entry, 2, 2)->common.status, SRD_EFA_REMOTE_ERROR_BAD_ADDRESS);
	entry.local.lkey = 5;
	assert_int_equal(post(&entry, 3, 3)->common.status, SRD_EFA_LOCAL_ERROR_INVALID_LKEY);
}

struct dmabuf_args {
	uint64_t offset, length, iova;
	int fd;
};

static int reg_dmabuf(uint32_t pd, const struct dmabuf_args *a, uint32_t *mr, uint32_t *key)
{
	static uint32_t rkey;
	uint32_t access = 7;
	int err;

	begin(UVERBS_OBJECT_MR, UVERBS_METHOD_REG_DMABUF_MR);
	add(UVERBS_ATTR_REG_DMABUF_MR_HANDLE, 0, 0);
	add(UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, 0, pd);
	add_bytes(UVERBS_ATTR_REG_DMABUF_MR_OFFSET, &a->offset, 8);
	add_bytes(UVERBS_ATTR_REG_DMABUF_MR_LENGTH, &a->length, 8);
	add_bytes(UVERBS_ATTR_REG_DMABUF_MR_IOVA, &a->iova, 8);
	add(UVERBS_ATTR_REG_DMABUF_MR_FD, 0, (uint64_t)a->fd);
	add_bytes(UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, &access, 4);
	add(UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, 4, (uintptr_t)key);
	add(UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, 4, (uintptr_t)&rkey);
	err = go();
	if (!err) {
		assert_int_equal(rkey, *key);
		*mr = (uint32_t)header->attrs[0].data;
	}
	return err;
}

static void memory_of_devices(void **state)
{
	const struct dmabuf_args good = {.offset = 4096 + 16, .length = 8000, .iova = 0x10};
	int other = memfd_create("other", MFD_CLOEXEC), fd = memfd_create("dmabuf", MFD_CLOEXEC);
	struct dmabuf_args a = good;
	struct rdma_entry entry;
	uint32_t mr, again, key;
	char bytes[100];

	assert_true(fd >= 0 && other >= 0);
	assert_int_equal(ftruncate(fd, 16384) | ftruncate(other, 16384), 0);
	make_world(IB_UVERBS_QPT_DRIVER, -1);
	a.fd = other;
	assert_int_equal(reg_dmabuf(w.pd, &a, &mr, &key), EINVAL);
	a.fd = 1000;
	assert_int_equal(reg_dmabuf(w.pd, &a, &mr, &key), EBADF);
	a.fd = fd;
	assert_int_equal(reg_dmabuf(w.pd + 1000, &a, &mr, &key), EINVAL);
	a.iova = 0x11;
	assert_int_equal(reg_dmabuf(w.pd, &a, &mr, &key), EINVAL);
	a.iova = 0x10;
	a.length = UINT64_MAX - 100;
	assert_int_equal(reg_dmabuf(w.pd, &a, &mr, &key), EINVAL);
	a.length = 0;
	assert_int_equal(reg_dmabuf(w.pd, &a, &mr, &key), EINVAL);
	a.length = 16384 - a.offset + 1;
	assert_int_equal(reg_dmabuf(w.pd, &a, &mr, &key), EINVAL);
	a.length = 8000;
	assert_int_equal(reg_dmabuf(w.pd, &a, &again, &key), 0);
	sweep((struct swept){{UVERBS_ATTR_REG_DMABUF_MR_HANDLE, UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE,
			      UVERBS_ATTR_REG_DMABUF_MR_OFFSET, UVERBS_ATTR_REG_DMABUF_MR_LENGTH,
			      UVERBS_ATTR_REG_DMABUF_MR_IOVA, UVERBS_ATTR_REG_DMABUF_MR_FD,
			      UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS},
			     7,
			     UVERBS_OBJECT_MR,
			     UVERBS_METHOD_MR_DESTROY});
	assert_int_equal(destroy(UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, again), 0);
	assert_int_equal(reg_dmabuf(w.pd, &a, &mr, &key), 0);
	/* Bytes go to where the buffer has them, from addresses that are the region's own. */
	memset((void *)FUZZ_MEMORY, 'd', 100);
	entry = rdma(EFA_IO_RDMA_WRITE, 0x10 + 50, FUZZ_MEMORY, 100);
	entry.remote.rkey = key;
	assert_int_equal(post(&entry, 0, 0)->common.status, 0);
	assert_int_equal(pread(fd, bytes, 100, 4096 + 16 + 50), 100);
	assert_memory_equal(bytes, (void *)FUZZ_MEMORY, 100);
	entry = rdma(EFA_IO_RDMA_WRITE, 0x10 + 8000 - 99, FUZZ_MEMORY, 100);
	entry.remote.rkey = key;
	assert_int_equal(post(&entry, 1, 1)->common.status, SRD_EFA_REMOTE_ERROR_BAD_ADDRESS);
	assert_int_equal(destroy(UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, mr), 0);
	close(fd);
	close(other);
}

static void receives_say_what_came(void **state)
{
	struct {
		struct efa_io_tx_meta_desc meta;
		uint8_t bytes[32];
	} entry = {.bytes = "inline"};
	const struct efa_io_rx_cdesc *cqe;
	struct rdma_entry write;

	make_world(IB_UVERBS_QPT_DRIVER, -1);
	post_recv(0, FUZZ_MEMORY + 512, 64);
	post_recv(1, FUZZ_MEMORY + 1024, 64);
	entry.meta = meta(EFA_IO_SEND, 6);
	entry.meta.ctrl1 |= EFA_IO_TX_META_DESC_INLINE_MSG_MASK | EFA_IO_TX_META_DESC_HAS_IMM_MASK;
	entry.meta.immediate_data = 0x1234;
	cqe = post(&entry, 0, 0);
	assert_int_equal(cqe->common.req_id, 100);
	assert_int_equal(cqe->length, 6);
	assert_int_equal(cqe->imm, 0x1234);
	assert_int_equal(cqe->ah, w.ah);
	assert_int_equal(cqe->common.flags, 1 | EFA_IO_RECV_QUEUE << 1 | 1 << 3);
	assert_memory_equal((char *)FUZZ_MEMORY + 512, "inline", 6);
	write = rdma(EFA_IO_RDMA_WRITE, FUZZ_MEMORY + 4096, FUZZ_MEMORY + 512, 6);
	write.meta.ctrl1 |= EFA_IO_TX_META_DESC_HAS_IMM_MASK;
	cqe = post(&write, 1, 2);
	assert_int_equal(cqe->common.req_id, 101);
	assert_int_equal(cqe->common.flags,
			 1 | EFA_IO_RECV_QUEUE << 1 | 1 << 3 | EFA_IO_RDMA_WRITE << 4);
	/* Nobody is ready, and retries have no end: it waits. */
	post(&entry, 2, 4);
	assert_int_equal(soft_object(w.cq)->cq.arrivals, 4);
	post_recv(2, FUZZ_MEMORY, 64);
	soft_run(NULL);
	assert_int_equal(soft_object(w.cq)->cq.arrivals, 6);
}

static void datagrams_have_a_header(void **state)
{
	struct {
		struct efa_io_tx_meta_desc meta;
		uint8_t bytes[32];
	} entry = {.bytes = "datagram"};

	make_world(IB_UVERBS_QPT_UD, -1);
	post_recv(0, FUZZ_MEMORY, 64);
	entry.meta = meta(EFA_IO_SEND, 8);
	entry.meta.ctrl1 |= EFA_IO_TX_META_DESC_INLINE_MSG_MASK;
	assert_int_equal(post(&entry, 0, 0)->length, 48);
	assert_memory_equal((char *)FUZZ_MEMORY + 40, "datagram", 8);
	/* One that nobody waits for is sent all the same. */
	assert_int_equal(post(&entry, 1, 2)->common.status, 0);
	assert_int_equal(soft_object(w.cq)->cq.arrivals, 3);
}

static void nonsense_ends_the_queue_pair(void **state)
{
	struct efa_io_tx_meta_desc nothing = {.req_id = 3};
	struct rdma_entry entry;
	uint8_t wide[64];

	for (int kind = 0; kind < 6; kind++) {
		make_world(IB_UVERBS_QPT_DRIVER, -1);
		entry = rdma(EFA_IO_RDMA_WRITE, FUZZ_MEMORY, FUZZ_MEMORY, 8);
		memset(wide, 0, sizeof(wide));
		if (kind == 0)
			memcpy(&entry.meta, &nothing, sizeof(nothing));
		if (kind == 1)
			entry.meta.ctrl1 |= 9;
		if (kind == 2)
			entry.meta.length = 2;
		if (kind == 3)
			entry.meta.ctrl1 |= EFA_IO_TX_META_DESC_INLINE_MSG_MASK;
		if (kind == 4)
			entry.meta = meta(EFA_IO_SEND, 3);
		if (kind == 5)
			entry.meta = meta(EFA_IO_RDMA_READ | EFA_IO_TX_META_DESC_HAS_IMM_MASK, 1);
		post(&entry, 0, 0);
		assert_int_equal(modify(w.qp, 0x10001, SRD_QPS_RTS), EINVAL);
		soft_file_release(FUZZ_FILE);
	}
	make_world(IB_UVERBS_QPT_DRIVER, -1);
	ring(&soft_object(w.qp)->qp.sq, 1000);
	assert_int_equal(soft_doorbell(soft_object(w.qp)), 1000);
	make_world(IB_UVERBS_QPT_DRIVER, -1);
	ring(&soft_object(w.qp)->qp.rq, 1); /* not the first of a receive */
	assert_int_equal(soft_doorbell(soft_object(w.qp)), 1);
	ring(&soft_object(w.qp)->qp.rq, 2000);
	assert_int_equal(soft_doorbell(soft_object(w.qp)), 1999);
}

static void events_are_read_or_taken_back(void **state)
{
	struct ib_uverbs_create_comp_channel_resp r;
	struct ib_uverbs_comp_event_desc event;
	struct rdma_entry entry;
	struct soft_object *cq;

	assert_int_equal(
		legacy(IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, NULL, 0, &r, sizeof(r), NULL, 0), 0);
	make_world(IB_UVERBS_QPT_DRIVER, (int)r.fd);
	cq = soft_object(w.cq);
	ring(&cq->cq.ring, 1u << 31);
	soft_cq_doorbell(cq);
	soft_cq_doorbell(cq); /* once is enough */
	assert_int_equal(soft.group->armed, 1);
	entry = rdma(EFA_IO_RDMA_WRITE, FUZZ_MEMORY, FUZZ_MEMORY + 64, 8);
	post(&entry, 0, 0);
	assert_int_equal(soft.group->armed, 0);
	assert_int_equal(read((int)r.fd, &event, sizeof(event)), sizeof(event));
	assert_int_equal(event.cq_handle, 0x1234);
	/* It has an entry already: told at once. Nobody reads that one. */
	ring(&cq->cq.ring, 1u << 31 | 1u << 29);
	soft_cq_doorbell(cq);
	assert_int_equal(cq->cq.comp_events, 2);
	assert_int_equal(soft_channel_forget(cq), 1);
	assert_int_equal(poll(&(struct pollfd){.fd = (int)r.fd, .events = POLLIN}, 1, 0), 0);
	close((int)r.fd);
	begin(UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC);
	assert_int_equal(go(), EINVAL);
	add(UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, 0, 0);
	assert_int_equal(go(), 0);
	close((int)header->attrs[0].data_s64);
}

static void addresses_that_are_not_there(void **state)
{
	uint8_t *gone =
		mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t there = FUZZ_MEMORY, not_there = (uintptr_t)gone;
	uint32_t me = soft.process;

	munmap(gone, 8192);
	soft_guard_install(); /* cmocka has set handlers of its own */
	assert_true(soft_memory_present(NULL, me, there, 10000));
	assert_false(soft_memory_present(NULL, me, not_there, 10));
	assert_int_equal(soft_memory_copy(NULL, me, not_there, me, there, 64),
			 SRD_MEMORY_NO_TARGET);
	assert_int_equal(soft_memory_copy(NULL, me, there, me, not_there, 64),
			 SRD_MEMORY_NO_SOURCE);
	assert_int_equal(soft_memory_store(NULL, me, not_there, "x", 1), SRD_MEMORY_NO_TARGET);
	assert_int_equal(soft_memory_store(NULL, me, there, "x", 1), SRD_MEMORY_OK);
}

/* A child that waits, in a slot of its own. */
static pid_t start_peer(uint32_t slot, int *stop)
{
	int fds[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (!pid) {
		close(fds[1]);
		byte = (char)read(fds[0], &byte, 1);
		_exit(*(char *)FUZZ_MEMORY);
	}
	close(fds[0]);
	*stop = fds[1];
	soft.group->process[slot].pid = pid;
	soft.group->process[slot].namespace = soft.namespace;
	return pid;
}

static void memory_of_others(void **state)
{
	static uint8_t here[100000];
	int stop_a, stop_b, status;
	pid_t a = start_peer(200, &stop_a), b = start_peer(201, &stop_b);
	uint32_t me = soft.process;

	memset(here, 'x', sizeof(here));
	assert_int_equal(soft_memory_copy(NULL, 200, FUZZ_MEMORY, me, (uintptr_t)here, 5),
			 SRD_MEMORY_OK);
	assert_int_equal(soft_memory_copy(NULL, 201, FUZZ_MEMORY, 200, FUZZ_MEMORY, 5),
			 SRD_MEMORY_OK);
	here[0] = 0;
	assert_int_equal(soft_memory_copy(NULL, me, (uintptr_t)here, 201, FUZZ_MEMORY, 5),
			 SRD_MEMORY_OK);
	assert_int_equal(here[0], 'x');
	assert_int_equal(soft_memory_copy(NULL, 201, FUZZ_MEMORY, 200, 4096, 5),
			 SRD_MEMORY_NO_SOURCE);
	assert_int_equal(soft_memory_store(NULL, 201, FUZZ_MEMORY, "yy", 2), SRD_MEMORY_OK);
	close(stop_a);
	close(stop_b);
	waitpid(a, &status, 0);
	assert_int_equal(WEXITSTATUS(status), 'x');
	waitpid(b, &status, 0);
	assert_int_equal(WEXITSTATUS(status), 'y');
	soft.group->process[200].pid = 0;
	soft.group->process[201].pid = 0;
}

static void the_dead_leave_nothing(void **state)
{
	uint32_t me = soft.process;

	make_world(IB_UVERBS_QPT_DRIVER, -1);
	soft_process_leave(me);
	assert_int_equal(soft_object(w.qp)->kind, SOFT_FREE);
	assert_int_equal(soft_object(w.pd)->kind, SOFT_FREE);
	assert_int_equal(soft_process_enter(), 0);
	assert_int_equal(soft.process, me);
}

static void locks_of_the_dead(void **state)
{
	pid_t pid;

	assert_int_equal(soft_lock(), EIO); /* by the thread that has it */
	soft_unlock();
	pid = fork();
	if (!pid) {
		soft_lock();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	assert_int_equal(soft_trylock(), 0); /* it left the model whole */
	soft.group->broken = 1;
	soft_unlock();
	assert_int_equal(soft_lock(), EIO);
	soft.group->broken = 0;
	assert_int_equal(soft_lock(), 0);
}

static void groups_that_are_none(void **state)
{
	struct srd_error error = {0};
	struct soft_view before = soft;

	assert_int_equal(soft_group_attach("/nowhere"), -ENOENT);
	assert_int_equal(soft_group_create("/nowhere", srd_profile_find("small"), 1,
					   SOFT_CLOCK_AUTO, &error),
			 -ENOENT);
	assert_non_null(strstr(error.message, "/nowhere"));
	soft = before;
}

static void calls_with_something_missing(void **state)
{
	static struct ib_uverbs_reg_mr_resp mr;
	static struct ib_uverbs_create_ah_resp ah;
	static struct efa_ibv_create_ah_resp efa_ah;
	static struct ib_uverbs_query_qp_resp query_resp;
	static struct ib_uverbs_alloc_pd_resp pd;
	static struct efa_ibv_alloc_pd_resp efa_pd;
	static struct ib_uverbs_query_qp query = {.attr_mask = 1};
	struct qp_args qp = good_qp;
	union srd_gid gid;
	uint32_t handle;

	assert_int_equal(legacy(IB_USER_VERBS_CMD_ALLOC_PD, NULL, 0, &pd, sizeof(pd), &efa_pd, 8),
			 0);
	w.pd = pd.pd_handle;
	sweep((struct swept){{UVERBS_ATTR_WRITE_CMD, UVERBS_ATTR_CORE_OUT},
			     2,
			     UVERBS_OBJECT_PD,
			     UVERBS_METHOD_PD_DESTROY,
			     &pd.pd_handle});
	assert_int_equal(reg_mr(w.pd, FUZZ_MEMORY, 64, FUZZ_MEMORY, 7, &mr), 0);
	w.mr = mr.mr_handle;
	sweep((struct swept){{UVERBS_ATTR_WRITE_CMD, UVERBS_ATTR_CORE_IN, UVERBS_ATTR_CORE_OUT},
			     3,
			     UVERBS_OBJECT_MR,
			     UVERBS_METHOD_MR_DESTROY,
			     &mr.mr_handle});
	srd_model_gid(0, &gid);
	assert_int_equal(new_ah(w.pd, &gid, &ah, &efa_ah), 0);
	handle = ah.ah_handle;
	sweep((struct swept){{UVERBS_ATTR_WRITE_CMD, UVERBS_ATTR_CORE_IN, UVERBS_ATTR_CORE_OUT},
			     3,
			     UVERBS_OBJECT_AH,
			     UVERBS_METHOD_AH_DESTROY,
			     &ah.ah_handle});
	assert_int_equal(new_cq(&good_cq, &w.cq), 0);
	sweep((struct swept){
		{UVERBS_ATTR_CREATE_CQ_HANDLE, UVERBS_ATTR_CREATE_CQ_CQE, UVERBS_ATTR_UHW_IN},
		3,
		UVERBS_OBJECT_CQ,
		UVERBS_METHOD_CQ_DESTROY,
		NULL});
	qp.pd = w.pd;
	qp.send_cq = qp.recv_cq = w.cq;
	assert_int_equal(new_qp(&qp, &w.qp), 0);
	sweep((struct swept){{UVERBS_ATTR_CREATE_QP_HANDLE, UVERBS_ATTR_CREATE_QP_PD_HANDLE,
			      UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE,
			      UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, UVERBS_ATTR_CREATE_QP_CAP,
			      UVERBS_ATTR_CREATE_QP_TYPE, UVERBS_ATTR_UHW_IN},
			     7,
			     UVERBS_OBJECT_QP,
			     UVERBS_METHOD_QP_DESTROY,
			     NULL});
	assert_int_equal(modify(w.qp, 0x71, SRD_QPS_INIT), 0);
	assert_int_equal(modify(w.qp, 1, SRD_QPS_RESET), 0);
	sweep((struct swept){{UVERBS_ATTR_WRITE_CMD, UVERBS_ATTR_CORE_IN}, 2});
	query.qp_handle = w.qp;
	assert_int_equal(legacy(IB_USER_VERBS_CMD_QUERY_QP, &query, sizeof(query), &query_resp,
				sizeof(query_resp), NULL, 0),
			 0);
	sweep((struct swept){{UVERBS_ATTR_WRITE_CMD, UVERBS_ATTR_CORE_IN, UVERBS_ATTR_CORE_OUT},
			     3});
	/* What began and failed has left nothing: with the last of each all is free again. */
	assert_int_equal(destroy(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY, w.qp), 0);
	assert_int_equal(destroy(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY, w.cq), 0);
	assert_int_equal(destroy(UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, w.mr), 0);
	assert_int_equal(destroy(UVERBS_OBJECT_AH, UVERBS_METHOD_AH_DESTROY, handle), 0);
	assert_int_equal(destroy(UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, w.pd), 0);
}

/* Those of the profile "small"; then one is given back, and there is room for one. */
static void more_than_the_device_has(void **state)
{
	const struct srd_profile *profile = srd_profile_find("small");
	struct ib_uverbs_alloc_pd_resp pd;
	struct ib_uverbs_reg_mr_resp mr;
	struct ib_uverbs_create_ah_resp ah;
	struct efa_ibv_create_ah_resp efa;
	struct qp_args qp = good_qp;
	uint32_t cq = 0, handle = 0, count;
	union srd_gid gid;

	srd_model_gid(0, &gid);
	w.pd = new_pd();
	for (count = 1; !legacy(IB_USER_VERBS_CMD_ALLOC_PD, NULL, 0, &pd, sizeof(pd), NULL, 0);
	     count++)
		handle = pd.pd_handle;
	assert_int_equal(count, profile->max_pd);
	assert_int_equal(destroy(UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, handle), 0);
	new_pd();
	for (count = 0; !reg_mr(w.pd, FUZZ_MEMORY, 64, FUZZ_MEMORY, 7, &mr); count++)
		;
	assert_int_equal(count, profile->max_mr);
	for (count = 0; !new_ah(w.pd, &gid, &ah, &efa); count++)
		;
	assert_int_equal(count, profile->max_ah);
	assert_int_equal(new_ah(w.pd, &gid, &ah, &efa), ENOMEM);
	for (count = 0; !new_cq(&good_cq, &handle); count++)
		cq = handle;
	assert_int_equal(count, profile->max_cq);
	qp.pd = w.pd;
	qp.send_cq = qp.recv_cq = cq;
	for (count = 0; !new_qp(&qp, &handle); count++)
		;
	assert_int_equal(count, profile->max_qp);
	assert_int_equal(new_qp(&qp, &handle), ENOMEM);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(calls_that_are_none),
		TEST(what_the_device_says),
		TEST(objects_that_cannot_be),
		TEST(queues_that_cannot_be),
		TEST(states_are_the_models),
		TEST(bytes_move),
		TEST(receives_say_what_came),
		TEST(datagrams_have_a_header),
		TEST(nonsense_ends_the_queue_pair),
		TEST(events_are_read_or_taken_back),
		TEST(addresses_that_are_not_there),
		TEST(memory_of_others),
		TEST(the_dead_leave_nothing),
		TEST(locks_of_the_dead),
		TEST(groups_that_are_none),
		TEST(attributes_that_are_not_known),
		TEST(memory_of_devices),
		TEST(calls_with_something_missing),
		TEST(more_than_the_device_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
