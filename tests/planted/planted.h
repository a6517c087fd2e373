/* SPDX-License-Identifier: MIT */
/*
 * Planted defects: each rule has at least one queue pair, scheduler, library or program
 * with exactly one defect that it finds. A defect is what differs from our own parts:
 *
 *   plan, build, next_id   of a small queue pair that otherwise does as ours does
 *   queue_pair, scheduler  operations replaced in a copy of our own
 *   above                  operations of the seam replaced as the queue pair sees them
 *   below                  operations replaced under the observer: a device that lies
 *   run                    instead of the standard workload
 *
 * Two hosts of the mock are set up with them, the workload runs, everything is torn down,
 * and the rules are asked. The table of a family is its manifest: the rule that has to fire,
 * and the others that may, since a defect can break several promises at once.
 */
#ifndef PLANTED_H
#define PLANTED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <srdlab/lab.h>
#include <srdlab/profile.h>
#include <srdlab/queue_pair.h>

#include "qp/cq_pool.h"
#include "rules/rules.h"
#include "verbs/backend.h"
#include "verbs/forward.h"

#define MAX_RDMA    1000u /* bytes */
#define DEPTH       4u
#define BUFFER_SIZE 65536u

struct piece {
	uint64_t local, remote; /* offsets */
	uint64_t length;
};

struct stage;

struct planted {
	const char *rule;
	const char *also; /* ids separated by spaces; NULL: none */
	const char *what; /* the defect */
	/* Into OUT, room for 64; returns how many. */
	uint32_t (*plan)(uint64_t size, struct piece *out);
	/* Builder and setters of one request; wr_id and wr_flags are set. */
	void (*build)(struct stage *s, struct srd_qp *qp, const struct srd_op *op,
		      const struct piece *piece, uint32_t number);
	uint64_t (*next_id)(struct stage *s);
	void (*queue_pair)(struct srd_queue_pair_ops *ops);
	void (*scheduler)(struct srd_scheduler_ops *ops);
	void (*above)(struct srd_verbs *verbs);
	void (*below)(struct srd_verbs *verbs);
	void (*run)(struct stage *s);
	/* How side b connects; NULL: to side a, as it should. */
	void (*connect_b)(struct stage *s);
	uint32_t credits; /* of the scheduler; 0: DEPTH */
	bool rc;          /* on devices with connected queue pairs */
};

struct side {
	struct srd_context *context;
	struct srd_pd *pd;
	struct srd_buffer *buffer;
	struct srd_mr *mr;
	struct srd_cq_pool *pool;
	struct srd_cq *cq;
	struct srd_queue_pair *qp; /* observed */
	struct srd_scheduler *scheduler;
	struct srd_endpoint endpoint;
};

/* A table that forwards, with the one above or below it replaced in part. */
struct tamper {
	struct srd_verbs verbs;
	struct srd_ah *ah;  /* the last one made through it */
	uint64_t calls;     /* for the defect */
	struct srd_wc last; /* for the defect */
};

struct stage {
	const struct planted *planted;
	const char *select; /* rules */
	uint64_t seed;
	uint32_t depth;
	struct srd_stream stream;
	struct srd_rules *rules;
	struct srd_profile profile;
	struct srd_verbs *verbs; /* observed: what the harness calls */
	struct tamper above, below;
	struct srd_queue_pair_ops qp_ops;
	struct srd_scheduler_ops scheduler_ops;
	struct side a, b;
	uint64_t next_id;     /* of the small queue pair */
	uint32_t outstanding; /* ops without an answer */
	uint32_t answers;
	struct srd_op_result last_result;
};

/* The stage that is being played. */
extern struct stage *stage;

/* Nothing is open yet: profile, seed and depth may be changed before stage_open. */
void stage_init(struct stage *s, const struct planted *planted, const char *select);
/*
 * One more side, on the device NAME of HOST (NULL: its first), with a queue pair in RESET; ends
 * with side_close, never stage_close.
 */
void side_open(struct stage *s, struct side *side, uint32_t host, const char *name);
/* Nothing is done where SIDE is closed, or was never opened. */
void side_close(struct stage *s, struct side *side);
/* Up to two connected queue pairs. */
void stage_open(struct stage *s);
/* Tear it down; the rules are finished, and the caller's to ask and to destroy. */
void stage_close(struct stage *s);

/* The views of SIZE bytes at OFFSET of both buffers, as an op for side a. */
struct srd_op op_of(enum srd_op_kind kind, uint64_t offset, uint64_t size);
/* Submit to a's scheduler. */
void submit(struct srd_op op);
/* Count the answers that are there. */
void take_results(struct stage *s);
/* Until every op is answered, or nothing moves any more. */
void settle(void);
/* Puts and gets of every kind of size, more than the credits at once. */
void standard_run(struct stage *s);

/* What a good queue pair does; a defect calls these for what it does right. */
uint32_t good_plan(uint64_t size, struct piece *out);
void good_build(struct stage *s, struct srd_qp *qp, const struct srd_op *op,
		const struct piece *piece, uint32_t number);
/* The put and get of the small queue pair. */
int small_post(struct srd_queue_pair *qp, const struct srd_op *op, struct srd_wr_ids *ids,
	       struct srd_error *error);

/* a's verbs queue pair, and one raw session of one write of LENGTH bytes on it. */
struct srd_qp *raw_qp(void);
void raw_write(uint64_t wr_id, uint64_t length);
/* The same for any op of one request through AH. */
void raw_post(uint64_t wr_id, const struct srd_op *op, struct srd_ah *ah);
/*
 * A second queue pair on host a that reports to CQ, connected to b; observed where OPS is
 * srd_observed_queue_pair_ops. Ended with second_close.
 */
struct srd_queue_pair *second_open(const struct srd_queue_pair_ops *ops, struct srd_cq *cq);
/* One write of 8 bytes on it. */
void second_write(struct srd_queue_pair *qp, uint64_t wr_id);
/* A fault of the laboratory on the ORDINAL-th request of a. */
void fault(enum srd_lab_kind kind, uint64_t ordinal, enum srd_efa_status status);
/* One completion of a's queue, waiting for it; 0: none ever comes. */
int raw_wait(struct srd_wc *wc);
/* An event of our own making, where nothing of ours can be made to do it. */
void forge(struct srd_event *event);

#define FORGE(TYPE, type_, handle, ...)                                                   \
	forge(&(struct srd_ev_##type_){.ev = {.type = SRD_EV_##TYPE, .object = (handle)}, \
				       __VA_ARGS__}                                       \
		       .ev)

/* The tables; each ends with a rule of NULL. */
extern const struct planted planted_chunk[];
extern const struct planted planted_session[];
extern const struct planted planted_id[];
extern const struct planted planted_credit[];
extern const struct planted planted_completion[];
extern const struct planted planted_state[];
extern const struct planted planted_memory[];
extern const struct planted planted_address[];
extern const struct planted planted_lifetime[];
extern const struct planted planted_peers[];
extern const struct planted planted_rails[];

/* Rails that are as they should be. */
void planted_rails_nothing(struct stage *s);

#endif
