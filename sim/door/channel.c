/* SPDX-License-Identifier: MIT */
/* Completion channels: who asked for an event gets one for the next entry, once. */
#include <errno.h>

#include "door.h"
#include "verbs/alloc.h"

static struct srd_comp_channel *create_comp_channel(struct srd_verbs *verbs,
						    struct srd_context *context)
{
	struct srd_door *door = door_of(verbs);
	struct door_channel *channel = srd_calloc(1, sizeof(*channel));

	if (!channel) {
		errno = ENOMEM;
		return NULL;
	}
	channel->channel.context = context;
	channel->channel.handle = door_handle(door, DOOR_CHANNEL);
	door_context(context)->users++;
	LIST_INSERT_HEAD(&door->channels, channel, link);
	return &channel->channel;
}

static int destroy_comp_channel(struct srd_verbs *verbs, struct srd_comp_channel *public)
{
	struct door_channel *channel = (struct door_channel *)public;

	if (channel->users)
		return EBUSY;
	door_context(public->context)->users--;
	LIST_REMOVE(channel, link);
	srd_free(channel);
	return 0;
}

static int req_notify_cq(struct srd_verbs *verbs, struct srd_cq *public, int solicited_only)
{
	struct door_cq *cq = door_cq(public);

	if (solicited_only)
		return EOPNOTSUPP;
	if (!cq->channel)
		return EINVAL;
	srd_model_cq_arm(&door_of(verbs)->model, cq->model, cq->sequence);
	return 0;
}

/* The queue of CHANNEL whose event came first; NULL: there is no event. */
static struct door_cq *first_event(struct srd_door *door, const struct srd_comp_channel *channel)
{
	struct door_cq *cq, *first = NULL;
	uint64_t earliest = UINT64_MAX;

	LIST_FOREACH(cq, &door->cqs, link)
	{
		uint64_t event = srd_model_cq_event(&door->model, cq->model);

		if (!event || event > earliest || &cq->channel->channel != channel)
			continue;
		first = cq;
		earliest = event;
	}
	return first;
}

static int get_cq_event(struct srd_verbs *verbs, struct srd_comp_channel *channel,
			struct srd_cq **out)
{
	struct srd_door *door = door_of(verbs);
	struct door_cq *cq = first_event(door, channel);

	if (!cq)
		return EAGAIN;
	srd_model_cq_event_take(&door->model, cq->model);
	cq->unacked++;
	/* efa_cq_event */
	cq->sequence = (cq->sequence + 1) & 3;
	*out = &cq->cq;
	return 0;
}

static void ack_cq_events(struct srd_verbs *verbs, struct srd_cq *public, unsigned int nevents)
{
	struct door_cq *cq = door_cq(public);

	cq->unacked -= nevents < cq->unacked ? nevents : cq->unacked;
}

void door_channel_ops(struct srd_verbs *verbs)
{
	verbs->create_comp_channel = create_comp_channel;
	verbs->destroy_comp_channel = destroy_comp_channel;
	verbs->req_notify_cq = req_notify_cq;
	verbs->get_cq_event = get_cq_event;
	verbs->ack_cq_events = ack_cq_events;
}
