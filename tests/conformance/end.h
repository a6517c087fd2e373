/* SPDX-License-Identifier: MIT */
/*
 * One end of a connection on the software device, for small programs that are built against
 * the machine's own rdma-core. Ends of one process, or of several, are on one device and
 * reach each other; what goes wrong ends the program.
 */
#ifndef END_H
#define END_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <infiniband/efadv.h>
#include <infiniband/verbs.h>

#define END_QKEY  0x22
#define END_DEPTH 64u

struct end {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp_ex *qp;
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	uint8_t *memory;
	int writes; /* 0: this libefa has no RDMA write */
};

/* What one end tells the others. */
struct end_name {
	volatile int ready;
	uint32_t qpn, rkey;
	uint64_t addr;
};

#define must(good)                                                      \
	do {                                                            \
		if (!(good)) {                                          \
			fprintf(stderr, "%s:%d: ", __FILE__, __LINE__); \
			perror(#good);                                  \
			exit(1);                                        \
		}                                                       \
	} while (0)

/* What a program wants to do with its queue pair before that gets a state. */
static void (*end_before_init)(struct end *end);
/* More operations, and receives, than it has anyway. */
static uint64_t end_ops;
static uint32_t end_receives;
/* Which device is opened. */
static int end_device;
/* Set: it makes the completion queue. */
static struct ibv_cq *(*end_make_cq)(struct end *end);
/* Set: completions are polled by ibv_start_poll, from this. */
static struct ibv_cq_ex **end_extended;
/* Set: completions come with events of this, which is made. */
static struct ibv_comp_channel **end_channel;

/* Memory that processes share from fork on. */
static inline void *end_common(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	must(at != MAP_FAILED);
	return at;
}

static inline void end_modify(struct end *end, enum ibv_qp_state state, int mask)
{
	struct ibv_qp_attr attr = {.qp_state = state, .port_num = 1, .qkey = END_QKEY};

	must(!ibv_modify_qp(&end->qp->qp_base, &attr, mask | IBV_QP_STATE));
}

static inline struct ibv_qp *end_create_qp(struct end *end, uint64_t ops)
{
	struct efadv_qp_init_attr efa = {.driver_qp_type = EFADV_QP_DRIVER_TYPE_SRD};
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = end->cq,
		.recv_cq = end->cq,
		.qp_type = IBV_QPT_DRIVER,
		.cap = {END_DEPTH, 1 + end_receives, 1, 1, 0},
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = end->pd,
		.send_ops_flags = ops | end_ops,
	};

	return efadv_create_qp_ex(end->context, &attr, &efa, sizeof(efa));
}

/* Register SIZE bytes at MEMORY, in place of what is registered. */
static inline void end_register(struct end *end, void *memory, size_t size)
{
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;

	if (end->mr)
		must(!ibv_dereg_mr(end->mr));
	end->memory = memory;
	end->mr = ibv_reg_mr(end->pd, memory, size,
			     access | (end->writes ? IBV_ACCESS_REMOTE_WRITE : 0));
	must(end->mr);
}

static inline void end_name(const struct end *end, struct end_name *name)
{
	name->qpn = end->qp->qp_base.qp_num;
	name->rkey = end->mr->rkey;
	name->addr = (uintptr_t)end->memory;
	__atomic_store_n(&name->ready, 1, __ATOMIC_RELEASE);
}

/* Ready to send, with SIZE bytes at MEMORY registered. */
static inline void end_open(struct end *end, void *memory, size_t size)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_ah_attr to = {.is_global = 1, .port_num = 1};
	struct ibv_qp *qp;

	memset(end, 0, sizeof(*end));
	for (int i = 0; i < end_device; i++)
		must(list && list[i]);
	end->context = list && list[end_device] ? ibv_open_device(list[end_device]) : NULL;
	must(end->context);
	ibv_free_device_list(list);
	end->pd = ibv_alloc_pd(end->context);
	if (end_make_cq) {
		end->cq = end_make_cq(end);
	} else if (end_extended) {
		struct ibv_cq_init_attr_ex cq = {.cqe = 2 * END_DEPTH};

		*end_extended = ibv_create_cq_ex(end->context, &cq);
		must(*end_extended);
		end->cq = ibv_cq_ex_to_cq(*end_extended);
	} else {
		if (end_channel)
			must(*end_channel = ibv_create_comp_channel(end->context));
		end->cq = ibv_create_cq(end->context, 2 * END_DEPTH, NULL,
					end_channel ? *end_channel : NULL, 0);
	}
	must(end->pd && end->cq);
	qp = end_create_qp(end, IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_RDMA_WRITE);
	end->writes = qp != NULL;
	if (!qp)
		qp = end_create_qp(end, IBV_QP_EX_WITH_RDMA_READ);
	must(qp);
	end->qp = ibv_qp_to_qp_ex(qp);
	end_register(end, memory, size);
	must(!ibv_query_gid(end->context, 1, 0, &to.grh.dgid));
	end->ah = ibv_create_ah(end->pd, &to);
	must(end->ah);
	if (end_before_init)
		end_before_init(end);
	end_modify(end, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	end_modify(end, IBV_QPS_RTR, 0);
	end_modify(end, IBV_QPS_RTS, IBV_QP_SQ_PSN);
}

/* Destroy all of it; its memory stays. */
static inline void end_close(struct end *end)
{
	must(!ibv_destroy_qp(&end->qp->qp_base));
	must(!ibv_destroy_ah(end->ah));
	must(!ibv_destroy_cq(end->cq));
	must(!ibv_dereg_mr(end->mr));
	must(!ibv_dealloc_pd(end->pd));
	must(!ibv_close_device(end->context));
}

/* NUM requests with one doorbell: LENGTH bytes from TO, or to it, here at OFFSET. */
static inline void end_post(struct end *end, const struct end_name *to, int write, uint32_t num,
			    uint32_t offset, uint32_t length)
{
	ibv_wr_start(end->qp);
	for (uint32_t i = 0; i < num; i++) {
		end->qp->wr_flags = IBV_SEND_SIGNALED;
		if (write)
			ibv_wr_rdma_write(end->qp, to->rkey, to->addr);
		else
			ibv_wr_rdma_read(end->qp, to->rkey, to->addr);
		ibv_wr_set_sge(end->qp, end->mr->lkey, (uintptr_t)end->memory + offset, length);
		ibv_wr_set_ud_addr(end->qp, end->ah, to->qpn, END_QKEY);
	}
	must(!ibv_wr_complete(end->qp));
}

/* Read LENGTH bytes of TO to OFFSET here; the vendor's status. */
static inline uint32_t end_read(struct end *end, const struct end_name *to, uint32_t offset,
				uint32_t length)
{
	struct ibv_wc wc;
	int n;

	end_post(end, to, 0, 1, offset, length);
	do
		n = ibv_poll_cq(end->cq, 1, &wc);
	while (!n);
	must(n == 1);
	return wc.status ? wc.vendor_err : 0;
}

#endif
