/* SPDX-License-Identifier: MIT */
/*
 * The queue pair and the scheduler as replaceable parts. Each is a small table of
 * operations over the seam; srdlab's own EFA SRD queue pair and credit scheduler fill in
 * one each, and so can another implementation.
 *
 * Every function returns 0 or a negative errno and fills in *error with one sentence
 * (error may be NULL). Single owner: one thread calls an object.
 */
#ifndef SRDLAB_QUEUE_PAIR_H
#define SRDLAB_QUEUE_PAIR_H

#include <srdlab/error.h>
#include <srdlab/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The version of these tables and structures. 2 added what is marked so: the peer of an op,
 * and members at the end of both tables, which are looked at only where abi is 2 or more.
 * What was built for 1 still runs; it has the one peer of connect.
 */
#define SRD_QUEUE_PAIR_ABI        2
#define SRD_QUEUE_PAIR_ABI_OLDEST 1

struct srd_queue_pair; /* the implementation's own */
struct srd_scheduler;  /* the implementation's own */

/* What a peer needs to connect. The queue key does not travel: both ends know it. */
struct srd_endpoint {
	uint32_t qp_num;
	uint32_t psn;
	uint16_t lid;
	bool has_gid;
	uint32_t gid_index; /* of the sender's table: never to be used by the receiver */
	union srd_gid gid;
};

struct srd_queue_pair_config {
	uint32_t max_send_wr;
	uint32_t max_recv_wr;
	uint32_t max_send_sge; /* forced to 1 on EFA */
	uint32_t max_recv_sge; /* forced to 1 on EFA */
	uint32_t psn;          /* below 2^24; used as sq_psn */
	uint32_t qkey;         /* below 0x80000000; 0 means SRD_DEFAULT_QKEY */
	uint16_t pkey_index;
	uint8_t port_num;
	/* of reliable-connected queue pairs alone; ibv_modify_qp's */
	uint8_t sgid_index;         /* of the own GID table */
	uint8_t path_mtu;           /* enum ibv_mtu; 0: the port's */
	uint8_t timeout;            /* 4.096 us * 2^timeout for an answer; 0: for ever */
	uint8_t retry_cnt;          /* 0 to 7 */
	uint8_t rnr_retry;          /* 0 to 6 tries, 7 without end */
	uint8_t min_rnr_timer;      /* enum ibv_rnr_timeout: that the sender is asked to wait */
	uint8_t max_rd_atomic;      /* reads under way, as initiator */
	uint8_t max_dest_rd_atomic; /* and as responder */
};

#define SRD_DEFAULT_QKEY 0x4242

/* A range of this host's memory, and the peer's. size in bytes. */
struct srd_local_view {
	uint64_t addr;
	uint64_t size;
	uint32_t lkey;
};

struct srd_remote_view {
	uint64_t addr;
	uint64_t size;
	uint32_t rkey;
};

/* The ids of the requests that one put or get posted, in chunk order. */
struct srd_wr_ids {
	uint64_t *id;      /* the caller's array */
	uint32_t capacity; /* entries of it */
	uint32_t count;    /* out */
};

/* A completion as the queue pair hands it on. */
struct srd_completion {
	uint64_t wr_id;
	enum srd_wc_status status;
	uint32_t vendor_err;
	enum srd_wc_opcode opcode; /* a read completes with SEND on EFA: decide nothing by it */
};

enum srd_queue { SRD_QUEUE_SEND, SRD_QUEUE_RECV };

struct srd_queue_pair_ops {
	uint32_t abi; /* SRD_QUEUE_PAIR_ABI */
	const char *name;
	/*
	 * A queue pair in RESET on PD that reports to the two completion queues (which may be
	 * the same). Nothing is left behind where it fails.
	 */
	int (*create)(struct srd_verbs *verbs, struct srd_pd *pd,
		      const struct srd_queue_pair_config *config, struct srd_cq *send_cq,
		      struct srd_cq *recv_cq, struct srd_queue_pair **out, struct srd_error *error);
	/* Destroy the verbs objects in their documented order. NULL is allowed. */
	void (*destroy)(struct srd_queue_pair *qp);
	/* The verbs queue pair below, for whoever observes; NULL where there is none. */
	struct srd_qp *(*verbs_qp)(struct srd_queue_pair *qp);
	/* To RTS towards PEER; to be called once. */
	int (*connect)(struct srd_queue_pair *qp, const struct srd_endpoint *peer,
		       struct srd_error *error);
	/* Valid before connect. */
	int (*endpoint)(struct srd_queue_pair *qp, struct srd_endpoint *out,
			struct srd_error *error);
	/* Asked of the device, not of a cache. */
	int (*state)(struct srd_queue_pair *qp, enum srd_qp_state *out, struct srd_error *error);
	/* The largest transfer that is one request; never changes. At most 2^32 - 1. */
	uint64_t (*max_msg_size)(struct srd_queue_pair *qp);
	/*
	 * How many requests a put or get of SIZE bytes (the size that is transferred) posts.
	 * A scheduler asks this instead of guessing.
	 */
	uint64_t (*num_requests)(struct srd_queue_pair *qp, enum srd_op_kind kind, uint64_t size);
	/*
	 * RDMA write of from->size bytes; RDMA read of from->size bytes. -EMSGSIZE: the
	 * destination is smaller than the source. -ENOTCONN. -ENOSPC: ids->capacity is too
	 * small. -ENOMEM: the send queue is full. All requests are posted, or none; but
	 * see one_by_one.
	 */
	int (*put)(struct srd_queue_pair *qp, const struct srd_remote_view *to,
		   const struct srd_local_view *from, struct srd_wr_ids *ids,
		   struct srd_error *error);
	int (*get)(struct srd_queue_pair *qp, const struct srd_local_view *to,
		   const struct srd_remote_view *from, struct srd_wr_ids *ids,
		   struct srd_error *error);
	/*
	 * One entry of the queue: 1 and *out, 0 where it is empty, or a negative errno where
	 * the poll failed. A failed request is an entry like any other. -EINVAL is one entry
	 * that belongs to no live queue pair: it is consumed and the next poll goes on.
	 */
	int (*poll)(struct srd_queue_pair *qp, enum srd_queue which, struct srd_completion *out,
		    struct srd_error *error);
	/*
	 * Since abi 2, and optional: all three or none. More peers than that of connect, through
	 * this one queue pair and its one send queue. add_peer may come before connect, after it
	 * or in its place: whichever is called first goes to RTS. *PEER is what put_to and
	 * get_from name the peer by: 1, 2, 3, ... in the order of the calls; 0 stands for that
	 * of connect, whom put and get go to. -ENOTCONN: there is no such peer.
	 */
	int (*add_peer)(struct srd_queue_pair *qp, const struct srd_endpoint *endpoint,
			uint32_t *peer, struct srd_error *error);
	int (*put_to)(struct srd_queue_pair *qp, uint32_t peer, const struct srd_remote_view *to,
		      const struct srd_local_view *from, struct srd_wr_ids *ids,
		      struct srd_error *error);
	int (*get_from)(struct srd_queue_pair *qp, uint32_t peer, const struct srd_local_view *to,
			const struct srd_remote_view *from, struct srd_wr_ids *ids,
			struct srd_error *error);
	/*
	 * Since abi 2. It posts request by request, as ibv_post_send does: where one in the
	 * middle is refused, put and get return that error, and the ids->count requests before
	 * it are posted and will complete.
	 */
	bool one_by_one;
};

/* One put or get for a scheduler. A put goes from local to remote, a get the other way. */
struct srd_op {
	enum srd_op_kind kind;
	struct srd_local_view local;
	struct srd_remote_view remote;
	uint64_t cookie; /* the caller's, comes back in the result */
	uint32_t peer;   /* since abi 2: as add_peer gave it; 0: that of connect */
	uint64_t whole;  /* since abi 2: of what it is a stripe; 0: of nothing. Nobody's to use */
};

/*
 * The one result of an op. Where a request failed, result is -EIO and wr_id, status and
 * vendor_err are those of the request that is the cause; else status is SUCCESS.
 */
struct srd_op_result {
	uint64_t cookie;
	int result; /* 0, or a negative errno with its sentence in error */
	uint64_t wr_id;
	enum srd_wc_status status;
	uint32_t vendor_err;
	uint32_t num_wr; /* requests that were posted for it */
	struct srd_error error;
};

struct srd_scheduler_config {
	uint32_t max_send_wr; /* credits: the configured depth of the queue pair */
	uint64_t poll_window; /* ns without a completion before polls are spaced out; 0: never */
};

struct srd_scheduler_ops {
	uint32_t abi; /* SRD_QUEUE_PAIR_ABI */
	const char *name;
	int (*create)(const struct srd_queue_pair_ops *ops, struct srd_queue_pair *qp,
		      const struct srd_scheduler_config *config, struct srd_scheduler **out,
		      struct srd_error *error);
	/* Ops that are unanswered stay so. NULL is allowed. */
	void (*destroy)(struct srd_scheduler *scheduler);
	/*
	 * Queue OP and post what credits allow; never polls. An error here is about the
	 * scheduler (out of memory); whatever is wrong with the op is its result.
	 */
	int (*submit)(struct srd_scheduler *scheduler, const struct srd_op *op,
		      struct srd_error *error);
	/*
	 * One round: poll until empty, return credits, post what they allow. Returns the
	 * number of completions that were reaped, or a negative errno that ends the scheduler
	 * and answers every op; -ENOMEM alone may be tried again. Where it succeeds and
	 * error->code is not 0, *error tells of a completion that belongs to no outstanding
	 * request, and for which nothing was credited.
	 */
	int (*progress)(struct srd_scheduler *scheduler, struct srd_error *error);
	/* Take one finished op: 1 and *out, or 0. */
	int (*result)(struct srd_scheduler *scheduler, struct srd_op_result *out);
	uint32_t (*in_flight)(struct srd_scheduler *scheduler); /* requests, not ops */
	uint32_t (*queued)(struct srd_scheduler *scheduler);    /* ops that wait for credits */
	/*
	 * A direct put or get on the same queue pair posted IDS: counted in the one ledger,
	 * though not gated. Its completions come back by result() with COOKIE. -ENOMEM: they
	 * are counted, but there will be no result.
	 */
	int (*adopt)(struct srd_scheduler *scheduler, const struct srd_wr_ids *ids, uint64_t cookie,
		     struct srd_error *error);
	/* ns until the next poll is worth while: the back-off policy; 0: now. */
	uint64_t (*poll_delay)(struct srd_scheduler *scheduler, uint64_t now);
	/*
	 * Since abi 2, and optional: ops that name a peer are posted by put_to and get_from. All
	 * share the line and the credits: there is one send queue.
	 */
	bool peers;
};

/*
 * Whether the queue pair has more peers than one; whether it may post a part; whether the
 * scheduler knows of more peers.
 */
static inline bool srd_queue_pair_has_peers(const struct srd_queue_pair_ops *ops)
{
	return ops->abi >= 2 && ops->add_peer;
}

static inline bool srd_queue_pair_is_one_by_one(const struct srd_queue_pair_ops *ops)
{
	return ops->abi >= 2 && ops->one_by_one;
}

static inline bool srd_scheduler_has_peers(const struct srd_scheduler_ops *ops)
{
	return ops->abi >= 2 && ops->peers;
}

#ifdef __cplusplus
}
#endif

#endif
