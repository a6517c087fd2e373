/* SPDX-License-Identifier: MIT */
/*
 * The end of a queue pair: ERR, drain, destroy. The answer is whether every completion is
 * accounted for, so that its completion queue may be leased again.
 */
#ifndef SRD_RETIRE_H
#define SRD_RETIRE_H

#include <srdlab/queue_pair.h>

struct srd_retirement {
	struct srd_verbs *verbs;
	const struct srd_queue_pair_ops *ops;
	struct srd_queue_pair *qp;
	const struct srd_scheduler_ops *scheduler_ops;
	struct srd_scheduler *scheduler; /* NULL: there is none */
	struct srd_cq *send_cq;
	struct srd_cq *recv_cq;
	uint64_t receives; /* posted and not reaped */
	uint64_t grace;    /* ns to wait for the next completion of the drain */
	uint64_t left;     /* out, of the drain: what did not come */
};

/*
 * Move the queue pair to ERR, so that what is outstanding is flushed, and reap until all of
 * it has come, or nothing came for the grace. The ops of the scheduler get their answers
 * here: take them by its result, then destroy it; it must not outlive the queue pair.
 */
void srd_queue_pair_drain(struct srd_retirement *retirement);

/*
 * After the drain: destroy the queue pair, and take what that left in the completion queues.
 * True: every request was reaped exactly once and both queues are empty. Sends that were
 * posted past the scheduler are not known here, so that a queue pair that had some is never
 * clean, whatever this says.
 */
bool srd_queue_pair_finish(struct srd_retirement *retirement);

#endif
