/* SPDX-License-Identifier: MIT */
/*
 * What the arena holds, for the files of the model only. Entry 0 of every pool stays empty,
 * so that a handle of 0 names nothing.
 */
#ifndef SRD_STATE_H
#define SRD_STATE_H

#include "heap.h"
#include "model.h"
#include "rng.h"

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

enum srd_pool_kind {
	SRD_POOL_PD,
	SRD_POOL_MR,
	SRD_POOL_AH,
	SRD_POOL_CQ,
	SRD_POOL_QP,
	SRD_POOL_REQUEST,
	SRD_POOL_FAULT,
	SRD_POOL_TRANSFER,
	SRD_POOL_PACKET,
	SRD_NUM_POOLS,
};

/*
 * A pool of entries of one size. `high` entries were ever used: those above it are
 * untouched memory, so that a fresh model costs nothing and a big one only what it used.
 */
struct srd_pool {
	uint32_t capacity;
	uint32_t high;
	uint32_t free; /* first of the free list, linked through the first word of an entry */
	uint32_t used;
};

#define SRD_BLOCK_MIN_SHIFT  6
#define SRD_NUM_BLOCK_SHIFTS 34

/* Rings: blocks of a power of two bytes, cut from the top and kept on lists when freed. */
struct srd_blocks {
	uint64_t capacity;
	uint64_t high;
	uint64_t free[SRD_NUM_BLOCK_SHIFTS]; /* offset + 1, linked through the first word */
};

/* Where each region of the arena starts, bytes. */
struct srd_layout {
	uint64_t device, pool[SRD_NUM_POOLS], inline_data, qpn, link, blocks, heap, size;
	uint32_t capacity[SRD_NUM_POOLS];
	uint32_t qpn_slots; /* a device's */
	uint64_t blocks_size;
	uint32_t heap_capacity;
	uint32_t key_shift;
};

struct srd_model_state {
	struct srd_layout layout;
	struct srd_profile profile;
	uint64_t now;
	uint64_t arrivals;    /* completion entries written, ever */
	uint64_t departures;  /* and taken, overwritten or gone with their queue */
	uint64_t events;      /* processed */
	uint64_t cq_events;   /* of completion queues, ever */
	uint64_t ns_per_byte; /* 32.32 fixed point */
	uint32_t num_hosts;   /* devices below it are initialised */
	uint32_t key_shift;   /* bits of a memory key that name the region */
	uint32_t qpn_mask;    /* bits of a queue pair's number that name its slot */
	struct srd_rng jitter;
	struct srd_rng order;
	struct srd_rng loss;
	struct srd_rng partial;
	struct srd_pool pool[SRD_NUM_POOLS];
	struct srd_blocks blocks;
};

/* Of the requests of one type that a device was given. */
struct srd_op_counters {
	uint64_t wrs, bytes, errors;
};

/* The counters of amzn-drivers kernel/linux/efa/src/efa_verbs.c, and our own at the end. */
struct srd_counters {
	uint64_t tx_bytes, tx_pkts, rx_bytes, rx_pkts, rx_drops;
	struct srd_op_counters op[3]; /* by enum srd_op_type */
	uint64_t recv_bytes, recv_wrs, rdma_read_resp_bytes, rdma_write_recv_bytes;
	uint64_t retrans_bytes, retrans_pkts, retrans_timeout_events;
	uint64_t unresponsive_remote_events, impaired_remote_conn_events;
	uint64_t qkey_violations;
	uint64_t cq_overruns;
};

struct srd_model_device {
	bool present;
	bool dead; /* does not answer */
	uint32_t num_pd, num_mr, num_ah, num_cq, num_qp;
	uint32_t qpn_high; /* slots of the queue-pair numbers below it are initialised */
	uint32_t qpn_free; /* slot + 1 */
	uint32_t first_qp;
	uint32_t next_sub_cq;
	uint64_t link_free;                          /* ns: the link has sent what it was given */
	uint64_t last_arrival;                       /* ns: for a fabric that keeps order */
	uint64_t answered[SRD_MODEL_MAX_HOSTS / 64]; /* hosts that ever answered this one */
	uint32_t peers[SRD_MODEL_MAX_HOSTS];         /* address handles to each host */
	struct srd_counters counters;
};

struct srd_qpn_slot {
	uint32_t qp; /* 0: free */
	uint32_t next_free;
	uint32_t uses; /* so far */
};

struct srd_model_pd {
	uint32_t next;
	uint32_t host;
	uint32_t owner; /* whose memory its regions are */
	uint32_t users; /* queue pairs, address handles, regions */
	uint32_t first_ah;
};

struct srd_model_mr {
	uint32_t next;
	uint32_t generation; /* kept when the entry is freed */
	uint32_t key;        /* 0: free or gone */
	uint32_t pd;
	uint32_t host;
	uint32_t owner;
	uint32_t access;
	uint32_t tag;
	uint64_t addr;
	uint64_t length;
	uint64_t shift;
};

struct srd_model_ah {
	uint32_t next;
	uint32_t pd;
	uint32_t host;
	uint32_t dest_host;
	uint32_t users;   /* creations that share it */
	uint32_t next_ah; /* of its protection domain */
	bool valid;       /* false: kept for its other users only */
};

struct srd_sub_cq {
	uint32_t head; /* free-running */
	uint32_t tail;
};

struct srd_model_cq {
	uint32_t next;
	uint32_t host;
	uint32_t tag;
	uint32_t users; /* queue pairs; one that uses it for both counts twice */
	uint32_t entries;
	uint32_t num_rings;
	uint32_t next_poll;
	bool armed;       /* the next entry makes an event */
	uint8_t sequence; /* of the last request for one; 4: there was none */
	uint64_t event;   /* that was not taken yet, numbered from 1; 0: none */
	uint64_t ring;    /* block */
	struct srd_sub_cq sub[SRD_MODEL_MAX_RINGS];
};

/* What a reliable-connected queue pair is told of its connection; see rc.c. */
struct srd_model_rc {
	struct srd_ah_attr ah_attr; /* as it was set, for a query */
	uint32_t dest_host;         /* SRD_MODEL_MAX_HOSTS: nobody */
	uint32_t dest_qp_num;
	uint32_t rq_psn;
	uint32_t access;
	uint32_t silent; /* completed without an entry since the last one */
	uint8_t path_mtu;
	uint8_t timeout;
	uint8_t retry_cnt;
	uint8_t min_rnr_timer;
	uint8_t max_rd_atomic;
	uint8_t max_dest_rd_atomic;
};

struct srd_model_qp {
	uint32_t next;
	uint32_t host;
	uint32_t owner;
	uint32_t pd;
	uint32_t send_cq;
	uint32_t recv_cq;
	uint32_t tag;
	uint32_t next_qp; /* of its device */
	uint32_t prev_qp;
	uint16_t qpn;
	uint8_t send_ring; /* of its completion queues */
	uint8_t recv_ring;
	uint8_t state;        /* enum srd_qp_state: the device's */
	uint8_t driver_state; /* what the driver believes */
	uint8_t rnr_retry;
	uint8_t sqd_notify;
	bool ud;
	bool rc;
	bool gone;    /* its host was restarted: only the door's handle is left */
	bool cut_off; /* gone, or its host is dead: what is posted is lost */
	uint32_t qkey;
	uint32_t sq_psn;
	uint32_t flags;
	struct srd_qp_cap cap;
	uint32_t first_request; /* with the device, in posting order */
	uint32_t last_request;
	uint32_t first_parked; /* requests of others that wait for a receive here */
	uint32_t last_parked;
	uint32_t first_fault; /* for requests not posted yet */
	uint32_t recv_before; /* arrivals before one that a fault fails */
	uint8_t recv_fault;   /* its EFA status; 0: there is no such fault */
	uint32_t rq_mask;     /* descriptors - 1 */
	uint32_t rq_head;     /* free-running */
	uint32_t rq_tail;
	uint64_t rq_ring;      /* block */
	uint64_t num_posted;   /* requests, ever */
	uint64_t last_arrival; /* ns: completions in order, where asked for */
	struct srd_model_rc connection;
};

/* One descriptor of a receive queue. */
struct srd_rx_descriptor {
	uint64_t addr;
	uint32_t length;
	uint32_t lkey;
	uint64_t id;
	uint32_t num_sge; /* of the whole receive */
	bool first;
};

#define SRD_FAULTED_HOLD      0x1
#define SRD_FAULTED_DROP      0x2
#define SRD_FAULTED_DUPLICATE 0x4
#define SRD_FAULTED_DELAY     0x8
#define SRD_FAULTED_FAIL      0x10
#define SRD_FAULTED_LATE      0x20 /* the delay is under way */

/* A fault on a request that is not posted yet. */
struct srd_planned_fault {
	uint32_t next;
	uint32_t next_fault; /* of its queue pair */
	uint32_t kind;       /* enum srd_lab_kind */
	uint32_t status;
	uint64_t ordinal;
	uint64_t delay;
};

#define SRD_INLINE_STRIDE 96  /* at least the 80 bytes of the largest descriptor */
#define SRD_LOCAL_DELAY   500 /* ns; a guess: until the device has seen that a request is bad */

/* The packet level, packet.c. Packets that a link has under way: a guess. */
#define SRD_PACKET_WINDOW 256

/* What a device keeps for the packets that it sends. */
struct srd_link {
	uint32_t first; /* transfers that have packets to send, in turn */
	uint32_t last;
	uint32_t out;           /* packets in the pool */
	uint64_t sent;          /* ever */
	uint64_t path_free[64]; /* ns: the path has passed on what it was given */
};

/* The packets of one request, or of the answer to a read. */
struct srd_transfer {
	uint32_t next; /* of its link, or of the free list */
	uint32_t prev;
	uint32_t request; /* 0: it was ended, packets are still out */
	uint32_t host;    /* sends them */
	uint32_t length;  /* bytes */
	uint32_t count;   /* packets */
	uint32_t sent;    /* for the first time */
	uint32_t arrived;
	uint32_t acked;
	uint32_t out;  /* packets in the pool */
	bool response; /* to a read */
	bool answered; /* the responder knows what becomes of the request */
	bool told;     /* so does the initiator */
};

/* What it means when the event of a packet comes due. */
enum srd_transit { SRD_TRANSIT_THERE, SRD_TRANSIT_LOST, SRD_TRANSIT_ACK };

struct srd_packet {
	union {
		uint32_t next;  /* of the free list */
		uint32_t tries; /* that were lost */
	};
	uint32_t transfer;
	uint32_t number; /* of its transfer, from 0 */
	uint8_t host;    /* sends it */
	uint8_t path;
	uint8_t state;       /* enum srd_transit */
	uint8_t arrived : 1; /* once: what comes later is a copy */
	uint8_t tells : 1;   /* its acknowledgement carries the answer */
};

/* The payload of an event is a request, or a packet with this bit. */
#define SRD_EVENT_PACKET 0x80000000u

static inline const struct srd_profile *srd_profile_of(const struct srd_model *m)
{
	return &m->state->profile;
}

static inline uint64_t srd_later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The header of an event that the device emits. */
static inline struct srd_event srd_device_event(enum srd_event_type type, uint32_t object,
						uint32_t host)
{
	return (struct srd_event){
		.object = object, .type = type, .source = SRD_SOURCE_DEVICE, .host = (uint8_t)host};
}

static const uint32_t srd_entry_size[SRD_NUM_POOLS] = {
	[SRD_POOL_PD] = sizeof(struct srd_model_pd),
	[SRD_POOL_MR] = sizeof(struct srd_model_mr),
	[SRD_POOL_AH] = sizeof(struct srd_model_ah),
	[SRD_POOL_CQ] = sizeof(struct srd_model_cq),
	[SRD_POOL_QP] = sizeof(struct srd_model_qp),
	[SRD_POOL_REQUEST] = sizeof(struct srd_request),
	[SRD_POOL_FAULT] = sizeof(struct srd_planned_fault),
	[SRD_POOL_TRANSFER] = sizeof(struct srd_transfer),
	[SRD_POOL_PACKET] = sizeof(struct srd_packet),
};

static inline uint32_t *srd_pool_entry(const struct srd_model *m, enum srd_pool_kind kind,
				       uint32_t index)
{
	return (uint32_t *)((uint8_t *)m->state + m->state->layout.pool[kind] +
			    (size_t)index * srd_entry_size[kind]);
}

/* arena.c: an entry that was never used, zeroed; 0: the pool is full. */
uint32_t srd_pool_grow(struct srd_model *model, enum srd_pool_kind kind);

/* 0: the pool is full. The entry is zero, or as its last owner left it but for the first word. */
static inline uint32_t srd_pool_get(struct srd_model *m, enum srd_pool_kind kind)
{
	struct srd_pool *pool = &m->state->pool[kind];
	uint32_t index = pool->free;

	if (unlikely(!index))
		return srd_pool_grow(m, kind);
	pool->free = *srd_pool_entry(m, kind, index);
	pool->used++;
	return index;
}

static inline void srd_pool_put(struct srd_model *m, enum srd_pool_kind kind, uint32_t index)
{
	struct srd_pool *pool = &m->state->pool[kind];

	*srd_pool_entry(m, kind, index) = pool->free;
	pool->free = index;
	pool->used--;
}

/* arena.c */
/* A ring of SIZE bytes as an offset into m->blocks, plus one; 0: no room. */
uint64_t srd_block_get(struct srd_model *model, uint64_t size);
void srd_block_put(struct srd_model *model, uint64_t block, uint64_t size);

static inline void *srd_block_at(const struct srd_model *m, uint64_t block)
{
	return m->blocks + (block - 1);
}

/* The slot of a queue pair's number: as many of them share one as share an entry of libefa's table. */
static inline uint32_t srd_qpn_index(const struct srd_model *m, uint32_t qpn)
{
	return (qpn - m->state->profile.first_qpn) & m->state->qpn_mask;
}

static inline struct srd_model_qp *srd_qp_find(const struct srd_model *m, uint32_t host,
					       uint32_t qpn)
{
	uint32_t slot = srd_qpn_index(m, qpn);

	if (slot >= m->device[host].qpn_high)
		return NULL;
	slot = m->qpn[(size_t)host * m->state->layout.qpn_slots + slot].qp;
	return slot && m->qp[slot].qpn == qpn ? &m->qp[slot] : NULL;
}

/* The region of KEY in PD, if it grants RIGHTS; NULL: there is none. */
static inline const struct srd_model_mr *srd_mr_find(const struct srd_model *m, uint32_t pd,
						     uint32_t key, uint32_t rights)
{
	uint32_t index = key & ((1u << m->state->key_shift) - 1);
	const struct srd_model_mr *mr = &m->mr[index];

	if (index > m->state->pool[SRD_POOL_MR].high || mr->key != key || mr->pd != pd || !index)
		return NULL;
	return rights & ~mr->access ? NULL : mr;
}

/* The number of an address handle of PD for HOST; 0xffff: there is none. */
uint16_t srd_ah_find(const struct srd_model *model, uint32_t pd, uint32_t host);
void srd_device_forget(struct srd_model *model, uint32_t host);

static inline void srd_device_heard(struct srd_model_device *device, uint32_t host)
{
	device->answered[host / 64] |= 1ull << host % 64;
}

/* device.c: the host that has this address. */
bool srd_gid_host(const union srd_gid *gid, uint32_t *host);

/* cq.c: take out the entries of queue pair QPN, as drivers of RC do for one that is gone. */
void srd_cq_clean(struct srd_model *model, uint32_t cq, uint16_t qpn);
/* Write one entry. False: the queue was full, and this one is lost. */
bool srd_cq_write(struct srd_model *model, uint32_t cq, uint32_t ring, const struct srd_cqe *entry,
		  const struct srd_model_qp *qp);

/* qp.c */
enum srd_flush { SRD_FLUSH_REPORT, SRD_FLUSH_SILENT };
/* End all that QP still has to do. */
void srd_qp_flush(struct srd_model *model, uint32_t qp, enum srd_flush how);
/* Take it off its device for ever; only the door's handle is left. */
void srd_qp_forget(struct srd_model *model, uint32_t qp);
void srd_qp_move(struct srd_model *model, uint32_t qp, enum srd_qp_state to);
/* To ERR, as the device's own doing. */
void srd_qp_fail(struct srd_model *model, uint32_t qp);

static inline bool srd_mr_covers(const struct srd_model_mr *mr, uint64_t addr, uint64_t length)
{
	return mr && addr - mr->addr <= mr->length && length <= mr->length - (addr - mr->addr);
}

/* Its phase ends when its event comes due. */
static inline bool srd_request_has_event(const struct srd_request *r)
{
	return r->phase == SRD_PHASE_SENT || r->phase == SRD_PHASE_ANSWERED ||
	       r->phase == SRD_PHASE_RNR_TIMER || r->phase == SRD_PHASE_TIMEOUT;
}

/* request.c */
/* Go on with PHASE at TIME. */
void srd_request_schedule(struct srd_model *model, struct srd_request *request,
			  enum srd_phase phase, uint64_t time);
/* Its event came due. */
void srd_request_due(struct srd_model *model, struct srd_request *request);
/* The completion entry is written and the request freed; or it is kept, its entry lost. */
void srd_request_complete(struct srd_model *model, struct srd_request *request);
/*
 * End it now with STATUS, whatever it was doing; SILENT: without an entry. True: it had time of
 * a link before it, which srd_fabric_free_links gives back.
 */
bool srd_request_abort(struct srd_model *model, struct srd_request *request, uint8_t status,
		       enum srd_flush how);
/* Wait at QP for a receive; wait no more; try all again that wait there. */
void srd_request_park(struct srd_model *model, struct srd_request *request, uint32_t qp);
void srd_request_unpark(struct srd_model *model, struct srd_request *request);
void srd_qp_wake(struct srd_model *model, uint32_t qp);

/* Complete it, unless a fault keeps it: false. */
bool srd_request_conclude(struct srd_model *model, struct srd_request *request);
/* The initiator has the answer: it completes, unless a fault keeps it. */
void srd_request_answered(struct srd_model *model, struct srd_request *request);
/* No answer will come, for this reason: it completes when the time for one is over. */
void srd_request_give_up(struct srd_model *model, struct srd_request *request,
			 enum srd_request_why why) __attribute__((cold));
/* Its status then: the host answered before and then stopped, or it never did. */
uint8_t srd_request_unanswered(const struct srd_model *model, const struct srd_request *request);
/* It never completes. */
static inline void srd_request_lose(struct srd_request *request, enum srd_request_why why)
{
	request->phase = SRD_PHASE_LOST;
	request->why = why;
}

/*
 * fabric.c: when what arrives, message by message; hands on to packet.c at the packet level.
 * Send a request; send the answer to it, whose status is set.
 */
void srd_fabric_send(struct srd_model *model, struct srd_request *request);
void srd_fabric_answer(struct srd_model *model, struct srd_request *request);
void srd_fabric_tune(struct srd_model *model);
/*
 * Message by message a request has its time on the link when it is sent, and its answer too:
 * whether REQUEST has some of it before it; and, after such requests were ended, give back
 * what they had.
 */
bool srd_fabric_holds_link(const struct srd_model *model, const struct srd_request *request);
void srd_fabric_free_links(struct srd_model *model);
/* ns that a link takes to send BYTES. */
uint64_t srd_fabric_time(const struct srd_model *model, uint64_t bytes);

/* packet.c. While a request has a transfer its phase is SRD_PHASE_PACKETS. */
void srd_packet_send(struct srd_model *model, struct srd_request *request);
/* The responder knows the status; the acknowledgement of this packet carries it. */
void srd_packet_answer(struct srd_model *model, struct srd_request *request);
/* The responder begins to send what REQUEST reads. */
void srd_packet_send_answer(struct srd_model *model, struct srd_request *request);
/* No packet of it matters any more. */
void srd_packet_cancel(struct srd_model *model, struct srd_request *request);
void srd_packet_host_down(struct srd_model *model, uint32_t host);
/* An event of PACKET: does it still matter? If it does it is due, else to be dropped. */
bool srd_packet_is_stale(const struct srd_model *model, uint32_t packet);
void srd_packet_drop(struct srd_model *model, uint32_t packet);
void srd_packet_due(struct srd_model *model, uint32_t packet);

/* choose.c: let the chooser put another event first; false: it wants none to happen. */
bool srd_choose(struct srd_model *model);

/*
 * respond.c: what the responder makes of a request whose last or only part (part_length
 * bytes from part_offset) has arrived now.
 */
void srd_respond(struct srd_model *model, struct srd_request *request);
/* Place an earlier part of a write; false: it must not be, srd_respond will say why. */
bool srd_respond_part(struct srd_model *model, struct srd_request *request);
/* Place a part of what was read; sets the status where that fails. */
void srd_read_part(struct srd_model *model, struct srd_request *request);

static inline enum srd_op_type srd_op_type(uint8_t opcode)
{
	static const uint8_t types[] = {
		[SRD_WR_RDMA_WRITE] = SRD_OP_TYPE_RDMA_WRITE,
		[SRD_WR_RDMA_WRITE_WITH_IMM] = SRD_OP_TYPE_RDMA_WRITE,
		[SRD_WR_SEND] = SRD_OP_TYPE_SEND,
		[SRD_WR_SEND_WITH_IMM] = SRD_OP_TYPE_SEND,
		[SRD_WR_RDMA_READ] = SRD_OP_TYPE_RDMA_READ,
	};

	return types[opcode];
}

static inline bool srd_request_is_rdma(const struct srd_request *r)
{
	return r->opcode != SRD_WR_SEND && r->opcode != SRD_WR_SEND_WITH_IMM;
}

/*
 * rc.c: reliable-connected queue pairs, which do all in the order of the posts. What is
 * asked of them is asked for those queue pairs alone.
 */
void srd_rc_modify(struct srd_model *model, struct srd_model_qp *qp, const struct srd_qp_attr *attr,
		   uint32_t mask);
void srd_rc_query(const struct srd_model_qp *qp, struct srd_qp_attr *attr);
/* Whether DEST takes what QP sends it for its own. */
bool srd_rc_connected(const struct srd_model_qp *qp, const struct srd_model_qp *dest);
/* Whether a request before it has not been seen to at the peer. */
bool srd_rc_is_early(const struct srd_model *model, const struct srd_request *request);
/* Nobody will see to it: the one behind it goes on. */
void srd_rc_pass(struct srd_model *model, const struct srd_request *request);
/* The peer has seen to it, with its status: likewise, and what that does to the peer. */
void srd_rc_answered(struct srd_model *model, const struct srd_request *request);
/* Its answer is here: complete it and all behind it that waited for that, or let it wait. */
void srd_rc_conclude(struct srd_model *model, struct srd_request *request);
/* Nobody took it: once more after a time-out, or it fails. */
void srd_rc_retry(struct srd_model *model, struct srd_request *request);
/* Let it fail with STATUS, if the peer has not seen to it. */
void srd_rc_withdraw(struct srd_model *model, struct srd_request *request, uint8_t status);
/* ns that DEST asks for between two tries while it is not ready. */
uint64_t srd_rc_rnr_timer(const struct srd_model_qp *dest);

/* fault.c */
/* Let it fail with STATUS. */
void srd_request_fail(struct srd_model *model, struct srd_request *request, uint8_t status);
/* Give the faults planned for REQUEST to it. */
void srd_fault_adopt(struct srd_model *model, struct srd_request *request);
void srd_fault_forget(struct srd_model *model, uint32_t qp);
void srd_fault_event(struct srd_model *model, const struct srd_request *request, uint32_t kind)
	__attribute__((cold));

static inline uint32_t srd_request_index(const struct srd_model *m, const struct srd_request *r)
{
	return (uint32_t)(r - m->request);
}

static inline uint32_t srd_qp_index(const struct srd_model *m, const struct srd_model_qp *qp)
{
	return (uint32_t)(qp - m->qp);
}

#endif
