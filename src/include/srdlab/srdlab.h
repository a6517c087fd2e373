/* SPDX-License-Identifier: MIT */
/*
 * The laboratory as a library (pkg-config: srdlab), for unit tests in C, C++, Rust or
 * anything that calls C: a mock EFA device in the test's own process, its limits lowered,
 * its calls and requests made to fail, its clock moved, and the rules asked at the end.
 * The same calls with the same profile and seed always give the same events.
 *
 * Functions return 0 or a negative errno and fill in *error, which may be NULL. Nothing is
 * printed, and nothing is shared between two laboratories; each has one owner thread.
 */
#ifndef SRDLAB_SRDLAB_H
#define SRDLAB_SRDLAB_H

#include <srdlab/event.h>
#include <srdlab/lab.h>
#include <srdlab/queue_pair.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct srdlab;

/* A limit that the device reports, by the name of its field, such as "max_rdma_size". */
struct srdlab_limit {
	const char *name;
	uint64_t value;
};

struct srdlab_options {
	const char *profile; /* a built-in one's name, or JSON text; NULL: "efa1" */
	uint64_t seed;
	const char *rules; /* as --rules of srdlab run; NULL: "law,contract" */
	const struct srdlab_limit *limits;
	uint32_t num_limits;
};

/* OPTIONS may be NULL: all zero. */
int srdlab_open(const struct srdlab_options *options, struct srdlab **out, struct srd_error *error);
/* Releases the laboratory and every object of its table. NULL is allowed. */
void srdlab_close(struct srdlab *lab);

/*
 * The seam: what a queue pair calls in place of libibverbs. Its lab operation takes the
 * faults on requests, queue pairs and hosts, and the fabric's settings (srdlab/lab.h).
 */
struct srd_verbs *srdlab_verbs(struct srdlab *lab);

/*
 * Let the NTH call of a verb from now, 1 being the next, fail with ERRNUM, a positive errno;
 * NTH 0: every call until srdlab_clear_failures. NAME is that of the operation, such as
 * "modify_qp"; NULL: any. -EINVAL: there is no such operation, or it cannot fail.
 */
int srdlab_fail_call(struct srdlab *lab, const char *name, uint64_t nth, int errnum,
		     struct srd_error *error);
void srdlab_clear_failures(struct srdlab *lab);

uint64_t srdlab_now(struct srdlab *lab); /* virtual ns */
/* Let TIME ns go by, with all that happens in them. */
void srdlab_advance(struct srdlab *lab, uint64_t time);

/* A reader of every event from now on. -ENOSPC: there are SRD_STREAM_READERS. */
int srdlab_read(struct srdlab *lab, srd_event_fn *fn, void *reader);
void srdlab_stop_reading(struct srdlab *lab, srd_event_fn *fn, void *reader);
/* The hash of all events so far: equal for two runs that were the same. */
uint64_t srdlab_trace_hash(const struct srdlab *lab);

/* What a rule found; texts belong to the laboratory. */
struct srdlab_violation {
	const char *rule;      /* "chunk.cover" */
	const char *statement; /* what it demands */
	const char *evidence;  /* the numbers */
	const char *timeline;  /* the last events of the objects involved; may be empty */
	uint64_t time;         /* virtual ns, of the first */
	uint64_t count;        /* of the same kind, on the same object */
};

/*
 * The test is over, its objects are destroyed: what is left, such as a request without a
 * completion, is judged too. Returns the number of violations; a negative errno.
 */
int srdlab_judge(struct srdlab *lab, struct srd_error *error);
/* The violation with number INDEX, from 0, of those so far; -ENOENT: there is none. */
int srdlab_violation(const struct srdlab *lab, uint32_t index, struct srdlab_violation *out);

/*
 * A queue pair or a scheduler, yours or srdlab's own (ops NULL), watched: what its functions
 * are asked and answer become events, which rules about ops need. Call it through the two
 * tables. The scheduler's queue pair must have been made here and outlive it.
 */
int srdlab_queue_pair(struct srdlab *lab, const struct srd_queue_pair_ops *ops, struct srd_pd *pd,
		      const struct srd_queue_pair_config *config, struct srd_cq *send_cq,
		      struct srd_cq *recv_cq, struct srd_queue_pair **out, struct srd_error *error);
int srdlab_scheduler(struct srdlab *lab, const struct srd_scheduler_ops *ops,
		     struct srd_queue_pair *qp, const struct srd_scheduler_config *config,
		     struct srd_scheduler **out, struct srd_error *error);
const struct srd_queue_pair_ops *srdlab_queue_pair_ops(void);
const struct srd_scheduler_ops *srdlab_scheduler_ops(void);

/* --- two hosts, connected --- */

struct srdlab_pair_options {
	const struct srd_queue_pair_ops *queue_pair; /* NULL: srdlab's own */
	const struct srd_scheduler_ops *scheduler;   /* NULL: srdlab's own */
	uint32_t max_send_wr;                        /* 0: 16 */
	uint64_t memory;                             /* bytes on either side; 0: 64 KiB */
};

/* One host: its memory is registered, with every right. */
struct srdlab_side {
	struct srd_context *context;
	struct srd_pd *pd;
	struct srd_cq *cq;
	struct srd_buffer *buffer;
	struct srd_mr *mr;
	struct srd_queue_pair *qp;
	struct srd_scheduler *scheduler;
};

struct srdlab_pair {
	struct srdlab_side a, b;
};

/* OPTIONS may be NULL. Where it fails nothing is left behind. */
int srdlab_pair_open(struct srdlab *lab, const struct srdlab_pair_options *options,
		     struct srdlab_pair *pair, struct srd_error *error);
/* Queue pairs move to ERR, are drained and destroyed, then all the rest. */
void srdlab_pair_close(struct srdlab *lab, struct srdlab_pair *pair);

/* Put, or get, SIZE bytes at OFFSET of both memories, on the scheduler of pair->a. */
int srdlab_submit(struct srdlab_pair *pair, enum srd_op_kind kind, uint64_t offset, uint64_t size,
		  uint64_t cookie, struct srd_error *error);
/*
 * The next result of SCHEDULER, letting time go by until there is one. -EDEADLK: nothing
 * will ever happen again; or what the scheduler's progress answers.
 */
int srdlab_wait(struct srdlab *lab, struct srd_scheduler *scheduler, struct srd_op_result *out,
		struct srd_error *error);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
