/* SPDX-License-Identifier: MIT */
/*
 * The doorbell of a send queue, where it is more than the one write that ends a session:
 * libefa writes it after each max_batch requests too, and the laboratory can lose it. It says
 * how far the ring is filled, so that a later one makes up for one that was lost.
 */
#include "door.h"

static void event(struct srd_door *door, const struct door_qp *qp, uint32_t num_wr, bool lost)
{
	struct srd_stream *stream = door->model.stream;
	struct srd_ev_dev_doorbell e = {
		.ev = {.type = SRD_EV_DEV_DOORBELL,
		       .source = SRD_SOURCE_DEVICE,
		       .host = (uint8_t)qp->qp.context->host,
		       .object = qp->qp.handle},
		.num_wr = num_wr,
		.waiting = qp->num_unrung,
		.lost = lost,
	};

	if (!stream)
		return;
	stream->now = srd_model_now(&door->model);
	srd_stream_emit(stream, &e.ev);
}

/* The device takes the first N that wait. */
static void take(struct srd_door *door, struct door_qp *qp, uint32_t n)
{
	for (; n; n--) {
		struct srd_request *r = qp->first_unrung;

		if (--qp->num_unrung)
			qp->first_unrung = srd_model_request_chained(&door->model, r);
		else
			qp->first_unrung = qp->last_unrung = NULL;
		srd_model_request_submit(&door->model, qp->model, r);
	}
}

/* One doorbell, for NUM_WR more requests than the last: the first UP_TO in the ring. */
static void ring(struct srd_door *door, struct door_qp *qp, uint32_t num_wr, uint32_t up_to)
{
	bool arrives = qp->arrive || !qp->lose;

	qp->doorbells++;
	if (qp->arrive)
		qp->arrive--;
	else if (qp->lose)
		qp->lose--;
	if (arrives)
		take(door, qp, up_to);
	if (!arrives || up_to > num_wr)
		event(door, qp, num_wr, !arrives);
}

void door_doorbell_session(struct srd_door *door, struct door_qp *qp)
{
	uint32_t left = qp->num_pending, n;

	if (!left)
		return;
	if (qp->num_unrung)
		srd_model_request_chain(&door->model, qp->last_unrung, qp->first);
	else
		qp->first_unrung = qp->first;
	qp->last_unrung = qp->current;
	qp->num_unrung += left;
	for (; left; left -= n) {
		n = left < qp->max_batch ? left : qp->max_batch;
		ring(door, qp, n, qp->num_unrung - (left - n));
	}
}

void door_doorbell_ring(struct srd_door *door, struct door_qp *qp)
{
	ring(door, qp, 0, qp->num_unrung);
}

void door_doorbell_forget(struct srd_door *door, struct door_qp *qp)
{
	while (qp->num_unrung) {
		struct srd_request *r = qp->first_unrung;

		if (--qp->num_unrung)
			qp->first_unrung = srd_model_request_chained(&door->model, r);
		srd_model_request_drop(&door->model, r);
	}
	qp->first_unrung = qp->last_unrung = NULL;
}

bool door_doorbell_waits(struct srd_door *door, const struct door_qp *qp, uint64_t wr_id)
{
	const struct srd_request *r = qp->first_unrung;

	for (uint32_t i = 0; i < qp->num_unrung; i++) {
		if (door_wq_wr_id(&qp->sq, r->id) == wr_id)
			return true;
		if (r != qp->last_unrung)
			r = srd_model_request_chained(&door->model, r);
	}
	return false;
}
