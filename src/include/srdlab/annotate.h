/* SPDX-License-Identifier: MIT */
/*
 * For a program that is run by `srdlab exec`: what the requests of it are for, and faults that
 * its own tests ask for. Anywhere else these calls do nothing; nothing has to be linked.
 *
 * Where it marks its transfers the rules about chunks and credits judge them too (`--rules
 * contract`).
 *
 *     srdlab_op_t op = srdlab_op_begin(qp, &transfer);
 *     srdlab_op_post(op);              its requests come next, from this thread
 *     ... ibv_wr_start to ibv_wr_complete ...
 *     srdlab_op_posted(op, result);
 *     ... its completions ...
 *     srdlab_op_end(op, 0, NULL);
 *
 * Which ids its requests have is its own matter. All calls may come from any thread; an op is
 * of one queue pair.
 *
 * Faults need no rules. A request is named before it is posted:
 *
 *     srdlab_request_t request = srdlab_next_request(qp, 1);
 *     srdlab_hold(request);
 *     ... post, and see that no completion comes ...
 *     srdlab_release(request);
 */
#ifndef SRDLAB_ANNOTATE_H
#define SRDLAB_ANNOTATE_H

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>

/* RTLD_DEFAULT, which dlfcn.h has with _GNU_SOURCE only. */
#define SRDLAB_ANY_LIBRARY ((void *)0)

#ifdef __cplusplus
extern "C" {
#endif

struct ibv_qp;

typedef uint32_t srdlab_op_t; /* 0: nobody judges */

/* One put (local to remote) or get. Sizes in bytes; a put moves local_size, a get remote_size. */
struct srdlab_transfer {
	uint32_t is_get;
	uint32_t lkey;
	uint32_t rkey;
	uint32_t num_wr; /* requests that its owner reckons with; 0: it does not */
	uint64_t local_addr;
	uint64_t local_size;
	uint64_t remote_addr;
	uint64_t remote_size;
};

/* The first of its requests that failed for a cause of its own, as its completion told. */
struct srdlab_cause {
	uint64_t wr_id;
	uint32_t status;
	uint32_t vendor_err;
};

/* What srdlab exec has behind it. */
struct srdlab_annotate {
	srdlab_op_t (*begin)(struct ibv_qp *qp, const struct srdlab_transfer *transfer);
	void (*post)(srdlab_op_t op);
	void (*posted)(srdlab_op_t op, int result);
	void (*end)(srdlab_op_t op, int result, const struct srdlab_cause *cause);
	void (*credits)(struct ibv_qp *qp, uint32_t max_send_wr);
};

/* A request of a queue pair, by its number; qp 0: nobody knows it. */
typedef struct srdlab_request {
	uint64_t qp;
	uint64_t number;
} srdlab_request_t;

/* As enum srd_lab_kind of srdlab/lab.h has them. */
enum srdlab_fault {
	SRDLAB_HOLD = 0,
	SRDLAB_RELEASE = 1,
	SRDLAB_FAIL = 2,
	SRDLAB_DROP = 3,
	SRDLAB_DUPLICATE = 4,
	SRDLAB_DELAY = 5,
	/* Of the request's queue pair, whatever its number. */
	SRDLAB_QP_ERR = 7,
	SRDLAB_STALE_CQE = 8,
	SRDLAB_COMPLETE_ALL = 9,
	/* Of what arrives at its queue pair: the message after as many as its number. */
	SRDLAB_FAIL_RECEIVE = 18,
	SRDLAB_NOT_READY = 19,
};

/* What the device of srdlab exec has behind it. */
struct srdlab_faults {
	srdlab_request_t (*next)(struct ibv_qp *qp, uint32_t n);
	int (*fault)(srdlab_request_t request, uint32_t fault, uint64_t value);
};

static inline const struct srdlab_annotate *srdlab_annotate_find(void)
{
	static const struct srdlab_annotate *found;
	static int looked;

	/* Several threads may find it at once: they find the same. */
	if (!__atomic_load_n(&looked, __ATOMIC_ACQUIRE)) {
		const void *calls = dlsym(SRDLAB_ANY_LIBRARY, "srdlab_annotate_calls");

		__atomic_store_n(&found, (const struct srdlab_annotate *)calls, __ATOMIC_RELAXED);
		__atomic_store_n(&looked, 1, __ATOMIC_RELEASE);
	}
	return __atomic_load_n(&found, __ATOMIC_RELAXED);
}

/*
 * A scheduler with MAX_SEND_WR credits gates QP from here on, so that the rules credit.*
 * judge the ops that begin later; 0: it is gone.
 */
static inline void srdlab_credits(struct ibv_qp *qp, uint32_t max_send_wr)
{
	const struct srdlab_annotate *calls = srdlab_annotate_find();

	if (calls)
		calls->credits(qp, max_send_wr);
}

/* The transfer was asked for. */
static inline srdlab_op_t srdlab_op_begin(struct ibv_qp *qp, const struct srdlab_transfer *transfer)
{
	const struct srdlab_annotate *calls = srdlab_annotate_find();

	return calls ? calls->begin(qp, transfer) : 0;
}

/* What this thread posts from here on, until srdlab_op_posted, is OP's. */
static inline void srdlab_op_post(srdlab_op_t op)
{
	const struct srdlab_annotate *calls = srdlab_annotate_find();

	if (calls)
		calls->post(op);
}

/* All of it is posted, RESULT 0, or nothing: a negative errno. */
static inline void srdlab_op_posted(srdlab_op_t op, int result)
{
	const struct srdlab_annotate *calls = srdlab_annotate_find();

	if (calls)
		calls->posted(op, result);
}

/*
 * It is over: RESULT 0, -EIO where one of its requests failed, for CAUSE, or another negative
 * errno. CAUSE may be NULL where it is not -EIO.
 */
static inline void srdlab_op_end(srdlab_op_t op, int result, const struct srdlab_cause *cause)
{
	const struct srdlab_annotate *calls = srdlab_annotate_find();

	if (calls)
		calls->end(op, result, cause);
}

static inline const struct srdlab_faults *srdlab_faults_find(void)
{
	static const struct srdlab_faults *found;
	static int looked;

	if (!__atomic_load_n(&looked, __ATOMIC_ACQUIRE)) {
		const void *calls = dlsym(SRDLAB_ANY_LIBRARY, "srdlab_fault_calls");

		__atomic_store_n(&found, (const struct srdlab_faults *)calls, __ATOMIC_RELAXED);
		__atomic_store_n(&looked, 1, __ATOMIC_RELEASE);
	}
	return __atomic_load_n(&found, __ATOMIC_RELAXED);
}

/* The N-th request that QP will be given from now on; 1 is the next. */
static inline srdlab_request_t srdlab_next_request(struct ibv_qp *qp, uint32_t n)
{
	const struct srdlab_faults *calls = srdlab_faults_find();
	srdlab_request_t none = {0, 0};

	return calls ? calls->next(qp, n) : none;
}

/* For those below: 0 or a positive errno, as they say; EOPNOTSUPP outside srdlab exec. */
static inline int srdlab_fault(srdlab_request_t request, uint32_t fault, uint64_t value)
{
	const struct srdlab_faults *calls = srdlab_faults_find();

	return calls ? calls->fault(request, fault, value) : EOPNOTSUPP;
}

/*
 * Keep its completion back. ENOENT: it has completed, or its queue pair is gone; so below too.
 * ENOMEM: there are too many for requests that are not posted yet.
 */
static inline int srdlab_hold(srdlab_request_t request)
{
	return srdlab_fault(request, SRDLAB_HOLD, 0);
}

/* Let it go. EINVAL: it is not held. */
static inline int srdlab_release(srdlab_request_t request)
{
	return srdlab_fault(request, SRDLAB_RELEASE, 0);
}

/* It completes with this vendor's status, 1 to 255, and moves no bytes. EINVAL: another one. */
static inline int srdlab_fail(srdlab_request_t request, uint32_t vendor_err)
{
	return srdlab_fault(request, SRDLAB_FAIL, vendor_err);
}

/* It never completes. */
static inline int srdlab_drop(srdlab_request_t request)
{
	return srdlab_fault(request, SRDLAB_DROP, 0);
}

/* Its completion comes twice. libefa before rdma-core 65 writes beside its memory then. */
static inline int srdlab_duplicate(srdlab_request_t request)
{
	return srdlab_fault(request, SRDLAB_DUPLICATE, 0);
}

/*
 * It arrives, or where it has arrived completes, so many ns later. EINVAL: more than a year. Real
 * ns, but with --clock called at the next call; the fabric's latency is virtual and takes none.
 */
static inline int srdlab_delay(srdlab_request_t request, uint64_t ns)
{
	return srdlab_fault(request, SRDLAB_DELAY, ns);
}

/* Its receiver has no receive for it the first TIMES, 255 at most, that it gets there. */
static inline int srdlab_not_ready(srdlab_request_t request, uint32_t times)
{
	return srdlab_fault(request, SRDLAB_NOT_READY, times);
}

#ifdef __cplusplus
}
#endif

#endif
