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

static int device_command(struct soft_call *call)
{
	switch (call->method) {
	case UVERBS_METHOD_INVOKE_WRITE:
		return invoke_write(call);
	case UVERBS_METHOD_QUERY_PORT:
		return soft_query_port(call);
	case UVERBS_METHOD_GET_CONTEXT:
		return soft_get_context(call);
	case UVERBS_METHOD_QUERY_CONTEXT:
		return soft_query_context(call);
	case UVERBS_METHOD_QUERY_GID_TABLE:
		return soft_query_gid_table(call);
	case UVERBS_METHOD_QUERY_GID_ENTRY:
		return soft_query_gid_entry(call);
	case METHOD_QUERY_PORT_SPEED:
		return soft_query_port_speed(call);
	}
	return EPROTONOSUPPORT;
}

static int mr_command(struct soft_call *call)
{
	if (call->method == UVERBS_METHOD_MR_DESTROY)
		return soft_destroy(call, SOFT_MR);
	if (call->method == METHOD_EFA_QUERY_MR)
		return soft_efa_query_mr(call);
	return EPROTONOSUPPORT;
}

int soft_command(struct soft_call *call)
{
	switch (call->object) {
	case UVERBS_OBJECT_DEVICE:
		return device_command(call);
	case UVERBS_OBJECT_PD:
		if (call->method == UVERBS_METHOD_PD_DESTROY)
			return soft_destroy(call, SOFT_PD);
		break;
	case UVERBS_OBJECT_MR:
		return mr_command(call);
	case UVERBS_OBJECT_AH:
		if (call->method == UVERBS_METHOD_AH_DESTROY)
			return soft_destroy(call, SOFT_AH);
		break;
	case UVERBS_OBJECT_CQ:
		if (call->method == UVERBS_METHOD_CQ_CREATE)
			return soft_create_cq(call);
		if (call->method == UVERBS_METHOD_CQ_DESTROY)
			return soft_destroy_cq(call);
		break;
	case UVERBS_OBJECT_QP:
		if (call->method == UVERBS_METHOD_QP_CREATE)
			return soft_create_qp(call);
		if (call->method == UVERBS_METHOD_QP_DESTROY)
			return soft_destroy_qp(call);
		break;
	case UVERBS_OBJECT_ASYNC_EVENT:
		if (call->method == UVERBS_METHOD_ASYNC_EVENT_ALLOC)
			return soft_async_event_alloc(call);
		break;
	}
	return EPROTONOSUPPORT;
}
