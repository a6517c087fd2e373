/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <rdma/ib_user_ioctl_verbs.h>

#include "softefa/engine.h"
#include "softefa_world.h"

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

uint64_t words[CALL_WORDS];
struct ib_uverbs_ioctl_hdr *const header = (struct ib_uverbs_ioctl_hdr *)words;

void begin(uint16_t object, uint16_t method)
{
	memset(words, 0, sizeof(words));
	header->object_id = object;
	header->method_id = method;
}

struct ib_uverbs_attr *add(uint16_t id, uint16_t len, uint64_t data)
{
	struct ib_uverbs_attr *attr = &header->attrs[header->num_attrs++];

	*attr = (struct ib_uverbs_attr){.attr_id = id, .len = len, .data = data};
	return attr;
}

void add_bytes(uint16_t id, const void *bytes, uint16_t len)
{
	struct ib_uverbs_attr *attr = add(id, len, (uintptr_t)bytes);

	if (len <= 8) {
		attr->data = 0;
		memcpy(&attr->data, bytes, len);
	}
}

int go(void)
{
	struct soft_call call = {.file = FUZZ_FILE};
	int err;

	header->length = (uint16_t)(sizeof(*header) + header->num_attrs * sizeof(header->attrs[0]));
	err = soft_call_read(&call, (uintptr_t)header);
	return err ? err : soft_command(&call);
}

int legacy(uint32_t number, const void *in, uint16_t in_len, void *out, uint16_t out_len,
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

int destroy(uint16_t object, uint16_t method, uint64_t handle)
{
	uint64_t reported;

	begin(object, method);
	add(0, 0, handle);
	add(1, 8, (uintptr_t)&reported);
	return go();
}

uint32_t new_pd(void)
{
	struct ib_uverbs_alloc_pd_resp r;
	struct efa_ibv_alloc_pd_resp efa;

	assert_int_equal(legacy(IB_USER_VERBS_CMD_ALLOC_PD, NULL, 0, &r, sizeof(r), &efa, 8), 0);
	assert_true(efa.pdn > 0);
	return r.pd_handle;
}

int reg_mr(uint32_t pd, uint64_t start, uint64_t length, uint64_t iova, uint32_t access,
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

int new_ah(uint32_t pd, const union srd_gid *gid, struct ib_uverbs_create_ah_resp *r,
	   struct efa_ibv_create_ah_resp *efa)
{
	static struct ib_uverbs_create_ah in;

	in = (struct ib_uverbs_create_ah){.pd_handle = pd, .attr = {.is_global = 1, .port_num = 1}};
	memcpy(in.attr.grh.dgid, gid->raw, 16);
	return legacy(IB_USER_VERBS_CMD_CREATE_AH, &in, sizeof(in), r, sizeof(*r), efa,
		      sizeof(*efa));
}

const struct cq_args good_cq = {
	.entries = ENTRIES, .channel = -1, .efa = {.cq_entry_size = 32, .num_sub_cqs = 1}};

int new_cq(const struct cq_args *args, uint32_t *handle)
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
	for (uint16_t i = 0; i < 4; i++) {
		const uint64_t values[4] = {FUZZ_MEMORY, args->length, (uint64_t)args->fd,
					    args->offset};

		if (args->buffer & 1u << i)
			add((uint16_t)(UVERBS_ATTR_CREATE_CQ_EVENT_FD + 1 + i), i == 2 ? 0 : 8,
			    values[i]);
	}
	err = go();
	*handle = (uint32_t)header->attrs[0].data;
	if (!err && args->buffer)
		assert_true(!efa.comp_mask && !efa.q_mmap_key && !efa.db_mmap_key);
	if (!err)
		assert_int_equal(granted, args->entries);
	return err;
}

const struct qp_args good_qp = {
	.type = IB_UVERBS_QPT_DRIVER,
	.cap = {ENTRIES, ENTRIES, 2, 1, 32},
	.efa = {.sq_ring_size = ENTRIES * 64, .rq_ring_size = ENTRIES * 16}};

int new_qp(const struct qp_args *args, uint32_t *handle)
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

int modify(uint32_t qp, uint32_t mask, uint8_t state)
{
	static struct ib_uverbs_modify_qp in;

	in = (struct ib_uverbs_modify_qp){
		.qp_handle = qp, .attr_mask = mask, .qp_state = state, .port_num = 1, .qkey = QKEY};
	return legacy(IB_USER_VERBS_CMD_MODIFY_QP, &in, sizeof(in), NULL, 0, NULL, 0);
}

struct world w;

void make_world(uint32_t type, int channel)
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

void ring(struct soft_ring *r, uint32_t value)
{
	memcpy(soft.rings + r->doorbell, &value, 4);
}

struct efa_io_tx_meta_desc meta(uint8_t op, uint16_t length)
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

struct rdma_entry rdma(uint8_t op, uint64_t remote, uint64_t local, uint32_t length)
{
	return (struct rdma_entry){
		.meta = meta(op, 1),
		.remote = {length, w.key, (uint32_t)remote, (uint32_t)(remote >> 32)},
		.local = {length, w.key, (uint32_t)local, (uint32_t)(local >> 32)},
	};
}

const struct efa_io_rx_cdesc *post(const void *entry, uint32_t n, uint32_t which)
{
	struct soft_object *qp = soft_object(w.qp), *cq = soft_object(w.cq);

	memcpy(soft.rings + qp->qp.sq.key + (n % ENTRIES) * 64, entry, 64);
	ring(&qp->qp.sq, n + 1);
	assert_int_equal(soft_doorbell(qp), 1);
	soft_run(NULL);
	return (void *)(soft.rings + cq->cq.ring.key + which % ENTRIES * 32);
}

void post_recv(uint32_t n, uint64_t addr, uint16_t length)
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

int setup(void **state)
{
	fuzz_device_open();
	memset((void *)FUZZ_MEMORY, 0, FUZZ_BYTES);
	return soft_lock();
}

int teardown(void **state)
{
	soft_run(NULL);
	soft_file_release(FUZZ_FILE);
	soft_run(NULL);
	fuzz_device_check();
	soft_unlock();
	return 0;
}
