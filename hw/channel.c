/* SPDX-License-Identifier: MIT */
/* Completion channels. */
#include <errno.h>
#include <poll.h>

#include "efa.h"

static struct srd_comp_channel *create_comp_channel(struct srd_verbs *verbs,
						    struct srd_context *context)
{
	struct hw *hw = to_hw(verbs);
	struct hw_channel *channel = hw_object_new(sizeof(*channel));

	if (!channel)
		return NULL;
	channel->ibv = ibv_create_comp_channel(hw_ibv(context));
	if (!channel->ibv)
		return hw_object_discard(channel);
	channel->srd.handle = hw_object_add(hw, HW_CHANNEL, &channel->object);
	channel->srd.context = context;
	HW_OF(hw_context, context)->children++;
	return &channel->srd;
}

static int destroy_comp_channel(struct srd_verbs *verbs, struct srd_comp_channel *srd)
{
	struct hw_channel *channel = HW_OF(hw_channel, srd);
	int err;

	/* libibverbs counts only the queues of ibv_create_cq (see create_cq_ex). */
	if (channel->queues)
		return EBUSY;
	err = ibv_destroy_comp_channel(channel->ibv);
	if (err)
		return err;
	HW_OF(hw_context, srd->context)->children--;
	hw_object_free(to_hw(verbs), HW_CHANNEL, &channel->object);
	return 0;
}

/* Without a channel the queue may have no doorbell, and libefa would write through NULL. */
static int req_notify_cq(struct srd_verbs *verbs, struct srd_cq *srd, int solicited_only)
{
	struct hw_cq *cq = HW_OF(hw_cq, srd);

	if (!cq->channel)
		return solicited_only ? EOPNOTSUPP : EINVAL;
	return ibv_req_notify_cq(cq->ibv, solicited_only);
}

static int get_cq_event(struct srd_verbs *verbs, struct srd_comp_channel *srd, struct srd_cq **out)
{
	struct ibv_comp_channel *channel = HW_OF(hw_channel, srd)->ibv;
	struct pollfd look = {.fd = channel->fd, .events = POLLIN};
	struct ibv_cq *ibv;
	struct hw_cq *cq;
	void *context;

	/* Only who looks first does not block. */
	if (poll(&look, 1, 0) < 1)
		return EAGAIN;
	errno = 0;
	if (ibv_get_cq_event(channel, &ibv, &context))
		return errno ? errno : EIO;
	cq = context;
	cq->unacked++;
	*out = &cq->srd;
	return 0;
}

static void ack_cq_events(struct srd_verbs *verbs, struct srd_cq *srd, unsigned int nevents)
{
	struct hw_cq *cq = HW_OF(hw_cq, srd);

	if (nevents > cq->unacked)
		nevents = cq->unacked;
	cq->unacked -= nevents;
	if (nevents)
		ibv_ack_cq_events(cq->ibv, nevents);
}

void hw_channel_fill(struct srd_verbs *verbs)
{
	verbs->create_comp_channel = create_comp_channel;
	verbs->destroy_comp_channel = destroy_comp_channel;
	verbs->req_notify_cq = req_notify_cq;
	verbs->get_cq_event = get_cq_event;
	verbs->ack_cq_events = ack_cq_events;
}
