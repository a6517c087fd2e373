/* SPDX-License-Identifier: MIT */
/*
 * What srdlab's queue pairs have in common, whatever their transport: the port that they
 * stand on, the way through the states, the plan of a transfer, and polling.
 */
#ifndef SRD_QP_BASE_H
#define SRD_QP_BASE_H

#include <srdlab/queue_pair.h>

#include "qp/chunk.h"
#include "qp/stash.h"

/* The first member of each. */
struct srd_qp_base {
	struct srd_verbs *verbs;
	struct srd_qp *qp;
	uint64_t next_id;
	uint32_t max_msg_size;
	uint32_t psn;
	uint32_t num_steps; /* of the way to RTS, done so far */
	uint16_t pkey_index;
	uint8_t port_num;
	uint8_t sgid_index;
	bool shared_cq; /* both queues report to the same one */
	union srd_gid gid;
	/* by enum srd_queue: entries of it that were met in polls of the other */
	struct srd_stash stash[2];
};

/*
 * The port of CONFIG and its GID at SGID_INDEX. -EINVAL, -ENODEV: there is no such port, GID
 * or partition key, or a number of CONFIG that every transport looks at is out of range.
 */
int srd_qp_base_init(struct srd_qp_base *base, struct srd_verbs *verbs, struct srd_pd *pd,
		     const struct srd_queue_pair_config *config, uint8_t sgid_index,
		     struct srd_port_attr *port, struct srd_error *error);
void srd_qp_base_release(struct srd_qp_base *base);
/*
 * Create its queue pair, for writes and reads: of the kind that EFA says, or reliable-connected
 * where that is NULL. -errno of the device, which has no attribute for each of its limits.
 */
int srd_qp_base_create(struct srd_qp_base *base, struct srd_pd *pd,
		       const struct srd_queue_pair_config *config, struct srd_cq *send_cq,
		       struct srd_cq *recv_cq, const struct srd_efa_qp_init_attr *efa,
		       struct srd_error *error);

/* -EINVAL: DEPTH is 0. libefa would round it up with a shift that C leaves undefined. */
int srd_qp_base_depth(const char *name, uint32_t depth, struct srd_error *error);

/* One modify on the way to RTS. */
struct srd_qp_step {
	const char *name; /* of the state */
	uint32_t mask;
	struct srd_qp_attr attr;
};

/* Go on where the last call stopped, or from RESET where the queue pair is there again. */
int srd_qp_base_walk(struct srd_qp_base *base, const struct srd_qp_step *steps, uint32_t num,
		     struct srd_error *error);

/* Those operations of struct srd_queue_pair_ops, for a queue pair that begins with a base. */
int srd_qp_base_endpoint(struct srd_queue_pair *qp, struct srd_endpoint *out,
			 struct srd_error *error);
int srd_qp_base_state(struct srd_queue_pair *qp, enum srd_qp_state *out, struct srd_error *error);
struct srd_qp *srd_qp_base_verbs_qp(struct srd_queue_pair *qp);
uint64_t srd_qp_base_max_msg_size(struct srd_queue_pair *qp);
uint64_t srd_qp_base_num_requests(struct srd_queue_pair *qp, enum srd_op_kind kind, uint64_t size);
int srd_qp_base_poll(struct srd_queue_pair *qp, enum srd_queue which, struct srd_completion *out,
		     struct srd_error *error);

/* Why a transfer cannot be posted. */
int srd_qp_base_too_small(const struct srd_qp_base *base, enum srd_op_kind kind, uint64_t to_size,
			  uint64_t from_size, struct srd_error *error);
int srd_qp_base_not_connected(const struct srd_qp_base *base, enum srd_op_kind kind,
			      struct srd_error *error);
int srd_qp_base_connected(const struct srd_qp_base *base, uint32_t remote_qpn,
			  struct srd_error *error);
int srd_qp_base_beyond_memory(const struct srd_qp_base *base, enum srd_op_kind kind, int rc,
			      const struct srd_local_view *local,
			      const struct srd_remote_view *remote, struct srd_error *error);
int srd_qp_base_too_many(const struct srd_qp_base *base, uint64_t size,
			 const struct srd_chunk_plan *plan, const struct srd_wr_ids *ids,
			 struct srd_error *error);

static inline const char *srd_op_kind_name(enum srd_op_kind kind)
{
	return kind == SRD_OP_PUT ? "put" : "get";
}

/*
 * Plan a transfer of FROM_SIZE bytes; what can be known before anything is posted consumes
 * nothing. On the data path: inline, so that KIND is decided once.
 */
static inline int srd_qp_base_plan(const struct srd_qp_base *base, enum srd_op_kind kind,
				   bool connected, const struct srd_local_view *local,
				   const struct srd_remote_view *remote, uint64_t to_size,
				   uint64_t from_size, struct srd_chunk_plan *plan,
				   struct srd_wr_ids *ids, struct srd_error *error)
{
	int rc;

	ids->count = 0;
	if (to_size < from_size)
		return srd_qp_base_too_small(base, kind, to_size, from_size, error);
	if (!connected)
		return srd_qp_base_not_connected(base, kind, error);
	rc = srd_chunk_plan_start(plan, local->addr, remote->addr, from_size, base->max_msg_size);
	if (rc)
		return srd_qp_base_beyond_memory(base, kind, rc, local, remote, error);
	if (plan->num_left > ids->capacity)
		return srd_qp_base_too_many(base, from_size, plan, ids, error);
	return 0;
}

/* The next request's id and flags, and its builder. EFA takes none that is not signaled. */
static inline void srd_qp_base_build(struct srd_qp_base *base, enum srd_op_kind kind,
				     const struct srd_chunk *chunk, uint32_t lkey, uint32_t rkey)
{
	struct srd_verbs *verbs = base->verbs;
	struct srd_qp *qp = base->qp;

	qp->wr_id = base->next_id++;
	qp->wr_flags = SRD_SEND_SIGNALED;
	switch (kind) {
	case SRD_OP_PUT:
		verbs->wr_rdma_write(verbs, qp, rkey, chunk->remote);
		break;
	case SRD_OP_GET:
		verbs->wr_rdma_read(verbs, qp, rkey, chunk->remote);
		break;
	}
	verbs->wr_set_sge(verbs, qp, lkey, chunk->local, chunk->length);
}

#endif
