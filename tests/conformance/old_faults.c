/* SPDX-License-Identifier: MIT */
/*
 * Faults that libefa once had, each in its own way over completions that are still in a queue
 * when their queue pair is destroyed. A line for each: its name, and "shown" or "not shown".
 * With an argument that of a device which raises numbers that it gives again (qpn_reuse), else
 * those of one which does not.
 *
 *   hidden  what is left in a queue that no queue pair uses any more cannot be polled
 *           (rdma-core's change 1616)
 *   stale   it is given to a later queue pair of the same number (1731)
 *   double  its slot is given back to another queue pair, where two requests then have the same
 *           one, and complete with the same id (1612)
 *   other   it is given to a later queue pair whose number only has the same low bits (1670)
 */
#include <errno.h>

#include "end.h"

#define DEPTH 8u

struct queue {
	struct ibv_qp *qp;
	struct ibv_qp_ex *ex;
};

static struct end end;
static uint8_t memory[64];

static struct queue make(struct ibv_cq *cq)
{
	struct efadv_qp_init_attr efa = {.driver_qp_type = EFADV_QP_DRIVER_TYPE_SRD};
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = IBV_QPT_DRIVER,
		.cap = {DEPTH, 1, 1, 1, 0},
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = end.pd,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_READ,
	};
	struct queue queue = {.qp = efadv_create_qp_ex(end.context, &attr, &efa, sizeof(efa))};
	struct end one = end;

	must(queue.qp);
	queue.ex = one.qp = ibv_qp_to_qp_ex(queue.qp);
	end_modify(&one, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	end_modify(&one, IBV_QPS_RTR, 0);
	end_modify(&one, IBV_QPS_RTS, IBV_QP_SQ_PSN);
	return queue;
}

/* A read of its own memory; done, but not polled, when this returns: end.cq stays empty. */
static void read_one(struct queue *queue, uint64_t id)
{
	struct ibv_wc wc;

	ibv_wr_start(queue->ex);
	queue->ex->wr_id = id;
	queue->ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_read(queue->ex, end.mr->rkey, (uintptr_t)memory);
	ibv_wr_set_sge(queue->ex, end.mr->lkey, (uintptr_t)memory + 32, 8);
	ibv_wr_set_ud_addr(queue->ex, end.ah, queue->qp->qp_num, END_QKEY);
	must(!ibv_wr_complete(queue->ex));
	must(!ibv_poll_cq(end.cq, 1, &wc));
}

static void say(const char *name, int shown)
{
	printf("%s %s\n", name, shown ? "shown" : "not shown");
}

static void hidden_and_stale(void)
{
	struct ibv_cq *cq = ibv_create_cq(end.context, DEPTH, NULL, NULL, 0);
	struct queue first, later;
	struct ibv_wc wc = {0};
	uint32_t number, seen[32] = {0};
	int n, polled = 0;

	must(cq);
	first = make(cq);
	number = first.qp->qp_num;
	read_one(&first, 10);
	read_one(&first, 11);
	must(!ibv_destroy_qp(first.qp));
	/* A completion of nobody is an error, after which the next one can be polled. */
	say("hidden", !ibv_poll_cq(cq, 1, &wc));
	later = make(cq);
	must(later.qp->qp_num == number);
	for (uint64_t id = 0; id < 4; id++)
		read_one(&later, id);
	while (polled < 4) {
		n = ibv_poll_cq(cq, 1, &wc);
		must(n);
		if (n < 0)
			continue;
		must(wc.qp_num == number && wc.wr_id < 32);
		seen[wc.wr_id]++;
		polled++;
	}
	say("stale", seen[0] != 1 || seen[1] != 1 || seen[2] != 1 || seen[3] != 1);
	must(!ibv_destroy_qp(later.qp));
	must(!ibv_destroy_cq(cq));
}

static void twice(void)
{
	struct ibv_cq_init_attr_ex attr = {.cqe = 4 * DEPTH, .wc_flags = IBV_WC_EX_WITH_QP_NUM};
	struct ibv_poll_cq_attr none = {0};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(end.context, &attr);
	struct queue stays, goes;
	uint32_t seen[32] = {0};

	must(cq);
	stays = make(ibv_cq_ex_to_cq(cq));
	goes = make(ibv_cq_ex_to_cq(cq));
	read_one(&stays, 0);
	read_one(&stays, 1);
	read_one(&goes, 20);
	read_one(&stays, 2);
	must(!ibv_destroy_qp(goes.qp));
	/* Two completions of the one that stays, then one of nobody: an error. */
	must(!ibv_start_poll(cq, &none) && cq->wr_id == 0);
	must(!ibv_next_poll(cq) && cq->wr_id == 1);
	must(ibv_next_poll(cq) == EINVAL);
	ibv_end_poll(cq);
	/* One more than is polled: without it the slots given back were more than there are. */
	for (uint64_t id = 3; id < 8; id++)
		read_one(&stays, id);
	must(!ibv_start_poll(cq, &none));
	for (int n = 0; n < 5; n++) {
		must(!n || !ibv_next_poll(cq));
		must(cq->status == IBV_WC_SUCCESS && cq->wr_id < 32);
		seen[cq->wr_id]++;
	}
	ibv_end_poll(cq);
	must(seen[2] == 1);
	say("double", seen[3] != 1 || seen[4] != 1 || seen[5] != 1 || seen[6] != 1);
	must(!ibv_destroy_qp(stays.qp));
	must(!ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
}

static void other(void)
{
	struct ibv_cq *cq = ibv_create_cq(end.context, DEPTH, NULL, NULL, 0);
	struct ibv_device_attr device;
	struct queue first, later;
	struct ibv_wc wc = {0};
	uint32_t number, seen[32] = {0};
	int n, polled = 0;

	must(cq && !ibv_query_device(end.context, &device));
	first = make(cq);
	number = first.qp->qp_num;
	read_one(&first, 10);
	must(!ibv_destroy_qp(first.qp));
	later = make(cq);
	/* libefa's table has a power of two of entries. */
	must(later.qp->qp_num != number);
	must(!((later.qp->qp_num ^ number) & ((uint32_t)device.max_qp - 1)));
	read_one(&later, 20);
	read_one(&later, 21);
	/* No more than were posted: an old library crashes over one slot too many given back. */
	while (polled < 2) {
		n = ibv_poll_cq(cq, 1, &wc);
		must(n);
		if (n < 0)
			continue;
		must(wc.status == IBV_WC_SUCCESS && wc.wr_id < 32);
		seen[wc.wr_id]++;
		polled++;
	}
	say("other", seen[20] != 1 || seen[21] != 1);
	must(!ibv_destroy_qp(later.qp));
	must(!ibv_destroy_cq(cq));
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	end_open(&end, memory, sizeof(memory));
	if (argc > 1) {
		other();
		return 0;
	}
	hidden_and_stale();
	twice();
	return 0;
}
