/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "door.h"
#include "verbs/alloc.h"

#define PAGE_SIZE   4096
#define DEVICE_NAME "mock" /* and a number: which of its host's */
#define MAX_DEVICES 64     /* of a host */

static bool name_number(const char *name, uint32_t *number)
{
	const char *digits;
	size_t length;

	*number = 0;
	if (!name)
		return true;
	if (strncmp(name, DEVICE_NAME, strlen(DEVICE_NAME)))
		return false;
	digits = name + strlen(DEVICE_NAME);
	length = strspn(digits, "0123456789");
	if (!length || length > 3 || digits[length] || (length > 1 && *digits == '0'))
		return false;
	*number = (uint32_t)atoi(digits);
	return *number < MAX_DEVICES;
}

/*
 * The devices of HOST are mock0, mock1, ...; in the model each is a host of its own, with
 * its own address and link, but for the memory that they reach. The first has the host's
 * number; the others get theirs from the top, for hosts come from below.
 */
static int device_number(struct srd_door *door, uint32_t host, const char *name, uint32_t *device)
{
	uint32_t number, at;

	if (!name_number(name, &number))
		return ENODEV;
	if (door_profile(door)->devices && number >= door_profile(door)->devices)
		return ENODEV;
	if (!number) {
		*device = host;
		if (door->num_more && host >= SRD_MODEL_MAX_HOSTS - door->num_more)
			return ENODEV;
		if (host >= door->num_hosts)
			door->num_hosts = host + 1;
		return 0;
	}
	for (at = 0; at < door->num_more; at++)
		if (door->more[at].host == host && door->more[at].number == number)
			break;
	*device = SRD_MODEL_MAX_HOSTS - 1 - at;
	if (at < door->num_more)
		return 0;
	if (at == DOOR_MAX_MORE || *device < door->num_hosts)
		return ENODEV;
	door->more[at].host = host;
	door->more[at].number = number;
	door->num_more++;
	return 0;
}

static struct srd_context *open_device(struct srd_verbs *verbs, uint32_t host, const char *name)
{
	struct srd_door *door = door_of(verbs);
	struct door_context *context;
	uint32_t device;
	int err = device_number(door, host, name, &device);

	if (err)
		goto fail;
	err = srd_model_device_open(&door->model, device);
	if (err)
		goto fail;
	err = ENOMEM;
	context = srd_calloc(1, sizeof(*context));
	if (!context)
		goto fail;
	context->qp_mask = (uint32_t)round_up_power(door_profile(door)->max_qp) - 1;
	context->qps = srd_calloc(context->qp_mask + 1, sizeof(*context->qps));
	if (!context->qps)
		goto free_context;
	context->generations = srd_calloc(context->qp_mask + 1, sizeof(*context->generations));
	if (!context->generations)
		goto free_qps;
	context->context.handle = door_handle(door, DOOR_CONTEXT);
	context->context.host = device;
	context->owner = host;
	snprintf(context->context.name, sizeof(context->context.name), "%s",
		 name ? name : DEVICE_NAME "0");
	LIST_INSERT_HEAD(&door->contexts, context, link);
	return &context->context;

free_qps:
	srd_free(context->qps);
free_context:
	srd_free(context);
fail:
	errno = err;
	return NULL;
}

static int close_device(struct srd_verbs *verbs, struct srd_context *public)
{
	struct door_context *context = door_context(public);

	if (context->users)
		return EBUSY;
	LIST_REMOVE(context, link);
	srd_free(context->generations);
	srd_free(context->qps);
	srd_free(context);
	return 0;
}

static uint32_t min3(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t min = a < b ? a : b;

	return (uint32_t)(min < c ? min : c);
}

static int query_device(struct srd_verbs *verbs, struct srd_context *context,
			struct srd_device_attr *attr)
{
	const struct srd_profile *p = door_profile(door_of(verbs));

	*attr = (struct srd_device_attr){
		.max_mr_size = p->max_mr_pages * PAGE_SIZE,
		.vendor_id = 0x1d0f,
		.vendor_part_id = p->vendor_part_id,
		.max_qp = p->max_qp,
		.max_qp_wr = min3(p->max_sq_wr, p->max_rq_wr, p->max_llq_size / 64),
		.max_sge = p->max_sq_sge < p->max_rq_sge ? p->max_sq_sge : p->max_rq_sge,
		.max_sge_rd = p->max_sge_rd,
		.max_cq = p->max_cq,
		.max_cqe = p->max_cqe,
		.max_mr = p->max_mr,
		.max_pd = p->max_pd,
		.max_ah = p->max_ah,
		.phys_port_cnt = 1,
	};
	return 0;
}

static int efa_query_device(struct srd_verbs *verbs, struct srd_context *context,
			    struct srd_efa_device_attr *attr)
{
	const struct srd_profile *p = door_profile(door_of(verbs));
	/* The driver reports this one always (amzn-drivers efa_verbs.c). */
	uint32_t caps = SRD_EFADV_DEVICE_ATTR_CAPS_CQ_WITH_SGID;

	if (door_is_rc(door_of(verbs)))
		return EOPNOTSUPP;
	if (p->cap_rdma_read)
		caps |= SRD_EFADV_DEVICE_ATTR_CAPS_RDMA_READ;
	if (p->cap_rdma_write)
		caps |= SRD_EFADV_DEVICE_ATTR_CAPS_RDMA_WRITE;
	if (p->cap_rnr_retry)
		caps |= SRD_EFADV_DEVICE_ATTR_CAPS_RNR_RETRY;
	if (p->cap_unsolicited_write_recv)
		caps |= SRD_EFADV_DEVICE_ATTR_CAPS_UNSOLICITED_WRITE_RECV;
	*attr = (struct srd_efa_device_attr){
		.max_sq_wr = p->max_sq_wr,
		.max_rq_wr = p->max_rq_wr,
		.max_sq_sge = p->max_sq_sge,
		.max_rq_sge = p->max_rq_sge,
		.inline_buf_size = p->inline_buf_size,
		.inline_buf_size_ex = p->inline_buf_size_ex,
		.device_caps = caps,
		.max_rdma_size = p->max_rdma_size,
	};
	return 0;
}

static int query_port(struct srd_verbs *verbs, struct srd_context *context, uint8_t port_num,
		      struct srd_port_attr *attr)
{
	const struct srd_profile *p = door_profile(door_of(verbs));

	if (port_num != 1)
		return EINVAL;
	*attr = (struct srd_port_attr){
		.state = SRD_PORT_ACTIVE,
		/* A message of EFA is a packet, a connected one has many. */
		.max_msg_sz = (uint32_t)(door_is_rc(door_of(verbs)) ? p->max_rdma_size : p->mtu),
		.gid_tbl_len = 1,
		.pkey_tbl_len = 1,
		.active_mtu = 5,
	};
	return 0;
}

static int query_gid(struct srd_verbs *verbs, struct srd_context *context, uint8_t port_num,
		     int index, union srd_gid *gid)
{
	if (port_num != 1 || index != 0)
		return EINVAL;
	srd_model_gid(context->host, gid);
	return 0;
}

void door_device_ops(struct srd_verbs *verbs)
{
	verbs->open_device = open_device;
	verbs->close_device = close_device;
	verbs->query_device = query_device;
	verbs->efa_query_device = efa_query_device;
	verbs->query_port = query_port;
	verbs->query_gid = query_gid;
}
