/* SPDX-License-Identifier: MIT */
/*
 * Faults that a program asks for itself: each does what srdlab/annotate.h says. Without srdlab
 * exec there are none. The exit status is 3 then.
 */
#include <errno.h>

#include <srdlab/annotate.h>

#include "end.h"

#define INVALID_LKEY 5

static struct end end;
static struct end_name name;

static void post(uint64_t id)
{
	ibv_wr_start(end.qp);
	end.qp->wr_id = id;
	end.qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_read(end.qp, name.rkey, name.addr);
	ibv_wr_set_sge(end.qp, end.mr->lkey, (uintptr_t)end.memory + 64, 8);
	ibv_wr_set_ud_addr(end.qp, end.ah, name.qpn, END_QKEY);
	must(!ibv_wr_complete(end.qp));
}

/* The next completion is ID's, with STATUS; ID 0: none comes. */
static void completes(uint64_t id, uint32_t status)
{
	struct ibv_wc wc = {0};
	int n = 0;

	for (int i = 0; !n && i < 1000; i++)
		n = ibv_poll_cq(end.cq, 1, &wc);
	if (n == (id != 0) && (!n || (wc.wr_id == id && (wc.status ? wc.vendor_err : 0) == status)))
		return;
	fprintf(stderr, "%d completions, %u with %u, instead of %u with %u\n", n,
		(unsigned int)wc.wr_id, wc.vendor_err, (unsigned int)id, status);
	exit(1);
}

static void held(struct ibv_qp *qp)
{
	srdlab_request_t second = srdlab_next_request(qp, 2), first;

	must(!srdlab_hold(second));
	post(1);
	post(2);
	completes(1, 0);
	completes(0, 0);
	/* It is posted already. */
	must(!srdlab_drop(srdlab_next_request(qp, 1)));
	post(3);
	first = srdlab_next_request(qp, 1);
	must(first.number == second.number + 2);
	must(!srdlab_release(second));
	completes(2, 0);
	must(srdlab_release(second) == ENOENT);
	completes(0, 0);
}

static void others(struct ibv_qp *qp)
{
	must(!srdlab_fail(srdlab_next_request(qp, 1), INVALID_LKEY));
	post(4);
	completes(4, INVALID_LKEY);
	must(!srdlab_delay(srdlab_next_request(qp, 1), 1000000));
	must(!srdlab_not_ready(srdlab_next_request(qp, 2), 1)); /* nothing to a read */
	post(5);
	post(6);
	completes(6, 0);
	completes(5, 0);
	must(!srdlab_drop(srdlab_next_request(qp, 1)));
	post(7);
	completes(0, 0);
}

static void wrong(struct ibv_qp *qp)
{
	srdlab_request_t none = srdlab_next_request(qp, 0), next = srdlab_next_request(qp, 1);

	must(!none.qp && srdlab_hold(none) == ENOENT);
	must(srdlab_release(next) == EINVAL);
	must(srdlab_fail(next, 0) == EINVAL && srdlab_fail(next, 256) == EINVAL);
	must(srdlab_not_ready(next, 256) == EINVAL);
	/* A question to the model, and nothing at all. */
	must(srdlab_fault(next, 6, 0) == EINVAL && srdlab_fault(next, 99, 0) == EINVAL);
}

int main(void)
{
	static uint8_t memory[4096];
	srdlab_request_t next;
	struct ibv_qp *qp;

	next = srdlab_next_request(NULL, 0);
	if (srdlab_hold(next) == EOPNOTSUPP)
		return 3;
	must(srdlab_hold(next) == ENOENT); /* nothing is open yet */
	end_open(&end, memory, sizeof(memory));
	end_name(&end, &name);
	qp = &end.qp->qp_base;
	held(qp);
	others(qp);
	wrong(qp);
	next = srdlab_next_request(qp, 1);
	must(!ibv_destroy_qp(qp));
	must(srdlab_hold(next) == ENOENT);
	return 0;
}
