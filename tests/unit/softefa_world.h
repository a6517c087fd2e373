/* SPDX-License-Identifier: MIT */
/*
 * The software device from inside, for its unit tests: calls as a library makes them, and a queue
 * pair that sends to itself. setup() and teardown() are around each test.
 */
#ifndef SRD_TEST_SOFTEFA_WORLD_H
#define SRD_TEST_SOFTEFA_WORLD_H

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>

#include "../fuzz/softefa.h"
#include "softefa/efa_abi.h"
#include "softefa/ring.h"

#define QKEY    0x11
#define ENTRIES 16u

#define CALL_WORDS                                                \
	((sizeof(struct ib_uverbs_ioctl_hdr) +                    \
	  (SOFT_MAX_ATTRS + 1) * sizeof(struct ib_uverbs_attr)) / \
	 8)

/* A call that is put together attribute by attribute; what it points to outlives it. */
extern uint64_t words[CALL_WORDS];
extern struct ib_uverbs_ioctl_hdr *const header; /* of words */
void begin(uint16_t object, uint16_t method);
struct ib_uverbs_attr *add(uint16_t id, uint16_t len, uint64_t data);
void add_bytes(uint16_t id, const void *bytes, uint16_t len);
/* 0 or a positive errno, as all that follow. */
int go(void);

/* Legacy command NUMBER with its core and driver parts. */
int legacy(uint32_t number, const void *in, uint16_t in_len, void *out, uint16_t out_len,
	   void *driver, uint16_t driver_len);
int destroy(uint16_t object, uint16_t method, uint64_t handle);
uint32_t new_pd(void);
int reg_mr(uint32_t pd, uint64_t start, uint64_t length, uint64_t iova, uint32_t access,
	   struct ib_uverbs_reg_mr_resp *r);
int new_ah(uint32_t pd, const union srd_gid *gid, struct ib_uverbs_create_ah_resp *r,
	   struct efa_ibv_create_ah_resp *efa);

struct cq_args {
	uint32_t entries, vector, flags;
	int channel; /* -1: none */
	struct efa_ibv_create_cq efa;
	uint32_t buffer; /* attributes of external memory, by the bits that follow */
	int fd;
	uint64_t offset, length;
};
enum { CQ_VA = 1, CQ_LENGTH = 2, CQ_FD = 4, CQ_OFFSET = 8 };
extern const struct cq_args good_cq;
int new_cq(const struct cq_args *args, uint32_t *handle);

struct qp_args {
	uint64_t pd, send_cq, recv_cq, flags;
	uint32_t type;
	struct ib_uverbs_qp_cap cap;
	struct efa_ibv_create_qp efa;
};
extern const struct qp_args good_qp;
int new_qp(const struct qp_args *args, uint32_t *handle);
int modify(uint32_t qp, uint32_t mask, uint8_t state);

/* All that a queue pair needs which sends to itself. */
struct world {
	uint32_t pd, cq, qp, mr, key;
	uint16_t ah;
};
extern struct world w;
void make_world(uint32_t type, int channel);

struct rdma_entry {
	struct efa_io_tx_meta_desc meta;
	struct efa_io_remote_mem_addr remote;
	struct efa_io_tx_buf_desc local;
};
struct efa_io_tx_meta_desc meta(uint8_t op, uint16_t length);
struct rdma_entry rdma(uint8_t op, uint64_t remote, uint64_t local, uint32_t length);
/* A doorbell of a ring. */
void ring(struct soft_ring *r, uint32_t value);
/* Post ENTRY as number N of the send queue; the completion entry number WHICH that comes. */
const struct efa_io_rx_cdesc *post(const void *entry, uint32_t n, uint32_t which);
void post_recv(uint32_t n, uint64_t addr, uint16_t length);

int setup(void **state);
int teardown(void **state);

#endif
