/* SPDX-License-Identifier: MIT */
/* The queue pair's life from RESET to RTS and out of it. */
#include <inttypes.h>

#include <srdlab/transitions.h>

#include "judge.h"

#define PSN_LIMIT (1u << 24)

/* RTS first: the book keeps the newest step in front. */
static const uint32_t path_to[3] = {SRD_QPS_RTS, SRD_QPS_RTR, SRD_QPS_INIT};

/* The attributes that are due are those that are required, no more. */
static uint32_t path_mask(const struct srd_book_qp *qp, uint32_t step)
{
	const struct srd_state_machine *machine = srd_state_machine(qp->made.qp_type);
	uint32_t from = step < 2 ? path_to[step + 1] : SRD_QPS_RESET, to = path_to[step];

	return SRD_QP_STATE | machine->pair[from][to].required;
}

/*
 * A connect that failed because a step of it was refused: the step was wrong, unless it was
 * the one that is due, which anything may have failed. A script's own modify, before, stood at
 * another line.
 */
static void refused_step(struct srd_rules *rules, const struct srd_book_qp *qp, uint32_t line)
{
	uint32_t due = qp->state == SRD_QPS_RESET ? 2 : qp->state == SRD_QPS_INIT ? 1 : 0;
	uint32_t mask = path_mask(qp, due);

	if (!qp->refused.mask || qp->refused.line != line || qp->state > SRD_QPS_RTR ||
	    (qp->refused.mask == mask && qp->refused.to == path_to[due]))
		return;
	FAIL(rules, STATE_PATH,
	     "step %u of connect: due is %s with mask 0x%x, refused was %s with 0x%x", 3 - due,
	     srd_qp_state_str(path_to[due]), mask, srd_qp_state_str(qp->refused.to),
	     qp->refused.mask);
}

static void reached_rts(struct srd_rules *rules, uint32_t result)
{
	const struct srd_book_qp *qp = rules->book.qp;

	if (!qp || !qp->open)
		return;
	if (result) {
		refused_step(rules, qp, rules->event->line);
		return;
	}
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t mask = path_mask(qp, i);

		if (i < qp->num_steps && qp->steps[i].mask == mask && qp->steps[i].to == path_to[i])
			continue;
		FAIL(rules, STATE_PATH,
		     "step %u of connect: due is %s with mask 0x%x, came %s with 0x%x", 3 - i,
		     srd_qp_state_str(path_to[i]), mask,
		     i < qp->num_steps ? srd_qp_state_str(qp->steps[i].to) : "nothing",
		     i < qp->num_steps ? qp->steps[i].mask : 0);
		return;
	}
}

static void connect_end(struct srd_rules *rules, const struct srd_event *event)
{
	reached_rts(rules, ((const struct srd_ev_connect *)event)->result);
}

static void peer_add(struct srd_rules *rules, const struct srd_event *event)
{
	reached_rts(rules, ((const struct srd_ev_peer_add *)event)->result);
}

static void session_complete(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_ev_session_complete *ev = (const void *)event;
	const struct srd_book_qp *qp = rules->book.qp;

	bool ready = qp && (qp->state == SRD_QPS_RTS || qp->state == SRD_QPS_SQD ||
			    /* what is posted there is flushed */
			    (srd_book_is_rc(qp) && qp->state == SRD_QPS_ERR));

	if (qp && ev->result && !ready)
		FAIL(rules, STATE_REFUSED, "%u request%s refused with errno %u in %s", ev->num_wr,
		     SRD_S(ev->num_wr), ev->result, srd_qp_state_str(qp->state));
	if (qp && !ev->result && ev->num_wr && !ready)
		FAIL(rules, STATE_POST, "%u request%s accepted in %s", ev->num_wr,
		     SRD_S(ev->num_wr), srd_qp_state_str(qp->state));
}

static void wr_post(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_book_op *op = rules->book.op;
	const struct srd_book_qp *qp = rules->book.qp;
	uint64_t gid_hi, gid_lo;
	uint32_t qp_num;

	if (!op || !qp || !qp->open ||
	    srd_book_op_peer(&rules->book, op, &qp_num, &gid_hi, &gid_lo))
		return;
	if (op->begun.peer)
		FAIL(rules, STATE_CONNECTED,
		     "op %u is posted to peer %u, which the queue pair does not have", event->op,
		     op->begun.peer);
	else
		FAIL(rules, STATE_CONNECTED,
		     "op %u is posted on a queue pair that is not connected", event->op);
}

/* What the driver checks, as far as the event shows it. */
static bool allowed(const struct srd_state_machine *machine, const struct srd_ev_qp_modify *ev)
{
	const struct srd_transition *t;
	uint32_t rest = ev->mask & ~(uint32_t)SRD_QP_STATE;

	if (ev->mask & ~machine->modify_mask || ev->from > SRD_QPS_ERR || ev->to > SRD_QPS_ERR)
		return false;
	if ((ev->mask & SRD_QP_PORT && ev->port_num != 1) ||
	    (ev->mask & SRD_QP_PKEY_INDEX && ev->pkey_index != 0))
		return false;
	/* With CUR_STATE the driver believes the caller, whose claim is not in the event. */
	if (ev->mask & SRD_QP_CUR_STATE)
		return true;
	t = &machine->pair[ev->from][ev->to];
	return t->valid && (rest & t->required) == t->required &&
	       !(rest & ~(t->required | t->optional));
}

static void qp_modify(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_ev_qp_modify *ev = (const void *)event;
	const struct srd_book_qp *qp = rules->book.qp;
	uint32_t type = qp ? qp->made.qp_type : SRD_QPT_DRIVER;

	if (!ev->result && !allowed(srd_state_machine(type), ev))
		FAIL(rules, STATE_TABLE,
		     "%s to %s with mask 0x%x, port %u, pkey index %u succeeded",
		     srd_qp_state_str(ev->from), srd_qp_state_str(ev->to), ev->mask, ev->port_num,
		     ev->pkey_index);
	if (qp && qp->open && ev->mask & SRD_QP_SQ_PSN && ev->sq_psn >= PSN_LIMIT)
		FAIL(rules, STATE_PSN, "sq_psn is 0x%x", ev->sq_psn);
}

static void qp_query(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_ev_qp_query *ev = (const void *)event;
	const struct srd_book_qp *qp = rules->book.qp;

	if (qp && !ev->result && ev->mask & SRD_QP_STATE && ev->state != (uint32_t)qp->state &&
	    !qp->moved)
		FAIL(rules, STATE_SILENT, "set was %s, the query answers %s",
		     srd_qp_state_str(qp->state), srd_qp_state_str(ev->state));
}

const struct srd_family srd_state_family = {
	.name = "state",
	.check =
		{
			[SRD_EV_CONNECT] = connect_end,
			[SRD_EV_PEER_ADD] = peer_add,
			[SRD_EV_SESSION_COMPLETE] = session_complete,
			[SRD_EV_WR_POST] = wr_post,
			[SRD_EV_QP_MODIFY] = qp_modify,
			[SRD_EV_QP_QUERY] = qp_query,
		},
};
