/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "qp/cq_pool.h"
#include "verbs/alloc.h"

struct pooled_cq {
	struct pooled_cq *next;
	struct srd_cq *cq;
	uint32_t entries; /* asked for */
	uint32_t leases;
	bool discarded; /* its destroy failed: kept to be tried again, never leased */
};

struct srd_cq_pool {
	struct srd_verbs *verbs;
	struct srd_context *context;
	struct srd_stream *stream;
	uint32_t max_cqe;         /* of the device; 0: it does not say */
	uint32_t limit;           /* leases of one queue */
	struct pooled_cq *queues; /* the oldest first */
};

int srd_cq_pool_create(struct srd_verbs *verbs, struct srd_context *context, uint32_t qps_per_cq,
		       struct srd_stream *stream, struct srd_cq_pool **out, struct srd_error *error)
{
	struct srd_device_attr device;
	struct srd_cq_pool *pool;
	int rc;

	if (qps_per_cq != 1)
		return srd_error_set(
			error, -EINVAL,
			"qps_per_cq is %u, but must be 1: each queue pair polls its own "
			"completion queue and would take the completions of others",
			qps_per_cq);
	rc = verbs->query_device(verbs, context, &device);
	if (rc)
		return srd_error_set(error, -rc, "the limits of device %s could not be queried: %s",
				     context->name, strerror(rc));
	pool = srd_calloc(1, sizeof(*pool));
	if (!pool)
		return srd_error_set(error, -ENOMEM,
				     "out of memory for the completion queues of device %s",
				     context->name);
	pool->verbs = verbs;
	pool->context = context;
	pool->stream = stream;
	pool->max_cqe = device.max_cqe;
	pool->limit = qps_per_cq;
	*out = pool;
	return 0;
}

void srd_cq_pool_destroy(struct srd_cq_pool *pool)
{
	struct pooled_cq *next;

	if (!pool)
		return;
	for (struct pooled_cq *q = pool->queues; q; q = next) {
		next = q->next;
		pool->verbs->destroy_cq(pool->verbs, q->cq);
		srd_free(q);
	}
	srd_free(pool);
}

/* In 64 bits, so that no depth can wrap to a queue that is too small. */
static int entries_needed(const struct srd_cq_pool *pool, uint32_t max_send_wr,
			  uint32_t max_recv_wr, uint32_t *out, struct srd_error *error)
{
	uint64_t wrs = (uint64_t)max_send_wr + max_recv_wr;
	uint64_t needed;

	if (!wrs)
		return srd_error_set(
			error, -EINVAL,
			"a completion queue for %u queue pair%s of 0 work requests would "
			"hold no entries",
			pool->limit, pool->limit == 1 ? "" : "s");
	if (__builtin_mul_overflow(wrs, pool->limit, &needed) || needed > INT32_MAX ||
	    (pool->max_cqe && needed > pool->max_cqe))
		return srd_error_set(
			error, -EINVAL,
			"%u queue pair%s of %" PRIu64 " work requests need%s %" PRIu64
			" completion entries, but device %s allows %u in one queue: lower "
			"max_send_wr, max_recv_wr or qps_per_cq",
			pool->limit, pool->limit == 1 ? "" : "s", wrs, pool->limit == 1 ? "s" : "",
			wrs * pool->limit, pool->context->name,
			pool->max_cqe ? pool->max_cqe : INT32_MAX);
	*out = (uint32_t)needed;
	return 0;
}

static struct pooled_cq *find_free(struct srd_cq_pool *pool, uint32_t entries)
{
	for (struct pooled_cq *q = pool->queues; q; q = q->next)
		if (q->leases < pool->limit && !q->discarded && q->entries >= entries)
			return q;
	return NULL;
}

static struct pooled_cq *queue_create(struct srd_cq_pool *pool, uint32_t entries,
				      struct srd_error *error)
{
	struct pooled_cq **end = &pool->queues;
	struct pooled_cq *q = srd_calloc(1, sizeof(*q));

	if (!q) {
		srd_error_set(error, -ENOMEM, "out of memory for a completion queue");
		return NULL;
	}
	q->cq = pool->verbs->create_cq(pool->verbs, pool->context, entries);
	if (!q->cq) {
		int rc = errno;

		srd_error_set(error, -rc,
			      "no completion queue of %u entries could be created on device %s: %s",
			      entries, pool->context->name, strerror(rc));
		srd_free(q);
		errno = rc;
		return NULL;
	}
	q->entries = entries;
	while (*end)
		end = &(*end)->next;
	*end = q;
	return q;
}

static void lease_event(struct srd_cq_pool *pool, const struct pooled_cq *q)
{
	struct srd_ev_lease_acquire event = {
		.ev = {.type = SRD_EV_LEASE_ACQUIRE,
		       .source = SRD_SOURCE_ENGINE,
		       .object = q->cq->handle,
		       .host = (uint8_t)pool->context->host},
		.leases = q->leases,
		.limit = pool->limit,
	};

	if (pool->stream)
		srd_stream_emit(pool->stream, &event.ev);
}

static void release_event(struct srd_cq_pool *pool, const struct pooled_cq *q, bool discarded)
{
	struct srd_ev_lease_release event = {
		.ev = {.type = SRD_EV_LEASE_RELEASE,
		       .source = SRD_SOURCE_ENGINE,
		       .object = q->cq->handle,
		       .host = (uint8_t)pool->context->host},
		.leases = q->leases,
		.discarded = discarded,
	};

	if (pool->stream)
		srd_stream_emit(pool->stream, &event.ev);
}

int srd_cq_pool_acquire(struct srd_cq_pool *pool, uint32_t max_send_wr, uint32_t max_recv_wr,
			struct srd_cq **out, struct srd_error *error)
{
	struct pooled_cq *q;
	uint32_t entries = 0;
	int rc;

	rc = entries_needed(pool, max_send_wr, max_recv_wr, &entries, error);
	if (rc)
		return rc;
	q = find_free(pool, entries);
	if (!q)
		q = queue_create(pool, entries, error);
	if (!q)
		return -errno;
	q->leases++;
	lease_event(pool, q);
	*out = q->cq;
	return 0;
}

/* Out of the list and gone; where the device keeps it, it stays to be tried at the end. */
static void queue_discard(struct srd_cq_pool *pool, struct pooled_cq **at)
{
	struct pooled_cq *q = *at;

	q->discarded = true;
	if (pool->verbs->destroy_cq(pool->verbs, q->cq))
		return;
	*at = q->next;
	srd_free(q);
}

int srd_cq_pool_release(struct srd_cq_pool *pool, struct srd_cq *cq, bool clean,
			struct srd_error *error)
{
	struct pooled_cq **at = &pool->queues;

	while (*at && (*at)->cq != cq)
		at = &(*at)->next;
	if (!*at || !(*at)->leases)
		return srd_error_set(error, -EINVAL, "completion queue %u is not leased",
				     cq->handle);
	(*at)->leases--;
	release_event(pool, *at, !clean);
	if (!clean)
		queue_discard(pool, at);
	return 0;
}
