/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "hw_config.h"
#include "hw_fake.h"

#define CAPS_READ_WRITE 0xf

struct fake fake;

static struct ibv_device list_storage[FAKE_MAX_DEVICES];

struct fake_qp {
	struct ibv_qp_ex ex;
	int error; /* latched in the session */
};

void fake_reset(void)
{
	fake = (struct fake){
		.devices = {{"efa_0", true, 0, CAPS_READ_WRITE, 1 << 30}},
		.num_devices = 1,
		.max_msg_sz = 8928,
		.libefa = "56.1",
		.wc_error_at = -1,
		.recv_room = -1,
		.clock = 5000000000,
	};
}

const char *fake_log(void)
{
	static char copy[sizeof(fake.log)];

	memcpy(copy, fake.log, sizeof(copy));
	fake_forget();
	return copy;
}

void fake_forget(void)
{
	fake.logged = 0;
	fake.log[0] = '\0';
}

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fake.logged += (size_t)vsnprintf(fake.log + fake.logged, sizeof(fake.log) - fake.logged,
					 format, args);
	va_end(args);
	assert_true(fake.logged + 2 < sizeof(fake.log));
	strcpy(fake.log + fake.logged++, "\n");
}

/* The errno that this call is to fail with; 0: it goes well. */
static int fails(const char *call)
{
	if (++fake.calls != fake.fail_at)
		return 0;
	fake.failed = call;
	errno = fake.fail_errno;
	return fake.fail_errno;
}

static void *made(size_t size)
{
	void *object = calloc(1, size);

	assert_non_null(object);
	fake.live++;
	return object;
}

static void gone(void *object)
{
	fake.live--;
	free(object);
}

/* devices */

struct ibv_device **__wrap_ibv_get_device_list(int *num);
struct ibv_device **__wrap_ibv_get_device_list(int *num)
{
	struct ibv_device **list;

	if (num)
		*num = 0;
	if (fake.list_error) {
		errno = fake.list_error;
		return NULL;
	}
	if (fails("ibv_get_device_list"))
		return NULL;
	list = made((FAKE_MAX_DEVICES + 1) * sizeof(*list));
	for (int i = 0; i < fake.num_devices; i++) {
		struct ibv_device *device = &list_storage[i];

		memset(device, 0, sizeof(*device));
		snprintf(device->name, sizeof(device->name), "%s", fake.devices[i].name);
		snprintf(device->dev_name, sizeof(device->dev_name), "uverbs%d", i);
		snprintf(device->ibdev_path, sizeof(device->ibdev_path), "%s", fake.sysfs);
		list[i] = device;
	}
	if (num)
		*num = fake.num_devices;
	return list;
}

void __wrap_ibv_free_device_list(struct ibv_device **list);
void __wrap_ibv_free_device_list(struct ibv_device **list)
{
	gone(list);
}

const char *__wrap_ibv_get_device_name(struct ibv_device *device);
const char *__wrap_ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

static const struct fake_device *of(struct ibv_context *context)
{
	return &fake.devices[context->device - list_storage];
}

static int query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr,
		      size_t size)
{
	note("ibv_query_port port=%u", port_num);
	if (fails("ibv_query_port"))
		return fake.fail_errno;
	if (port_num != 1)
		return EINVAL;
	*attr = (struct ibv_port_attr){.state = IBV_PORT_ACTIVE,
				       .max_msg_sz = fake.max_msg_sz,
				       .active_mtu = IBV_MTU_4096,
				       .gid_tbl_len = 1,
				       .pkey_tbl_len = 1,
				       .lid = 0};
	return 0;
}

static int poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc)
{
	int n = 0;

	assert_false(fake.locked);
	assert_false(fake.cq_locked);
	if (fails("ibv_poll_cq"))
		return -fake.fail_errno;
	for (; n < num_entries && fake.polled < fake.num_wc; n++) {
		if (fake.polled == fake.wc_error_at) {
			fake.polled++;
			return n ? n : -EINVAL;
		}
		wc[n] = fake.wc[fake.polled++];
	}
	note("ibv_poll_cq cq%u max=%d: %d", cq->handle, num_entries, n);
	return n;
}

static int req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	note("ibv_req_notify_cq solicited=%d", solicited_only);
	if (fails("ibv_req_notify_cq"))
		return fake.fail_errno;
	return solicited_only ? EOPNOTSUPP : 0;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	if (!wr)
		note("ibv_post_recv nothing");
	for (; wr; wr = wr->next) {
		if (fails("ibv_post_recv") || !fake.recv_room) {
			*bad_wr = wr;
			return fake.recv_room ? fake.fail_errno : ENOMEM;
		}
		fake.recv_room -= fake.recv_room > 0;
		note("ibv_post_recv id=%lu sge=%d lkey=%u length=%u%s", wr->wr_id, wr->num_sge,
		     wr->num_sge ? wr->sg_list[0].lkey : 0, wr->num_sge ? wr->sg_list[0].length : 0,
		     wr->next ? " ..." : "");
	}
	return 0;
}

static struct ibv_qp *create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);

struct ibv_context *__wrap_ibv_open_device(struct ibv_device *device);
struct ibv_context *__wrap_ibv_open_device(struct ibv_device *device)
{
	const struct fake_device *is = &fake.devices[device - list_storage];
	struct verbs_context *verbs;

	note("ibv_open_device %s", device->name);
	if (is->open_error) {
		errno = is->open_error;
		return NULL;
	}
	if (fails("ibv_open_device"))
		return NULL;
	verbs = made(sizeof(*verbs));
	verbs->sz = sizeof(*verbs);
	verbs->query_port = query_port;
	verbs->create_qp_ex = create_qp_ex;
	verbs->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	verbs->context.device = device;
	verbs->context.ops.poll_cq = poll_cq;
	verbs->context.ops.post_recv = post_recv;
	verbs->context.ops.req_notify_cq = req_notify_cq;
	return &verbs->context;
}

int __wrap_ibv_close_device(struct ibv_context *context);
int __wrap_ibv_close_device(struct ibv_context *context)
{
	note("ibv_close_device");
	gone((char *)context - offsetof(struct verbs_context, context));
	return 0;
}

int __wrap_ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr);
int __wrap_ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	note("ibv_query_device");
	if (fails("ibv_query_device"))
		return fake.fail_errno;
	*attr = (struct ibv_device_attr){
		.max_mr_size = 96ull << 30,
		.vendor_id = 0x1d0f,
		.vendor_part_id = 0xefa1,
		.max_qp = 256,
		.max_qp_wr = 4096,
		.max_sge = 2,
		.max_sge_rd = 1,
		.max_cq = 512,
		.max_cqe = 32768,
		.max_mr = 262144,
		.max_pd = 255,
		.max_ah = 1024,
		.phys_port_cnt = 1,
	};
	return 0;
}

int __wrap_ibv_query_gid(struct ibv_context *context, uint8_t port_num, int index,
			 union ibv_gid *gid);
int __wrap_ibv_query_gid(struct ibv_context *context, uint8_t port_num, int index,
			 union ibv_gid *gid)
{
	note("ibv_query_gid port=%u index=%d", port_num, index);
	if (fails("ibv_query_gid"))
		return -1;
	if (index)
		return -1; /* and no errno, as some versions do */
	for (int i = 0; i < 16; i++)
		gid->raw[i] = (uint8_t)(0xa0 + i);
	return 0;
}

int __wrap_ibv_query_port(struct ibv_context *context, uint8_t port_num,
			  struct _compat_ibv_port_attr *attr);
int __wrap_ibv_query_port(struct ibv_context *context, uint8_t port_num,
			  struct _compat_ibv_port_attr *attr)
{
	fail_msg("the port of an extended context is queried through its function pointer");
	return ENOSYS;
}

int __wrap_efadv_query_device(struct ibv_context *context, struct efadv_device_attr *attr,
			      uint32_t inlen);
int __wrap_efadv_query_device(struct ibv_context *context, struct efadv_device_attr *attr,
			      uint32_t inlen)
{
	note("efadv_query_device inlen=%s", inlen == sizeof(*attr) ? "whole" : "?");
	if (!of(context)->is_efa)
		return EOPNOTSUPP;
	if (fails("efadv_query_device"))
		return fake.fail_errno;
	attr->max_sq_wr = 4096;
	attr->max_rq_wr = 32768;
	attr->max_sq_sge = 2;
	attr->max_rq_sge = 3;
	attr->inline_buf_size = 32;
#if HAVE_INLINE_BUF_SIZE_EX
	attr->inline_buf_size_ex = fake.inline_ex;
#endif
	attr->device_caps = of(context)->caps;
	attr->max_rdma_size = of(context)->max_rdma_size;
	return 0;
}

void __wrap_hw_libefa_version(char *version, size_t size);
void __wrap_hw_libefa_version(char *version, size_t size)
{
	snprintf(version, size, "%s", fake.libefa);
}

void *__wrap_dlsym(void *library, const char *name);
void *__wrap_dlsym(void *library, const char *name)
{
	return strcmp(name, "srdlab_fault_calls") ? NULL : (void *)fake.faults;
}

/* protection domain, memory, completion queue, address handle */

struct ibv_pd *__wrap_ibv_alloc_pd(struct ibv_context *context);
struct ibv_pd *__wrap_ibv_alloc_pd(struct ibv_context *context)
{
	struct ibv_pd *pd;

	note("ibv_alloc_pd");
	if (fails("ibv_alloc_pd"))
		return NULL;
	pd = made(sizeof(*pd));
	pd->context = context;
	return pd;
}

int __wrap_ibv_dealloc_pd(struct ibv_pd *pd);
int __wrap_ibv_dealloc_pd(struct ibv_pd *pd)
{
	note("ibv_dealloc_pd");
	if (fails("ibv_dealloc_pd"))
		return fake.fail_errno;
	gone(pd);
	return 0;
}

struct ibv_mr *__wrap_ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				       unsigned int access);
struct ibv_mr *__wrap_ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				       unsigned int access)
{
	struct ibv_mr *mr;

	note("ibv_reg_mr length=%zu iova=%s access=0x%x", length,
	     iova == (uintptr_t)addr ? "addr" : "?", access);
	if (fails("ibv_reg_mr"))
		return NULL;
	mr = made(sizeof(*mr));
	mr->lkey = 0x1111;
	mr->rkey = 0x2222;
	return mr;
}

struct ibv_mr *__wrap_ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access);
struct ibv_mr *__wrap_ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return __wrap_ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, (unsigned int)access);
}

int __wrap_ibv_dereg_mr(struct ibv_mr *mr);
int __wrap_ibv_dereg_mr(struct ibv_mr *mr)
{
	note("ibv_dereg_mr");
	if (fails("ibv_dereg_mr"))
		return fake.fail_errno;
	gone(mr);
	return 0;
}

struct ibv_cq *__wrap_ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
				    struct ibv_comp_channel *channel, int comp_vector);
struct ibv_cq *__wrap_ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
				    struct ibv_comp_channel *channel, int comp_vector)
{
	struct ibv_cq *cq;

	note("ibv_create_cq cqe=%d channel=%s vector=%d", cqe, channel ? "?" : "none", comp_vector);
	if (fails("ibv_create_cq"))
		return NULL;
	cq = made(sizeof(*cq));
	cq->context = context;
	cq->handle = ++fake.cqs;
	cq->cqe = 1;
	while (cq->cqe < cqe)
		cq->cqe *= 2;
	return cq;
}

int __wrap_ibv_destroy_cq(struct ibv_cq *cq);
int __wrap_ibv_destroy_cq(struct ibv_cq *cq)
{
	note("ibv_destroy_cq");
	assert_false(fake.cq_locked);
	if (fails("ibv_destroy_cq"))
		return fake.fail_errno;
	gone(cq);
	return 0;
}

/* the extended poll: libefa's lock and current entry in small */

static int take(struct ibv_cq_ex *cq)
{
	const struct ibv_wc *wc = &fake.wc[fake.polled];

	if (fake.polled >= fake.num_wc)
		return ENOENT;
	if (fake.polled++ == fake.wc_error_at)
		return EINVAL;
	cq->wr_id = wc->wr_id;
	cq->status = wc->status;
	return 0;
}

static int start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
	int err;

	note("start_poll comp_mask=%u", attr->comp_mask);
	assert_false(fake.cq_locked);
	if (fails("start_poll"))
		return fake.fail_errno;
	err = take(cq);
	fake.cq_locked = !err;
	return err;
}

static int next_poll(struct ibv_cq_ex *cq)
{
	note("next_poll");
	assert_true(fake.cq_locked);
	/* It gives a credit back, for which it takes the lock of the send queue. */
	assert_false(fake.locked);
	return fails("next_poll") ? fake.fail_errno : take(cq);
}

static void end_poll(struct ibv_cq_ex *cq)
{
	note("end_poll");
	assert_true(fake.cq_locked);
	assert_false(fake.locked);
	fake.cq_locked = false;
}

static const struct ibv_wc *current(void)
{
	assert_true(fake.cq_locked && fake.polled > 0);
	return &fake.wc[fake.polled - 1];
}

static const struct ibv_wc *current_receive(void)
{
	assert_true(current()->opcode & IBV_WC_RECV);
	return current();
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *cq)
{
	return current()->opcode;
}

static uint32_t read_vendor_err(struct ibv_cq_ex *cq)
{
	return current()->vendor_err;
}

static unsigned int read_wc_flags(struct ibv_cq_ex *cq)
{
	return current()->wc_flags;
}

static uint32_t read_qp_num(struct ibv_cq_ex *cq)
{
	return current()->qp_num;
}

static uint32_t read_byte_len(struct ibv_cq_ex *cq)
{
	return current_receive()->byte_len;
}

static __be32 read_imm_data(struct ibv_cq_ex *cq)
{
	return current_receive()->imm_data;
}

static uint32_t read_src_qp(struct ibv_cq_ex *cq)
{
	return current_receive()->src_qp;
}

static uint32_t read_slid(struct ibv_cq_ex *cq)
{
	return current_receive()->slid;
}

static uint8_t read_sl(struct ibv_cq_ex *cq)
{
	return current_receive()->sl;
}

static uint8_t read_dlid_path_bits(struct ibv_cq_ex *cq)
{
	return current_receive()->dlid_path_bits;
}

struct ibv_cq_ex *__wrap_efadv_create_cq(struct ibv_context *context,
					 struct ibv_cq_init_attr_ex *attr,
					 struct efadv_cq_init_attr *efa, uint32_t inlen);
struct ibv_cq_ex *__wrap_efadv_create_cq(struct ibv_context *context,
					 struct ibv_cq_init_attr_ex *attr,
					 struct efadv_cq_init_attr *efa, uint32_t inlen)
{
	struct ibv_cq_ex *cq;

	note("efadv_create_cq cqe=%u channel=%s vector=%u wc_flags=0x%lx comp_mask=0x%x flags=0x%x "
	     "efa_wc_flags=0x%lx inlen=%s",
	     attr->cqe, attr->channel ? "set" : "none", attr->comp_vector,
	     (unsigned long)attr->wc_flags, attr->comp_mask, attr->flags,
	     (unsigned long)efa->wc_flags, inlen == sizeof(*efa) ? "whole" : "?");
	if (fails("efadv_create_cq"))
		return NULL;
	cq = made(sizeof(*cq));
	*cq = (struct ibv_cq_ex){
		.context = context,
		.channel = attr->channel,
		.cq_context = attr->cq_context,
		.handle = ++fake.cqs,
		.cqe = 1,
		.start_poll = start_poll,
		.next_poll = next_poll,
		.end_poll = end_poll,
		.read_opcode = read_opcode,
		.read_vendor_err = read_vendor_err,
		.read_wc_flags = read_wc_flags,
		.read_qp_num = read_qp_num,
		.read_byte_len = read_byte_len,
		.read_imm_data = read_imm_data,
		.read_src_qp = read_src_qp,
		.read_slid = read_slid,
		.read_sl = read_sl,
		.read_dlid_path_bits = read_dlid_path_bits,
	};
	while (cq->cqe < (int)attr->cqe)
		cq->cqe *= 2;
	fake.extended = ibv_cq_ex_to_cq(cq);
	return cq;
}

static int read_sgid(struct efadv_cq *cq, union ibv_gid *gid)
{
	assert_true(current()->opcode & IBV_WC_RECV);
	if (!fake.sender)
		return -ENOENT;
	memset(gid, 0, sizeof(*gid));
	memcpy(gid->raw, &fake.sender, sizeof(fake.sender));
	return 0;
}

#if HAVE_EFADV_WC_EX_WITH_IS_UNSOLICITED
static bool is_unsolicited(struct efadv_cq *cq)
{
	return fake.unsolicited;
}
#endif

struct efadv_cq *__wrap_efadv_cq_from_ibv_cq_ex(struct ibv_cq_ex *cq);
struct efadv_cq *__wrap_efadv_cq_from_ibv_cq_ex(struct ibv_cq_ex *cq)
{
	static struct efadv_cq efadv = {
		.wc_read_sgid = read_sgid,
#if HAVE_EFADV_WC_EX_WITH_IS_UNSOLICITED
		.wc_is_unsolicited = is_unsolicited,
#endif
	};

	return &efadv;
}

/* completion channels: an event is something to read, as it is with the kernel's */

struct ibv_comp_channel *__wrap_ibv_create_comp_channel(struct ibv_context *context);
struct ibv_comp_channel *__wrap_ibv_create_comp_channel(struct ibv_context *context)
{
	struct ibv_comp_channel *channel;

	note("ibv_create_comp_channel");
	if (fails("ibv_create_comp_channel"))
		return NULL;
	channel = made(sizeof(*channel));
	channel->context = context;
	channel->fd = eventfd(0, EFD_SEMAPHORE);
	assert_true(channel->fd >= 0);
	fake.event_fd = channel->fd;
	return channel;
}

int __wrap_ibv_destroy_comp_channel(struct ibv_comp_channel *channel);
int __wrap_ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	note("ibv_destroy_comp_channel");
	if (fails("ibv_destroy_comp_channel"))
		return fake.fail_errno;
	close(channel->fd);
	gone(channel);
	return 0;
}

int __wrap_ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **context);
int __wrap_ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **context)
{
	uint64_t one;

	note("ibv_get_cq_event");
	if (fails("ibv_get_cq_event"))
		return -1;
	assert_int_equal(read(channel->fd, &one, sizeof(one)), sizeof(one));
	*cq = fake.extended;
	*context = fake.extended->cq_context;
	return 0;
}

void __wrap_ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents);
void __wrap_ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
	note("ibv_ack_cq_events %u", nevents);
}

struct ibv_ah *__wrap_ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);
struct ibv_ah *__wrap_ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct ibv_ah *ah;

	note("ibv_create_ah port=%u global=%u dgid=%02x..%02x sgid=%u hop=%u class=%u sl=%u lid=%u "
	     "flow=%u",
	     attr->port_num, attr->is_global, attr->grh.dgid.raw[0], attr->grh.dgid.raw[15],
	     attr->grh.sgid_index, attr->grh.hop_limit, attr->grh.traffic_class, attr->sl,
	     attr->dlid, attr->grh.flow_label);
	if (fails("ibv_create_ah"))
		return NULL;
	ah = made(sizeof(*ah));
	ah->context = pd->context;
	return ah;
}

int __wrap_ibv_destroy_ah(struct ibv_ah *ah);
int __wrap_ibv_destroy_ah(struct ibv_ah *ah)
{
	note("ibv_destroy_ah");
	if (fails("ibv_destroy_ah"))
		return fake.fail_errno;
	gone(ah);
	return 0;
}

/* the posting session: libefa's latch and lock in small */

static struct fake_qp *fake_qp(struct ibv_qp_ex *ex)
{
	return (struct fake_qp *)ex;
}

static void wr_start(struct ibv_qp_ex *ex)
{
	note("wr_start");
	assert_false(fake.locked);
	fake.locked = true;
	fake_qp(ex)->error = 0;
}

static void build(struct ibv_qp_ex *ex, const char *op, uint32_t rkey, uint64_t addr, uint32_t imm)
{
	assert_true(fake.locked);
	if (fake_qp(ex)->error)
		return;
	if (ex->qp_base.state != IBV_QPS_RTS && ex->qp_base.state != IBV_QPS_SQD)
		fake_qp(ex)->error = EINVAL;
	else if (fails(op))
		fake_qp(ex)->error = fake.fail_errno;
	note("%s id=%lu flags=0x%x rkey=0x%x addr=0x%lx imm=%u", op, ex->wr_id, ex->wr_flags, rkey,
	     addr - fake.base, imm);
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr)
{
	build(ex, "wr_rdma_write", rkey, addr, 0);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, __be32 imm)
{
	build(ex, "wr_rdma_write_imm", rkey, addr, imm);
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr)
{
	build(ex, "wr_rdma_read", rkey, addr, 0);
}

static void wr_send(struct ibv_qp_ex *ex)
{
	build(ex, "wr_send", 0, 0, 0);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm)
{
	build(ex, "wr_send_imm", 0, 0, imm);
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	note("wr_set_sge lkey=0x%x addr=0x%lx length=%u", lkey, addr - fake.base, length);
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t num, const struct ibv_sge *list)
{
	note("wr_set_sge_list %zu last: lkey=0x%x addr=0x%lx length=%u", num, list[num - 1].lkey,
	     list[num - 1].addr, list[num - 1].length);
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	note("wr_set_inline_data \"%.*s\"", (int)length, (char *)addr);
}

static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	note("wr_set_ud_addr ah=%s qpn=%u qkey=0x%x", ah->context ? "live" : "?", qpn, qkey);
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	assert_true(fake.locked);
	fake.locked = false;
	if (!fake_qp(ex)->error)
		fake_qp(ex)->error = fails("wr_complete");
	note("wr_complete: %d", fake_qp(ex)->error);
	return fake_qp(ex)->error;
}

static void wr_abort(struct ibv_qp_ex *ex)
{
	assert_true(fake.locked);
	fake.locked = false;
	note("wr_abort");
}

/* queue pair */

static uint32_t granted(uint32_t asked)
{
	uint32_t depth = 1;

	while (fake.grant_pow2 && depth < asked)
		depth *= 2;
	return fake.grant_pow2 ? depth : asked;
}

static void fill_ops(struct ibv_qp_ex *ex, uint64_t ops)
{
	ex->wr_rdma_write = ops & IBV_QP_EX_WITH_RDMA_WRITE ? wr_rdma_write : NULL;
	ex->wr_rdma_write_imm = ops & IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM ? wr_rdma_write_imm : NULL;
	ex->wr_rdma_read = ops & IBV_QP_EX_WITH_RDMA_READ ? wr_rdma_read : NULL;
	ex->wr_send = ops & IBV_QP_EX_WITH_SEND ? wr_send : NULL;
	ex->wr_send_imm = ops & IBV_QP_EX_WITH_SEND_WITH_IMM ? wr_send_imm : NULL;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_ud_addr = wr_set_ud_addr;
	ex->wr_start = wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
}

struct ibv_qp *__wrap_efadv_create_qp_ex(struct ibv_context *context,
					 struct ibv_qp_init_attr_ex *attr,
					 struct efadv_qp_init_attr *efa, uint32_t inlen);
struct ibv_qp *__wrap_efadv_create_qp_ex(struct ibv_context *context,
					 struct ibv_qp_init_attr_ex *attr,
					 struct efadv_qp_init_attr *efa, uint32_t inlen)
{
	struct fake_qp *qp;

	note("efadv_create_qp_ex type=0x%x driver=%u cqs=%s pd=%s srq=%s sig_all=%d wr=%u/%u "
	     "sge=%u/%u inline=%u comp_mask=0x%x ops=0x%lx efa_comp_mask=%lu inlen=%s",
	     attr->qp_type, efa->driver_qp_type, attr->send_cq && attr->recv_cq ? "both" : "?",
	     attr->pd ? "set" : "?", attr->srq ? "?" : "none", attr->sq_sig_all,
	     attr->cap.max_send_wr, attr->cap.max_recv_wr, attr->cap.max_send_sge,
	     attr->cap.max_recv_sge, attr->cap.max_inline_data, attr->comp_mask,
	     attr->send_ops_flags, efa->comp_mask, inlen == sizeof(*efa) ? "whole" : "?");
#if HAVE_QP_INIT_ATTR_FLAGS
	fake.qp_flags = efa->flags;
#endif
	attr->cap.max_send_wr = granted(attr->cap.max_send_wr);
	attr->cap.max_recv_wr = granted(attr->cap.max_recv_wr);
	if (fails("efadv_create_qp_ex"))
		return NULL;
	qp = made(sizeof(*qp));
	qp->ex.qp_base.context = context;
	qp->ex.qp_base.qp_num = 77;
	qp->ex.qp_base.state = IBV_QPS_RESET;
	fill_ops(&qp->ex, attr->send_ops_flags & ~fake.missing_ops);
	return &qp->ex.qp_base;
}

/* Another provider's: libefa has only datagrams without its own call. */
static struct ibv_qp *create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	struct fake_qp *qp;

	note("ibv_create_qp_ex type=%u sig_all=%d wr=%u/%u sge=%u/%u inline=%u comp_mask=0x%x "
	     "ops=0x%lx",
	     attr->qp_type, attr->sq_sig_all, attr->cap.max_send_wr, attr->cap.max_recv_wr,
	     attr->cap.max_send_sge, attr->cap.max_recv_sge, attr->cap.max_inline_data,
	     attr->comp_mask, attr->send_ops_flags);
	if (fails("ibv_create_qp_ex"))
		return NULL;
	if (fake.devices[context->device - list_storage].is_efa) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	qp = made(sizeof(*qp));
	qp->ex.qp_base.context = context;
	qp->ex.qp_base.qp_num = 0x123456;
	qp->ex.qp_base.state = IBV_QPS_RESET;
	fill_ops(&qp->ex, attr->send_ops_flags & ~fake.missing_ops);
	qp->ex.wr_set_ud_addr = NULL;
	return &qp->ex.qp_base;
}

/* What ibv_create_qp_ex calls for a queue pair without the posting session. */
struct ibv_qp *__wrap_ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
struct ibv_qp *__wrap_ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	note("ibv_create_qp type=%u", attr->qp_type);
	errno = EOPNOTSUPP;
	return NULL;
}

struct ibv_qp_ex *__wrap_ibv_qp_to_qp_ex(struct ibv_qp *qp);
struct ibv_qp_ex *__wrap_ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	return (struct ibv_qp_ex *)qp;
}

int __wrap_ibv_destroy_qp(struct ibv_qp *qp);
int __wrap_ibv_destroy_qp(struct ibv_qp *qp)
{
	note("ibv_destroy_qp");
	assert_false(fake.locked);
	assert_false(fake.cq_locked);
	if (fails("ibv_destroy_qp"))
		return fake.fail_errno;
	gone(qp);
	return 0;
}

static const char *dgid(const struct ibv_ah_attr *attr)
{
	static char text[16];

	snprintf(text, sizeof(text), "%02x..%02x", attr->grh.dgid.raw[0], attr->grh.dgid.raw[15]);
	return text;
}

int __wrap_ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
int __wrap_ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	note("ibv_modify_qp mask=0x%x state=%d cur=%d qkey=0x%x port=%u pkey=%u sq_psn=%u "
	     "rnr_retry=%u",
	     mask, attr->qp_state, attr->cur_qp_state, attr->qkey, attr->port_num, attr->pkey_index,
	     attr->sq_psn, attr->rnr_retry);
	/* What SRD has none of. */
	if (mask & IBV_QP_ACCESS_FLAGS)
		note("  access=0x%x", attr->qp_access_flags);
	if (mask & IBV_QP_AV)
		note("  port=%u global=%u dgid=%s sgid=%u hop=%u lid=%u mtu=%u dest=0x%x rq_psn=%u "
		     "dest_rd=%u rnr_timer=%u",
		     attr->ah_attr.port_num, attr->ah_attr.is_global, dgid(&attr->ah_attr),
		     attr->ah_attr.grh.sgid_index, attr->ah_attr.grh.hop_limit, attr->ah_attr.dlid,
		     attr->path_mtu, attr->dest_qp_num, attr->rq_psn, attr->max_dest_rd_atomic,
		     attr->min_rnr_timer);
	if (mask & IBV_QP_TIMEOUT)
		note("  timeout=%u retry=%u rd=%u", attr->timeout, attr->retry_cnt,
		     attr->max_rd_atomic);
	if (fails("ibv_modify_qp"))
		return fake.fail_errno;
	if (mask & IBV_QP_STATE)
		qp->state = attr->qp_state;
	return 0;
}

int __wrap_ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
			struct ibv_qp_init_attr *init);
int __wrap_ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
			struct ibv_qp_init_attr *init)
{
	note("ibv_query_qp mask=0x%x", mask);
	if (fails("ibv_query_qp"))
		return fake.fail_errno;
	*attr = (struct ibv_qp_attr){
		.qp_state = qp->state,
		.cur_qp_state = IBV_QPS_INIT,
		.qkey = 0x4242,
		.rq_psn = 11,
		.sq_psn = 12,
		.dest_qp_num = 13,
		.qp_access_flags = 14,
		.path_mtu = IBV_MTU_4096,
		.cap = {16, 17, 18, 19, 20},
		.pkey_index = 21,
		.en_sqd_async_notify = 22,
		.sq_draining = 23,
		.max_rd_atomic = 24,
		.max_dest_rd_atomic = 25,
		.min_rnr_timer = 26,
		.port_num = 1,
		.timeout = 27,
		.retry_cnt = 28,
		.rnr_retry = 7,
	};
	return 0;
}

/* time and memory of the system */

int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	t->tv_sec = (time_t)(fake.clock / 1000000000);
	t->tv_nsec = (long)(fake.clock % 1000000000);
	return 0;
}

int __wrap_nanosleep(const struct timespec *t, struct timespec *rest);
int __wrap_nanosleep(const struct timespec *t, struct timespec *rest)
{
	note("nanosleep %ld", t->tv_nsec);
	fake.clock += (uint64_t)t->tv_nsec;
	return 0;
}

void *__real_mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset)
{
	void *bytes;

	if (fails("mmap"))
		return (void *)-1;
	bytes = __real_mmap(addr, length, prot, flags, fd, offset);
	fake.live += bytes != (void *)-1;
	return bytes;
}

/* The name that mmap has where file offsets are made to be 64 bits wide. */
void *__wrap_mmap64(void *addr, size_t length, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap64(void *addr, size_t length, int prot, int flags, int fd, off_t offset)
{
	return __wrap_mmap(addr, length, prot, flags, fd, offset);
}

int __real_munmap(void *addr, size_t length);
int __wrap_munmap(void *addr, size_t length);
int __wrap_munmap(void *addr, size_t length)
{
	if (fails("munmap"))
		return -1;
	fake.live--;
	return __real_munmap(addr, length);
}
