/* SPDX-License-Identifier: MIT */
/*
 * The verbs door: the half of libibverbs and libefa that lives in the program. It keeps
 * what they keep (cached states, wr ids, credits, the posting session), rounds and checks as
 * they do, and hands the rest to the model behind it.
 *
 * Facts come from rdma-core providers/efa/verbs.c. Where a wrong call would be undefined
 * there (a setter before a builder, a session completed twice), the door refuses or
 * latches EINVAL and stays sound.
 */
#ifndef SRD_DOOR_H
#define SRD_DOOR_H

#include <sys/queue.h>

#include <srdlab/lab.h>
#include <srdlab/verbs.h>

#include "memory.h"
#include "model/model.h"

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

struct door_qp;

struct door_context {
	struct srd_context context; /* .host: of the model, where each device is one */
	LIST_ENTRY(door_context) link;
	uint32_t owner;        /* the host that it is a device of: whose memory it reaches */
	uint32_t users;        /* protection domains, completion queues */
	uint32_t qp_mask;      /* of both tables below */
	struct door_qp **qps;  /* by queue-pair number */
	uint16_t *generations; /* queue pairs that had the number so far */
};

struct door_pd {
	struct srd_pd pd;
	LIST_ENTRY(door_pd) link;
	uint32_t model;
};

struct door_mr {
	struct srd_mr mr;
	LIST_ENTRY(door_mr) link;
	uint32_t model;
};

struct door_ah {
	struct srd_ah ah;
	LIST_ENTRY(door_ah) link;
	uint16_t number;
};

struct door_channel {
	struct srd_comp_channel channel;
	LIST_ENTRY(door_channel) link;
	uint32_t users; /* completion queues */
};

struct door_wq;

struct door_cq {
	struct srd_cq cq;
	LIST_ENTRY(door_cq) link;
	uint32_t model;
	uint32_t open_sessions; /* of queue pairs that send to it */
	bool extended;
	bool polling;               /* between start_poll and end_poll */
	bool at_end;                /* next_poll found no more */
	struct srd_cqe current;     /* of an extended poll */
	struct door_qp *current_qp; /* that it belongs to; NULL: there is no entry, or it is bad */
	struct door_wq *current_wq; /* that it gives its slot back to; NULL: none */
	uint32_t wc_flags;          /* enum srd_create_cq_wc_flags */
	uint32_t efa_wc_flags;      /* enum srd_efa_wc_flags */
	struct door_channel *channel; /* NULL: none */
	uint32_t unacked;             /* events taken and not acknowledged */
	uint8_t sequence;             /* of the next request for an event */
};

struct door_buffer {
	struct srd_buffer buffer;
	LIST_ENTRY(door_buffer) link;
	uint32_t host; /* the context may be closed before the buffer is given back */
};

/* struct efa_wq: the wr ids of requests that are out, in slots taken from a stack. */
struct door_wq {
	uint64_t *wrid;
	uint32_t *pool;
	uint32_t pool_next;
	uint32_t entries;
	uint32_t posted;
	uint32_t completed;
	uint16_t generation_mask;
	uint16_t generation; /* shifted */
	uint16_t check_mask; /* bits of an entry's id that must be the generation's */
	bool id64;           /* the device carries the wr ids itself: no slots */
};

struct door_qp {
	struct srd_qp qp;
	LIST_ENTRY(door_qp) link;
	uint32_t model;
	/* the session */
	bool open;
	int error;
	uint32_t num_pending;
	struct srd_request *first;   /* linked by index, in order */
	struct srd_request *current; /* that the setters go to; NULL before any builder */
	/* the doorbell */
	uint32_t max_batch;  /* requests that one of them may tell of */
	uint32_t num_unrung; /* requests that are in the ring and no doorbell told of */
	struct srd_request *first_unrung; /* linked by index, in order */
	struct srd_request *last_unrung;
	uint64_t doorbells; /* written */
	uint64_t arrive;    /* of the next ones, before some are lost */
	uint64_t lose;      /* how many then */
	struct door_wq sq;
	struct door_wq rq;
	uint32_t send_ops; /* enum srd_send_ops */
	uint32_t efa_flags;
	uint32_t max_inline;
	uint16_t max_send_sge;
	uint16_t max_recv_sge;
	uint16_t max_rdma_sge;
	bool signal_all;
	bool rc;
};

enum door_kind {
	DOOR_CONTEXT,
	DOOR_PD,
	DOOR_MR,
	DOOR_AH,
	DOOR_CQ,
	DOOR_CHANNEL,
	DOOR_QP,
	DOOR_BUFFER,
	DOOR_NUM_KINDS,
};

/* Devices behind the first of their hosts, in one run. */
#define DOOR_MAX_MORE 128

struct srd_door {
	struct srd_verbs verbs;
	struct srd_model model;
	struct srd_memory *memory;
	/* of the devices behind a host's first: numbers in the model, from the top down */
	struct {
		uint32_t host;
		uint32_t number;
	} more[DOOR_MAX_MORE];
	uint32_t num_more, num_hosts;
	uint64_t seen;                     /* arrivals that a wait has told of */
	enum srd_wc_opcode send_opcode[3]; /* of a completed request, by enum srd_op_type */
	uint32_t handles[DOOR_NUM_KINDS];
	LIST_HEAD(, door_context) contexts;
	LIST_HEAD(, door_pd) pds;
	LIST_HEAD(, door_mr) mrs;
	LIST_HEAD(, door_ah) ahs;
	LIST_HEAD(, door_cq) cqs;
	LIST_HEAD(, door_channel) channels;
	LIST_HEAD(, door_qp) qps;
	LIST_HEAD(, door_buffer) buffers;
};

/* Every object starts with its public part, so that one pointer is both. */
static inline struct srd_door *door_of(struct srd_verbs *verbs)
{
	return (struct srd_door *)verbs;
}

static inline struct door_context *door_context(struct srd_context *context)
{
	return (struct door_context *)context;
}

static inline struct door_pd *door_pd(struct srd_pd *pd)
{
	return (struct door_pd *)pd;
}

static inline struct door_cq *door_cq(struct srd_cq *cq)
{
	return (struct door_cq *)cq;
}

static inline struct door_qp *door_qp(struct srd_qp *qp)
{
	return (struct door_qp *)qp;
}

static inline uint32_t door_handle(struct srd_door *door, enum door_kind kind)
{
	return ++door->handles[kind];
}

static inline const struct srd_profile *door_profile(const struct srd_door *door)
{
	return srd_model_profile(&door->model);
}

/* Not an EFA device but one with connected queue pairs, and its provider instead of libefa. */
static inline bool door_is_rc(const struct srd_door *door)
{
	return door_profile(door)->transport == SRD_PROFILE_TRANSPORT_RC;
}

/* The smallest power of two that is VALUE at least; 1 for 0, which is what x86 makes of it. */
static inline uint64_t round_up_power(uint64_t value)
{
	return value <= 1 ? 1 : 1ull << (64 - __builtin_clzll(value - 1));
}

/* Each file fills in its part of the table. */
void door_device_ops(struct srd_verbs *verbs);
void door_object_ops(struct srd_verbs *verbs);
void door_qp_ops(struct srd_verbs *verbs);
void door_session_ops(struct srd_verbs *verbs);
void door_poll_ops(struct srd_verbs *verbs);
void door_extended_ops(struct srd_verbs *verbs);
void door_channel_ops(struct srd_verbs *verbs);
void door_buffer_ops(struct srd_verbs *verbs);
void door_lab_ops(struct srd_verbs *verbs);

/* wq.c. ENOMEM. */
int door_wq_init(struct door_wq *wq, uint32_t entries, uint16_t generation, bool id64);
void door_wq_release(struct door_wq *wq);
/* efa_qp_init_indices: the counters, but not the order that the slots are in. */
void door_wq_reset(struct door_wq *wq);

/* Full, or (which needs an entry too many before) out of slots. */
static inline bool door_wq_full(const struct door_wq *wq)
{
	return wq->posted - wq->completed == wq->entries ||
	       (!wq->id64 && wq->pool_next == wq->entries);
}

/* Note WR_ID in a slot; the id that the device gets for it. */
static inline uint64_t door_wq_take(struct door_wq *wq, uint64_t wr_id)
{
	uint32_t slot;

	wq->posted++;
	if (wq->id64)
		return wr_id;
	slot = wq->pool[wq->pool_next++];
	wq->wrid[slot] = wr_id;
	return slot | wq->generation;
}

static inline uint32_t door_wq_slot(const struct door_wq *wq, uint64_t id)
{
	return (uint16_t)id & (uint16_t)~wq->generation_mask;
}

static inline uint64_t door_wq_wr_id(const struct door_wq *wq, uint64_t id)
{
	return wq->id64 ? id : wq->wrid[door_wq_slot(wq, id)];
}

/*
 * An entry was polled. Divergence from EFA: after an entry that libefa does not expect (a
 * duplicate, one from before a RESET) it may write in front of its pool; here the slot is
 * not returned then.
 */
static inline void door_wq_give(struct door_wq *wq, uint64_t id)
{
	wq->completed++;
	if (!wq->id64 && wq->pool_next)
		wq->pool[--wq->pool_next] = door_wq_slot(wq, id);
}

/*
 * doorbell.c: what a session has built lies in the ring now; ring for it, batch after batch.
 * Once more, for all that is there. Forget what no doorbell has told of. Whether
 * a request of WR_ID is among that.
 */
void door_doorbell_session(struct srd_door *door, struct door_qp *qp);
void door_doorbell_ring(struct srd_door *door, struct door_qp *qp);
void door_doorbell_forget(struct srd_door *door, struct door_qp *qp);
bool door_doorbell_waits(struct srd_door *door, const struct door_qp *qp, uint64_t wr_id);

/* poll.c: the queue pair that has the number and generation of an entry; NULL: none. */
struct door_qp *door_cqe_owner(const struct door_context *context, const struct srd_cqe *cqe);
/* The fields of a receive, but for those that every entry has. */
void door_cqe_receive(const struct door_qp *qp, const struct srd_cqe *cqe, struct srd_wc *wc);
/* extended.c: end the poll, where one is open. */
void door_poll_end(struct door_cq *cq);
/* QP is about to go: its entry is current no more. */
void door_poll_forget(const struct door_qp *qp);

/* Undo all that the open session has built. */
void door_session_roll_back(struct srd_door *door, struct door_qp *qp);
/* Abort the session, where one is open. */
void door_session_drop(struct srd_door *door, struct door_qp *qp);
void door_qp_free(struct door_qp *qp);

#endif
