/* SPDX-License-Identifier: MIT */
/*
 * Reliable-connected queue pairs, for the contrast with SRD. Each is connected to one other,
 * and all of it is in order: the responder sees to the requests as they were posted, and
 * they complete so. Whatever fails ends the connection: the queue pair goes to ERR and all
 * that is behind is flushed; where the responder found the fault, its queue pair goes too.
 *
 * A request that reaches its responder too early stays there as SRD_PHASE_THERE, one that is
 * answered too early here as SRD_PHASE_TURN.
 *
 * Sources: the InfiniBand Architecture Specification's chapter 9 as linux
 * drivers/infiniband/sw/rxe has it. Divergence from such devices: messages have no packets; a
 * request in SQD is processed; reads beyond max_rd_atomic do not wait; tries at a peer that
 * does not answer and at one that is not ready share one count.
 */
#include "state.h"

#define TIMEOUT_UNIT 4096 /* ns: of ibv_qp_attr.timeout */

static void set_path(struct srd_model_rc *c, const struct srd_ah_attr *ah_attr)
{
	c->ah_attr = *ah_attr;
	c->dest_host = SRD_MODEL_MAX_HOSTS;
	/* There are no LIDs here. */
	if (ah_attr->is_global && !srd_gid_host(&ah_attr->dgid, &c->dest_host))
		c->dest_host = SRD_MODEL_MAX_HOSTS;
}

void srd_rc_modify(struct srd_model *m, struct srd_model_qp *qp, const struct srd_qp_attr *attr,
		   uint32_t mask)
{
	struct srd_model_rc *c = &qp->connection;

	if (mask & SRD_QP_AV)
		set_path(c, &attr->ah_attr);
	if (mask & SRD_QP_DEST_QPN)
		c->dest_qp_num = attr->dest_qp_num;
	if (mask & SRD_QP_RQ_PSN)
		c->rq_psn = attr->rq_psn;
	if (mask & SRD_QP_ACCESS_FLAGS)
		c->access = attr->qp_access_flags;
	if (mask & SRD_QP_PATH_MTU)
		c->path_mtu = (uint8_t)attr->path_mtu;
	if (mask & SRD_QP_TIMEOUT)
		c->timeout = attr->timeout;
	if (mask & SRD_QP_RETRY_CNT)
		c->retry_cnt = attr->retry_cnt;
	if (mask & SRD_QP_MIN_RNR_TIMER)
		c->min_rnr_timer = attr->min_rnr_timer;
	if (mask & SRD_QP_MAX_QP_RD_ATOMIC)
		c->max_rd_atomic = attr->max_rd_atomic;
	if (mask & SRD_QP_MAX_DEST_RD_ATOMIC)
		c->max_dest_rd_atomic = attr->max_dest_rd_atomic;
}

void srd_rc_query(const struct srd_model_qp *qp, struct srd_qp_attr *attr)
{
	const struct srd_model_rc *c = &qp->connection;

	attr->cur_qp_state = qp->state;
	attr->ah_attr = c->ah_attr;
	attr->dest_qp_num = c->dest_qp_num;
	attr->rq_psn = c->rq_psn;
	attr->qp_access_flags = c->access;
	attr->path_mtu = c->path_mtu;
	attr->timeout = c->timeout;
	attr->retry_cnt = c->retry_cnt;
	attr->min_rnr_timer = c->min_rnr_timer;
	attr->max_rd_atomic = c->max_rd_atomic;
	attr->max_dest_rd_atomic = c->max_dest_rd_atomic;
}

/* Packets of anybody else, or with another number than is due, are dropped without a word. */
bool srd_rc_connected(const struct srd_model_qp *qp, const struct srd_model_qp *dest)
{
	return dest->rc && dest->connection.dest_qp_num == qp->qpn &&
	       dest->connection.dest_host == qp->host && dest->connection.rq_psn == qp->sq_psn;
}

/* --- order --- */

static struct srd_request *at(const struct srd_model *m, uint32_t index)
{
	return index ? &m->request[index] : NULL;
}

/* The responder has seen to it, or nobody ever will. */
static bool is_past(const struct srd_request *r)
{
	switch ((enum srd_phase)r->phase) {
	case SRD_PHASE_ANSWERED:
	case SRD_PHASE_TURN:
	case SRD_PHASE_HELD:
	case SRD_PHASE_LOST:
		return true;
	case SRD_PHASE_SENT:
	case SRD_PHASE_RNR_TIMER:
	case SRD_PHASE_RNR:
	case SRD_PHASE_THERE:
	case SRD_PHASE_TIMEOUT:
	case SRD_PHASE_PACKETS:
	case SRD_PHASE_FREE:
	case SRD_PHASE_BUILT:
	case SRD_PHASE_DEAD:
		break;
	}
	return false;
}

/* Behind one that failed it stays where it is until it is flushed. */
bool srd_rc_is_early(const struct srd_model *m, const struct srd_request *r)
{
	const struct srd_request *before = at(m, r->prev);

	return before && (!is_past(before) || before->status);
}

void srd_rc_pass(struct srd_model *m, const struct srd_request *r)
{
	struct srd_request *next = at(m, r->next);

	if (next && next->phase == SRD_PHASE_THERE && !r->status)
		srd_request_schedule(m, next, SRD_PHASE_SENT, m->state->now);
}

/* The faults for which the responder ends the connection too. */
static bool ends_responder(uint8_t status)
{
	return status == SRD_EFA_REMOTE_ERROR_BAD_ADDRESS ||
	       status == SRD_EFA_REMOTE_ERROR_BAD_LENGTH ||
	       status == SRD_EFA_REMOTE_ERROR_BAD_STATUS ||
	       status == SRD_EFA_REMOTE_ERROR_FEATURE_MISMATCH;
}

void srd_rc_answered(struct srd_model *m, const struct srd_request *r)
{
	const struct srd_model_qp *dest;

	srd_rc_pass(m, r);
	if (!ends_responder(r->status) || r->dest_host >= m->state->num_hosts)
		return;
	dest = srd_qp_find(m, r->dest_host, r->dest_qpn);
	if (dest && srd_rc_connected(&m->qp[r->qp], dest))
		srd_qp_fail(m, srd_qp_index(m, dest));
}

static struct srd_request *first_left(const struct srd_model *m, const struct srd_model_qp *qp)
{
	struct srd_request *r = at(m, qp->first_request);

	while (r && r->phase == SRD_PHASE_LOST)
		r = at(m, r->next);
	return r;
}

void srd_rc_conclude(struct srd_model *m, struct srd_request *r)
{
	struct srd_model_qp *qp = &m->qp[r->qp];

	if (first_left(m, qp) != r) {
		r->phase = SRD_PHASE_TURN;
		return;
	}
	do {
		uint8_t status = r->status;
		bool completed = srd_request_conclude(m, r);

		if (completed && status) {
			srd_qp_fail(m, srd_qp_index(m, qp));
			return;
		}
		if (!completed && r->phase != SRD_PHASE_LOST)
			return;
		r = first_left(m, qp);
	} while (r && r->phase == SRD_PHASE_TURN);
}

/* --- time --- */

/* ibv_modify_qp(3): what min_rnr_timer stands for, in units of 10 us. */
static const uint32_t rnr_timers[32] = {
	65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,    32,
	48,    64,   96,   128,  192,  256,   384,   512,   768,   1024,  1536,
	2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
};

uint64_t srd_rc_rnr_timer(const struct srd_model_qp *dest)
{
	return UINT64_C(10000) * rnr_timers[dest->connection.min_rnr_timer & 31];
}

void srd_rc_retry(struct srd_model *m, struct srd_request *r)
{
	const struct srd_model_qp *qp = &m->qp[r->qp];
	const struct srd_model_rc *c = &qp->connection;
	uint64_t time = m->state->now + ((uint64_t)TIMEOUT_UNIT << (c->timeout & 31));

	if (!c->timeout) {
		srd_request_lose(r, SRD_WHY_NOBODY);
		srd_rc_pass(m, r);
		return;
	}
	m->device[qp->host].counters.retrans_timeout_events++;
	if (r->tries++ < c->retry_cnt) {
		srd_request_schedule(m, r, SRD_PHASE_SENT, time);
		return;
	}
	m->device[qp->host].counters.unresponsive_remote_events++;
	r->status = SRD_EFA_LOCAL_ERROR_UNREACH_REMOTE;
	srd_request_schedule(m, r, SRD_PHASE_ANSWERED, time);
}

void srd_rc_withdraw(struct srd_model *m, struct srd_request *r, uint8_t status)
{
	if (!is_past(r))
		srd_request_fail(m, r, status);
}
