/* SPDX-License-Identifier: MIT */
/*
 * Commands that make and destroy protection domains, memory regions, address handles and
 * queues. Checks and their order are those of the RDMA core and of efa_verbs.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>

#include "ask.h"
#include "command.h"
#include "engine.h"
#include "event.h"
#include "ring.h"
#include "share.h"
#include "softefa/efa_abi.h"
#include "wrap.h"

#define NUM_VECTORS  2
#define NEVER_ARMED  4 /* no command sequence has it */
#define RQ_DOORBELL  64
#define MIN_CQ_INPUT 10 /* bytes, up to num_sub_cqs */
#define MIN_QP_INPUT 16 /* up to driver_qp_type */

static const struct srd_profile *profile(void)
{
	return srd_model_profile(&soft.model);
}

static bool is_power(uint64_t n)
{
	return n && !(n & (n - 1));
}

int soft_alloc_pd(struct soft_call *call)
{
	struct soft_object *pd = soft_object_new(SOFT_PD, call->file);
	struct ib_uverbs_alloc_pd_resp r;
	struct efa_ibv_alloc_pd_resp efa = {0};
	int err;

	if (!pd)
		return ENOMEM;
	err = srd_model_pd_alloc(&soft.model, call->host, soft.process, &pd->model);
	if (err) {
		soft_object_free(pd);
		return err;
	}
	r.pd_handle = soft_handle(pd);
	efa.pdn = (uint16_t)pd->model;
	err = soft_out(call, UVERBS_ATTR_CORE_OUT, &r, sizeof(r));
	if (!err)
		err = soft_out(call, UVERBS_ATTR_UHW_OUT, &efa, sizeof(efa));
	if (err)
		soft_object_destroy(pd);
	return err;
}

/* A region as IN says, of the protection domain that it names; ENOMEM, or the model's errno. */
static int mr_new(struct soft_call *call, const struct ib_uverbs_reg_mr *in,
		  struct soft_object **out, uint32_t *key)
{
	struct soft_object *pd = soft_object_find(in->pd_handle, SOFT_PD, call->file);
	struct soft_object *mr = pd ? soft_object_new(SOFT_MR, call->file) : NULL;
	struct srd_mr_init init = {
		.access = in->access_flags,
		.addr = in->hca_va,
		.length = in->length,
		.shift = in->start - in->hca_va,
	};
	int err;

	if (!mr)
		return pd ? ENOMEM : EINVAL;
	init.pd = pd->model;
	init.tag = soft_handle(mr);
	err = srd_model_mr_reg(&soft.model, &init, &mr->model, key);
	if (err) {
		soft_object_free(mr);
		return err;
	}
	soft_share(in->start, in->length);
	mr->pd = soft_handle(pd);
	pd->users++;
	*out = mr;
	return 0;
}

int soft_reg_mr(struct soft_call *call)
{
	struct ib_uverbs_reg_mr_resp r;
	struct ib_uverbs_reg_mr in;
	struct soft_object *mr;
	uint32_t key;
	int err = soft_in(call, UVERBS_ATTR_CORE_IN, &in, sizeof(in), sizeof(in));

	if (!err && (in.start ^ in.hca_va) & (SOFT_PAGE - 1))
		err = EINVAL;
	if (!err)
		err = mr_new(call, &in, &mr, &key);
	if (err)
		return err;
	r = (struct ib_uverbs_reg_mr_resp){.mr_handle = soft_handle(mr), .lkey = key, .rkey = key};
	err = soft_out(call, UVERBS_ATTR_CORE_OUT, &r, sizeof(r));
	if (err)
		soft_object_destroy(mr);
	return err;
}

/* A dma-buf, or a memfd that is named as one, for machines that have nothing to export any. */
static bool is_dmabuf(int fd)
{
	char path[64], name[64] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return readlink(path, name, sizeof(name) - 1) > 0 &&
	       (!strncmp(name, "/dmabuf", 7) || !strncmp(name, "/memfd:dmabuf", 13));
}

/* IN: the part of the buffer FD from OFFSET on, and where the region begins for its users. */
static int dmabuf_map(int fd, uint64_t offset, struct soft_mr *to, struct ib_uverbs_reg_mr *in)
{
	uint64_t inside = offset & (SOFT_PAGE - 1), length = in->length + inside;
	off_t end = lseek(fd, 0, SEEK_END);
	void *at;

	if (end < 0 || offset > (uint64_t)end || in->length > (uint64_t)end - offset)
		return EINVAL;
	at = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)(offset - inside));
	if (at == MAP_FAILED)
		return errno;
	*to = (struct soft_mr){.mapped = (uintptr_t)at, .mapped_length = length};
	in->start = (uintptr_t)at + inside;
	return 0;
}

static int dmabuf_input(struct soft_call *call, struct ib_uverbs_reg_mr *in, uint64_t *offset,
			int *fd)
{
	uint32_t access;
	int err = soft_in(call, UVERBS_ATTR_REG_DMABUF_MR_OFFSET, offset, 8, 8);

	*in = (struct ib_uverbs_reg_mr){
		.pd_handle = (uint32_t)soft_in_number(call, UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE)};
	if (!err)
		err = soft_in(call, UVERBS_ATTR_REG_DMABUF_MR_LENGTH, &in->length, 8, 8);
	if (!err)
		err = soft_in(call, UVERBS_ATTR_REG_DMABUF_MR_IOVA, &in->hca_va, 8, 8);
	if (!err)
		err = soft_in(call, UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, &access, 4, 4);
	if (err)
		return err;
	in->access_flags = access;
	*fd = (int)soft_in_number(call, UVERBS_ATTR_REG_DMABUF_MR_FD);
	if ((*offset ^ in->hca_va) & (SOFT_PAGE - 1))
		return EINVAL;
	if (!in->length || !soft_object_find(in->pd_handle, SOFT_PD, call->file))
		return EINVAL;
	return fcntl(*fd, F_GETFD) < 0 ? EBADF : is_dmabuf(*fd) ? 0 : EINVAL;
}

int soft_reg_dmabuf_mr(struct soft_call *call)
{
	struct ib_uverbs_reg_mr in;
	struct soft_mr mapped;
	struct soft_object *mr;
	uint64_t offset;
	uint32_t key;
	int fd, err = dmabuf_input(call, &in, &offset, &fd);

	if (!err)
		err = dmabuf_map(fd, offset, &mapped, &in);
	if (err)
		return err;
	err = mr_new(call, &in, &mr, &key);
	if (err) {
		munmap((void *)(uintptr_t)mapped.mapped, mapped.mapped_length);
		return err;
	}
	mr->mr = mapped;
	err = soft_out(call, UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, &key, sizeof(key));
	if (!err)
		err = soft_out(call, UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, &key, sizeof(key));
	if (!err)
		err = soft_out_number(call, UVERBS_ATTR_REG_DMABUF_MR_HANDLE, soft_handle(mr));
	if (err)
		soft_object_destroy(mr);
	return err;
}

/* The interconnects that a region goes over: none is known, as on most instances. */
int soft_efa_query_mr(struct soft_call *call)
{
	uint16_t nothing = 0;
	int err = 0;

	if (!soft_object_find(soft_in_number(call, 0x1000), SOFT_MR, call->file))
		return EINVAL;
	for (uint16_t id = 0x1001; id <= 0x1004 && !err; id++)
		err = soft_out(call, id, &nothing, sizeof(nothing));
	return err;
}

static void ah_attr(const struct ib_uverbs_ah_attr *from, struct srd_ah_attr *to)
{
	*to = (struct srd_ah_attr){
		.flow_label = from->grh.flow_label,
		.dlid = from->dlid,
		.sgid_index = from->grh.sgid_index,
		.hop_limit = from->grh.hop_limit,
		.traffic_class = from->grh.traffic_class,
		.sl = from->sl,
		.is_global = from->is_global,
		.port_num = from->port_num,
	};
	memcpy(to->dgid.raw, from->grh.dgid, sizeof(to->dgid.raw));
}

int soft_create_ah(struct soft_call *call)
{
	struct efa_ibv_create_ah_resp efa = {0};
	struct ib_uverbs_create_ah_resp r;
	struct ib_uverbs_create_ah in;
	struct soft_object *pd, *ah;
	struct srd_ah_attr attr;
	int err = soft_in(call, UVERBS_ATTR_CORE_IN, &in, sizeof(in), sizeof(in));

	if (err)
		return err;
	pd = soft_object_find(in.pd_handle, SOFT_PD, call->file);
	if (!pd)
		return EINVAL;
	ah = soft_object_new(SOFT_AH, call->file);
	if (!ah)
		return ENOMEM;
	ah_attr(&in.attr, &attr);
	err = srd_model_ah_create(&soft.model, pd->model, &attr, &ah->number);
	if (err) {
		soft_object_free(ah);
		return err;
	}
	ah->pd = soft_handle(pd);
	pd->users++;
	r.ah_handle = soft_handle(ah);
	efa.efa_address_handle = ah->number;
	err = soft_out(call, UVERBS_ATTR_CORE_OUT, &r, sizeof(r));
	if (!err)
		err = soft_out(call, UVERBS_ATTR_UHW_OUT, &efa, sizeof(efa));
	if (err)
		soft_object_destroy(ah);
	return err;
}

int soft_destroy(struct soft_call *call, enum soft_kind kind)
{
	struct soft_object *object = soft_object_find(soft_in_number(call, 0), kind, call->file);

	return object ? soft_object_destroy(object) : EINVAL;
}

struct cq_input {
	struct efa_ibv_create_cq efa;
	uint32_t entries;
	uint32_t vector;
	struct soft_object *channel;
};

static int cq_input_read(struct soft_call *call, struct cq_input *in)
{
	const struct ib_uverbs_attr *channel = soft_attr(call, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL);
	uint32_t flags;
	int err = soft_in(call, UVERBS_ATTR_CREATE_CQ_CQE, &in->entries, 4, 4);

	if (!err)
		err = soft_in(call, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, &in->vector, 4, 0);
	if (!err)
		err = soft_in(call, UVERBS_ATTR_CREATE_CQ_FLAGS, &flags, 4, 0);
	if (!err)
		err = soft_in(call, UVERBS_ATTR_UHW_IN, &in->efa, sizeof(in->efa), MIN_CQ_INPUT);
	if (err)
		return err;
	in->channel = channel ? soft_channel_of((int)channel->data_s64) : NULL;
	if (channel && !in->channel)
		return EBADF;
	if (in->vector >= NUM_VECTORS)
		return EINVAL;
	return flags ? EOPNOTSUPP : 0;
}

/* Divergence from EFA: whether a device takes a depth that is no power of two is not known. */
static int cq_input_check(const struct cq_input *in)
{
	bool source = in->efa.flags & EFA_CREATE_CQ_WITH_SGID;

	if (!is_power(in->entries) || in->entries > profile()->max_cqe)
		return EINVAL;
	if (in->efa.comp_mask)
		return EINVAL;
	for (size_t i = 0; i < sizeof(in->efa.reserved_58); i++)
		if (in->efa.reserved_58[i])
			return EINVAL;
	if (in->efa.cq_entry_size != SOFT_CQE_SIZE &&
	    (source || in->efa.cq_entry_size != sizeof(struct efa_io_rx_cdesc)))
		return EINVAL;
	return in->efa.num_sub_cqs == profile()->sub_cqs_per_cq ? 0 : EINVAL;
}

static int cq_answer(struct soft_call *call, const struct soft_object *object)
{
	const struct soft_cq *cq = &object->cq;
	struct efa_ibv_create_cq_resp efa = {
		.comp_mask = EFA_CREATE_CQ_RESP_DB_OFF,
		.q_mmap_key = cq->ring.key,
		.q_mmap_size = cq->ring.bytes,
		.cq_idx = (uint16_t)object->model,
		.db_mmap_key = cq->ring.doorbell,
	};
	int err = soft_out(call, UVERBS_ATTR_CREATE_CQ_RESP_CQE, &cq->ring.entries, 4);

	if (!err)
		err = soft_out(call, UVERBS_ATTR_UHW_OUT, &efa, sizeof(efa));
	return err ? err : soft_out_number(call, UVERBS_ATTR_CREATE_CQ_HANDLE, soft_handle(object));
}

static int cq_make(struct soft_call *call, const struct cq_input *in, struct soft_object *object)
{
	struct soft_cq *cq = &object->cq;
	uint64_t bytes = (uint64_t)in->entries * in->efa.cq_entry_size * in->efa.num_sub_cqs;
	int err;

	*cq = (struct soft_cq){
		.ring = {.bytes = (uint32_t)((bytes + SOFT_PAGE - 1) & ~(SOFT_PAGE - 1ull)),
			 .entries = in->entries,
			 .entry_size = in->efa.cq_entry_size},
		.num_rings = in->efa.num_sub_cqs,
		.sequence = NEVER_ARMED,
		.source_gid = in->efa.flags & EFA_CREATE_CQ_WITH_SGID,
	};
	object->user = soft_in_number(call, UVERBS_ATTR_CREATE_CQ_USER_HANDLE);
	err = srd_model_cq_create(&soft.model, call->host, in->entries, soft_handle(object),
				  &object->model);
	if (err)
		return err;
	cq->ring.key = soft_pages_get(cq->ring.bytes);
	cq->ring.doorbell = soft_pages_get(SOFT_PAGE);
	if (cq->ring.key && cq->ring.doorbell)
		return 0;
	if (cq->ring.key)
		soft_pages_put(cq->ring.key, cq->ring.bytes);
	srd_model_cq_destroy(&soft.model, object->model);
	return ENOMEM;
}

int soft_create_cq(struct soft_call *call)
{
	struct soft_object *object;
	struct cq_input in;
	int err = cq_input_read(call, &in);

	if (!err)
		err = cq_input_check(&in);
	if (err)
		return err;
	object = soft_object_new(SOFT_CQ, call->file);
	if (!object)
		return ENOMEM;
	err = cq_make(call, &in, object);
	if (err) {
		soft_object_free(object);
		return err;
	}
	if (in.channel) {
		object->cq.channel = soft_handle(in.channel);
		in.channel->users++;
	}
	err = cq_answer(call, object);
	if (err)
		soft_object_destroy(object);
	return err;
}

int soft_destroy_cq(struct soft_call *call)
{
	struct soft_object *cq = soft_object_find(
		soft_in_number(call, UVERBS_ATTR_DESTROY_CQ_HANDLE), SOFT_CQ, call->file);
	struct ib_uverbs_destroy_cq_resp r = {0};

	if (!cq)
		return EINVAL;
	if (cq->users)
		return EBUSY;
	r.comp_events_reported = soft_channel_forget(cq);
	soft_object_destroy(cq);
	return soft_out(call, UVERBS_ATTR_DESTROY_CQ_RESP, &r, sizeof(r));
}

struct qp_input {
	struct efa_ibv_create_qp efa;
	struct ib_uverbs_qp_cap cap;
	struct soft_object *pd, *send_cq, *recv_cq;
	uint32_t type;
};

static int qp_input_read(struct soft_call *call, struct qp_input *in)
{
	uint64_t flags = soft_in_number(call, UVERBS_ATTR_CREATE_QP_FLAGS);
	int err = soft_in(call, UVERBS_ATTR_CREATE_QP_CAP, &in->cap, sizeof(in->cap),
			  sizeof(in->cap));

	if (!err)
		err = soft_in(call, UVERBS_ATTR_CREATE_QP_TYPE, &in->type, 4, 4);
	if (err)
		return err;
	in->pd = soft_object_find(soft_in_number(call, UVERBS_ATTR_CREATE_QP_PD_HANDLE), SOFT_PD,
				  call->file);
	in->send_cq = soft_object_find(soft_in_number(call, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE),
				       SOFT_CQ, call->file);
	in->recv_cq = soft_object_find(soft_in_number(call, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE),
				       SOFT_CQ, call->file);
	if (!in->pd || !in->send_cq || !in->recv_cq)
		return EINVAL;
	if (in->type != IB_UVERBS_QPT_DRIVER && in->type != IB_UVERBS_QPT_UD)
		return EOPNOTSUPP;
	if (soft_attr(call, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE))
		return EOPNOTSUPP;
	if (flags != UINT64_MAX && flags & ~(uint64_t)IB_UVERBS_QP_CREATE_SQ_SIG_ALL)
		return EOPNOTSUPP;
	return soft_in(call, UVERBS_ATTR_UHW_IN, &in->efa, sizeof(in->efa), MIN_QP_INPUT);
}

static int qp_input_check(const struct qp_input *in)
{
	const struct efa_ibv_create_qp *efa = &in->efa;

	if (efa->comp_mask)
		return EINVAL;
	for (size_t i = 0; i < sizeof(efa->reserved_98); i++)
		if (efa->reserved_98[i])
			return EINVAL;
	if (efa->flags & ~EFA_CREATE_QP_WITH_UNSOLICITED_WRITE_RECV ||
	    (efa->flags && !profile()->cap_unsolicited_write_recv))
		return EOPNOTSUPP;
	if (in->type == IB_UVERBS_QPT_DRIVER && efa->driver_qp_type != EFA_QP_DRIVER_TYPE_SRD)
		return EOPNOTSUPP;
	return 0;
}

/* The device's part: the rings are what the library says that they are. */
static int qp_rings(struct soft_qp *qp, const struct qp_input *in)
{
	uint64_t wqes = in->cap.max_send_wr;
	uint32_t descriptors = in->efa.rq_ring_size / sizeof(struct efa_io_rx_desc);

	qp->sq.bytes = in->efa.sq_ring_size;
	qp->sq.entries = in->cap.max_send_wr;
	qp->sq.entry_size = in->efa.sq_ring_size == wqes * SOFT_WQE_SIZE_WIDE ? SOFT_WQE_SIZE_WIDE
									      : SOFT_WQE_SIZE;
	qp->rq.bytes = in->efa.rq_ring_size;
	qp->rq.entries = descriptors;
	qp->rq.entry_size = sizeof(struct efa_io_rx_desc);
	if (qp->sq.bytes != wqes * qp->sq.entry_size || qp->sq.bytes > profile()->max_llq_size)
		return EINVAL;
	if (qp->rq.bytes != descriptors * sizeof(struct efa_io_rx_desc))
		return EINVAL;
	if ((wqes && !is_power(wqes)) || wqes > SOFT_MAX_DEPTH)
		return EINVAL;
	return (descriptors && !is_power(descriptors)) || descriptors > SOFT_MAX_DEPTH ? EINVAL : 0;
}

static void qp_pages_put(struct soft_qp *qp)
{
	if (qp->sq.key)
		soft_pages_put(qp->sq.key, qp->sq.bytes);
	if (qp->rq.key)
		soft_pages_put(qp->rq.key, qp->rq.bytes);
	if (qp->sq.doorbell)
		soft_pages_put(qp->sq.doorbell, SOFT_PAGE);
}

static int qp_pages_get(struct soft_qp *qp)
{
	qp->sq.key = qp->sq.bytes ? soft_pages_get(qp->sq.bytes) : 0;
	qp->rq.key = qp->rq.bytes ? soft_pages_get(qp->rq.bytes) : 0;
	qp->sq.doorbell = soft_pages_get(SOFT_PAGE);
	qp->rq.doorbell = qp->sq.doorbell + RQ_DOORBELL;
	if (qp->sq.doorbell && !qp->sq.bytes == !qp->sq.key && !qp->rq.bytes == !qp->rq.key)
		return 0;
	qp_pages_put(qp);
	return ENOMEM;
}

static int qp_make(struct soft_call *call, const struct qp_input *in, struct soft_object *object)
{
	struct soft_qp *qp = &object->qp;
	struct srd_qp_init init = {
		.pd = in->pd->model,
		.send_cq = in->send_cq->model,
		.recv_cq = in->recv_cq->model,
		.tag = soft_handle(object),
		.cap = {in->cap.max_send_wr, in->cap.max_recv_wr, in->cap.max_send_sge,
			in->cap.max_recv_sge, in->cap.max_inline_data},
		.flags = in->efa.flags ? SRD_EFADV_QP_FLAGS_UNSOLICITED_WRITE_RECV : 0,
		.ud = in->type == IB_UVERBS_QPT_UD,
	};
	int err = qp_rings(qp, in);

	if (!err)
		err = qp_pages_get(qp);
	if (err)
		return err;
	init.rq_descriptors = qp->rq.entries ? qp->rq.entries : 1;
	err = srd_model_qp_create(&soft.model, &init, &object->model, &qp->qpn);
	if (err) {
		qp_pages_put(qp);
		return err;
	}
	qp->cap = init.cap;
	qp->ud = init.ud;
	qp->send_cq = soft_handle(in->send_cq);
	qp->recv_cq = soft_handle(in->recv_cq);
	in->send_cq->users++;
	in->recv_cq->users++;
	object->user = soft_in_number(call, UVERBS_ATTR_CREATE_QP_USER_HANDLE);
	object->pd = soft_handle(in->pd);
	in->pd->users++;
	return 0;
}

static int qp_answer(struct soft_call *call, const struct soft_object *object,
		     const struct ib_uverbs_qp_cap *cap)
{
	const struct soft_qp *qp = &object->qp;
	struct efa_ibv_create_qp_resp efa = {
		.rq_db_offset = RQ_DOORBELL,
		.rq_mmap_key = qp->rq.key,
		.rq_mmap_size = (qp->rq.bytes + SOFT_PAGE - 1) & ~(SOFT_PAGE - 1ull),
		.rq_db_mmap_key = qp->sq.doorbell,
		.sq_db_mmap_key = qp->sq.doorbell,
		.llq_desc_mmap_key = qp->sq.key,
	};
	uint32_t number = qp->qpn;
	int err = soft_out(call, UVERBS_ATTR_CREATE_QP_RESP_CAP, cap, sizeof(*cap));

	if (!err)
		err = soft_out(call, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, &number, sizeof(number));
	if (!err)
		err = soft_out(call, UVERBS_ATTR_UHW_OUT, &efa, sizeof(efa));
	return err ? err : soft_out_number(call, UVERBS_ATTR_CREATE_QP_HANDLE, soft_handle(object));
}

int soft_create_qp(struct soft_call *call)
{
	struct soft_object *object;
	struct qp_input in = {0};
	int err = qp_input_read(call, &in);

	if (!err)
		err = qp_input_check(&in);
	if (err)
		return err;
	object = soft_object_new(SOFT_QP, call->file);
	if (!object)
		return ENOMEM;
	err = qp_make(call, &in, object);
	if (err) {
		soft_object_free(object);
		return err;
	}
	soft_engine_qp_raw(object); /* until it turns out to be wrapped */
	err = qp_answer(call, object, &in.cap);
	if (err)
		soft_object_destroy(object);
	else
		soft_ask_queue_pair(object);
	return err;
}

int soft_destroy_qp(struct soft_call *call)
{
	struct soft_object *qp = soft_object_find(
		soft_in_number(call, UVERBS_ATTR_DESTROY_QP_HANDLE), SOFT_QP, call->file);
	struct ib_uverbs_destroy_qp_resp r = {0};

	if (!qp)
		return EINVAL;
	/* What was posted before is with the device. */
	soft_doorbell(qp);
	soft_unwrap_qp(soft_handle(qp));
	soft_object_destroy(qp);
	return soft_out(call, UVERBS_ATTR_DESTROY_QP_RESP, &r, sizeof(r));
}

/* libefa counts from zero again, and its first doorbell comes with the first request. */
static void rings_reset(struct soft_qp *qp)
{
	qp->sq.done = 0;
	qp->rq.done = 0;
	memset(soft.rings + qp->sq.doorbell, 0, sizeof(uint32_t));
	memset(soft.rings + qp->rq.doorbell, 0, sizeof(uint32_t));
}

static void modify_attr(const struct ib_uverbs_modify_qp *in, struct srd_qp_attr *attr)
{
	*attr = (struct srd_qp_attr){
		.qp_state = in->qp_state,
		.cur_qp_state = in->cur_qp_state,
		.qkey = in->qkey,
		.sq_psn = in->sq_psn,
		.rq_psn = in->rq_psn,
		.dest_qp_num = in->dest_qp_num,
		.ah_attr.port_num = in->dest.port_num,
		.pkey_index = in->pkey_index,
		.en_sqd_async_notify = in->en_sqd_async_notify,
		.port_num = in->port_num,
		.rnr_retry = in->rnr_retry,
	};
}

int soft_modify_qp(struct soft_call *call)
{
	struct ib_uverbs_modify_qp in;
	struct srd_qp_attr attr;
	struct soft_object *qp;
	int err = soft_in(call, UVERBS_ATTR_CORE_IN, &in, sizeof(in), sizeof(in));

	if (err)
		return err;
	qp = soft_object_find(in.qp_handle, SOFT_QP, call->file);
	if (!qp)
		return EINVAL;
	soft_doorbell(qp);
	modify_attr(&in, &attr);
	err = srd_model_qp_modify(&soft.model, qp->model, &attr, in.attr_mask);
	if (err)
		return err;
	if (in.attr_mask & SRD_QP_STATE && in.qp_state == SRD_QPS_RESET)
		rings_reset(&qp->qp);
	soft_wrap_qp(qp);
	return 0;
}

int soft_query_qp(struct soft_call *call)
{
	struct ib_uverbs_query_qp_resp r = {0};
	struct ib_uverbs_query_qp in;
	struct srd_qp_attr attr;
	struct soft_object *qp;
	int err = soft_in(call, UVERBS_ATTR_CORE_IN, &in, sizeof(in), sizeof(in));

	if (err)
		return err;
	qp = soft_object_find(in.qp_handle, SOFT_QP, call->file);
	if (!qp)
		return EINVAL;
	err = srd_model_qp_query(&soft.model, qp->model, &attr, in.attr_mask);
	if (err)
		return err;
	r.max_send_wr = attr.cap.max_send_wr;
	r.max_recv_wr = attr.cap.max_recv_wr;
	r.max_send_sge = attr.cap.max_send_sge;
	r.max_recv_sge = attr.cap.max_recv_sge;
	r.max_inline_data = attr.cap.max_inline_data;
	r.qkey = attr.qkey;
	r.sq_psn = attr.sq_psn;
	r.qp_state = (uint8_t)attr.qp_state;
	r.sq_draining = attr.sq_draining;
	r.rnr_retry = attr.rnr_retry;
	r.port_num = attr.port_num;
	return soft_out(call, UVERBS_ATTR_CORE_OUT, &r, sizeof(r));
}
