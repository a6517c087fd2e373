/* SPDX-License-Identifier: MIT */
/*
 * The observer: a library that is preloaded into a program and sees its verbs calls. It wraps
 * the functions that libibverbs and libefa export to open devices and to make objects, and in
 * what these return the pointers through which the program posts and polls. Each wrapper
 * calls the library's own function and tells the recorder (recorder.h) what happened.
 *
 * Calls that rdma-core leaves undefined are trapped: they are told of and go no further.
 */
#ifndef SRD_OBSERVER_H
#define SRD_OBSERVER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "recorder.h"

#define SRD_EXPORT __attribute__((visibility("default")))

/* A function of the library with this SONAME, which has to be there as it was called. */
void *observer_real(const char *library, const char *name);
#define REAL_VERB(name)                                                                    \
	({                                                                                 \
		static __typeof__(&name) real;                                             \
		if (!real)                                                                 \
			real = (__typeof__(&name))observer_real("libibverbs.so.1", #name); \
		real;                                                                      \
	})

/* NULL: nobody listens. */
const struct srd_recorder *observer_recorder(void);

/* A context, and what it had before it was wrapped. They are never freed. */
struct seen_context {
	struct ibv_context *context;
	struct ibv_context_ops ops;
	struct ibv_cq_ex *(*create_cq_ex)(struct ibv_context *, struct ibv_cq_init_attr_ex *);
	struct ibv_qp *(*create_qp_ex)(struct ibv_context *, struct ibv_qp_init_attr_ex *);
	struct seen_context *next;
};

/* The library's own. Builders are NULL where the queue pair was made without the operation. */
struct seen_builders {
	void (*start)(struct ibv_qp_ex *);
	int (*complete)(struct ibv_qp_ex *);
	void (*abort)(struct ibv_qp_ex *);
	void (*send)(struct ibv_qp_ex *);
	void (*send_imm)(struct ibv_qp_ex *, __be32);
	void (*rdma_read)(struct ibv_qp_ex *, uint32_t, uint64_t);
	void (*rdma_write)(struct ibv_qp_ex *, uint32_t, uint64_t);
	void (*rdma_write_imm)(struct ibv_qp_ex *, uint32_t, uint64_t, __be32);
	void (*set_sge)(struct ibv_qp_ex *, uint32_t, uint64_t, uint32_t);
	void (*set_sge_list)(struct ibv_qp_ex *, size_t, const struct ibv_sge *);
	void (*set_inline_data)(struct ibv_qp_ex *, void *, size_t);
	void (*set_inline_data_list)(struct ibv_qp_ex *, size_t, const struct ibv_data_buf *);
	void (*set_ud_addr)(struct ibv_qp_ex *, struct ibv_ah *, uint32_t, uint32_t);
};

struct seen_posts;

struct seen_qp {
	struct seen_builders real;
	struct seen_context *context;
	const void *send_cq;
	/* Held while requests are posted, a whole session, until they are told of: observer_turn. */
	atomic_flag telling;
	atomic_flag telling_receives;
	/* the session, which TELLING keeps to one thread: pthread_self() of that; 0: none is open */
	atomic_uintptr_t owner;
	int error; /* a misuse: nothing more is handed on; 0: none */
	struct seen_posts *posts;
	struct srd_ev_wr_post *current;
	uint32_t num_setters;
	struct srd_ev_session_start start;
	atomic_bool untold; /* that it began */
	bool gated;         /* the program says that a scheduler counts its credits */
};

struct seen_cq {
	int (*start_poll)(struct ibv_cq_ex *, struct ibv_poll_cq_attr *);
	int (*next_poll)(struct ibv_cq_ex *);
	void (*end_poll)(struct ibv_cq_ex *);
	struct seen_context *context;
	atomic_flag telling; /* held while entries are taken, until they are told of */
	atomic_bool empty;   /* as the last poll said, which need not be repeated */
	uint32_t found;      /* since start_poll */
};

/* An object of the program by its address. Those that are gone are kept until it is taken again. */
struct seen {
	const void *at;
	enum srd_recorder_kind kind;
	uint32_t number;
	uint8_t host;
	atomic_bool dead;
	struct seen *next;
	union {
		struct seen_qp qp;
		struct seen_cq cq;
	};
};

/* NULL: there never was one. */
struct seen *observer_find(const void *at, enum srd_recorder_kind kind);
/* OBJECT of CONTEXT was made, with the kernel's HANDLE. NULL: the recorder does not know it. */
struct seen *observer_add(const void *at, enum srd_recorder_kind kind, struct ibv_context *context,
			  uint32_t handle);
struct seen_context *observer_context(const struct ibv_context *context);
void observer_add_context(struct ibv_context *context);

/* session.c: the turn to do what TELLING is about and to tell of it, in one order; its end. */
void observer_turn(atomic_flag *telling);
void observer_turn_over(atomic_flag *telling);
void observer_wrap_qp(struct seen *seen, struct ibv_qp *qp);
int observer_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int observer_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
/* QP is about to be destroyed: a session that is open on it is given up. */
void observer_end_session(struct seen *seen, struct ibv_qp *qp);
void observer_misuse(struct seen *seen, enum srd_session_misuse what, enum srd_verb verb);
/* The queue pair with a session of this thread that forbids it to poll CQ; NULL. */
struct seen *observer_session_on(const void *cq);
/* Tell that sessions began, where that was put off: those of this thread; that of SEEN. */
void observer_sessions_told(void);
void observer_session_told(struct seen *seen);

/* memory.c: in a child of fork. */
void observer_memory_forked(void);

/* annotate.c: the op that this thread posts now; 0: none. */
uint32_t observer_op(void);
/* NUM of POSTS were told of for it. */
void observer_op_posts(const struct srd_ev_wr_post *posts, uint32_t num);

/* poll.c */
void observer_wrap_cq(struct ibv_cq_ex *cq, struct seen *seen);
int observer_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);

/* The header of an event about SEEN. */
#define OBSERVED(kind, seen)                                                            \
	{                                                                               \
		.type = SRD_EV_##kind, .source = SRD_SOURCE_SEAM, .host = (seen)->host, \
		.object = (seen)->number                                                \
	}

#endif
