/* SPDX-License-Identifier: MIT */
/*
 * The EFA backend: struct srd_verbs over libibverbs and libefa. One table uses one device;
 * the contexts of all hosts share it, so their traffic loops back through it. A device of
 * another vendor that is asked for by its name serves too, with connected queue pairs.
 *
 * Each object of the seam is embedded in one that adds rdma-core's. The lists are there so
 * that close finds whatever its owner left.
 */
#ifndef HW_EFA_H
#define HW_EFA_H

#include <sys/queue.h>

#include <infiniband/efadv.h>
#include <infiniband/verbs.h>

#include <srdlab/annotate.h>
#include <srdlab/chooser.h>
#include <srdlab/verbs.h>
#include "verbs/backend.h"

enum hw_kind {
	HW_CONTEXT,
	HW_PD,
	HW_MR,
	HW_BUFFER,
	HW_CHANNEL,
	HW_CQ,
	HW_AH,
	HW_QP,
	HW_NUM_KINDS,
};

/* First in every object, so that one list and one release serve all kinds. */
struct hw_object {
	TAILQ_ENTRY(hw_object) entry;
};

TAILQ_HEAD(hw_list, hw_object);

/* A further device of a host of the laboratory's. */
#define HW_MAX_MORE 64

struct hw_more {
	uint32_t host;
	uint32_t number;
};

struct hw {
	struct srd_verbs verbs;
	struct ibv_context *ibv;
	struct hw_list objects[HW_NUM_KINDS];
	uint32_t last_handle[HW_NUM_KINDS];
	const struct srdlab_faults *faults; /* of the software device; NULL: it is none */
	const struct soft_lab_calls
		*lab;                /* its time and its profile are ours; NULL: they are not */
	uint64_t seen;               /* entries, for its wait */
	struct srd_stream device;    /* its events, before they have our handles ... */
	struct srd_stream *stream;   /* ... and where they go then */
	struct srd_chooser chooser;  /* the same of what it asks */
	struct srd_chooser *chooses; /* NULL: nobody */
	uint32_t devices;            /* at most, of a host of the laboratory's; 0: any */
	uint32_t num_hosts;          /* of it that have a first device */
	struct hw_more more[HW_MAX_MORE]; /* devices that are not */
	uint32_t num_more;
	uint64_t opened;     /* CLOCK_MONOTONIC, ns */
	uint64_t idle_since; /* table time of the first wait since something arrived; 0: none */
};

struct hw_context {
	struct hw_object object;
	struct srd_context srd;
	struct ibv_context *ibv; /* the table's, or where hosts have devices, its own */
	uint32_t children;       /* protection domains and completion queues */
};

struct hw_pd {
	struct hw_object object;
	struct srd_pd srd;
	struct ibv_pd *ibv;
};

struct hw_mr {
	struct hw_object object;
	struct srd_mr srd;
	struct ibv_mr *ibv;
};

struct hw_buffer {
	struct hw_object object;
	struct srd_buffer srd;
	uint8_t *bytes;
	size_t mapped; /* bytes of the mapping */
};

struct hw_channel {
	struct hw_object object;
	struct srd_comp_channel srd;
	struct ibv_comp_channel *ibv;
	uint32_t queues; /* that tell of their entries here */
};

struct hw_cq {
	struct hw_object object;
	struct srd_cq srd;
	struct ibv_cq *ibv;
	uint32_t open_sessions; /* of queue pairs that send to it */
	struct ibv_cq_ex *ex;   /* NULL: made by create_cq */
	uint32_t wc_flags;      /* that were asked for */
	uint64_t efa_wc_flags;
	struct hw_channel *channel; /* NULL: none */
	bool polling;               /* between start_poll and end_poll */
	bool current;               /* it has an entry */
	bool at_end;                /* next_poll found no more */
	uint32_t unacked;           /* events */
};

struct hw_ah {
	struct hw_object object;
	struct srd_ah srd;
	struct ibv_ah *ibv;
};

/*
 * The ids of the latest requests, by which faults name them. One may be unfinished after any
 * number of later ones have come and gone; HW_SENT of these it can still be named.
 */
#define HW_SENT 4096

struct hw_sent {
	uint64_t *wr_id; /* a ring of HW_SENT + depth; NULL: nobody asks */
	uint32_t depth;  /* of the send queue */
	uint32_t built;  /* in the session */
	uint64_t posted; /* ever */
};

struct hw_qp {
	struct hw_object object;
	struct srd_qp srd;
	struct ibv_qp *ibv;
	struct ibv_qp_ex *ex; /* NULL: created without send-ops flags */
	bool in_session;
	bool locked;      /* libefa's session is open too, and holds its lock */
	bool has_request; /* the session has a request that setters can refer to */
	int latched;      /* a misuse that libefa would not survive; first one wins */
	struct hw_sent sent;
};

#define HW_OF(type, pointer) ((struct type *)((char *)(pointer)-offsetof(struct type, srd)))

static inline struct hw *to_hw(struct srd_verbs *verbs)
{
	return (struct hw *)verbs;
}

static inline struct ibv_context *hw_ibv(struct srd_context *context)
{
	return HW_OF(hw_context, context)->ibv;
}

/* A zeroed object of SIZE bytes, on no list yet; NULL with ENOMEM. */
void *hw_object_new(size_t size);
/* Free one that never came to be; returns NULL and keeps errno. */
void *hw_object_discard(void *object);
/* Put it on its list; returns its handle. */
uint32_t hw_object_add(struct hw *hw, enum hw_kind kind, struct hw_object *object);
/* Take it off its list and free it. */
void hw_object_free(struct hw *hw, enum hw_kind kind, struct hw_object *object);

/* Each fills in its part of the table. */
void hw_device_fill(struct srd_verbs *verbs);
void hw_memory_fill(struct srd_verbs *verbs);
void hw_buffer_fill(struct srd_verbs *verbs);
void hw_queue_pair_fill(struct srd_verbs *verbs);
void hw_session_fill(struct srd_verbs *verbs);
void hw_completion_fill(struct srd_verbs *verbs);
void hw_extended_fill(struct srd_verbs *verbs);
void hw_channel_fill(struct srd_verbs *verbs);
void hw_clock_fill(struct srd_verbs *verbs);
void hw_lab_fill(struct srd_verbs *verbs);

/* What is to be had where the software device has a laboratory. */
#define HW_CAN_LAB (SRD_VERBS_CAN_FABRIC | SRD_VERBS_CAN_VIRTUAL_TIME | SRD_VERBS_CAN_HOSTS)

/* SRD_VERBS_CAN_... of an EFA device, with what is loaded beside it. */
uint32_t hw_lab_can(void);
/* Of the software device, where its group can have a laboratory; NULL. */
const struct soft_lab_calls *hw_lab_calls(void);
/* A queue pair that is made, with DEPTH requests at most: false with ENOMEM. */
bool hw_sent_open(struct hw *hw, struct hw_sent *sent, uint32_t depth);
void hw_sent_close(struct hw_sent *sent);
/* The session has one more request; or ends, and RESULT is 0 where they are posted. */
void hw_sent_built(struct hw_sent *sent, uint64_t wr_id);
void hw_sent_done(struct hw_sent *sent, int result);

/* Give up a session that is still open, as a destroy must. */
void hw_session_drop(struct hw_qp *qp);
/* Let a session that is still open fail: its queue pair is about to forget its counters. */
void hw_session_break(struct hw_qp *qp);
/* End a poll that is open, whose lock a destroy would wait for. */
void hw_poll_drop(struct hw *hw, struct hw_cq *cq);
/* The same on the completion queues of QP, which may be gone. */
void hw_polls_drop(struct hw *hw, const struct hw_qp *qp);
/* Something arrived or was posted: wait starts again with short pauses. */
static inline void hw_clock_busy(struct hw *hw)
{
	hw->idle_since = 0;
}

/* discover.c */

/*
 * Open the device NAME, whatever its vendor, or where that is NULL the first EFA device with
 * RDMA read and write. -ENODEV with the reason: there is none. The context is the caller's.
 */
int hw_discover(const char *name, struct ibv_context **out, bool *is_efa, struct srd_error *error);
/* struct srd_backend.devices */
int hw_devices(struct srd_device_info *list, int max, struct srd_error *error);

/* version.c */

/* "56.1" of the libefa that runs, "unknown" where its file does not say. */
void hw_libefa_version(char *version, size_t size);
/* The same from a file name such as /usr/lib/libefa.so.1.3.56.1. */
void hw_version_of_file(const char *path, char *version, size_t size);
/* Whether VERSION is one that has RDMA write; true where it is unknown. */
bool hw_version_has_rdma_write(const char *version);

/* struct srd_backend.open */
int hw_open(const struct srd_backend_options *options, struct srd_verbs **out,
	    struct srd_error *error);

#endif
