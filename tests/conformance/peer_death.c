/* SPDX-License-Identifier: MIT */
/*
 * A peer that is killed: reads from it succeed, then fail as from a queue pair that is gone,
 * and what it had can be had again. Built against the machine's own rdma-core.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <infiniband/efadv.h>
#include <infiniband/verbs.h>

#define QKEY         0x22
#define BAD_DEST_QPN 9
#define PEERS        300 /* more than queue pairs fit on the device at a time */

/* What one tells the other, in memory that both map. */
struct side {
	volatile int ready;
	uint32_t qpn, rkey;
	uint64_t addr;
};

static struct side *shared;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;
static struct ibv_ah *ah;
static char buffer[4096];

static void must(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

static void modify(enum ibv_qp_state state, int mask)
{
	struct ibv_qp_attr attr = {.qp_state = state, .port_num = 1, .qkey = QKEY};

	must(!ibv_modify_qp(qp, &attr, mask), "ibv_modify_qp");
}

/* One end, ready to send; its numbers to *SELF. */
static void open_end(struct side *self)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = list && *list ? ibv_open_device(*list) : NULL;
	struct ibv_ah_attr to = {.is_global = 1, .port_num = 1};
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_DRIVER,
		.cap = {4, 4, 1, 1, 0},
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_READ,
	};
	struct efadv_qp_init_attr efa = {.driver_qp_type = EFADV_QP_DRIVER_TYPE_SRD};

	must(context != NULL, "no device");
	pd = ibv_alloc_pd(context);
	cq = ibv_create_cq(context, 8, NULL, NULL, 0);
	mr = ibv_reg_mr(pd, buffer, sizeof(buffer),
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	attr.pd = pd;
	attr.send_cq = cq;
	attr.recv_cq = cq;
	qp = efadv_create_qp_ex(context, &attr, &efa, sizeof(efa));
	must(pd && cq && mr && qp, "an object");
	/* Both ends are on one device. */
	must(!ibv_query_gid(context, 1, 0, &to.grh.dgid), "ibv_query_gid");
	ah = ibv_create_ah(pd, &to);
	must(ah != NULL, "ibv_create_ah");
	modify(IBV_QPS_INIT, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	modify(IBV_QPS_RTR, IBV_QP_STATE);
	modify(IBV_QPS_RTS, IBV_QP_STATE | IBV_QP_SQ_PSN);
	self->qpn = qp->qp_num;
	self->rkey = mr->rkey;
	self->addr = (uintptr_t)buffer;
	self->ready = 1;
}

/* A peer that waits until it is killed. */
static pid_t start_peer(void)
{
	pid_t pid;

	memset(shared, 0, sizeof(*shared));
	pid = fork();
	if (!pid) {
		strcpy(buffer, "from the peer");
		open_end(shared);
		pause();
	}
	for (int i = 0; i < 20000 && !shared->ready; i++)
		usleep(1000);
	must(shared->ready, "the peer");
	return pid;
}

/* Read from the peer; the vendor's status. */
static uint32_t read_from_peer(void)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);
	struct ibv_wc wc;
	int n;

	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_read(ex, shared->rkey, shared->addr);
	ibv_wr_set_sge(ex, mr->lkey, (uintptr_t)buffer, 64);
	ibv_wr_set_ud_addr(ex, ah, shared->qpn, QKEY);
	must(!ibv_wr_complete(ex), "ibv_wr_complete");
	do
		n = ibv_poll_cq(cq, 1, &wc);
	while (!n);
	must(n == 1, "ibv_poll_cq");
	return wc.status ? wc.vendor_err : 0;
}

static void kill_peer(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	struct side self;
	uint32_t status = 0;
	pid_t peer;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	must(shared != MAP_FAILED, "mmap");
	peer = start_peer();
	open_end(&self);
	must(read_from_peer() == 0 && !strcmp(buffer, "from the peer"), "the first read");
	kill_peer(peer);
	/* At first its memory is gone, and soon its queue pair too. */
	for (int i = 0; i < 5000 && status != BAD_DEST_QPN; i++) {
		status = read_from_peer();
		must(status != 0, "a read from the dead");
		usleep(1000);
	}
	printf("status of a read from the dead: %u\n", status);
	must(status == BAD_DEST_QPN, "the last status");
	for (int i = 0; i < PEERS; i++)
		kill_peer(start_peer());
	printf("%d more came and went\n", PEERS);
	return 0;
}
