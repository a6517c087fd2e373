/* SPDX-License-Identifier: MIT */
/* The calls of the software device, as a library makes them, and wrong ones. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>

#include "softefa_world.h"

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
	/* External memory: all of what says where, and that only, of what is some. */
	CQ(EINVAL, cq.buffer = CQ_LENGTH);
	CQ(EINVAL, cq.buffer = CQ_OFFSET);
	CQ(EINVAL, cq.buffer = CQ_VA | CQ_LENGTH; cq.length = 4096);
	CQ(EINVAL, cq.buffer = CQ_FD | CQ_LENGTH; cq.length = 4096);
	CQ(EINVAL, cq.buffer = CQ_FD | CQ_OFFSET);
	CQ(EINVAL, cq.buffer = CQ_FD | CQ_OFFSET | CQ_LENGTH; cq.length = 4095);
	CQ(EBADF, cq.buffer = CQ_FD | CQ_OFFSET | CQ_LENGTH; cq.length = 4096; cq.fd = 1000);
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
	QP(EOPNOTSUPP, qp.efa.flags = EFA_CREATE_QP_WITH_SQ_64_BIT_REQ_ID);
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
		TEST(calls_that_are_none),      TEST(attributes_that_are_not_known),
		TEST(what_the_device_says),     TEST(objects_that_cannot_be),
		TEST(queues_that_cannot_be),    TEST(states_are_the_models),
		TEST(memory_of_devices),        TEST(calls_with_something_missing),
		TEST(more_than_the_device_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
