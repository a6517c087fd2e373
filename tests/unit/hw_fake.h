/* SPDX-License-Identifier: MIT */
/*
 * libibverbs and libefa as the EFA backend sees them, without a device. The linker wraps
 * every exported call that hw/ makes (a call that is not wrapped does not link); the
 * inline ones go through the function pointers of a context and a queue pair that are made
 * here. Each call adds one line to a log; any of them can be made to fail.
 */
#ifndef HW_FAKE_H
#define HW_FAKE_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/efadv.h>
#include <infiniband/verbs.h>

struct srdlab_faults;

/* What a device of the fake is. The defaults are those of struct fake_device. */
struct fake_device {
	const char *name;
	bool is_efa;
	int open_error; /* errno of ibv_open_device; 0: it opens */
	uint32_t caps;
	uint32_t max_rdma_size;
};

#define FAKE_MAX_DEVICES 4

struct fake {
	/* set by the test */
	struct fake_device devices[FAKE_MAX_DEVICES];
	int num_devices;
	int list_error;       /* errno of ibv_get_device_list */
	const char *libefa;   /* the version that runs */
	char sysfs[128];      /* the folder that stands for /sys/class/infiniband/NAME */
	uint64_t missing_ops; /* IBV_QP_EX_WITH_...: builders that stay NULL although asked for */
	bool grant_pow2;      /* depths are rounded up, as libefa does */
	uint32_t max_msg_sz;  /* of the port */
	struct ibv_wc wc[64]; /* what ibv_poll_cq hands out */
	int num_wc, wc_error_at;            /* index of an entry of no live queue pair; -1: none */
	int recv_room;                      /* receives that fit; -1: all */
	uint64_t clock;                     /* ns; nanosleep moves it */
	const struct srdlab_faults *faults; /* what the software device exports; NULL: none */
	uint64_t base;                      /* subtracted from the addresses in the log */
	/* the n-th fallible call fails with this errno; 0: none does */
	int fail_at, fail_errno;
	/* what happened */
	int calls; /* fallible ones */
	const char *failed;
	int live;           /* objects that exist, contexts and device lists among them */
	uint32_t cqs;       /* completion queues made so far */
	uint16_t inline_ex; /* inline_buf_size_ex, where the headers have it */
	uint16_t qp_flags;  /* of the last queue pair, where the headers have them */
	int polled;
	bool locked;             /* a session holds the lock of its send queue */
	bool cq_locked;          /* a poll holds that of its completion queue */
	uint64_t sender;         /* what the source GID of a receive begins with */
	bool unsolicited;        /* of a receive, as libefa tells it */
	struct ibv_cq *extended; /* the last queue of efadv_create_cq; events are about it */
	int event_fd;            /* of the last channel: written to, it has an event */
	char log[32768];
	size_t logged;
};

extern struct fake fake;

/* A machine with one EFA device "efa_0" that has everything. */
void fake_reset(void);
/* The log since the last call, and start a new one. */
const char *fake_log(void);
/* Leave out of the log what came so far. */
void fake_forget(void);

#endif
