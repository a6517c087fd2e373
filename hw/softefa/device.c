/* SPDX-License-Identifier: MIT */
/* Commands about the device, its port and its contexts. Facts: efa_verbs.c. */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>

#include "command.h"
#include "event.h"
#include "softefa/efa_abi.h"

#define NUM_VECTORS   2
#define PORT_ACTIVE   4
#define PORT_LINK_UP  5 /* physically */
#define MTU_4096      5
#define PAGE_SIZE_CAP 0xfffff000u
/* What the library says that it knows: efa-abi.h EFA_ALLOC_UCONTEXT_CMD_SUPP_CAPS_... */
#define KNOWS_TX_BATCH  0x1
#define KNOWS_MIN_SQ_WR 0x2

static void fill_device(const struct soft_call *call, struct ib_uverbs_query_device_resp *r)
{
	const struct srd_profile *p = soft_profile();

	memset(r, 0, sizeof(*r));
	r->node_guid = htobe64(0x02efa00000000001ull + call->host);
	r->sys_image_guid = r->node_guid;
	r->max_mr_size = p->max_mr_pages * SOFT_PAGE;
	r->page_size_cap = PAGE_SIZE_CAP;
	r->vendor_id = 0x1d0f;
	r->vendor_part_id = p->vendor_part_id;
	r->hw_ver = p->vendor_part_id;
	r->max_qp = p->max_qp;
	r->max_qp_wr = p->max_sq_wr < p->max_rq_wr ? p->max_sq_wr : p->max_rq_wr;
	r->max_sge = p->max_sq_sge < p->max_rq_sge ? p->max_sq_sge : p->max_rq_sge;
	r->max_sge_rd = p->max_sge_rd;
	r->max_cq = p->max_cq;
	r->max_cqe = p->max_cqe;
	r->max_mr = p->max_mr;
	r->max_pd = p->max_pd;
	r->max_ah = p->max_ah;
	r->max_pkeys = 1;
	r->phys_port_cnt = 1;
}

static uint32_t capabilities(void)
{
	const struct srd_profile *p = soft_profile();
	/* What the driver announces for each device. */
	uint32_t caps = EFA_QUERY_DEVICE_CAPS_CQ_WITH_SGID |
			EFA_QUERY_DEVICE_CAPS_CQ_NOTIFICATIONS |
			EFA_QUERY_DEVICE_CAPS_CQ_WITH_EXT_MEM;

	if (p->cap_rdma_read)
		caps |= EFA_QUERY_DEVICE_CAPS_RDMA_READ;
	if (p->cap_rdma_write)
		caps |= EFA_QUERY_DEVICE_CAPS_RDMA_WRITE;
	if (p->cap_rnr_retry)
		caps |= EFA_QUERY_DEVICE_CAPS_RNR_RETRY;
	if (p->cap_unsolicited_write_recv)
		caps |= EFA_QUERY_DEVICE_CAPS_UNSOLICITED_WRITE_RECV;
	if (p->id64)
		caps |= EFA_QUERY_DEVICE_CAPS_SQ_64_BIT_REQ_ID;
	return caps;
}

int soft_query_device(struct soft_call *call)
{
	struct ib_uverbs_query_device_resp r;

	fill_device(call, &r);
	return soft_out(call, UVERBS_ATTR_CORE_OUT, &r, sizeof(r));
}

int soft_query_device_ex(struct soft_call *call)
{
	const struct srd_profile *p = soft_profile();
	struct efa_ibv_ex_query_device_resp efa = {
		.max_sq_wr = p->max_sq_wr,
		.max_rq_wr = p->max_rq_wr,
		.max_sq_sge = p->max_sq_sge,
		.max_rq_sge = p->max_rq_sge,
		.max_rdma_size = p->max_rdma_size,
		.device_caps = capabilities(),
	};
	struct ib_uverbs_ex_query_device_resp r = {.response_length = sizeof(r)};
	int err;

	fill_device(call, &r.base);
	err = soft_out(call, UVERBS_ATTR_CORE_OUT, &r, sizeof(r));
	return err ? err : soft_out(call, UVERBS_ATTR_UHW_OUT, &efa, sizeof(efa));
}

/* The values of the numbers are ib_port_speed's and ib_port_width's: efa_query_port. */
static void link_speed(uint64_t gbps, uint8_t *speed, uint8_t *width)
{
	static const struct {
		uint16_t gbps;
		uint8_t speed, width;
	} links[] = {{400, 64, 4}, {200, 64, 2}, {120, 8, 8}, {100, 32, 2}, {60, 2, 8},
		     {50, 64, 1},  {40, 8, 2},   {30, 1, 8},  {0, 32, 1}};
	size_t i = 0;

	while (gbps < links[i].gbps)
		i++;
	*speed = links[i].speed;
	*width = links[i].width;
}

static uint64_t gigabits(void)
{
	return (soft_profile()->bandwidth * 8 + 999999999) / 1000000000;
}

static int check_port(const struct soft_call *call, uint16_t id)
{
	uint8_t port;
	int err = soft_in(call, id, &port, 1, 1);

	return err ? err : port == 1 ? 0 : EINVAL;
}

int soft_query_port(struct soft_call *call)
{
	struct ib_uverbs_query_port_resp_ex r = {
		.legacy_resp =
			{
				.state = PORT_ACTIVE,
				.phys_state = PORT_LINK_UP,
				.max_mtu = MTU_4096,
				.active_mtu = MTU_4096,
				.gid_tbl_len = 1,
				.pkey_tbl_len = 1,
				.max_msg_sz = (uint32_t)soft_profile()->mtu,
				.max_vl_num = 1,
				.lmc = 1,
			},
	};
	int err = check_port(call, UVERBS_ATTR_QUERY_PORT_PORT_NUM);

	if (err)
		return err;
	link_speed(gigabits(), &r.legacy_resp.active_speed, &r.legacy_resp.active_width);
	return soft_out(call, UVERBS_ATTR_QUERY_PORT_RESP, &r, sizeof(r));
}

/* In units of 100 Mb/s. */
int soft_query_port_speed(struct soft_call *call)
{
	uint64_t speed = gigabits() * 10;
	int err = check_port(call, 0);

	return err ? err : soft_out(call, 1, &speed, sizeof(speed));
}

static int answer_context(struct soft_call *call)
{
	const struct srd_profile *p = soft_profile();
	struct efa_ibv_alloc_ucontext_resp efa = {
		.cmds_supp_udata_mask =
			EFA_USER_CMDS_SUPP_UDATA_QUERY_DEVICE | EFA_USER_CMDS_SUPP_UDATA_CREATE_AH,
		.sub_cqs_per_cq = p->sub_cqs_per_cq,
		.inline_buf_size = (uint16_t)p->inline_buf_size,
		.inline_buf_size_ex = (uint16_t)p->inline_buf_size_ex,
		.max_llq_size = (uint32_t)p->max_llq_size,
		.max_tx_batch = p->max_tx_batch,
		.min_sq_wr = (uint16_t)p->min_sq_wr,
	};
	uint32_t vectors = NUM_VECTORS;
	uint64_t core_support = 0;
	int err;

	err = soft_out(call, UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, &vectors, sizeof(vectors));
	if (!err)
		err = soft_out(call, UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, &core_support,
			       sizeof(core_support));
	return err ? err : soft_out(call, UVERBS_ATTR_UHW_OUT, &efa, sizeof(efa));
}

int soft_get_context(struct soft_call *call)
{
	const struct srd_profile *p = soft_profile();
	uint32_t known;
	int err = soft_in(call, UVERBS_ATTR_UHW_IN, &known, sizeof(known), 0);

	if (err)
		return err;
	/* A library that does not know of a limit would break it. */
	if ((p->max_tx_batch && !(known & KNOWS_TX_BATCH)) ||
	    (p->min_sq_wr && !(known & KNOWS_MIN_SQ_WR)))
		return EOPNOTSUPP;
	return answer_context(call);
}

int soft_query_context(struct soft_call *call)
{
	return answer_context(call);
}

static struct ib_uverbs_gid_entry gid_entry(const struct soft_call *call)
{
	struct ib_uverbs_gid_entry entry = {.port_num = 1};
	union srd_gid gid;

	srd_model_gid(call->host, &gid);
	memcpy(entry.gid, gid.raw, sizeof(gid.raw));
	return entry;
}

int soft_query_gid_table(struct soft_call *call)
{
	const struct ib_uverbs_attr *room =
		soft_attr(call, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES);
	uint64_t size = soft_in_number(call, UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE);
	uint64_t flags = soft_in_number(call, UVERBS_ATTR_QUERY_GID_TABLE_FLAGS);
	struct ib_uverbs_gid_entry entry = gid_entry(call);
	uint64_t count = 1;
	int err;

	if (flags && flags != UINT64_MAX)
		return EINVAL;
	if (!room || !size || size > sizeof(entry) || room->len < size)
		return EINVAL;
	err = soft_out(call, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, &entry, size);
	return err ? err
		   : soft_out(call, UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, &count,
			      sizeof(count));
}

int soft_query_gid_entry(struct soft_call *call)
{
	uint64_t port = soft_in_number(call, UVERBS_ATTR_QUERY_GID_ENTRY_PORT);
	uint64_t index = soft_in_number(call, UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX);
	uint64_t flags = soft_in_number(call, UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS);
	struct ib_uverbs_gid_entry entry = gid_entry(call);

	if (flags && flags != UINT64_MAX)
		return EINVAL;
	if ((uint32_t)port != 1 || (uint32_t)index != 0)
		return EINVAL;
	return soft_out(call, UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, &entry, sizeof(entry));
}

/* A new event channel of the calling file. */
static int channel_new(struct soft_call *call, int *fd)
{
	struct soft_object *channel = soft_object_new(SOFT_CHANNEL, call->file);

	if (!channel)
		return ENOMEM;
	*fd = soft_channel_open(channel);
	if (*fd >= 0) {
		soft_channel_note(*fd, channel);
		return 0;
	}
	soft_object_free(channel);
	return -*fd;
}

int soft_async_event_alloc(struct soft_call *call)
{
	int fd, err;

	if (!soft_attr(call, UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE))
		return EINVAL;
	err = channel_new(call, &fd);
	return err ? err
		   : soft_out_number(call, UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, (uint64_t)fd);
}

int soft_create_comp_channel(struct soft_call *call)
{
	struct ib_uverbs_create_comp_channel_resp r;
	int fd, err = channel_new(call, &fd);

	if (err)
		return err;
	r.fd = (uint32_t)fd;
	return soft_out(call, UVERBS_ATTR_CORE_OUT, &r, sizeof(r));
}
