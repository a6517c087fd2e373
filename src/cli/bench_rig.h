/* SPDX-License-Identifier: MIT */
/*
 * What a measurement stands on: the whole engine on the mock, as a scenario builds it, two
 * hosts with one connected queue pair each. Without rules nothing reads the stream, and the
 * observers are left out, as they are in a program that embeds the engine.
 */
#ifndef SRD_CLI_BENCH_RIG_H
#define SRD_CLI_BENCH_RIG_H

#include <srdlab/profile.h>
#include <srdlab/queue_pair.h>

#include "qp/cq_pool.h"
#include "report/trace.h"
#include "rules/rules.h"

/* Who reads the stream: nobody; the rules; the rules and a trace that goes to /dev/null. */
enum srd_bench_watch { SRD_BENCH_ALONE, SRD_BENCH_JUDGED, SRD_BENCH_TRACED };

struct srd_bench_side {
	struct srd_context *context;
	struct srd_pd *pd;
	struct srd_buffer *buffer;
	struct srd_mr *mr;
	struct srd_cq_pool *pool;
	struct srd_cq *cq;
	struct srd_queue_pair *qp;
	struct srd_endpoint endpoint;
};

struct srd_bench_rig {
	struct srd_stream stream;
	struct srd_rules *rules; /* NULL: off */
	struct srd_trace *trace; /* NULL: off */
	struct srd_verbs *verbs;
	const struct srd_queue_pair_ops *qp_ops;
	const struct srd_scheduler_ops *scheduler_ops;
	struct srd_bench_side side[2];
	struct srd_scheduler *scheduler; /* of side 0 */
};

/* Each side has MEMORY bytes of KIND. Close it in any case. */
int srd_bench_rig_open(struct srd_bench_rig *rig, const struct srd_profile *profile,
		       enum srd_bench_watch watch, uint64_t memory, enum srd_buffer_kind kind,
		       struct srd_error *error);
void srd_bench_rig_close(struct srd_bench_rig *rig);

/*
 * COUNT puts of SIZE bytes from side 0 to side 1, WINDOW of them submitted at a time. Each
 * goes where the one before it ended, and at the end of the memory to its start again.
 */
int srd_bench_rig_put(struct srd_bench_rig *rig, uint64_t count, uint64_t size, uint32_t window,
		      struct srd_error *error);

#endif
