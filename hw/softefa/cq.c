/* SPDX-License-Identifier: MIT */
/* Commands that make and destroy completion queues. */
#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>

#include "command.h"
#include "engine.h"
#include "event.h"
#include "ring.h"
#include "softefa/efa_abi.h"

#define NUM_VECTORS  2
#define NEVER_ARMED  4  /* no command sequence has it */
#define MIN_CQ_INPUT 10 /* bytes, up to num_sub_cqs */

struct cq_input {
	struct efa_ibv_create_cq efa;
	uint32_t entries;
	uint32_t vector;
	struct soft_object *channel;
	bool external; /* its entries are to be in a buffer of the program's: */
	int fd;
	uint64_t offset;
	uint64_t length;
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

/* As uverbs_std_types_cq.c has it, but that no EFA library names memory by its address. */
static int buffer_read(struct soft_call *call, struct cq_input *in)
{
	int err;

	in->external = soft_attr(call, SOFT_CQ_BUFFER_FD);
	if (soft_attr(call, SOFT_CQ_BUFFER_VA))
		return EINVAL;
	if (!in->external)
		return soft_attr(call, SOFT_CQ_BUFFER_LENGTH) ||
				       soft_attr(call, SOFT_CQ_BUFFER_OFFSET)
			       ? EINVAL
			       : 0;
	in->fd = (int)soft_in_number(call, SOFT_CQ_BUFFER_FD);
	err = soft_in(call, SOFT_CQ_BUFFER_OFFSET, &in->offset, 8, 8);
	return err ? err : soft_in(call, SOFT_CQ_BUFFER_LENGTH, &in->length, 8, 8);
}

/* Divergence from EFA: whether a device takes a depth that is no power of two is not known. */
static int cq_input_check(const struct cq_input *in)
{
	bool source = in->efa.flags & EFA_CREATE_CQ_WITH_SGID;

	if (!soft_power_of_two(in->entries) || in->entries > soft_profile()->max_cqe)
		return EINVAL;
	if (in->efa.comp_mask)
		return EINVAL;
	for (size_t i = 0; i < sizeof(in->efa.reserved_58); i++)
		if (in->efa.reserved_58[i])
			return EINVAL;
	if (in->efa.cq_entry_size != SOFT_CQE_SIZE &&
	    (source || in->efa.cq_entry_size != sizeof(struct efa_io_rx_cdesc)))
		return EINVAL;
	return in->efa.num_sub_cqs == soft_profile()->sub_cqs_per_cq ? 0 : EINVAL;
}

static int cq_answer(struct soft_call *call, const struct soft_object *object)
{
	const struct soft_cq *cq = &object->cq;
	struct efa_ibv_create_cq_resp efa = {
		.cq_idx = (uint16_t)object->model,
	};
	int err;

	/* The driver maps neither for a queue in external memory: it has no doorbell. */
	if (!cq->memory.mapped) {
		efa.comp_mask = EFA_CREATE_CQ_RESP_DB_OFF;
		efa.q_mmap_key = cq->ring.key;
		efa.q_mmap_size = cq->ring.bytes;
		efa.db_mmap_key = cq->ring.doorbell;
	}
	err = soft_out(call, UVERBS_ATTR_CREATE_CQ_RESP_CQE, &cq->ring.entries, 4);

	if (!err)
		err = soft_out(call, UVERBS_ATTR_UHW_OUT, &efa, sizeof(efa));
	return err ? err : soft_out_number(call, UVERBS_ATTR_CREATE_CQ_HANDLE, soft_handle(object));
}

static int cq_make(struct soft_call *call, const struct cq_input *in, struct soft_object *object)
{
	struct soft_cq *cq = &object->cq;
	uint64_t bytes = (uint64_t)in->entries * in->efa.cq_entry_size * in->efa.num_sub_cqs;
	int err = 0;

	*cq = (struct soft_cq){
		.ring = {.bytes = (uint32_t)((bytes + SOFT_PAGE - 1) & ~(SOFT_PAGE - 1ull)),
			 .entries = in->entries,
			 .entry_size = in->efa.cq_entry_size},
		.num_rings = in->efa.num_sub_cqs,
		.sequence = NEVER_ARMED,
		.source_gid = in->efa.flags & EFA_CREATE_CQ_WITH_SGID,
	};
	object->user = soft_in_number(call, UVERBS_ATTR_CREATE_CQ_USER_HANDLE);
	if (in->external && in->length < cq->ring.bytes)
		return EINVAL;
	if (in->external)
		err = soft_dmabuf_map(in->fd, in->offset, in->length, &cq->memory);
	if (err)
		return err;
	err = srd_model_cq_create(&soft.model, call->host, in->entries, soft_handle(object),
				  &object->model);
	if (err)
		goto unmap;
	cq->ring.key = in->external ? 0 : soft_pages_get(cq->ring.bytes);
	cq->ring.doorbell = soft_pages_get(SOFT_PAGE);
	if ((cq->ring.key || in->external) && cq->ring.doorbell)
		return 0;
	if (cq->ring.key)
		soft_pages_put(cq->ring.key, cq->ring.bytes);
	srd_model_cq_destroy(&soft.model, object->model);
	err = ENOMEM;
unmap:
	if (in->external)
		munmap((void *)(uintptr_t)cq->memory.mapped, cq->memory.mapped_length);
	return err;
}

int soft_create_cq(struct soft_call *call)
{
	struct soft_object *object;
	struct cq_input in;
	int err = cq_input_read(call, &in);

	if (!err)
		err = buffer_read(call, &in);
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
