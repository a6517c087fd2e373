/* SPDX-License-Identifier: MIT */
/*
 * What every program here begins with: a device, and two SRD queue pairs on it that read from
 * each other through one buffer. Each program then does one thing that it must not do, and
 * takes down the rest properly, so that nothing else can be held against it.
 */
#ifndef MISUSE_RIG_H
#define MISUSE_RIG_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <infiniband/efadv.h>
#include <infiniband/verbs.h>

#define RIG_SIZE  65536
#define RIG_QKEY  0x1234
#define RIG_DEPTH 16

struct rig {
	/* set by the program, 0: as usual */
	int cqe;
	int access;
	int device;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq[2]; /* of either queue pair */
	struct ibv_qp *qp[2];
	struct ibv_qp_ex *ex[2];
	struct ibv_mr *mr;
	struct ibv_ah *ah; /* to the device itself */
	uint8_t *buffer;
};

/* Makes all but the states of the queue pairs, in RIG, else zero; exits where it cannot. */
void rig_open(struct rig *rig);
/* The device, with a protection domain, a buffer that is registered, an address handle. */
void rig_open_device(struct rig *rig);
void rig_open_queues(struct rig *rig);
/* Both queue pairs to RTS. */
void rig_connect(struct rig *rig);
/* Destroys what is not NULL. */
void rig_close(struct rig *rig);
void rig_close_queues(struct rig *rig);
void rig_to(struct ibv_qp *qp, enum ibv_qp_state state, uint32_t qkey);

/* One RDMA read of LENGTH bytes by queue pair 0 from queue pair 1: what wr_complete answers. */
int rig_read(struct rig *rig, uint64_t wr_id, uint32_t length);
/* A send to queue pair 1. */
int rig_send(struct rig *rig, uint64_t wr_id, uint32_t length);
/* A read in parts: between ibv_wr_start and ibv_wr_complete. */
void rig_build(struct rig *rig, uint64_t wr_id, uint32_t length);
/* Poll CQ until COUNT completions came; the status of the last. */
enum ibv_wc_status rig_poll(struct ibv_cq *cq, int count);

#define RIG_NEED(what)                                                             \
	do {                                                                       \
		if (!(what)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what); \
			exit(3);                                                   \
		}                                                                  \
	} while (0)

#endif
