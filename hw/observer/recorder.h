/* SPDX-License-Identifier: MIT */
/*
 * What an observer of a program's verbs calls tells its findings to. The software device
 * exports one under the name SRD_RECORDER from the library that is preloaded beside the
 * observer's; whatever records a real device would export the same.
 */
#ifndef SRD_OBSERVER_RECORDER_H
#define SRD_OBSERVER_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include <srdlab/event.h>
#include <srdlab/verbs.h>

#define SRD_RECORDER "srdlab_recorder"

enum srd_recorder_kind { SRD_RECORDER_CQ, SRD_RECORDER_QP, SRD_RECORDER_AH };

/* What a program asked for, before its library rounded it. */
struct srd_recorder_asked {
	uint32_t cqe;
	struct srd_qp_cap cap;
	uint32_t sq_sig_all;
	uint32_t send_ops_flags; /* 0: every operation */
};

struct srd_recorder {
	/* Whether anybody listens. The other calls do nothing where nobody does. */
	bool (*on)(void);
	/*
	 * Whether all is wanted, at once; else it is only judged: that a poll found what it found
	 * is left out, and that a session began may come with its end.
	 */
	bool (*all)(void);
	/* For the call of this thread that makes an object next; NULL: it is over. */
	void (*asked)(const struct srd_recorder_asked *asked);
	/*
	 * The number in the stream of the object with this HANDLE on the context whose
	 * descriptor is FD, and *HOST; 0: there is none. From then on whoever calls sees to
	 * the object's posts and polls.
	 */
	uint32_t (*number)(enum srd_recorder_kind kind, int fd, uint32_t handle, uint8_t *host);
	/* The number of the calling thread's stack, for the line of events; 0: unknown. */
	uint32_t (*stack)(void);
	/* A number for an op that begins; 0: nobody listens. */
	uint32_t (*op)(void);
	/*
	 * What the program posts next to the queue pair with this HANDLE, or its RECEIVES, the
	 * device does not look at until it is released, when it has been told of: so nothing
	 * that becomes of it can be told first. From one thread at a time.
	 */
	void (*hold)(uint32_t handle, bool receives);
	void (*release)(uint32_t handle, bool receives);
	/* LENGTH bytes at ADDR, part of a region of that context, go back to the allocator. */
	void (*freed)(int fd, uint64_t addr, uint64_t length);
	/*
	 * HEAD, NUM events of one type that lie one behind the other, and TAIL, without another
	 * one's in between. Each may be missing: NULL or 0. Their time is that of the call.
	 */
	void (*put)(const struct srd_event *head, const void *events, uint32_t num,
		    const struct srd_event *tail);
};

#endif
