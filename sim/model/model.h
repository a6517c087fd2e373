/* SPDX-License-Identifier: MIT */
/*
 * The model of EFA devices and of the fabric between them: everything that lies behind the
 * kernel's calls and the doorbells. Two doors use it: the verbs door (sim/door), which plays
 * libefa and libibverbs, and a device under somebody else's libefa.
 *
 * All of its state lies in one arena that could be shared between processes: objects are
 * named by integer handles, and nothing in it is a pointer, a callback or a host address.
 * struct srd_model is one process's view of an arena.
 *
 * Results are the kernel's: 0 or a positive errno. A handle of 0 names nothing. Handles that
 * a door passes in must be live ones of the right kind; the model checks what a program
 * could get wrong through the kernel, not what a door could.
 */
#ifndef SRD_MODEL_H
#define SRD_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <srdlab/chooser.h>
#include <srdlab/event.h>
#include <srdlab/lab.h>
#include <srdlab/profile.h>
#include <srdlab/verbs.h>

#define SRD_MODEL_MAX_HOSTS 256
#define SRD_MODEL_MAX_RINGS 16 /* of a completion queue */

struct srd_model_state;

enum srd_memory_side {
	SRD_MEMORY_OK,
	SRD_MEMORY_NO_SOURCE,
	SRD_MEMORY_NO_TARGET,
	SRD_MEMORY_NO_ROOM, /* out of memory for what it notes */
};

/*
 * How the device reaches memory. Addresses are those of work requests; an owner is whose
 * they are, the number that its protection domain was allocated with.
 */
struct srd_model_memory {
	void *context;
	bool (*present)(void *context, uint32_t owner, uint64_t addr, uint64_t length);
	/* The side that is not there, if one is; then nothing was copied. */
	enum srd_memory_side (*copy)(void *context, uint32_t to_owner, uint64_t to,
				     uint32_t from_owner, uint64_t from, uint64_t length);
	enum srd_memory_side (*store)(void *context, uint32_t owner, uint64_t addr,
				      const void *bytes, size_t length);
};

struct srd_cqe;

/* For a door whose program reads completion entries from rings of the door's own. */
struct srd_model_sink {
	void *context;
	/* How many entries of RING of the queue TAG the program has read, as far as it told; free-running. */
	uint32_t (*consumed)(void *context, uint32_t tag, uint32_t ring);
	/* Entry number COUNTER of the ring, free-running, is written. */
	void (*write)(void *context, uint32_t tag, uint32_t ring, uint32_t counter,
		      const struct srd_cqe *entry);
};

/* One process's view. */
struct srd_model {
	struct srd_model_state *state;
	struct srd_model_device *device; /* by host */
	struct srd_model_pd *pd;
	struct srd_model_mr *mr;
	struct srd_model_ah *ah;
	struct srd_model_cq *cq;
	struct srd_model_qp *qp;
	struct srd_request *request;
	struct srd_planned_fault *fault;
	uint8_t *inline_data;
	struct srd_transfer *transfer;
	struct srd_packet *packet;
	struct srd_link *link; /* by host */
	struct srd_qpn_slot *qpn;
	uint8_t *blocks;
	struct srd_heap *heap;
	size_t size;                 /* of the arena */
	struct srd_stream *stream;   /* device events; NULL: none are wanted */
	struct srd_chooser *chooser; /* of the order of messages; NULL: time alone decides */
	struct srd_model_memory memory;
	struct srd_model_sink sink; /* write NULL: srd_model_cq_take reads the entries */
};

/* What a request does next when its event comes due; see request.c. */
enum srd_phase {
	SRD_PHASE_FREE,
	SRD_PHASE_BUILT,     /* in a session of a door */
	SRD_PHASE_SENT,      /* due: it reaches the responder */
	SRD_PHASE_PACKETS,   /* no event: its packets have some */
	SRD_PHASE_ANSWERED,  /* due: the answer is back and it completes */
	SRD_PHASE_RNR_TIMER, /* due: another try at a receiver that was not ready */
	SRD_PHASE_TIMEOUT,   /* due: the peer is given up */
	SRD_PHASE_RNR,       /* no event: waits at the peer for a receive */
	SRD_PHASE_THERE,     /* no event: at the peer, behind one that came before it (RC) */
	SRD_PHASE_TURN,      /* no event: answered, completes after those before it (RC) */
	SRD_PHASE_HELD,      /* no event: a fault keeps its completion back */
	SRD_PHASE_LOST,      /* no event: never completes */
	SRD_PHASE_DEAD,      /* was flushed; its event only frees it */
};

#define SRD_MODEL_SEND_SGE 2 /* entries of a send that a 64-byte descriptor holds */

/*
 * One request of a send queue: what a descriptor of the ring says, and where it stands.
 * A door gets one from srd_model_request_new, sets the fields down to `inline_length`
 * and submits it. Lengths are bytes.
 */
struct srd_request {
	uint64_t id; /* the door's: comes back in the completion entry */
	uint64_t remote_addr;
	struct srd_sge sge[SRD_MODEL_SEND_SGE];
	uint32_t rkey;
	uint32_t imm_data; /* host order */
	uint32_t qkey;
	uint16_t dest_qpn;
	uint16_t ah;    /* device number; 0: none */
	uint8_t opcode; /* enum srd_wr_opcode */
	uint8_t num_sge;
	uint8_t is_inline;
	uint8_t inline_length;
	uint8_t silent; /* no entry where it succeeds (RC) */
	/* the model's */
	uint8_t phase;   /* enum srd_phase */
	uint8_t status;  /* EFA status, once it is known */
	uint8_t faults;  /* SRD_FAULTED_... */
	uint8_t tries;   /* at a receiver that was not ready */
	uint8_t unready; /* asked for by a fault: so often the receiver will not be */
	uint32_t length;
	uint32_t part_offset; /* what arrives now: all of it, or one packet's */
	uint32_t part_length;
	uint32_t transfer; /* its packets; 0: none are under way */
	uint32_t qp;
	uint32_t next; /* of the queue pair's requests in posting order, or of the free list */
	uint32_t prev;
	union {
		uint32_t parked_at; /* SRD_PHASE_RNR: the queue pair that it waits at */
		uint32_t why;       /* SRD_PHASE_LOST, SRD_PHASE_TIMEOUT: enum srd_request_why */
	};
	uint32_t dest_host;
	uint32_t dest_pd; /* of what is read */
	uint64_t ordinal; /* counts the requests of its queue pair from 0 */
	uint64_t posted;  /* ns */
	uint64_t delay;   /* ns: asked for by a fault */
	union {
		uint64_t start; /* ns: the first bit leaves */
		struct {
			uint32_t parked_next;
			uint32_t parked_prev;
		};
	};
};

#define SRD_CQE_RECEIVE     0x1
#define SRD_CQE_HAS_IMM     0x2
#define SRD_CQE_UNSOLICITED 0x4

enum srd_op_type { SRD_OP_TYPE_SEND, SRD_OP_TYPE_RDMA_READ, SRD_OP_TYPE_RDMA_WRITE };

/* One completion entry. */
struct srd_cqe {
	uint64_t id;
	uint32_t ordinal;  /* of a send: the low half */
	uint32_t length;   /* of a receive, bytes */
	uint32_t imm_data; /* host order */
	uint16_t qpn;
	uint16_t src_qpn;
	uint16_t ah; /* of a receive: number of the sender's address handle, or 0xffff */
	uint8_t status;
	uint8_t op; /* enum srd_op_type */
	uint8_t flags;
	uint8_t src_host; /* of a receive */
	uint32_t silent;  /* requests before it that completed without an entry (RC) */
};

/* One receive for srd_model_post_recv. */
struct srd_receive {
	uint64_t id;
	const struct srd_sge *sge;
	uint32_t num_sge;
};

/*
 * Open and close. PROFILE is copied. ENOMEM. memory and stream are set by the caller
 * afterwards.
 */
int srd_model_open(struct srd_model *model, const struct srd_profile *profile, uint64_t seed);
void srd_model_close(struct srd_model *model);

/*
 * The same in memory of the door's, which several processes may share: bytes that it takes;
 * a model in ARENA, which must be zero; a view of one that is there already.
 */
uint64_t srd_model_arena_size(const struct srd_profile *profile);
void srd_model_init(struct srd_model *model, void *arena, const struct srd_profile *profile,
		    uint64_t seed);
void srd_model_attach(struct srd_model *model, void *arena);
/*
 * A fresh model in the arena of MODEL, as srd_model_init makes it, with the callbacks of before;
 * other views of the arena stay good. ENOSPC: PROFILE has more objects than there is room for.
 */
int srd_model_reset(struct srd_model *model, const struct srd_profile *profile, uint64_t seed);

const struct srd_profile *srd_model_profile(const struct srd_model *model);

/* The clock, ns since the model was opened. */
uint64_t srd_model_now(const struct srd_model *model);
/* Advance it: only to where no event is passed over. */
void srd_model_set_now(struct srd_model *model, uint64_t now);
/* Time of the next event that changes anything; UINT64_MAX: there is none. */
uint64_t srd_model_next(struct srd_model *model);
/* Whether there may be such an event: one look, for which no lock is needed. */
bool srd_model_busy(const struct srd_model *model);
/* Whether that event is a timer that runs for want of anything from the other side. */
bool srd_model_next_is_timer(const struct srd_model *model);
/* Process that event: srd_model_next has just said that there is one. */
void srd_model_step(struct srd_model *model);
/*
 * Process events until a completion entry is written; one that was written before counts
 * too, unless it is among the first *SEEN ones or all were taken. *seen becomes the number
 * of all that there were. ETIMEDOUT: none was by DEADLINE, which is now. EDEADLK: DEADLINE
 * is UINT64_MAX and nothing is left that could happen.
 */
int srd_model_wait(struct srd_model *model, uint64_t *seen, uint64_t deadline);
/* Completion entries written so far, in all completion queues. */
uint64_t srd_model_arrivals(const struct srd_model *model);

/* The device of HOST, switched on if it was not; EINVAL: too many hosts. */
int srd_model_device_open(struct srd_model *model, uint32_t host);
void srd_model_gid(uint32_t host, union srd_gid *gid);

/*
 * Objects. TAG is the door's number for the object, under which the stream knows it. The
 * destroys answer EBUSY where the kernel does.
 */
int srd_model_pd_alloc(struct srd_model *model, uint32_t host, uint32_t owner, uint32_t *pd);
int srd_model_pd_dealloc(struct srd_model *model, uint32_t pd);
/* From now on what is made of it, and what QP names, is memory of OWNER: fork. */
void srd_model_pd_own(struct srd_model *model, uint32_t pd, uint32_t owner);
void srd_model_qp_own(struct srd_model *model, uint32_t qp, uint32_t owner);

struct srd_mr_init {
	uint32_t pd;
	uint32_t access; /* enum srd_access_flags */
	uint32_t tag;
	uint64_t addr;
	uint64_t length;
	uint64_t shift; /* from ADDR to where the memory lies with its owner */
};
/* One key serves as lkey and rkey. */
int srd_model_mr_reg(struct srd_model *model, const struct srd_mr_init *init, uint32_t *mr,
		     uint32_t *key);
int srd_model_mr_dereg(struct srd_model *model, uint32_t mr);
uint32_t srd_model_mr_key(const struct srd_model *model, uint32_t mr);
/* Whose memory the region of KEY is; 0: there is none. */
uint32_t srd_model_key_owner(const struct srd_model *model, uint32_t key);
/* Whether it and LENGTH bytes at ADDR of its owner's have any in common. */
bool srd_model_mr_meets(const struct srd_model *model, uint32_t mr, uint64_t addr, uint64_t length);

/* NUMBER is the device's name of the address handle, shared as the profile says. */
int srd_model_ah_create(struct srd_model *model, uint32_t pd, const struct srd_ah_attr *attr,
			uint16_t *number);
int srd_model_ah_destroy(struct srd_model *model, uint16_t number);

/* ENTRIES is a power of two. */
int srd_model_cq_create(struct srd_model *model, uint32_t host, uint32_t entries, uint32_t tag,
			uint32_t *cq);
int srd_model_cq_destroy(struct srd_model *model, uint32_t cq);
/* The oldest entry, valid until the next call, and taken; NULL: the queue is empty. */
const struct srd_cqe *srd_model_cq_take(struct srd_model *model, uint32_t cq);
/* Entry COUNTER of RING of CQ, free-running, which the program has not said that it read. */
const struct srd_cqe *srd_model_cq_entry(const struct srd_model *model, uint32_t cq, uint32_t ring,
					 uint32_t counter);
/*
 * Ask for an event. SEQUENCE is libefa's, 0 to 3: it changes with each event that the program
 * takes, and a request with the last one's is not seen (guess).
 */
void srd_model_cq_arm(struct srd_model *model, uint32_t cq, uint8_t sequence);
/* The number of the event that is there, growing with time; 0: there is none. Take it. */
uint64_t srd_model_cq_event(const struct srd_model *model, uint32_t cq);
void srd_model_cq_event_take(struct srd_model *model, uint32_t cq);
/* The I-th entry in the ring of the send queue of QP that is not taken; NULL: there is none. */
const struct srd_cqe *srd_model_qp_peek(const struct srd_model *model, uint32_t qp, uint32_t i);

struct srd_qp_init {
	uint32_t pd;
	uint32_t send_cq;
	uint32_t recv_cq;
	uint32_t tag;
	struct srd_qp_cap cap;   /* depths as the library rounded them */
	uint32_t rq_descriptors; /* power of two */
	uint32_t flags;          /* enum srd_efa_qp_flags */
	bool ud;                 /* unreliable datagrams, not SRD */
	bool rc;                 /* reliable-connected; ud is false */
};
int srd_model_qp_create(struct srd_model *model, const struct srd_qp_init *init, uint32_t *qp,
			uint16_t *qpn);
int srd_model_qp_destroy(struct srd_model *model, uint32_t qp);
int srd_model_qp_modify(struct srd_model *model, uint32_t qp, const struct srd_qp_attr *attr,
			uint32_t mask);
int srd_model_qp_query(struct srd_model *model, uint32_t qp, struct srd_qp_attr *attr,
		       uint32_t mask);
/* For tests: put a queue pair into STATE as if it had always been there. */
void srd_model_qp_force_state(struct srd_model *model, uint32_t qp, enum srd_qp_state state);

/*
 * Work. A request is taken from the pool, filled in, and then submitted or dropped. NULL:
 * the pool is empty.
 */
struct srd_request *srd_model_request_new(struct srd_model *model);
void srd_model_request_drop(struct srd_model *model, struct srd_request *request);
void srd_model_request_submit(struct srd_model *model, uint32_t qp, struct srd_request *request);
/* Requests that are not submitted yet may be chained; the one after R, which must have one. */
void srd_model_request_chain(struct srd_model *model, struct srd_request *request,
			     const struct srd_request *next);
struct srd_request *srd_model_request_chained(struct srd_model *model,
					      const struct srd_request *request);
/* Room for the bytes of an inline request. */
uint8_t *srd_model_request_inline(struct srd_model *model, struct srd_request *request);
void srd_model_post_recv(struct srd_model *model, uint32_t qp, const struct srd_receive *receive);

/*
 * The requests of QP that are with the device, in posting order: the one after *PREVIOUS,
 * or the first where it is NULL.
 */
struct srd_request *srd_model_request_next(struct srd_model *model, uint32_t qp,
					   const struct srd_request *previous);

/* Requests that QP was given, ever: the ordinal of the next one. */
uint64_t srd_model_qp_posted(const struct srd_model *model, uint32_t qp);
/* Receives of QP that wait for a message. */
uint32_t srd_model_qp_receives(const struct srd_model *model, uint32_t qp);

/*
 * The laboratory: srdlab/lab.h with handles. REQUEST may be NULL where the command is
 * by ordinal.
 */
int srd_model_request_fault(struct srd_model *model, uint32_t qp, struct srd_request *request,
			    const struct srd_lab *command);
/* What SRD_LAB_LOCATE tells of REQUEST, submitted or not. */
void srd_model_request_locate(const struct srd_model *model, const struct srd_request *request,
			      struct srd_lab *out);
int srd_model_qp_fault(struct srd_model *model, uint32_t qp, enum srd_lab_kind kind);
/* Of the messages that arrive at QP the one after BEFORE others fails. */
int srd_model_recv_fault(struct srd_model *model, uint32_t qp, uint64_t before, uint32_t status);
int srd_model_host_fault(struct srd_model *model, uint32_t host, enum srd_lab_kind kind);
int srd_model_set(struct srd_model *model, const char *name, uint64_t value);
/* The names of the counters; NULL beyond the last. */
const char *srd_model_counter_name(uint32_t i);
int srd_model_counter(const struct srd_model *model, uint32_t host, const char *name,
		      uint64_t *value);
/*
 * Make a model whole again that a process left in the middle of a step; only audit knows
 * whether it was. ENOMEM; EUCLEAN: it cannot be.
 */
int srd_model_repair(struct srd_model *model);
/* 0, or EUCLEAN and a sentence. */
int srd_model_audit(const struct srd_model *model, char *text, size_t size);

#endif
