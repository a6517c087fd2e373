/* SPDX-License-Identifier: MIT */
/* The table itself: its objects, open and close. */
#include <errno.h>
#include <string.h>

#include "verbs/alloc.h"
#include "efa.h"
#include "softefa/lab.h"

void *hw_object_new(size_t size)
{
	return srd_calloc(1, size);
}

void *hw_object_discard(void *object)
{
	int err = errno;

	srd_free(object);
	errno = err;
	return NULL;
}

uint32_t hw_object_add(struct hw *hw, enum hw_kind kind, struct hw_object *object)
{
	TAILQ_INSERT_TAIL(&hw->objects[kind], object, entry);
	return ++hw->last_handle[kind];
}

void hw_object_free(struct hw *hw, enum hw_kind kind, struct hw_object *object)
{
	TAILQ_REMOVE(&hw->objects[kind], object, entry);
	srd_free(object);
}

/* One object that its owner left; a device that refuses to destroy it keeps its own part. */
static void release(struct hw *hw, enum hw_kind kind, struct hw_object *object)
{
	struct srd_verbs *verbs = &hw->verbs;
	int err = 0;

	switch (kind) {
	case HW_CONTEXT:
		err = verbs->close_device(verbs, &((struct hw_context *)object)->srd);
		break;
	case HW_PD:
		err = verbs->dealloc_pd(verbs, &((struct hw_pd *)object)->srd);
		break;
	case HW_MR:
		err = verbs->dereg_mr(verbs, &((struct hw_mr *)object)->srd);
		break;
	case HW_BUFFER:
		err = verbs->free_buffer(verbs, &((struct hw_buffer *)object)->srd);
		break;
	case HW_CHANNEL:
		err = verbs->destroy_comp_channel(verbs, &((struct hw_channel *)object)->srd);
		break;
	case HW_CQ:
		err = verbs->destroy_cq(verbs, &((struct hw_cq *)object)->srd);
		break;
	case HW_AH:
		err = verbs->destroy_ah(verbs, &((struct hw_ah *)object)->srd);
		break;
	case HW_QP:
		err = verbs->destroy_qp(verbs, &((struct hw_qp *)object)->srd);
		break;
	case HW_NUM_KINDS:
		break;
	}
	if (err)
		hw_object_free(hw, kind, object);
}

/* What refers to others goes first; facts: queue pair before address handle, both before
 * completion queue and domain, memory last of all since a device may still reach it. */
static void hw_close(struct srd_verbs *verbs)
{
	static const enum hw_kind order[] = {HW_QP,      HW_AH, HW_MR,      HW_CQ,
					     HW_CHANNEL, HW_PD, HW_CONTEXT, HW_BUFFER};
	struct hw *hw = to_hw(verbs);

	/* The stream may be gone by now. */
	if (hw->stream)
		hw->lab->tell(NULL);
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		struct hw_list *list = &hw->objects[order[i]];

		while (!TAILQ_EMPTY(list))
			release(hw, order[i], TAILQ_LAST(list, hw_list));
	}
	ibv_close_device(hw->ibv);
	if (hw->lab)
		hw->lab->end();
	srd_free(hw);
}

/* Ours for the kernel's HANDLE; 0: it is gone. */
static uint32_t handle_of(const struct hw *hw, enum hw_kind kind, uint32_t handle)
{
	struct hw_object *object;

	TAILQ_FOREACH(object, &hw->objects[kind], entry)
	{
		const struct hw_qp *qp = (const struct hw_qp *)object;
		const struct hw_cq *cq = (const struct hw_cq *)object;
		const struct hw_mr *mr = (const struct hw_mr *)object;

		if (kind == HW_QP && qp->ibv->handle == handle)
			return qp->srd.handle;
		if (kind == HW_CQ && cq->ibv->handle == handle)
			return cq->srd.handle;
		if (kind == HW_MR && mr->ibv->handle == handle)
			return mr->srd.handle;
	}
	return 0;
}

static uint32_t object_of(const struct hw *hw, const struct srd_event *event)
{
	const char *kind = srd_event_infos[event->type].object;

	if (!strcmp(kind, "qp"))
		return handle_of(hw, HW_QP, event->object);
	return handle_of(hw, strcmp(kind, "cq") ? HW_MR : HW_CQ, event->object);
}

/* An event of the device, with our handles. */
static void pass_on(void *reader, const struct srd_event *event)
{
	struct hw *hw = reader;
	union {
		struct srd_event ev;
		struct srd_ev_dev_cqe cqe;
		uint8_t bytes[SRD_EVENT_MAX_SIZE];
	} copy;

	memcpy(&copy, event, srd_event_infos[event->type].size);
	copy.ev.object = object_of(hw, event);
	if (event->type == SRD_EV_DEV_CQE)
		copy.cqe.qp = handle_of(hw, HW_QP, copy.cqe.qp);
	hw->stream->now = event->time;
	srd_stream_emit(hw->stream, &copy.ev);
}

static int choose(struct srd_chooser *chooser, const struct srd_choice *list, uint32_t n)
{
	struct hw *hw = (struct hw *)((char *)chooser - offsetof(struct hw, chooser));
	struct srd_choice copy[SRD_MAX_CHOICES];

	for (uint32_t i = 0; i < n; i++) {
		copy[i] = list[i];
		copy[i].qp = handle_of(hw, HW_QP, list[i].qp);
	}
	return hw->chooses->choose(hw->chooses, copy, n);
}

/* Where the device can be what the run asks for, it is; that it cannot is no fault of a scenario. */
static int open_device(struct hw *hw, const struct srd_backend_options *options, bool *is_efa,
		       struct srd_error *error)
{
	int err = 0;

	hw->lab = options->profile ? hw_lab_calls() : NULL;
	hw->chooses = options->chooser;
	hw->chooser.choose = choose;
	if (hw->lab && hw->lab->begin(options->profile, options->seed,
				      hw->chooses ? &hw->chooser : NULL, error)) {
		error->code = -ENODEV;
		return -ENODEV;
	}
	if (hw->lab)
		hw->devices = options->profile->devices;
	err = hw_discover(options->device, &hw->ibv, is_efa, error);
	if (err && hw->lab)
		hw->lab->end();
	return err;
}

int hw_open(const struct srd_backend_options *options, struct srd_verbs **out,
	    struct srd_error *error)
{
	struct hw *hw = srd_calloc(1, sizeof(*hw));
	bool is_efa;
	int err;

	if (!hw)
		return srd_error_set(error, -ENOMEM, "out of memory while opening the EFA backend");
	err = open_device(hw, options, &is_efa, error);
	if (err) {
		srd_free(hw);
		return err;
	}
	for (int kind = 0; kind < HW_NUM_KINDS; kind++)
		TAILQ_INIT(&hw->objects[kind]);
	hw->verbs.name = "efa";
	hw->verbs.can = is_efa ? hw_lab_can() : SRD_VERBS_IS_RC;
	if (!hw->lab)
		hw->verbs.can &= ~(uint32_t)HW_CAN_LAB;
	hw->verbs.close = hw_close;
	hw_device_fill(&hw->verbs);
	hw_memory_fill(&hw->verbs);
	hw_buffer_fill(&hw->verbs);
	hw_queue_pair_fill(&hw->verbs);
	hw_session_fill(&hw->verbs);
	hw_completion_fill(&hw->verbs);
	hw_extended_fill(&hw->verbs);
	hw_channel_fill(&hw->verbs);
	hw_clock_fill(&hw->verbs);
	hw_lab_fill(&hw->verbs);
	hw->opened = hw->verbs.now(&hw->verbs);
	if (hw->lab && options->stream) {
		hw->stream = options->stream;
		srd_stream_add(&hw->device, pass_on, hw);
		hw->lab->tell(&hw->device);
	}
	*out = &hw->verbs;
	return 0;
}
