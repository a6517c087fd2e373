/* SPDX-License-Identifier: MIT */
/*
 * What the laboratory does to requests, queue pairs and hosts. A fault may be planned for
 * a request that is not posted yet; it is kept beside its queue pair until then.
 */
#include <errno.h>
#include <string.h>

#include "state.h"

#define MAX_DELAY (UINT64_C(365 * 24 * 3600) * 1000000000) /* ns: time has an end */

void srd_fault_event(struct srd_model *m, const struct srd_request *r, uint32_t kind)
{
	struct srd_ev_dev_fault event;

	if (!m->stream)
		return;
	event = (struct srd_ev_dev_fault){
		.ev = srd_device_event(SRD_EV_DEV_FAULT, m->qp[r->qp].tag, m->qp[r->qp].host),
		.ordinal = r->ordinal,
		.kind = kind,
		.status = r->status,
	};
	srd_stream_emit(m->stream, &event.ev);
}

static void release(struct srd_model *m, struct srd_request *r)
{
	r->faults &= (uint8_t)~SRD_FAULTED_HOLD;
	if (r->phase != SRD_PHASE_HELD)
		return;
	srd_fault_event(m, r, SRD_LAB_RELEASE);
	srd_request_schedule(m, r, SRD_PHASE_ANSWERED, m->state->now);
}

/* A request that waits for a receive is not waited for any longer. */
void srd_request_fail(struct srd_model *m, struct srd_request *r, uint8_t status)
{
	r->faults |= SRD_FAULTED_FAIL;
	r->status = status;
	if (r->phase != SRD_PHASE_RNR)
		return;
	srd_request_unpark(m, r);
	srd_request_schedule(m, r, SRD_PHASE_ANSWERED, m->state->now);
}

static void lose(struct srd_model *m, struct srd_request *r)
{
	r->faults |= SRD_FAULTED_DROP;
	if (r->phase != SRD_PHASE_RNR && r->phase != SRD_PHASE_HELD)
		return;
	if (r->phase == SRD_PHASE_RNR)
		srd_request_unpark(m, r);
	srd_fault_event(m, r, SRD_LAB_DROP);
	srd_request_lose(r, SRD_WHY_FAULT);
	if (m->qp[r->qp].rc)
		srd_rc_pass(m, r);
}

/* DELAY is also how often a receiver is not ready. */
static int apply(struct srd_model *m, struct srd_request *r, uint32_t kind, uint32_t status,
		 uint64_t delay)
{
	switch (kind) {
	case SRD_LAB_HOLD:
		r->faults |= SRD_FAULTED_HOLD;
		return 0;
	case SRD_LAB_RELEASE:
		if (!(r->faults & SRD_FAULTED_HOLD))
			return EINVAL;
		release(m, r);
		return 0;
	case SRD_LAB_FAIL:
		srd_request_fail(m, r, (uint8_t)status);
		return 0;
	case SRD_LAB_DROP:
		lose(m, r);
		return 0;
	case SRD_LAB_DUPLICATE:
		r->faults |= SRD_FAULTED_DUPLICATE;
		return 0;
	case SRD_LAB_DELAY:
		r->faults |= SRD_FAULTED_DELAY;
		r->delay = delay;
		return 0;
	case SRD_LAB_NOT_READY:
		r->unready = (uint8_t)delay;
		return 0;
	}
	return EOPNOTSUPP;
}

/* Take the plans for ORDINAL (of KIND, unless it is negative) off the list; apply them to R. */
static bool plans_take(struct srd_model *m, struct srd_model_qp *qp, uint64_t ordinal, int kind,
		       struct srd_request *r)
{
	uint32_t *at = &qp->first_fault, index;
	bool found = false;

	while ((index = *at)) {
		struct srd_planned_fault *plan = &m->fault[index];

		if (plan->ordinal != ordinal || (kind >= 0 && plan->kind != (uint32_t)kind)) {
			at = &plan->next_fault;
			continue;
		}
		*at = plan->next_fault;
		if (r)
			apply(m, r, plan->kind, plan->status, plan->delay);
		srd_pool_put(m, SRD_POOL_FAULT, index);
		found = true;
	}
	return found;
}

void srd_fault_adopt(struct srd_model *m, struct srd_request *r)
{
	plans_take(m, &m->qp[r->qp], r->ordinal, -1, r);
}

void srd_fault_forget(struct srd_model *m, uint32_t qp)
{
	uint32_t index, next;

	for (index = m->qp[qp].first_fault; index; index = next) {
		next = m->fault[index].next_fault;
		srd_pool_put(m, SRD_POOL_FAULT, index);
	}
	m->qp[qp].first_fault = 0;
}

static uint64_t amount(const struct srd_lab *command)
{
	return command->kind == SRD_LAB_NOT_READY ? command->value : command->time;
}

/* Plans are kept in the order in which they were made. */
static int plan(struct srd_model *m, uint32_t qp, const struct srd_lab *command)
{
	uint32_t *at = &m->qp[qp].first_fault, index;

	if (command->kind == SRD_LAB_RELEASE)
		return plans_take(m, &m->qp[qp], command->ordinal, SRD_LAB_HOLD, NULL) ? 0 : EINVAL;
	index = srd_pool_get(m, SRD_POOL_FAULT);
	if (!index)
		return ENOMEM;
	m->fault[index] = (struct srd_planned_fault){
		.kind = command->kind,
		.status = command->status,
		.ordinal = command->ordinal,
		.delay = amount(command),
	};
	while (*at)
		at = &m->fault[*at].next_fault;
	*at = index;
	return 0;
}

static struct srd_request *by_ordinal(struct srd_model *m, uint32_t qp, uint64_t ordinal)
{
	struct srd_request *r = NULL;

	while ((r = srd_model_request_next(m, qp, r)))
		if (r->ordinal == ordinal)
			break;
	return r;
}

int srd_model_request_fault(struct srd_model *m, uint32_t qp, struct srd_request *r,
			    const struct srd_lab *command)
{
	/* A status is one byte of a completion entry; 0 would not be a failure. */
	if (command->kind == SRD_LAB_FAIL && (!command->status || command->status > UINT8_MAX))
		return EINVAL;
	if (command->kind == SRD_LAB_NOT_READY && command->value > UINT8_MAX)
		return EINVAL;
	if (command->kind == SRD_LAB_DELAY && command->time > MAX_DELAY)
		return EINVAL;
	if (command->flags & SRD_LAB_BY_ORDINAL) {
		if (command->ordinal >= m->qp[qp].num_posted)
			return plan(m, qp, command);
		r = by_ordinal(m, qp, command->ordinal);
	}
	if (!r || r->phase == SRD_PHASE_LOST)
		return ENOENT;
	return apply(m, r, command->kind, command->status, amount(command));
}

static const enum srd_request_place unanswered[] = {
	[SRD_WHY_QKEY] = SRD_PLACE_QKEY,
	[SRD_WHY_NOBODY] = SRD_PLACE_NOBODY,
	[SRD_WHY_OVERRUN] = SRD_PLACE_OVERRUN,
};

static enum srd_request_place place(const struct srd_model *m, const struct srd_request *r)
{
	switch ((enum srd_phase)r->phase) {
	case SRD_PHASE_SENT:
		return r->start > m->state->now ? SRD_PLACE_SEND_QUEUE : SRD_PLACE_WIRE;
	case SRD_PHASE_PACKETS:
		return m->transfer[r->transfer].sent ? SRD_PLACE_WIRE : SRD_PLACE_SEND_QUEUE;
	case SRD_PHASE_ANSWERED:
	case SRD_PHASE_RNR_TIMER:
	case SRD_PHASE_THERE:
	case SRD_PHASE_TURN:
		return SRD_PLACE_WIRE;
	case SRD_PHASE_RNR:
		return SRD_PLACE_RNR;
	case SRD_PHASE_HELD:
		return SRD_PLACE_HELD;
	case SRD_PHASE_TIMEOUT:
		return unanswered[r->why] ? unanswered[r->why] : SRD_PLACE_WIRE;
	case SRD_PHASE_LOST:
		return unanswered[r->why] ? unanswered[r->why] : SRD_PLACE_LOST;
	case SRD_PHASE_BUILT:
		return SRD_PLACE_SESSION;
	case SRD_PHASE_FREE:
	case SRD_PHASE_DEAD:
		break;
	}
	return SRD_PLACE_UNKNOWN;
}

void srd_model_request_locate(const struct srd_model *m, const struct srd_request *r,
			      struct srd_lab *out)
{
	out->place = place(m, r);
	out->host = r->phase == SRD_PHASE_BUILT ? m->ah[r->ah].dest_host : r->dest_host;
	out->peer_qpn = r->dest_qpn;
	out->status = r->status;
	out->why = SRD_WHY_NONE;
	if (r->phase == SRD_PHASE_LOST || r->phase == SRD_PHASE_TIMEOUT)
		out->why = (enum srd_request_why)r->why;
	if (r->phase == SRD_PHASE_TIMEOUT && !r->status)
		out->status = srd_request_unanswered(m, r);
	if (r->phase == SRD_PHASE_RNR_TIMER)
		out->why = SRD_WHY_RNR;
}

static int move_to_error(struct srd_model *m, uint32_t index)
{
	uint8_t from = m->qp[index].state;

	if (from == SRD_QPS_RESET || from == SRD_QPS_ERR)
		return EINVAL;
	srd_qp_fail(m, index);
	return 0;
}

/* No queue pair has the number 0. */
static void write_stale(struct srd_model *m, const struct srd_model_qp *qp)
{
	struct srd_cqe entry = {.op = SRD_OP_TYPE_RDMA_WRITE};

	srd_cq_write(m, qp->send_cq, qp->send_ring, &entry, NULL);
}

static void release_all(struct srd_model *m, uint32_t qp)
{
	struct srd_request *r = NULL;

	while ((r = srd_model_request_next(m, qp, r)))
		release(m, r);
}

int srd_model_qp_fault(struct srd_model *m, uint32_t qp, enum srd_lab_kind kind)
{
	if (m->qp[qp].gone)
		return EINVAL;
	if (kind == SRD_LAB_QP_ERR)
		return move_to_error(m, qp);
	if (kind == SRD_LAB_STALE_CQE)
		write_stale(m, &m->qp[qp]);
	else
		release_all(m, qp);
	return 0;
}

int srd_model_recv_fault(struct srd_model *m, uint32_t index, uint64_t before, uint32_t status)
{
	struct srd_model_qp *qp = &m->qp[index];

	if (qp->gone || !status || status > UINT8_MAX || before > UINT32_MAX)
		return EINVAL;
	qp->recv_before = (uint32_t)before;
	qp->recv_fault = (uint8_t)status;
	return 0;
}

int srd_model_host_fault(struct srd_model *m, uint32_t host, enum srd_lab_kind kind)
{
	struct srd_model_device *device = &m->device[host];
	uint32_t qp;

	if (host >= m->state->num_hosts || !device->present)
		return ENOENT;
	device->dead = kind == SRD_LAB_KILL;
	if (kind == SRD_LAB_KILL) {
		for (qp = device->first_qp; qp; qp = m->qp[qp].next_qp) {
			m->qp[qp].cut_off = true;
			srd_qp_wake(m, qp); /* what waits for its receives finds nobody */
		}
		srd_packet_host_down(m, host);
		return 0;
	}
	while (device->first_qp)
		srd_qp_forget(m, device->first_qp);
	srd_device_forget(m, host);
	return 0;
}
