/* SPDX-License-Identifier: MIT */
/* The table of what programs have handles for, and the end of each kind. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "engine.h"
#include "event.h"
#include "group.h"

struct soft_object *soft_object_new(enum soft_kind kind, uint32_t file)
{
	struct soft_group *g = soft.group;
	uint32_t handle = g->objects_free;

	if (handle)
		g->objects_free = g->object[handle].next;
	else if (g->objects_high + 1 < SOFT_MAX_OBJECTS)
		handle = ++g->objects_high;
	else
		return NULL;
	memset(&g->object[handle], 0, sizeof(g->object[handle]));
	g->object[handle].kind = (uint8_t)kind;
	g->object[handle].process = (uint8_t)soft.process;
	g->object[handle].file = file;
	g->object[handle].name = ++g->last_name;
	soft.made = handle;
	return &g->object[handle];
}

void soft_object_free(struct soft_object *object)
{
	object->kind = SOFT_FREE;
	object->next = soft.group->objects_free;
	soft.group->objects_free = soft_handle(object);
}

struct soft_object *soft_object_find(uint64_t handle, enum soft_kind kind, uint32_t file)
{
	struct soft_object *object;

	if (!handle || handle > soft.group->objects_high)
		return NULL;
	object = soft_object((uint32_t)handle);
	return object->kind == kind && object->file == file ? object : NULL;
}

static void ring_free(struct soft_ring *ring)
{
	if (ring->key)
		soft_pages_put(ring->key, ring->bytes);
}

static int destroy_qp(struct soft_object *object)
{
	struct soft_qp *qp = &object->qp;

	soft_engine_qp_told(object);
	srd_model_qp_destroy(&soft.model, object->model);
	soft_object(qp->send_cq)->users--;
	soft_object(qp->recv_cq)->users--;
	/* Both doorbells lie in one page. */
	soft_pages_put(qp->sq.doorbell & ~(uint64_t)(SOFT_PAGE - 1), SOFT_PAGE);
	ring_free(&qp->sq);
	ring_free(&qp->rq);
	return 0;
}

/* Where it was mapped; who has ended has nothing mapped. */
static void unmap(const struct soft_object *object, const struct soft_dmabuf *memory)
{
	if (memory->mapped && object->process == soft.process)
		munmap((void *)(uintptr_t)memory->mapped, memory->mapped_length);
}

static int destroy_cq(struct soft_object *object)
{
	struct soft_cq *cq = &object->cq;
	int err = srd_model_cq_destroy(&soft.model, object->model);

	if (err)
		return err;
	if (cq->armed)
		soft.group->armed--;
	if (cq->channel)
		soft_object(cq->channel)->users--;
	soft_pages_put(cq->ring.doorbell, SOFT_PAGE);
	ring_free(&cq->ring);
	unmap(object, &cq->memory);
	return 0;
}

/* A process that died over it did not come to that. */
static bool is_made(const struct soft_object *object)
{
	return object->model || object->kind == SOFT_AH || object->kind == SOFT_CHANNEL;
}

int soft_object_destroy(struct soft_object *object)
{
	int err = 0;

	if (object->users)
		return EBUSY;
	if (!is_made(object)) {
		soft_object_free(object);
		return 0;
	}
	switch ((enum soft_kind)object->kind) {
	case SOFT_PD:
		err = srd_model_pd_dealloc(&soft.model, object->model);
		break;
	case SOFT_MR:
		srd_model_mr_dereg(&soft.model, object->model);
		unmap(object, &object->mr);
		break;
	case SOFT_AH:
		srd_model_ah_destroy(&soft.model, object->number);
		break;
	case SOFT_CQ:
		err = destroy_cq(object);
		break;
	case SOFT_QP:
		err = destroy_qp(object);
		break;
	case SOFT_CHANNEL:
		soft_channel_unlink(object);
		break;
	case SOFT_FREE:
		break;
	}
	if (err)
		return err;
	if (object->pd)
		soft_object(object->pd)->users--;
	soft_object_free(object);
	return 0;
}

void soft_file_release(uint32_t file)
{
	static const enum soft_kind order[] = {SOFT_QP, SOFT_AH, SOFT_MR,
					       SOFT_CQ, SOFT_PD, SOFT_CHANNEL};
	struct soft_group *g = soft.group;

	for (size_t k = 0; k < sizeof(order) / sizeof(order[0]); k++)
		for (uint32_t i = 1; i <= g->objects_high; i++)
			if (g->object[i].kind == order[k] && g->object[i].file == file)
				soft_object_destroy(&g->object[i]);
}

uint8_t soft_object_host(const struct soft_object *object)
{
	for (uint32_t i = 0; i < SOFT_MAX_CONTEXTS; i++)
		if (soft.group->context[i].file == object->file)
			return soft.group->context[i].host;
	return 0;
}
