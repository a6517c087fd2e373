/* SPDX-License-Identifier: MIT */
/* The virtual clock, and the laboratory's commands in terms of wr ids. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "door.h"
#include "verbs/nearest.h"

#define MAX_COUNTERS 64

static uint64_t now(struct srd_verbs *verbs)
{
	return srd_model_now(&door_of(verbs)->model);
}

static int wait_for_arrival(struct srd_verbs *verbs, uint64_t deadline)
{
	struct srd_door *door = door_of(verbs);

	return srd_model_wait(&door->model, &door->seen, deadline);
}

/* The oldest request with this wr id that the device has. */
static struct srd_request *by_wr_id(struct srd_door *door, struct door_qp *qp, uint64_t wr_id)
{
	struct srd_request *r = NULL;

	while ((r = srd_model_request_next(&door->model, qp->model, r)))
		if (door_wq_wr_id(&qp->sq, r->id) == wr_id)
			break;
	return r;
}

static struct srd_request *by_ordinal(struct srd_door *door, struct door_qp *qp, uint64_t ordinal)
{
	struct srd_request *r = NULL;

	while ((r = srd_model_request_next(&door->model, qp->model, r)))
		if (r->ordinal == ordinal)
			break;
	return r;
}

/* Whether it lies in the ring and no doorbell has told of it. */
static bool is_unrung(struct srd_door *door, struct door_qp *qp, const struct srd_lab *command)
{
	if (command->flags & SRD_LAB_BY_ORDINAL)
		return command->ordinal - srd_model_qp_posted(&door->model, qp->model) <
		       qp->num_unrung;
	return door_doorbell_waits(door, qp, command->wr_id);
}

/* The request with this wr id that the open session has built; NULL: there is none. */
static struct srd_request *in_session(struct srd_door *door, struct door_qp *qp, uint64_t wr_id)
{
	struct srd_request *r = qp->first;

	if (!qp->open || !r)
		return NULL;
	while (door_wq_wr_id(&qp->sq, r->id) != wr_id && r != qp->current)
		r = srd_model_request_chained(&door->model, r);
	return door_wq_wr_id(&qp->sq, r->id) == wr_id ? r : NULL;
}

static bool entry_waits(struct srd_door *door, struct door_qp *qp, struct srd_lab *command)
{
	const struct srd_cqe *cqe;

	for (uint32_t i = 0; (cqe = srd_model_qp_peek(&door->model, qp->model, i)); i++) {
		if (cqe->qpn != qp->qp.qp_num || cqe->flags & SRD_CQE_RECEIVE)
			continue;
		if (command->flags & SRD_LAB_BY_ORDINAL
			    ? cqe->ordinal != (uint32_t)command->ordinal
			    : door_wq_wr_id(&qp->sq, cqe->id) != command->wr_id)
			continue;
		command->status = cqe->status;
		return true;
	}
	return false;
}

static int locate(struct srd_door *door, struct door_qp *qp, struct srd_lab *command)
{
	bool ordinal = command->flags & SRD_LAB_BY_ORDINAL;
	struct srd_request *r = ordinal ? by_ordinal(door, qp, command->ordinal)
					: by_wr_id(door, qp, command->wr_id);

	command->place = SRD_PLACE_UNKNOWN;
	command->why = SRD_WHY_NONE;
	command->status = command->peer_qpn = 0;
	if (!r && is_unrung(door, qp, command)) {
		command->place = SRD_PLACE_DOORBELL;
		return 0;
	}
	if (!r && entry_waits(door, qp, command)) {
		command->place = SRD_PLACE_COMPLETED;
		return 0;
	}
	if (!r && !ordinal)
		r = in_session(door, qp, command->wr_id);
	if (r)
		srd_model_request_locate(&door->model, r, command);
	return command->place == SRD_PLACE_UNKNOWN ? ENOENT : 0;
}

static int request_command(struct srd_door *door, struct srd_lab *command)
{
	struct door_qp *qp = door_qp(command->qp);
	struct srd_request *r = NULL;

	if (!qp)
		return EINVAL;
	if (command->kind == SRD_LAB_LOCATE)
		return locate(door, qp, command);
	if (!(command->flags & SRD_LAB_BY_ORDINAL))
		r = by_wr_id(door, qp, command->wr_id);
	return srd_model_request_fault(&door->model, qp->model, r, command);
}

static int doorbell_command(struct srd_door *door, struct srd_lab *command)
{
	struct door_qp *qp = door_qp(command->qp);

	if (!qp)
		return EINVAL;
	if (command->kind == SRD_LAB_LOSE_DOORBELLS) {
		qp->arrive = command->ordinal;
		qp->lose = command->value;
	} else if (command->kind == SRD_LAB_RING_DOORBELL) {
		door_doorbell_ring(door, qp);
	} else {
		command->value = qp->doorbells;
	}
	return 0;
}

static int counter(struct srd_door *door, struct srd_lab *command, uint32_t device)
{
	int err = srd_model_counter(&door->model, device, command->name, &command->value);
	const char *names[MAX_COUNTERS], *nearest;
	int count = 0;

	if (err != ENOENT)
		return err;
	while (count < MAX_COUNTERS && (names[count] = srd_model_counter_name((uint32_t)count)))
		count++;
	nearest = srd_nearest(command->name, names, count);
	if (nearest)
		snprintf(command->text, sizeof(command->text), "; did you mean \"%s\"?", nearest);
	return err;
}

static int device_command(struct srd_door *door, struct srd_lab *command, uint32_t device)
{
	if (command->kind == SRD_LAB_COUNTER)
		return counter(door, command, device);
	return srd_model_host_fault(&door->model, device, command->kind);
}

/* All devices of the command's host. */
static int host_command(struct srd_door *door, struct srd_lab *command)
{
	int result = device_command(door, command, command->host);
	uint64_t sum = command->value;

	for (uint32_t i = 0; !result && i < door->num_more; i++) {
		if (door->more[i].host != command->host)
			continue;
		device_command(door, command, SRD_MODEL_MAX_HOSTS - 1 - i);
		/* There is one counter that is the whole model's. */
		if (command->kind == SRD_LAB_COUNTER && strcmp(command->name, "events") != 0)
			sum += command->value;
	}
	command->value = sum;
	return result;
}

static int lab(struct srd_verbs *verbs, struct srd_lab *command)
{
	struct srd_door *door = door_of(verbs);

	switch (command->kind) {
	case SRD_LAB_HOLD:
	case SRD_LAB_RELEASE:
	case SRD_LAB_FAIL:
	case SRD_LAB_DROP:
	case SRD_LAB_DUPLICATE:
	case SRD_LAB_DELAY:
	case SRD_LAB_NOT_READY:
	case SRD_LAB_LOCATE:
		return request_command(door, command);
	case SRD_LAB_QP_ERR:
	case SRD_LAB_STALE_CQE:
	case SRD_LAB_COMPLETE_ALL:
		if (!command->qp)
			return EINVAL;
		return srd_model_qp_fault(&door->model, door_qp(command->qp)->model, command->kind);
	case SRD_LAB_FAIL_RECEIVE:
		if (!command->qp)
			return EINVAL;
		return srd_model_recv_fault(&door->model, door_qp(command->qp)->model,
					    command->ordinal, command->status);
	case SRD_LAB_KILL:
	case SRD_LAB_RESTART:
		return host_command(door, command);
	case SRD_LAB_SET:
		if (!command->name)
			return EINVAL;
		return srd_model_set(&door->model, command->name, command->value);
	case SRD_LAB_COUNTER:
		if (!command->name)
			return EINVAL;
		return host_command(door, command);
	case SRD_LAB_LOSE_DOORBELLS:
	case SRD_LAB_RING_DOORBELL:
	case SRD_LAB_DOORBELLS:
		return doorbell_command(door, command);
	case SRD_LAB_AUDIT:
		return srd_model_audit(&door->model, command->text, sizeof(command->text));
	}
	return EOPNOTSUPP;
}

void door_lab_ops(struct srd_verbs *verbs)
{
	verbs->now = now;
	verbs->wait = wait_for_arrival;
	verbs->lab = lab;
}
