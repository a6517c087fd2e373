/* SPDX-License-Identifier: MIT */
/*
 * The book: what the stream has said so far, as objects that rules can look at. It
 * follows every event once, whichever rules are on, and judges nothing. Where it does not
 * know something (a trace that begins in the middle, a peer in another process) a pointer
 * is NULL, and rules do not judge what hangs on it.
 *
 * For each event: srd_book_resolve looks up what the event is about, the rules then see
 * the book as it was before the event, and srd_book_apply takes the event in.
 */
#ifndef SRD_BOOK_H
#define SRD_BOOK_H

#include <stdbool.h>

#include <srdlab/event.h>

#include "history.h"
#include "map.h"

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
	uint32_t in_flight; /* requests that name it, at either end */
	uint32_t post_line; /* of the last one */
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
};

/* One posted request whose completion has not been polled. */
struct srd_request {
	uint64_t wr_id;
	struct srd_book_mr *mr;        /* NULL: unknown */
	struct srd_book_mr *remote_mr; /* NULL: unknown */
	struct srd_book_ah *ah;        /* NULL: unknown */
	struct srd_book_op *op;        /* NULL: none */
	uint64_t ordinal;              /* on its queue pair */
	uint32_t line;
	uint8_t opcode;
	bool used;    /* the slot holds a request */
	bool dropped; /* the queue pair was reset since: it may complete or not */
};

/* Requests by wr_id; the same id may stand there more than once. */
struct srd_request_table {
	struct srd_request *slots;
	uint32_t mask;
	uint32_t count;
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

struct srd_book_qp {
	struct srd_thing thing;
	struct srd_book_device *device;
	struct srd_book_pd *pd;
	struct srd_book_cq *send_cq, *recv_cq;
	struct srd_ev_qp_create made;
	enum srd_qp_state state; /* as the library caches it */
	uint32_t qkey;
	bool has_qkey;
	bool moved; /* by the device, since the last modify or query */
	struct {
		uint32_t mask, to;
	} steps[3]; /* the last three successful modifies, newest first */
	uint32_t num_steps;

	/* the session */
	bool in_session;
	uint32_t session_line;
	struct srd_ev_wr_post *staged;
	uint32_t num_staged; /* all of them; only the first room_staged are kept */
	uint32_t room_staged;

	/* requests */
	struct srd_request_table requests;
	uint32_t in_flight;     /* posted, not polled, not dropped */
	uint32_t in_flight_ops; /* those of them that belong to ops */
	uint32_t receives;
	uint64_t num_posted; /* accepted requests ever: the next one's ordinal */
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
	bool connected;
	struct srd_ev_connect connect;
	struct srd_book_ah *peer_ah; /* of the first op's first request */
	bool scheduled;              /* between scheduler_open and scheduler_close */
	uint32_t max_send_wr;        /* the scheduler's */
	struct srd_book_op *waiting; /* ops of the scheduler not yet posted, oldest first */
	struct srd_book_op *waiting_tail;
	uint32_t unanswered;    /* the scheduler's ops that are reaped and not answered */
	uint32_t unanswered_op; /* the last of them */
	bool full;              /* a post was refused for room, and nothing has completed since */
	struct srd_history history;
};

struct srd_book_buffer {
	struct srd_thing thing;
	struct srd_book_device *device;
	uint64_t addr, length;
};

/* A failed request of an op. */
struct srd_cause {
	uint64_t wr_id;
	uint32_t status;
	uint32_t vendor_err;
};

struct srd_book_op {
	uint32_t number;
	struct srd_book_qp *qp;
	struct srd_ev_op_begin begun;
	uint32_t line;
	uint64_t asked;       /* num_wr_asked */
	uint32_t sessions;    /* opened for it */
	uint64_t num_posts;   /* requests built for it, refused ones included */
	uint64_t num_wr;      /* accepted */
	uint64_t bytes;       /* of its plan so far */
	uint64_t last_length; /* of its last request */
	uint64_t first_id, last_id;
	uint64_t in_flight;
	uint64_t num_failed;
	struct srd_cause own; /* the first failure for a cause of its own; status 0: none */
	struct srd_cause flush;
	bool broken;  /* its geometry was found wrong: the rest follows from that */
	bool posting; /* between op_post_begin and op_post_end */
	bool ended;   /* op_end came */
	bool reaped;  /* posted, and nothing in flight any more */
	bool waits;   /* in its queue pair's list of waiting ops */
	struct srd_book_op *prev, *next;
};

#define SRD_NUM_ENDED 1024

struct srd_book {
	bool nomem;    /* it could not follow: nothing is judged from here on */
	uint64_t seen; /* bit by event type */
	enum srd_kind kind_of[SRD_NUM_EVENT_TYPES];

	/* of the event that is being judged */
	struct srd_thing *thing;
	struct srd_book_qp *qp;
	struct srd_book_cq *cq;
	struct srd_book_op *op;
	struct srd_request *request; /* of wc */
	/* of the accepted request that is being judged */
	struct srd_book_mr *mr;         /* the lkey's; NULL: none */
	struct srd_book_mr *remote_mr;  /* the rkey's at the target; NULL: none, or no target */
	struct srd_book_ah *ah;         /* NULL: none */
	struct srd_book_device *target; /* NULL: unknown */
	struct srd_book_qp *target_qp;  /* NULL: unknown, or none has this number */

	struct srd_map things; /* (kind, handle) */
	struct srd_map ops;    /* number */
	struct srd_map qpns;   /* (device, number): live queue pairs */
	struct srd_map lkeys;  /* (device, key): live regions */
	struct srd_map rkeys;
	struct srd_map routes; /* (device, target device): a count of address handles */
	struct srd_thing *last[SRD_NUM_KINDS];
	struct srd_book_op *last_op;
	struct srd_thing *all;
	uint32_t live[SRD_NUM_KINDS];
	struct srd_book_device *devices;
	uint32_t num_devices;
	struct srd_book_op *free_ops;
	struct srd_book_op **op_blocks;
	uint32_t num_op_blocks;
	uint32_t ended[SRD_NUM_ENDED]; /* the last ops that were answered, by number */
	struct srd_history others;     /* events that are about no queue pair */
};

void srd_book_init(struct srd_book *book);
void srd_book_release(struct srd_book *book);
void srd_book_resolve(struct srd_book *book, const struct srd_event *event);
void srd_book_apply(struct srd_book *book, const struct srd_event *event);
/* Look up what the accepted request POST of book->qp names. */
void srd_book_resolve_post(struct srd_book *book, const struct srd_ev_wr_post *post);
/* Take POST in as in flight. */
void srd_book_apply_post(struct srd_book *book, const struct srd_ev_wr_post *post);

/* NULL: there never was one. */
struct srd_thing *srd_book_find(struct srd_book *book, enum srd_kind kind, uint32_t handle);
/* A request of QP in flight with this id; NULL: none. Not a dropped one where another is there. */
struct srd_request *srd_book_request(const struct srd_book_qp *qp, uint64_t wr_id);
/* The one that was posted first; NULL: none is in flight. */
const struct srd_request *srd_book_oldest_request(const struct srd_book_qp *qp);
/* Where the ORDINAL-th accepted request of QP stands; NULL: nothing is known of it. */
const struct srd_place *srd_book_place(const struct srd_book_qp *qp, uint64_t ordinal);
/* NULL: no live region of QP's device has this key. */
struct srd_book_mr *srd_book_mr_by_lkey(const struct srd_book *book, const struct srd_book_qp *qp,
					uint32_t lkey);
/* The live queue pair with number QP_NUM on the device with this GID; NULL: none is known. */
struct srd_book_qp *srd_book_qp_at(const struct srd_book *book, uint64_t gid_hi, uint64_t gid_lo,
				   uint32_t qp_num);
/* Whether the op was answered, and not long ago. */
bool srd_book_op_ended(const struct srd_book *book, uint32_t number);
const struct srd_fate *srd_book_fate(const struct srd_book_qp *qp, uint64_t wr_id);
/* The device's limit for an RDMA request of QP; 0: unknown. */
uint32_t srd_book_max_rdma_size(const struct srd_book_qp *qp);
/* Bytes that OP moves. */
uint64_t srd_book_transfer(const struct srd_book_op *op);
/* The requests that OP is due; 0: unknown. */
uint64_t srd_book_requests_due(const struct srd_book_op *op);
/* Whether SOURCE's device has an address handle at TARGET. */
bool srd_book_has_route(const struct srd_book *book, const struct srd_book_device *from,
			const struct srd_book_device *to);
const char *srd_kind_str(enum srd_kind kind);

#endif
