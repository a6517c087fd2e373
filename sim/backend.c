/* SPDX-License-Identifier: MIT */
/* The backend "mock": a model, memory for its hosts, and the verbs door in front of both. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <srdlab/profile.h>

#include "door/door.h"
#include "mock.h"
#include "verbs/alloc.h"

#define CAN                                                                         \
	(SRD_VERBS_CAN_FAULTS | SRD_VERBS_CAN_FABRIC | SRD_VERBS_CAN_VIRTUAL_TIME | \
	 SRD_VERBS_CAN_ORIGIN | SRD_VERBS_CAN_HOSTS | SRD_VERBS_CAN_MODEL |         \
	 SRD_VERBS_CAN_RDMA_CORE_65)

static bool memory_present(void *memory, uint32_t host, uint64_t addr, uint64_t length)
{
	return !srd_memory_check(memory, host, addr, length);
}

static enum srd_memory_side memory_copy(void *memory, uint32_t to_host, uint64_t to,
					uint32_t from_host, uint64_t from, uint64_t length)
{
	int err = srd_memory_copy(memory, to_host, to, from_host, from, length);

	if (!err)
		return SRD_MEMORY_OK;
	if (err != EFAULT)
		return SRD_MEMORY_NO_ROOM;
	return srd_memory_check(memory, from_host, from, length) ? SRD_MEMORY_NO_SOURCE
								 : SRD_MEMORY_NO_TARGET;
}

static enum srd_memory_side memory_store(void *memory, uint32_t host, uint64_t addr,
					 const void *bytes, size_t length)
{
	int err = srd_memory_write(memory, host, addr, bytes, length);

	if (!err)
		return SRD_MEMORY_OK;
	return err == EFAULT ? SRD_MEMORY_NO_TARGET : SRD_MEMORY_NO_ROOM;
}

/* What is left, users before what they use. */
static void release_objects(struct srd_verbs *verbs)
{
	struct srd_door *door = door_of(verbs);

	while (!LIST_EMPTY(&door->qps))
		verbs->destroy_qp(verbs, &LIST_FIRST(&door->qps)->qp);
	while (!LIST_EMPTY(&door->ahs))
		verbs->destroy_ah(verbs, &LIST_FIRST(&door->ahs)->ah);
	while (!LIST_EMPTY(&door->mrs))
		verbs->dereg_mr(verbs, &LIST_FIRST(&door->mrs)->mr);
	while (!LIST_EMPTY(&door->cqs))
		verbs->destroy_cq(verbs, &LIST_FIRST(&door->cqs)->cq);
	while (!LIST_EMPTY(&door->channels))
		verbs->destroy_comp_channel(verbs, &LIST_FIRST(&door->channels)->channel);
	while (!LIST_EMPTY(&door->pds))
		verbs->dealloc_pd(verbs, &LIST_FIRST(&door->pds)->pd);
	while (!LIST_EMPTY(&door->buffers))
		verbs->free_buffer(verbs, &LIST_FIRST(&door->buffers)->buffer);
	while (!LIST_EMPTY(&door->contexts))
		verbs->close_device(verbs, &LIST_FIRST(&door->contexts)->context);
}

static void mock_close(struct srd_verbs *verbs)
{
	struct srd_door *door = door_of(verbs);

	/* The stream may be gone by now. */
	door->model.stream = NULL;
	release_objects(verbs);
	srd_memory_destroy(door->memory);
	srd_model_close(&door->model);
	srd_free(door);
}

static void fill_table(struct srd_verbs *verbs)
{
	verbs->name = "mock";
	verbs->can = CAN;
	door_device_ops(verbs);
	door_object_ops(verbs);
	door_qp_ops(verbs);
	door_session_ops(verbs);
	door_poll_ops(verbs);
	door_extended_ops(verbs);
	door_channel_ops(verbs);
	door_buffer_ops(verbs);
	door_lab_ops(verbs);
	verbs->close = mock_close;
}

static int mock_devices(struct srd_device_info *list, int max, struct srd_error *error)
{
	if (max > 0) {
		snprintf(list->name, sizeof(list->name), "mock0");
		snprintf(list->detail, sizeof(list->detail), "a model of an EFA device");
	}
	return 1;
}

static int mock_open(const struct srd_backend_options *options, struct srd_verbs **out,
		     struct srd_error *error)
{
	const struct srd_profile *profile =
		options->profile ? options->profile : srd_profile_find("efa1");
	struct srd_door *door = srd_calloc(1, sizeof(*door));

	if (!door)
		goto no_memory;
	if (srd_model_open(&door->model, profile, options->seed))
		goto free_door;
	door->memory = srd_memory_create();
	if (!door->memory)
		goto close_model;
	door->model.stream = options->stream;
	door->model.chooser = options->chooser;
	door->model.memory = (struct srd_model_memory){
		.context = door->memory,
		.present = memory_present,
		.copy = memory_copy,
		.store = memory_store,
	};
	fill_table(&door->verbs);
	if (door_is_rc(door))
		door->verbs.can |= SRD_VERBS_IS_RC;
	/* libefa shows a read as a send. */
	door->send_opcode[SRD_OP_TYPE_SEND] = SRD_WC_SEND;
	door->send_opcode[SRD_OP_TYPE_RDMA_WRITE] = SRD_WC_RDMA_WRITE;
	door->send_opcode[SRD_OP_TYPE_RDMA_READ] =
		profile->read_opcode == SRD_PROFILE_READ_OPCODE_SEND && !door_is_rc(door)
			? SRD_WC_SEND
			: SRD_WC_RDMA_READ;
	*out = &door->verbs;
	return 0;

close_model:
	srd_model_close(&door->model);
free_door:
	srd_free(door);
no_memory:
	return srd_error_set(error, -ENOMEM, "the mock could not be opened: out of memory");
}

struct srd_backend srd_mock = {
	.name = "mock",
	.summary = "a deterministic model of an EFA device",
	.can = CAN,
	.open = mock_open,
	.devices = mock_devices,
};

__attribute__((constructor)) static void mock_register(void)
{
	srd_backend_register(&srd_mock);
}
