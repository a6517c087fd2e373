/* SPDX-License-Identifier: MIT */
/*
 * The book: what the stream has said so far, as objects that rules can look at. It
 * follows every event once, whichever rules are on, and judges nothing. Where it does not
 * know something (a trace that begins in the middle, a peer in another process) a pointer
 * is NULL, and rules do not judge what hangs on it.
 *
 * For each event: srd_book_resolve looks up what the event is about, the rules then see
 * the book as it was before the event, and its srd_apply_fn takes the event in.
 */
#ifndef SRD_BOOK_H
#define SRD_BOOK_H

#include <stdbool.h>

#include <srdlab/event.h>

#include "history.h"
#include "map.h"
#include "requests.h"

enum srd_kind {
	SRD_KIND_NONE,
	SRD_KIND_CONTEXT,
	SRD_KIND_PD,
	SRD_KIND_MR,
	SRD_KIND_CQ,
	SRD_KIND_AH,
	SRD_KIND_QP,
	SRD_KIND_BUFFER,
	SRD_NUM_KINDS,
};

/* What all objects have; the first member of each. */
struct srd_thing {
	enum srd_kind kind;
	uint32_t handle;
	bool alive;
	uint8_t host;
	uint32_t line;              /* that made it */
	uint32_t end_line;          /* that destroyed it */
	uint32_t children;          /* live objects that stand on it */
	struct srd_thing *below[3]; /* what it stands on */
	struct srd_thing *next;     /* all things, newest first */
};

/* A device: contexts with the same GID are the same device. */
struct srd_book_device {
	uint32_t id; /* from 1 */
	uint64_t gid_hi, gid_lo;
	struct srd_book_device *next;
};

struct srd_book_context {
	struct srd_thing thing;
	struct srd_book_device *device;
	uint32_t max_rdma_size;
	uint32_t max_msg_sz;
};

struct srd_book_pd {
	struct srd_thing thing;
	struct srd_book_context *context;
};

struct srd_book_mr {
	struct srd_thing thing;
	struct srd_book_pd *pd;
	struct srd_book_device *device;
	uint64_t addr, length;
	uint32_t lkey, rkey, access;
	uint32_t in_flight;             /* requests that name it, at either end */
	uint32_t post_line;             /* of the last one */
	const struct srd_book_qp *user; /* that posted it */
};

struct srd_book_cq {
	struct srd_thing thing;
	struct srd_book_device *device;
	uint32_t granted;
	uint32_t unpolled; /* requests and receives of live queue pairs that owe it an entry */
	uint32_t orphans;  /* those of destroyed ones, until it is seen empty */
	struct srd_book_qp *poster; /* the last of them that posted an op */
	struct srd_book_qp *last;   /* of the last completion */
};

struct srd_book_ah {
	struct srd_thing thing;
	struct srd_book_pd *pd;
	struct srd_book_device *target; /* NULL: nobody opened a device with this GID */
	struct srd_ev_ah_create made;
	uint32_t in_flight;
	const struct srd_book_qp *user;   /* that posted the last one */
	const struct srd_book_qp *poster; /* whose op's requests went through it last */
};

/* A peer that add_peer was given. */
struct srd_book_peer {
	struct srd_ev_peer_add added;
	struct srd_book_peer *next; /* of the same queue pair */
};

/* What became of the last requests, so that a second completion can be told from an unknown one. */
#define SRD_NUM_FATES 64
struct srd_fate {
	uint64_t wr_id;
	uint64_t time;
	enum { SRD_FATE_NONE, SRD_FATE_COMPLETED, SRD_FATE_REFUSED } what;
};

/* A request as the device has to see it, by its place on the queue pair. */
struct srd_place {
	uint64_t ordinal;
	uint64_t length;
	uint8_t opcode;
	enum { SRD_BOOK_FREE, SRD_BOOK_POSTED, SRD_BOOK_TAKEN } state;
};

/*
 * What the last accepted request named. It holds until something is made, destroyed or
 * changed: nearly every request names what the one before it did.
 */
struct srd_book_route {
	uint32_t generation; /* the book's, when it was looked up; 0: never */
	uint32_t lkey, rkey, ah_handle, remote_qpn;
	struct srd_book_mr *mr;         /* the lkey's; NULL: none */
	struct srd_book_mr *remote_mr;  /* the rkey's at the target; NULL: none, or no target */
	struct srd_book_ah *ah;         /* NULL: none */
	struct srd_book_device *target; /* NULL: unknown */
	struct srd_book_qp *target_qp;  /* NULL: unknown, or none has this number */
	bool known_there;               /* the target has an address handle of this device */
	/* for the address family: the last request was found right, with this key */
	bool fine, fine_for_op;
	uint32_t fine_qkey, fine_peer;
};

struct srd_book_qp {
	struct srd_thing thing;
	struct srd_book_device *device;
	struct srd_book_pd *pd;
	struct srd_book_cq *send_cq, *recv_cq;
	uint32_t max_rdma_size; /* of its device; 0: unknown */
	struct srd_ev_qp_create made;
	enum srd_qp_state state; /* as the library caches it */
	uint32_t qkey;
	bool has_qkey;
	bool moved; /* by the device, since the last modify or query */
	/* of a reliable-connected one: where its attributes say that it sends to */
	bool has_peer;
	uint64_t peer_gid_hi, peer_gid_lo;
	uint32_t peer_qpn;
	struct {
		uint32_t mask, to;
	} steps[3]; /* the last three successful modifies, newest first */
	uint32_t num_steps;
	struct {
		uint32_t mask, to, line;
	} refused; /* the last modify, where it was refused; else zeros */

	/* the session */
	bool in_session;
	uint32_t session_line;
	uint32_t unrung; /* requests that no doorbell told the device of */
	uint32_t unrung_line;
	uint32_t num_staged; /* requests of it; the last events of posts are theirs */
	uint32_t num_steady; /* those of them that steady.c found right */

	/* requests */
	struct srd_requests requests;
	uint32_t in_flight;     /* posted, not polled, not dropped */
	uint32_t in_flight_ops; /* those of them that belong to ops */
	uint32_t receives;
	uint64_t num_posted; /* accepted requests ever: the next one's ordinal */
	uint64_t done;       /* one more than the highest ordinal that completed */
	uint32_t num_silent; /* in flight, and complete without an entry unless they fail */
	struct srd_fate *fates;
	bool has_dropped; /* a reset dropped some */
	struct srd_place *places;
	uint32_t place_mask;

	/* ids used by ops, refused posts included */
	bool has_id;
	uint64_t last_id; /* the last used */
	uint64_t top_id;  /* the highest used */

	/* what the engine said */
	bool open;    /* between qp_open and qp_close */
	bool claimed; /* qp_open came: it has promised the contract */
	struct srd_ev_qp_open opened;
	bool connected;   /* it has a peer: of connect or of add_peer */
	bool has_connect; /* connect succeeded; connect is its event */
	struct srd_ev_connect connect;
	struct srd_book_peer *peers; /* newest first */
	struct srd_book_ah *peer_ah; /* of the first op's first request */
	uint32_t last_ah;            /* of the last op's last request */
	bool scheduled;              /* between scheduler_open and scheduler_close */
	uint32_t max_send_wr;        /* the scheduler's */
	struct srd_book_op *waiting; /* ops of the scheduler not yet posted, oldest first */
	struct srd_book_op *waiting_tail;
	uint32_t too_large;     /* the scheduler's ops that never fit and are not answered */
	uint32_t unanswered;    /* the scheduler's ops that are reaped and not answered */
	uint32_t unanswered_op; /* the last of them */
	bool full;              /* a post was refused for room, and nothing has completed since */

	struct srd_book_rails *rails; /* it is one of; NULL: of none */
	struct srd_book_qp *next_rail;

	struct srd_book_route route; /* of the last accepted request */
	/* for steady.c: the last accepted request, where those like it are right */
	struct srd_ev_wr_post model;
	uint32_t model_generation;      /* the book's, when it was judged; 0: there is none */
	bool model_writes, model_reads; /* which opcodes those like it may have */
	struct srd_history posts;       /* wr_post */
	struct srd_history history;     /* all else */
};

struct srd_book_buffer {
	struct srd_thing thing;
	struct srd_book_device *device;
	uint64_t addr, length;
	uint32_t memory; /* enum srd_buffer_kind */
};

/* A failed request of an op. */
struct srd_cause {
	uint64_t wr_id;
	uint32_t status;
	uint32_t vendor_err;
};

struct srd_book_op {
	uint32_t number;
	uint32_t line;
	struct srd_book_qp *qp;
	uint64_t due;         /* requests that it needs; 0: unknown */
	uint64_t last_length; /* of its last request */
	/* what is cleared for a new op */
	uint64_t asked;     /* num_wr_asked */
	uint64_t num_posts; /* requests built for it, refused ones included */
	uint64_t num_wr;    /* accepted */
	uint64_t in_flight;
	uint64_t num_failed;
	uint64_t bytes; /* of its plan so far */
	uint64_t first_id, last_id;
	struct srd_book_op *prev, *next;
	uint32_t sessions; /* opened for it */
	bool broken;       /* its geometry was found wrong: the rest follows from that */
	bool posting;      /* between op_post_begin and op_post_end */
	bool ended;        /* op_end came */
	bool reaped;       /* posted, and nothing in flight any more */
	bool too_large;    /* it can never fit into the credits */
	bool waits;        /* in its queue pair's list of waiting ops */
	bool has_own, has_flush;
	struct srd_book_transfer *transfer; /* that it carries a stripe of; NULL: of none */
	/* what is not */
	struct srd_cause own;   /* the first failure for a cause of its own, where has_own */
	struct srd_cause flush; /* the first flush, where has_flush */
	struct srd_ev_op_begin begun;
};

/* Queue pairs that share a budget. */
struct srd_book_rails {
	struct srd_ev_rails_open opened;
	struct srd_book_qp *qps;
	struct srd_book_rails *next;
};

struct srd_book_stripe {
	uint64_t offset, length;
	uint32_t op; /* that carries it, or has brought it there */
};

/* A put or get over rails, until it is answered and so are the ops that carry it. */
struct srd_book_transfer {
	uint32_t number;
	uint32_t line;
	struct srd_ev_transfer_begin begun;
	struct srd_book_stripe *stripes; /* under way or there, by their offsets */
	uint32_t num_stripes, capacity;
	uint32_t num_sent; /* ever */
	uint32_t num_failed;
	uint32_t pending; /* stripes without an answer */
	bool ended;       /* transfer_end came */
	struct srd_book_transfer *next;
};

#define SRD_NUM_RECENT 1024 /* ops by number that are found without a search */
#define SRD_NUM_ENDED  1024

struct srd_book {
	bool nomem;              /* it could not follow: nothing is judged from here on */
	uint64_t seen;           /* bit by event type */
	uint32_t device_buffers; /* made so far */
	uint8_t kinds;           /* of queue pairs that there were: SRD_KINDS_... */
	enum srd_kind kind_of[SRD_NUM_EVENT_TYPES];

	/* of the event that is being judged */
	struct srd_thing *thing;
	struct srd_book_qp *qp;
	struct srd_book_cq *cq;
	struct srd_book_op *op;
	struct srd_request *request; /* of wc */

	uint32_t generation; /* counts what is made, destroyed and changed */
	uint64_t num_recorded;
	struct srd_map things;                      /* (kind, handle) */
	struct srd_book_op *recent[SRD_NUM_RECENT]; /* ops, by number */
	struct srd_map ops;   /* those whose place there was taken, by number */
	struct srd_map qpns;  /* (device, number): live queue pairs */
	struct srd_map lkeys; /* (device, key): live regions */
	struct srd_map rkeys;
	struct srd_map peers;  /* (queue pair, number): those of add_peer */
	struct srd_map routes; /* (device, target device): a count of address handles */
	struct srd_thing *last[SRD_NUM_KINDS];
	struct srd_thing *all;
	uint32_t live[SRD_NUM_KINDS];
	struct srd_book_device *devices;
	uint32_t num_devices;
	struct srd_book_rails *rails;
	struct srd_map transfers; /* by number */
	struct srd_book_transfer *all_transfers;
	struct srd_book_op *free_ops;
	struct srd_book_op **op_blocks;
	uint32_t num_op_blocks;
	uint32_t ended[SRD_NUM_ENDED]; /* the last ops that were answered, by number */
	struct srd_history others;     /* events that are about no queue pair */
};

void srd_book_init(struct srd_book *book);
void srd_book_release(struct srd_book *book);

/* NULL: there never was one. */
struct srd_thing *srd_book_search(struct srd_book *book, enum srd_kind kind, uint32_t handle)
	__attribute__((noinline));

static inline struct srd_thing *srd_book_find(struct srd_book *book, enum srd_kind kind,
					      uint32_t handle)
{
	struct srd_thing *thing = book->last[kind];

	return thing && thing->handle == handle ? thing : srd_book_search(book, kind, handle);
}

/* An op whose place among the recent ones another has. */
struct srd_book_op *srd_book_old_op(const struct srd_book *book, uint32_t number) SRD_RARE;

/* NULL: none of this number is live. */
static inline struct srd_book_op *srd_book_op(const struct srd_book *book, uint32_t number)
{
	struct srd_book_op *op = book->recent[number % SRD_NUM_RECENT];

	if (op && op->number == number)
		return op;
	return book->ops.count ? srd_book_old_op(book, number) : NULL;
}

/* The request that a completion is for, its queue pair and its op. */
void srd_book_resolve_wc(struct srd_book *book, const struct srd_ev_wc *ev);

/* EVENT is about THING, of this kind: set qp, cq, op, and for a completion request. */
static inline void srd_book_focus(struct srd_book *book, const struct srd_event *event,
				  enum srd_kind kind, struct srd_thing *thing)
{
	book->thing = thing;
	book->qp = kind == SRD_KIND_QP ? (struct srd_book_qp *)thing : NULL;
	book->cq = kind == SRD_KIND_CQ ? (struct srd_book_cq *)thing : NULL;
	book->op = event->op ? srd_book_op(book, event->op) : NULL;
	if (event->type == SRD_EV_WC)
		srd_book_resolve_wc(book, (const struct srd_ev_wc *)event);
}

/* Look up what EVENT is about: thing and what follows from it. */
static inline void srd_book_resolve(struct srd_book *book, const struct srd_event *event)
{
	enum srd_kind kind = book->kind_of[event->type];

	srd_book_focus(book, event, kind, kind ? srd_book_find(book, kind, event->object) : NULL);
}

typedef void srd_apply_fn(struct srd_book *book, const struct srd_event *event);

/* What takes an event of TYPE in; NULL: it changes nothing. */
srd_apply_fn *srd_book_apply_fn(enum srd_event_type type);
/* Whether it changes more than the requests, ops and completions that come and go. */
bool srd_book_is_structural(enum srd_event_type type);
/* What has to be there for it: its object, known; and alive. */
enum srd_book_need { SRD_NEEDS_NOTHING, SRD_NEEDS_OBJECT, SRD_NEEDS_LIFE };
enum srd_book_need srd_book_need(enum srd_event_type type);

/* Look up what the accepted request POST of book->qp names, into its route. */
void srd_book_resolve_post(struct srd_book *book, const struct srd_ev_wr_post *post);
/* Take POST in as in flight. */
void srd_book_apply_post(struct srd_book *book, const struct srd_ev_wr_post *post);
/* The requests of QP's session that were kept: all that can be accepted. */
static inline uint32_t srd_book_num_kept(const struct srd_book_qp *qp)
{
	return qp->num_staged < qp->posts.size ? qp->num_staged : qp->posts.size;
}

/* The I-th of them. */
static inline const struct srd_ev_wr_post *srd_book_staged(const struct srd_book_qp *qp, uint32_t i)
{
	return (const void *)srd_history_back(&qp->posts, srd_book_num_kept(qp) - 1 - i);
}

/* What became of the last request with this id; NULL: nothing is known. */
const struct srd_fate *srd_book_fate(const struct srd_book_qp *qp, uint64_t wr_id);
/* Where the ORDINAL-th accepted request of QP stands; NULL: nothing is known of it. */
const struct srd_place *srd_book_place(const struct srd_book_qp *qp, uint64_t ordinal);
/* NULL: no live region of QP's device has this key. */
struct srd_book_mr *srd_book_mr_by_lkey(const struct srd_book *book, const struct srd_book_qp *qp,
					uint32_t lkey);
/* The live queue pair with number QP_NUM on the device with this GID; NULL: none is known. */
struct srd_book_qp *srd_book_qp_at(const struct srd_book *book, uint64_t gid_hi, uint64_t gid_lo,
				   uint32_t qp_num);
/* The peer that OP's requests have to go to; false: its queue pair was not told of it. */
bool srd_book_op_peer(const struct srd_book *book, const struct srd_book_op *op, uint32_t *qp_num,
		      uint64_t *gid_hi, uint64_t *gid_lo);
/* Whether the op was answered, and not long ago. */
bool srd_book_op_ended(const struct srd_book *book, uint32_t number);

/* The device that was opened with this GID; NULL: none is known. */
struct srd_book_device *srd_book_device_at(const struct srd_book *book, uint64_t gid_hi,
					   uint64_t gid_lo);

static inline bool srd_book_is_rc(const struct srd_book_qp *qp)
{
	return qp->made.qp_type == SRD_QPT_RC;
}

/* NULL: there are none with this id. */
struct srd_book_rails *srd_book_rails(const struct srd_book *book, uint32_t id);
uint64_t srd_book_rails_in_flight(const struct srd_book_rails *rails);
/* NULL: none with this number is without an answer. */
struct srd_book_transfer *srd_book_transfer_find(const struct srd_book *book, uint32_t number);
/* A stripe with a byte of the range; NULL: there is none. */
const struct srd_book_stripe *srd_book_stripe_over(const struct srd_book_transfer *transfer,
						   uint64_t offset, uint64_t length);
/* The first byte that is in no stripe; the size where there is none. */
uint64_t srd_book_transfer_gap(const struct srd_book_transfer *transfer);

/* Bytes that OP moves. */
static inline uint64_t srd_book_transfer(const struct srd_book_op *op)
{
	return op->begun.kind == SRD_OP_PUT ? op->begun.local_size : op->begun.remote_size;
}

const char *srd_kind_str(enum srd_kind kind);

#endif
