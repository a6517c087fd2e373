/* SPDX-License-Identifier: MIT */
/* What the files of the commands share. Each command answers 0 or a positive errno. */
#ifndef SRD_SOFTEFA_COMMAND_H
#define SRD_SOFTEFA_COMMAND_H

#include <rdma/ib_user_ioctl_cmds.h>

#include "call.h"
#include "group.h"

int soft_query_device(struct soft_call *call);
int soft_query_device_ex(struct soft_call *call);
int soft_query_port(struct soft_call *call);
int soft_query_port_speed(struct soft_call *call);
int soft_get_context(struct soft_call *call);
int soft_query_context(struct soft_call *call);
int soft_query_gid_table(struct soft_call *call);
int soft_query_gid_entry(struct soft_call *call);
int soft_async_event_alloc(struct soft_call *call);
int soft_create_comp_channel(struct soft_call *call);

int soft_alloc_pd(struct soft_call *call);
int soft_reg_mr(struct soft_call *call);
int soft_reg_dmabuf_mr(struct soft_call *call);
int soft_efa_query_mr(struct soft_call *call);
int soft_create_ah(struct soft_call *call);
/* The object in attribute 0. */
int soft_destroy(struct soft_call *call, enum soft_kind kind);

/* Attributes of that which only headers newer than what this builds with have a name for. */
enum {
	SOFT_CQ_BUFFER_VA = UVERBS_ATTR_CREATE_CQ_EVENT_FD + 1,
	SOFT_CQ_BUFFER_LENGTH,
	SOFT_CQ_BUFFER_FD,
	SOFT_CQ_BUFFER_OFFSET,
};
int soft_create_cq(struct soft_call *call);
int soft_destroy_cq(struct soft_call *call);
int soft_create_qp(struct soft_call *call);
int soft_destroy_qp(struct soft_call *call);
int soft_modify_qp(struct soft_call *call);
int soft_query_qp(struct soft_call *call);

/*
 * mr.c: LENGTH bytes of the dma-buf FD from OFFSET on. EBADF, EINVAL: it is none, or not so
 * long; mmap's.
 */
int soft_dmabuf_map(int fd, uint64_t offset, uint64_t length, struct soft_dmabuf *to);

static inline const struct srd_profile *soft_profile(void)
{
	return srd_model_profile(&soft.model);
}

/* files.c: the channel behind a descriptor of this process; NULL. */
struct soft_object *soft_channel_of(int fd);
void soft_channel_note(int fd, struct soft_object *channel);

#endif
