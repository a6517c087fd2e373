/* SPDX-License-Identifier: MIT */
/*
 * The completion queues of one device, leased to queue pairs.
 *
 * A completion queue that overruns loses entries in silence on EFA: the requests never
 * complete. So each lease is large enough for its own queue pair, by that one's depths and
 * not by what the device was opened with, and counts the receives where there are any.
 * Each queue pair polls its own completion queue, which is why exactly one may share it.
 *
 * A queue that may still hold entries of its last user is never leased again: the next one
 * would poll them as errors, or, since ids start at 0 in every queue pair, as its own. It
 * goes back to the pool only where every completion is accounted for (qp/retire.h), and is
 * destroyed otherwise.
 */
#ifndef SRD_CQ_POOL_H
#define SRD_CQ_POOL_H

#include <srdlab/error.h>
#include <srdlab/event.h>
#include <srdlab/verbs.h>

struct srd_cq_pool;

/*
 * A pool on CONTEXT that has no queue yet. QPS_PER_CQ is the configured number of sharers;
 * -EINVAL where it is not 1. STREAM takes the lease events; NULL: none are wanted.
 */
int srd_cq_pool_create(struct srd_verbs *verbs, struct srd_context *context, uint32_t qps_per_cq,
		       struct srd_stream *stream, struct srd_cq_pool **out,
		       struct srd_error *error);
/* Destroys the queues, leased or not: end the queue pairs first. NULL is allowed. */
void srd_cq_pool_destroy(struct srd_cq_pool *pool);

/*
 * Lease a queue for a queue pair of these depths; max_recv_wr 0: it posts no receives. The
 * oldest free queue that is large enough, or a new one. -EINVAL: it would hold no entries,
 * or more than the device or a signed 32-bit number allow.
 */
int srd_cq_pool_acquire(struct srd_cq_pool *pool, uint32_t max_send_wr, uint32_t max_recv_wr,
			struct srd_cq **out, struct srd_error *error);
/*
 * Give a lease back after its queue pair was destroyed. CLEAN: every request posted to the
 * queue pair was reaped. -EINVAL: CQ is not leased from this pool.
 */
int srd_cq_pool_release(struct srd_cq_pool *pool, struct srd_cq *cq, bool clean,
			struct srd_error *error);

#endif
