/* SPDX-License-Identifier: MIT */
/*
 * Which command a call is: by object and method, the legacy ones by number inside
 * INVOKE_WRITE. What the kernel's EFA driver does not have is refused as the RDMA core does.
 */
#include <errno.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>

#include "command.h"

/* Newer than the headers that srdlab builds with (rdma-core 65). */
#define METHOD_QUERY_PORT_SPEED 7
#define METHOD_EFA_QUERY_MR     0x1000 /* enum efa_mr_methods */

#define DRIVER_ATTR UVERBS_ATTR_UHW_IN /* the first of a driver's own, or its input */

static int no_answer(struct soft_call *call, int (*command)(struct soft_call *))
{
	return soft_attr(call, UVERBS_ATTR_CORE_OUT) ? command(call) : ENOSPC;
}

static int invoke_write(struct soft_call *call)
{
	uint32_t command;
	int err = soft_in(call, UVERBS_ATTR_WRITE_CMD, &command, sizeof(command), 4);

	if (err)
		return err;
	switch (command) {
	case IB_USER_VERBS_CMD_QUERY_DEVICE:
		return no_answer(call, soft_query_device);
	case IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_QUERY_DEVICE:
		return no_answer(call, soft_query_device_ex);
	case IB_USER_VERBS_CMD_ALLOC_PD:
		return no_answer(call, soft_alloc_pd);
	case IB_USER_VERBS_CMD_REG_MR:
		return no_answer(call, soft_reg_mr);
	case IB_USER_VERBS_CMD_CREATE_AH:
		return no_answer(call, soft_create_ah);
	case IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL:
		return no_answer(call, soft_create_comp_channel);
	case IB_USER_VERBS_CMD_QUERY_QP:
		return no_answer(call, soft_query_qp);
	case IB_USER_VERBS_CMD_MODIFY_QP:
		return soft_modify_qp(call);
	}
	return EOPNOTSUPP;
}

static int destroy_pd(struct soft_call *call)
{
	return soft_destroy(call, SOFT_PD);
}

static int destroy_mr(struct soft_call *call)
{
	return soft_destroy(call, SOFT_MR);
}

static int destroy_ah(struct soft_call *call)
{
	return soft_destroy(call, SOFT_AH);
}

/* The methods, each with how many attributes it knows: the core's, and from DRIVER_ATTR on. */
static const struct method {
	uint16_t object, method;
	uint16_t attrs, driver_attrs;
	int (*command)(struct soft_call *call);
} methods[] = {
	{UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE, UVERBS_ATTR_WRITE_CMD + 1, 2,
	 invoke_write},
	{UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT, UVERBS_ATTR_QUERY_PORT_RESP + 1, 0,
	 soft_query_port},
	{UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT, UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT + 1,
	 2, soft_get_context},
	{UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT,
	 UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT + 1, 2, soft_query_context},
	{UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_TABLE,
	 UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES + 1, 0, soft_query_gid_table},
	{UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_ENTRY,
	 UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY + 1, 0, soft_query_gid_entry},
	{UVERBS_OBJECT_DEVICE, METHOD_QUERY_PORT_SPEED, 2, 0, soft_query_port_speed},
	{UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, 1, 0, destroy_pd},
	{UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, 1, 0, destroy_mr},
	{UVERBS_OBJECT_MR, UVERBS_METHOD_REG_DMABUF_MR, UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY + 1, 0,
	 soft_reg_dmabuf_mr},
	{UVERBS_OBJECT_MR, METHOD_EFA_QUERY_MR, 0, 5, soft_efa_query_mr},
	{UVERBS_OBJECT_AH, UVERBS_METHOD_AH_DESTROY, 1, 0, destroy_ah},
	{UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE, SOFT_CQ_BUFFER_OFFSET + 1, 2, soft_create_cq},
	{UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY, UVERBS_ATTR_DESTROY_CQ_RESP + 1, 0,
	 soft_destroy_cq},
	{UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM + 1, 2,
	 soft_create_qp},
	{UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY, UVERBS_ATTR_DESTROY_QP_RESP + 1, 0,
	 soft_destroy_qp},
	{UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC,
	 UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE + 1, 0, soft_async_event_alloc},
};

static const struct method *find_method(const struct soft_call *call)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (methods[i].object == call->object && methods[i].method == call->method)
			return &methods[i];
	return NULL;
}

/*
 * uverbs_ioctl.c uverbs_set_attr: what a method does not know is passed over, unless the
 * program says that it must be known.
 */
static int check_attrs(const struct soft_call *call, const struct method *method)
{
	for (uint32_t i = 0; i < call->num; i++) {
		const struct ib_uverbs_attr *attr = &call->attr[i];
		bool known = attr->attr_id < DRIVER_ATTR
				     ? attr->attr_id < method->attrs
				     : attr->attr_id - DRIVER_ATTR < method->driver_attrs;

		if (!known && attr->flags & UVERBS_ATTR_F_MANDATORY)
			return EPROTONOSUPPORT;
	}
	return 0;
}

int soft_command(struct soft_call *call)
{
	const struct method *method = find_method(call);
	int err = method ? check_attrs(call, method) : EPROTONOSUPPORT;

	return err ? err : method->command(call);
}
