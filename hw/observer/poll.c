/* SPDX-License-Identifier: MIT */
/* Completions, as the program takes them. */
#include <errno.h>

#include "observer.h"

static void tell_poll(struct seen *seen, uint32_t asked, int result)
{
	const struct srd_recorder *recorder = observer_recorder();
	struct srd_ev_cq_poll e = {
		.ev = OBSERVED(CQ_POLL, seen),
		.num_entries = asked,
		.result = (uint32_t)result,
	};

	/* That it is empty is said once, and not by each of a million polls. */
	if (!recorder || (!result && atomic_exchange(&seen->cq.empty, true)))
		return;
	if (result)
		seen->cq.empty = false;
	e.ev.line = recorder->stack();
	recorder->put(NULL, NULL, 0, &e.ev);
}

/* Trapped: a session of this thread holds the lock that crediting an entry takes. */
static bool in_session(const void *cq, enum srd_verb verb)
{
	struct seen *qp = observer_session_on(cq);

	if (qp)
		observer_misuse(qp, SRD_MISUSE_POLL_IN_SESSION, verb);
	return qp;
}

/* Of a send completion only what libefa sets. */
static struct srd_ev_wc wc_event(const struct seen *seen, const struct ibv_wc *wc)
{
	struct srd_ev_wc e = {
		.ev = OBSERVED(WC, seen),
		.wr_id = wc->wr_id,
		.qp_num = wc->qp_num,
		.status = wc->status,
		.vendor_err = wc->vendor_err,
		.opcode = wc->opcode,
		.wc_flags = wc->wc_flags,
	};

	if (!(wc->opcode & IBV_WC_RECV))
		return e;
	e.byte_len = wc->byte_len;
	e.src_qp = wc->src_qp;
	if (wc->wc_flags & IBV_WC_WITH_IMM)
		e.imm_data = wc->imm_data;
	return e;
}

#define BATCH 32

/* Of ASKED entries N were found, at least one. */
static void tell_found(struct seen *seen, uint32_t asked, const struct ibv_wc *wc, int n)
{
	const struct srd_recorder *recorder = observer_recorder();
	struct srd_ev_wc events[BATCH];
	struct srd_ev_cq_poll poll = {
		.ev = OBSERVED(CQ_POLL, seen),
		.num_entries = asked,
		.result = (uint32_t)n,
	};

	if (!recorder)
		return;
	if (seen->cq.empty)
		seen->cq.empty = false;
	poll.ev.line = recorder->stack();
	for (int from = 0, k; from < n; from += k) {
		for (k = 0; k < BATCH && from + k < n; k++) {
			events[k] = wc_event(seen, &wc[from + k]);
			events[k].ev.line = poll.ev.line;
		}
		recorder->put(NULL, events, (uint32_t)k,
			      from + k == n && recorder->all() ? &poll.ev : NULL);
	}
}

int observer_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc)
{
	struct seen *seen = observer_find(cq, SRD_RECORDER_CQ);
	int n;

	if (!seen)
		return observer_context(cq->context)->ops.poll_cq(cq, num_entries, wc);
	if (seen->dead || in_session(cq, SRD_VERB_POLL_CQ)) {
		n = seen->dead ? -EINVAL : -EDEADLK;
		tell_poll(seen, (uint32_t)num_entries, n);
		return n;
	}
	observer_turn(&seen->cq.telling);
	n = seen->cq.context->ops.poll_cq(cq, num_entries, wc);
	if (n > 0)
		tell_found(seen, (uint32_t)num_entries, wc, n);
	else if (n || !seen->cq.empty)
		tell_poll(seen, (uint32_t)num_entries, n);
	observer_turn_over(&seen->cq.telling);
	return n;
}

/* The completion that EX stands at. */
static void tell_current(struct seen *seen, struct ibv_cq_ex *ex)
{
	const struct srd_recorder *recorder = observer_recorder();
	struct ibv_wc wc = {
		.wr_id = ex->wr_id,
		.status = ex->status,
		.opcode = ibv_wc_read_opcode(ex),
		.vendor_err = ibv_wc_read_vendor_err(ex),
		.byte_len = ibv_wc_read_byte_len(ex),
		.imm_data = ibv_wc_read_imm_data(ex),
		.qp_num = ibv_wc_read_qp_num(ex),
		.src_qp = ibv_wc_read_src_qp(ex),
		.wc_flags = ibv_wc_read_wc_flags(ex),
	};
	struct srd_ev_wc e = wc_event(seen, &wc);

	seen->cq.found++;
	if (!recorder)
		return;
	e.ev.line = recorder->stack();
	recorder->put(NULL, NULL, 0, &e.ev);
}

static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct seen *seen = observer_find(ex, SRD_RECORDER_CQ);
	int err;

	if (seen->dead || in_session(ex, SRD_VERB_POLL_CQ)) {
		err = seen->dead ? EINVAL : EDEADLK;
		tell_poll(seen, 1, -err);
		return err;
	}
	observer_turn(&seen->cq.telling);
	err = seen->cq.start_poll(ex, attr);
	seen->cq.found = 0;
	if (!err)
		tell_current(seen, ex);
	else if (err != ENOENT || !seen->cq.empty)
		tell_poll(seen, 1, err == ENOENT ? 0 : -err);
	/* As libefa keeps its lock until end_poll where it found something. */
	if (err)
		observer_turn_over(&seen->cq.telling);
	return err;
}

static int next_poll(struct ibv_cq_ex *ex)
{
	struct seen *seen = observer_find(ex, SRD_RECORDER_CQ);
	int err = seen->cq.next_poll(ex);

	if (!err)
		tell_current(seen, ex);
	return err;
}

static void end_poll(struct ibv_cq_ex *ex)
{
	struct seen *seen = observer_find(ex, SRD_RECORDER_CQ);
	uint32_t found = seen->cq.found;

	seen->cq.end_poll(ex);
	if (found)
		tell_poll(seen, found, (int)found);
	seen->cq.found = 0;
	observer_turn_over(&seen->cq.telling);
}

/* The pointers of both views of a queue are one: the address of one is that of the other. */
void observer_wrap_cq(struct ibv_cq_ex *ex, struct seen *seen)
{
	seen->cq.start_poll = ex->start_poll;
	seen->cq.next_poll = ex->next_poll;
	seen->cq.end_poll = ex->end_poll;
	ex->start_poll = start_poll;
	ex->next_poll = next_poll;
	ex->end_poll = end_poll;
}
