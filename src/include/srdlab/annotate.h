/* SPDX-License-Identifier: MIT */
/*
 * For a program that is run by `srdlab exec`: what the requests of it are for. Where it marks
 * its transfers the rules about chunks and credits judge them too (`--rules contract`).
 * Anywhere else these calls do nothing; nothing has to be linked.
 *
 *     srdlab_op_t op = srdlab_op_begin(qp, &transfer);
 *     srdlab_op_post(op);              its requests come next, from this thread
 *     ... ibv_wr_start to ibv_wr_complete ...
 *     srdlab_op_posted(op, result);
 *     ... its completions ...
 *     srdlab_op_end(op, 0, NULL);
 *
 * Ids of its requests then have to be those that the rules id.* ask for. All calls may come
 * from any thread; an op is of one queue pair.
 */
#ifndef SRDLAB_ANNOTATE_H
#define SRDLAB_ANNOTATE_H

#include <dlfcn.h>
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

#ifdef __cplusplus
}
#endif

#endif
