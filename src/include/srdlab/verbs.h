/* SPDX-License-Identifier: MIT */
/*
 * The seam. Whatever a queue pair asks of an EFA device goes through struct srd_verbs:
 * one table of operations with rdma-core's names, order of calls and results. The mock
 * and the EFA backend each fill in one; wrapping tables (observer, fault injector,
 * limits) forward to the table below them.
 *
 * Results are rdma-core's: 0 or a positive errno; a pointer, or NULL with errno set;
 * poll_cq a count or a negative errno. A builder or setter returns nothing: the first
 * error of a session is latched until wr_start, swallows the calls after it, and is what
 * wr_complete returns, which then posts nothing.
 *
 * Objects belong to the table that made them. Their fields are for reading only, except
 * those marked "set by the caller". handle numbers each kind of object from 1 in the
 * order of creation, so that a wrapping table or a rule can keep an array beside them.
 * A table and its objects have one owner thread.
 */
#ifndef SRDLAB_VERBS_H
#define SRDLAB_VERBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <srdlab/enums.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct srd_verbs;
struct srd_lab;

union srd_gid {
	uint8_t raw[16];
};

struct srd_context {
	uint32_t handle;
	uint32_t host;
	char name[64]; /* the device's, such as "rdmap0s6" */
};

struct srd_pd {
	struct srd_context *context;
	uint32_t handle;
};

struct srd_mr {
	struct srd_context *context;
	struct srd_pd *pd;
	uint32_t handle;
	uint64_t addr;
	uint64_t length; /* bytes */
	uint32_t lkey;
	uint32_t rkey;
};

struct srd_buffer {
	struct srd_context *context;
	uint32_t handle;
	enum srd_buffer_kind kind;
	uint64_t addr;
	uint64_t length; /* bytes */
};

struct srd_cq {
	struct srd_context *context;
	uint32_t handle;
	uint32_t cqe; /* granted entries */
};

struct srd_comp_channel {
	struct srd_context *context;
	uint32_t handle;
};

struct srd_ah {
	struct srd_context *context;
	struct srd_pd *pd;
	uint32_t handle;
};

/* ibv_qp and ibv_qp_ex in one. */
struct srd_qp {
	struct srd_context *context;
	struct srd_pd *pd;
	struct srd_cq *send_cq;
	struct srd_cq *recv_cq;
	uint32_t handle;
	uint32_t qp_num;
	enum srd_qp_state state; /* cached as libibverbs caches it: set by modify and query */
	uint64_t wr_id;          /* set by the caller before each builder */
	uint32_t wr_flags;       /* set by the caller before each builder: enum srd_send_flags */
};

/* The part of ibv_device_attr that EFA fills in. */
struct srd_device_attr {
	uint64_t max_mr_size; /* bytes */
	uint32_t vendor_id;
	uint32_t vendor_part_id; /* the PCI device id: 0xefa0 to 0xefa4 */
	uint32_t max_qp;
	uint32_t max_qp_wr;
	uint32_t max_sge;
	uint32_t max_sge_rd;
	uint32_t max_cq;
	uint32_t max_cqe;
	uint32_t max_mr;
	uint32_t max_pd;
	uint32_t max_ah;
	uint8_t phys_port_cnt;
};

/* efadv_device_attr. */
struct srd_efa_device_attr {
	uint32_t max_sq_wr;
	uint32_t max_rq_wr;
	uint16_t max_sq_sge;
	uint16_t max_rq_sge;
	uint16_t inline_buf_size;    /* bytes */
	uint16_t inline_buf_size_ex; /* bytes */
	uint32_t device_caps;        /* enum srd_device_caps */
	uint32_t max_rdma_size;      /* bytes; 0 where the device has no RDMA */
};

struct srd_port_attr {
	enum srd_port_state state;
	uint32_t max_msg_sz; /* bytes: the device's MTU */
	uint32_t gid_tbl_len;
	uint16_t pkey_tbl_len;
	uint16_t lid;
	uint8_t active_mtu; /* enum ibv_mtu: 1 is 256 bytes, 5 is 4096 */
};

struct srd_ah_attr {
	union srd_gid dgid;
	uint32_t flow_label;
	uint16_t dlid;
	uint8_t sgid_index;
	uint8_t hop_limit;
	uint8_t traffic_class;
	uint8_t sl;
	uint8_t is_global;
	uint8_t port_num;
};

struct srd_qp_cap {
	uint32_t max_send_wr;
	uint32_t max_recv_wr;
	uint32_t max_send_sge;
	uint32_t max_recv_sge;
	uint32_t max_inline_data;
};

#define SRD_QP_INIT_ATTR_PD             0x1
#define SRD_QP_INIT_ATTR_SEND_OPS_FLAGS 0x40

struct srd_qp_init_attr_ex {
	struct srd_pd *pd;
	struct srd_cq *send_cq;
	struct srd_cq *recv_cq;
	struct srd_qp_cap cap; /* in: requested; out: granted */
	enum srd_qp_type qp_type;
	int sq_sig_all;
	uint32_t comp_mask;      /* SRD_QP_INIT_ATTR_... */
	uint64_t send_ops_flags; /* enum srd_send_ops */
};

/* efadv_qp_init_attr; a queue pair that is not EFA's is created without. */
struct srd_efa_qp_init_attr {
	uint32_t driver_qp_type; /* enum srd_driver_qp_type */
	uint16_t flags;          /* enum srd_efa_qp_flags */
	uint64_t comp_mask;      /* must be 0 */
};

struct srd_qp_attr {
	enum srd_qp_state qp_state;
	enum srd_qp_state cur_qp_state;
	uint32_t qkey;
	uint32_t rq_psn;
	uint32_t sq_psn;
	uint32_t dest_qp_num;
	uint32_t qp_access_flags;
	uint32_t path_mtu;
	struct srd_qp_cap cap;
	struct srd_ah_attr ah_attr;
	uint16_t pkey_index;
	uint8_t en_sqd_async_notify;
	uint8_t sq_draining;
	uint8_t max_rd_atomic;
	uint8_t max_dest_rd_atomic;
	uint8_t min_rnr_timer;
	uint8_t port_num;
	uint8_t timeout;
	uint8_t retry_cnt;
	uint8_t rnr_retry; /* 0 to 6 tries, 7 without end */
};

struct srd_sge {
	uint64_t addr;
	uint32_t length; /* bytes */
	uint32_t lkey;
};

struct srd_recv_wr {
	uint64_t wr_id;
	struct srd_recv_wr *next;
	const struct srd_sge *sg_list;
	int num_sge;
};

/*
 * A completion with the fields that libefa's poll sets. For a request of the send queue
 * these are wr_id, status, vendor_err, opcode, qp_num and wc_flags; the others keep what
 * the caller had in them (rdma-core providers/efa/verbs.c).
 */
struct srd_wc {
	uint64_t wr_id;
	enum srd_wc_status status;
	enum srd_wc_opcode opcode;
	uint32_t vendor_err; /* the EFA status */
	uint32_t byte_len;
	uint32_t imm_data; /* network order */
	uint32_t qp_num;
	uint32_t src_qp;
	uint32_t wc_flags; /* enum srd_wc_flags */
	uint16_t pkey_index;
	uint16_t slid;
	uint8_t sl;
	uint8_t dlid_path_bits;
};

#define SRD_CQ_INIT_ATTR_MASK_FLAGS        0x1
#define SRD_CREATE_CQ_ATTR_SINGLE_THREADED 0x1

/* ibv_cq_init_attr_ex and efadv_cq_init_attr in one. */
struct srd_cq_init_attr_ex {
	uint32_t cqe;                     /* is rounded up to a power of two */
	struct srd_comp_channel *channel; /* NULL: none */
	uint32_t wc_flags;                /* enum srd_create_cq_wc_flags: the fields to be read */
	uint32_t comp_mask;               /* SRD_CQ_INIT_ATTR_MASK_FLAGS: flags is set */
	uint32_t flags;                   /* SRD_CREATE_CQ_ATTR_... */
	uint64_t efa_wc_flags;            /* enum srd_efa_wc_flags */
};

/*
 * The current entry of an extended poll. A program may look at wr_id, status, opcode,
 * vendor_err and wc_flags, and at what wc_flags of the creation asked for: for the rest
 * rdma-core has no function. Of a send byte_len is 0 and what is the receiver's unset.
 */
struct srd_wc_ex {
	struct srd_wc wc;
	bool has_sgid;      /* asked for, and the sender is one without an address handle */
	bool unsolicited;   /* asked for, and the entry took no receive */
	union srd_gid sgid; /* of the sender */
	uint32_t asked;     /* enum srd_create_cq_wc_flags of the creation */
};

/*
 * What a table can do beyond verbs, for a scenario's "needs".
 */
#define SRD_VERBS_CAN_FAULTS 0x1 /* lab: faults by request and by queue pair */
#define SRD_VERBS_CAN_FABRIC 0x2 /* lab: latency, order, loss */
#define SRD_VERBS_CAN_VIRTUAL_TIME \
	0x4                       /* wait never takes wall time, and nothing else moves the clock */
#define SRD_VERBS_CAN_ORIGIN 0x8  /* buffers of kinds ORIGIN and DEVICE */
#define SRD_VERBS_CAN_HOSTS  0x10 /* each host has devices of its own; lab: they die */
/* Not EFA devices: their reliable queue pairs are connected ones, made without EFA's attributes. */
#define SRD_VERBS_IS_RC     0x20
#define SRD_VERBS_CAN_MODEL 0x40 /* lab: where a request is, the model's audit, doorbells */
/* Polls and statuses are those of rdma-core 65's libefa, not of older ones. */
#define SRD_VERBS_CAN_RDMA_CORE_65 0x80

#include <srdlab/verbs_table.h>

/* A device that a backend can open. */
struct srd_device_info {
	char name[64];
	char detail[128]; /* one line for `srdlab devices` */
};

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
