/* SPDX-License-Identifier: MIT */
/* The device and its protection domains. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "hw_config.h"
#include "efa.h"

static struct srd_context *open_device(struct srd_verbs *verbs, uint32_t host, const char *name)
{
	struct hw *hw = to_hw(verbs);
	const char *own = ibv_get_device_name(hw->ibv->device);
	struct hw_context *context;

	if (name && strcmp(name, own)) {
		errno = ENODEV;
		return NULL;
	}
	context = hw_object_new(sizeof(*context));
	if (!context)
		return NULL;
	context->srd.handle = hw_object_add(hw, HW_CONTEXT, &context->object);
	context->srd.host = host;
	snprintf(context->srd.name, sizeof(context->srd.name), "%s", own);
	return &context->srd;
}

static int close_device(struct srd_verbs *verbs, struct srd_context *srd)
{
	struct hw_context *context = HW_OF(hw_context, srd);

	if (context->children)
		return EBUSY;
	hw_object_free(to_hw(verbs), HW_CONTEXT, &context->object);
	return 0;
}

static int query_device(struct srd_verbs *verbs, struct srd_context *context,
			struct srd_device_attr *attr)
{
	struct ibv_device_attr ibv = {0};
	int err = ibv_query_device(to_hw(verbs)->ibv, &ibv);

	if (err)
		return err;
	*attr = (struct srd_device_attr){
		.max_mr_size = ibv.max_mr_size,
		.vendor_id = ibv.vendor_id,
		.vendor_part_id = ibv.vendor_part_id,
		.max_qp = ibv.max_qp,
		.max_qp_wr = ibv.max_qp_wr,
		.max_sge = ibv.max_sge,
		.max_sge_rd = ibv.max_sge_rd,
		.max_cq = ibv.max_cq,
		.max_cqe = ibv.max_cqe,
		.max_mr = ibv.max_mr,
		.max_pd = ibv.max_pd,
		.max_ah = ibv.max_ah,
		.phys_port_cnt = ibv.phys_port_cnt,
	};
	return 0;
}

/* 0 in the field: an rdma-core before 63.0, where the extended size did not exist. */
static uint16_t inline_buf_size_ex(const struct efadv_device_attr *efa)
{
#if HAVE_INLINE_BUF_SIZE_EX
	if (efa->inline_buf_size_ex)
		return efa->inline_buf_size_ex;
#endif
	return efa->inline_buf_size;
}

static int efa_query_device(struct srd_verbs *verbs, struct srd_context *context,
			    struct srd_efa_device_attr *attr)
{
	struct efadv_device_attr efa = {0};
	int err = efadv_query_device(to_hw(verbs)->ibv, &efa, sizeof(efa));

	if (err)
		return err;
	*attr = (struct srd_efa_device_attr){
		.max_sq_wr = efa.max_sq_wr,
		.max_rq_wr = efa.max_rq_wr,
		.max_sq_sge = efa.max_sq_sge,
		.max_rq_sge = efa.max_rq_sge,
		.inline_buf_size = efa.inline_buf_size,
		.inline_buf_size_ex = inline_buf_size_ex(&efa),
		.device_caps = efa.device_caps,
		.max_rdma_size = efa.max_rdma_size,
	};
	return 0;
}

static int query_port(struct srd_verbs *verbs, struct srd_context *context, uint8_t port_num,
		      struct srd_port_attr *attr)
{
	struct ibv_port_attr ibv = {0};
	int err = ibv_query_port(to_hw(verbs)->ibv, port_num, &ibv);

	if (err)
		return err;
	*attr = (struct srd_port_attr){
		.state = (enum srd_port_state)ibv.state,
		.max_msg_sz = ibv.max_msg_sz,
		.gid_tbl_len = ibv.gid_tbl_len,
		.pkey_tbl_len = ibv.pkey_tbl_len,
		.lid = ibv.lid,
		.active_mtu = (uint8_t)ibv.active_mtu,
	};
	return 0;
}

/* ibv_query_gid answers -1 with errno, from a file of sysfs in most versions. */
static int query_gid(struct srd_verbs *verbs, struct srd_context *context, uint8_t port_num,
		     int index, union srd_gid *gid)
{
	union ibv_gid ibv;

	errno = 0;
	if (ibv_query_gid(to_hw(verbs)->ibv, port_num, index, &ibv))
		return errno ? errno : EINVAL;
	memcpy(gid->raw, ibv.raw, sizeof(gid->raw));
	return 0;
}

static struct srd_pd *alloc_pd(struct srd_verbs *verbs, struct srd_context *context)
{
	struct hw *hw = to_hw(verbs);
	struct hw_pd *pd = hw_object_new(sizeof(*pd));

	if (!pd)
		return NULL;
	pd->ibv = ibv_alloc_pd(hw->ibv);
	if (!pd->ibv)
		return hw_object_discard(pd);
	pd->srd.handle = hw_object_add(hw, HW_PD, &pd->object);
	pd->srd.context = context;
	HW_OF(hw_context, context)->children++;
	return &pd->srd;
}

static int dealloc_pd(struct srd_verbs *verbs, struct srd_pd *srd)
{
	struct hw_pd *pd = HW_OF(hw_pd, srd);
	int err = ibv_dealloc_pd(pd->ibv);

	if (err)
		return err;
	HW_OF(hw_context, srd->context)->children--;
	hw_object_free(to_hw(verbs), HW_PD, &pd->object);
	return 0;
}

void hw_device_fill(struct srd_verbs *verbs)
{
	verbs->open_device = open_device;
	verbs->close_device = close_device;
	verbs->query_device = query_device;
	verbs->efa_query_device = efa_query_device;
	verbs->query_port = query_port;
	verbs->query_gid = query_gid;
	verbs->alloc_pd = alloc_pd;
	verbs->dealloc_pd = dealloc_pd;
}
