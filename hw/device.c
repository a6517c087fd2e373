/* SPDX-License-Identifier: MIT */
/* The device and its protection domains. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hw_config.h"
#include "efa.h"
#include "softefa/lab.h"

/* The number of the laboratory's device NAME (mock0, mock1, ...); UINT32_MAX: it is none. */
static uint32_t number_of(const char *name)
{
	static const char prefix[] = "mock";
	char *end;
	unsigned long number;

	if (!name)
		return 0;
	if (strncmp(name, prefix, sizeof(prefix) - 1))
		return UINT32_MAX;
	number = strtoul(name + sizeof(prefix) - 1, &end, 10);
	return *end || number > HW_MAX_MORE ? UINT32_MAX : (uint32_t)number;
}

/*
 * Where hosts have devices: as the device counts them, the first of each has its host's number
 * and the others come from the top. ENODEV: there is no such device.
 */
static int device_number(struct hw *hw, uint32_t host, const char *name, uint32_t *device)
{
	uint32_t number = number_of(name), at = 0;

	if (number == UINT32_MAX || (hw->devices && number >= hw->devices))
		return ENODEV;
	*device = host;
	if (!number && host + hw->num_more >= hw->lab->max_hosts)
		return ENODEV;
	if (!number) {
		hw->num_hosts = host >= hw->num_hosts ? host + 1 : hw->num_hosts;
		return 0;
	}
	while (at < hw->num_more && (hw->more[at].host != host || hw->more[at].number != number))
		at++;
	*device = hw->lab->max_hosts - 1 - at;
	if (at < hw->num_more)
		return 0;
	if (at == HW_MAX_MORE || *device < hw->num_hosts)
		return ENODEV;
	hw->more[hw->num_more++] = (struct hw_more){host, number};
	return 0;
}

/* 0: the table's own is taken. */
static int open_own(struct hw *hw, struct hw_context *context, const char *name)
{
	int err = device_number(hw, context->srd.host, name, &context->srd.host);

	if (err)
		return err;
	hw->lab->next_device(context->srd.host);
	context->ibv = ibv_open_device(hw->ibv->device);
	err = errno;
	hw->lab->next_device(0);
	return context->ibv ? 0 : err ? err : EIO;
}

static struct srd_context *open_device(struct srd_verbs *verbs, uint32_t host, const char *name)
{
	struct hw *hw = to_hw(verbs);
	const char *own = ibv_get_device_name(hw->ibv->device);
	struct hw_context *context;
	int err = 0;

	if (!hw->lab && name && strcmp(name, own)) {
		errno = ENODEV;
		return NULL;
	}
	context = hw_object_new(sizeof(*context));
	if (!context)
		return NULL;
	context->ibv = hw->ibv;
	context->srd.host = host;
	if (hw->lab)
		err = open_own(hw, context, name);
	if (err) {
		errno = err;
		return hw_object_discard(context);
	}
	context->srd.handle = hw_object_add(hw, HW_CONTEXT, &context->object);
	snprintf(context->srd.name, sizeof(context->srd.name), "%s", name ? name : own);
	return &context->srd;
}

static int close_device(struct srd_verbs *verbs, struct srd_context *srd)
{
	struct hw_context *context = HW_OF(hw_context, srd);

	if (context->children)
		return EBUSY;
	if (context->ibv != to_hw(verbs)->ibv)
		ibv_close_device(context->ibv);
	hw_object_free(to_hw(verbs), HW_CONTEXT, &context->object);
	return 0;
}

static int query_device(struct srd_verbs *verbs, struct srd_context *context,
			struct srd_device_attr *attr)
{
	struct ibv_device_attr ibv = {0};
	int err = ibv_query_device(hw_ibv(context), &ibv);

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
	int err = efadv_query_device(hw_ibv(context), &efa, sizeof(efa));

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
	int err = ibv_query_port(hw_ibv(context), port_num, &ibv);

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
	if (ibv_query_gid(hw_ibv(context), port_num, index, &ibv))
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
	pd->ibv = ibv_alloc_pd(hw_ibv(context));
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
