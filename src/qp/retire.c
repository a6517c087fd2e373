/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "qp/retire.h"

/* More entries than this cannot be in a completion queue that the device allows. */
#define SWEEP_LIMIT (UINT32_C(1) << 21)

static uint64_t outstanding(const struct srd_retirement *r)
{
	uint64_t sends = r->scheduler ? r->scheduler_ops->in_flight(r->scheduler) : 0;

	return sends + r->receives;
}

/* False: nothing came. */
static bool reap(struct srd_retirement *r)
{
	uint64_t before = outstanding(r);
	struct srd_completion completion;

	if (r->scheduler)
		r->scheduler_ops->progress(r->scheduler, NULL);
	while (r->receives && r->ops->poll(r->qp, SRD_QUEUE_RECV, &completion, NULL) > 0)
		r->receives--;
	return outstanding(r) != before;
}

void srd_queue_pair_drain(struct srd_retirement *r)
{
	const struct srd_qp_attr attr = {.qp_state = SRD_QPS_ERR};
	struct srd_qp *verbs_qp = r->ops->verbs_qp(r->qp);
	uint64_t deadline = r->verbs->now(r->verbs) + r->grace;

	/* RESET has no way to ERR and nothing to flush. Where it fails, what is left tells. */
	if (verbs_qp && verbs_qp->state != SRD_QPS_RESET)
		r->verbs->modify_qp(r->verbs, verbs_qp, &attr, SRD_QP_STATE);
	while (outstanding(r)) {
		if (reap(r))
			deadline = r->verbs->now(r->verbs) + r->grace;
		else if (r->verbs->wait(r->verbs, deadline))
			break;
	}
	reap(r);
	r->left = outstanding(r);
}

/* Entries of the destroyed queue pair; each is taken with -EINVAL. False: it never ends. */
static bool sweep(struct srd_verbs *verbs, struct srd_cq *cq, uint64_t *taken)
{
	struct srd_wc wc;

	for (uint32_t i = 0; i < SWEEP_LIMIT; i++) {
		int n = verbs->poll_cq(verbs, cq, 1, &wc);

		if (n == 0)
			return true;
		if (n < 0 && n != -EINVAL)
			return false;
		++*taken;
	}
	return false;
}

bool srd_queue_pair_finish(struct srd_retirement *r)
{
	uint64_t taken = 0;

	r->ops->destroy(r->qp);
	r->qp = NULL;
	if (!sweep(r->verbs, r->send_cq, &taken))
		return false;
	if (r->recv_cq != r->send_cq && !sweep(r->verbs, r->recv_cq, &taken))
		return false;
	return taken == r->left;
}
