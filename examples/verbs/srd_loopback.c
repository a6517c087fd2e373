/* SPDX-License-Identifier: MIT */
/*
 * The smallest whole SRD program over rdma-core alone: one queue pair that sends bytes to
 * itself, and what has to be looked at on the way. The order of the calls differs from RC's: no
 * attribute of the queue pair names the peer, every request does.
 *
 *     cc -o srd_loopback srd_loopback.c -libverbs -lefa
 *     ./srd_loopback                          (on an instance with EFA)
 *     srdlab exec -- ./srd_loopback           (anywhere)
 *     srdlab exec -- ./srd_loopback bad-rkey  (and how a failed request looks)
 *
 * Exit status: 0 the bytes arrived, 1 a request failed, 2 no device or no queue pair.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <infiniband/efadv.h>
#include <infiniband/verbs.h>

#define QKEY     0x4242 /* both ends have to know it; it is no secret */
#define DEPTH    16     /* requests outstanding: send queue and completion queue hold them */
#define SIZE     4096
#define PATIENCE 10 /* seconds without a completion */

/* EFADV_DEVICE_ATTR_CAPS_RDMA_WRITE, which came with rdma-core 46 */
#define CAN_WRITE (1 << 3)

struct srd {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_qp_ex *ex;
	struct ibv_ah *ah;
	struct ibv_mr *mr;
	char *buffer; /* its first half goes to the second */
	bool write;   /* or else read: an older device, or libefa, has no RDMA write */
};

static int failed(const char *call, int err)
{
	fprintf(stderr, "%s: %s\n", call, strerror(err));
	return -1;
}

/* A device is an EFA device if efadv_query_device answers for it; not all of them have RDMA. */
static struct ibv_context *open_device(bool *write)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;

	for (int i = 0; list && list[i] && !context; i++) {
		struct efadv_device_attr attr = {0};

		context = ibv_open_device(list[i]);
		if (!context)
			continue;
		if (!efadv_query_device(context, &attr, sizeof(attr)) &&
		    attr.device_caps & (EFADV_DEVICE_ATTR_CAPS_RDMA_READ | CAN_WRITE)) {
			*write = attr.device_caps & CAN_WRITE;
			break;
		}
		ibv_close_device(context);
		context = NULL;
	}
	if (list)
		ibv_free_device_list(list);
	return context;
}

/*
 * The extended verbs are the only way: ibv_create_qp knows no SRD. Depths above the device's
 * are refused; what is granted may be more than what was asked for.
 */
static int create_qp(struct srd *s)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = s->cq,
		.recv_cq = s->cq,
		.cap = {.max_send_wr = DEPTH,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.qp_type = IBV_QPT_DRIVER,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = s->pd,
		.send_ops_flags = s->write ? IBV_QP_EX_WITH_RDMA_WRITE : IBV_QP_EX_WITH_RDMA_READ,
	};
	struct efadv_qp_init_attr efa = {.driver_qp_type = EFADV_QP_DRIVER_TYPE_SRD};

	s->qp = efadv_create_qp_ex(s->context, &attr, &efa, sizeof(efa));
	if (!s->qp)
		return failed("efadv_create_qp_ex", errno);
	s->ex = ibv_qp_to_qp_ex(s->qp);
	return 0;
}

/* Three steps, each with exactly these attributes. */
static int to_rts(struct srd *s)
{
	struct ibv_qp_attr init = {
		.qp_state = IBV_QPS_INIT, .pkey_index = 0, .port_num = 1, .qkey = QKEY};
	struct ibv_qp_attr rtr = {.qp_state = IBV_QPS_RTR};
	struct ibv_qp_attr rts = {.qp_state = IBV_QPS_RTS, .sq_psn = 0};
	int err;

	err = ibv_modify_qp(s->qp, &init,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	if (err)
		return failed("ibv_modify_qp to INIT", err);
	err = ibv_modify_qp(s->qp, &rtr, IBV_QP_STATE);
	if (err)
		return failed("ibv_modify_qp to RTR", err);
	err = ibv_modify_qp(s->qp, &rts, IBV_QP_STATE | IBV_QP_SQ_PSN);
	return err ? failed("ibv_modify_qp to RTS", err) : 0;
}

/*
 * The peer's GID is all that an address handle says. An RDMA request needs one at the
 * responder too, or it is answered with UNKNOWN_PEER; here both ends are one.
 */
static int create_ah(struct srd *s)
{
	struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1};

	if (ibv_query_gid(s->context, 1, 0, &attr.grh.dgid))
		return failed("ibv_query_gid", errno ? errno : EIO);
	s->ah = ibv_create_ah(s->pd, &attr);
	return s->ah ? 0 : failed("ibv_create_ah", errno);
}

static int setup(struct srd *s)
{
	s->context = open_device(&s->write);
	if (!s->context) {
		fprintf(stderr, "no EFA device with RDMA\n");
		return -1;
	}
	s->pd = ibv_alloc_pd(s->context);
	if (!s->pd)
		return failed("ibv_alloc_pd", errno);
	/* Room for every request that can be outstanding: an overrun is silent loss. */
	s->cq = ibv_create_cq(s->context, DEPTH, NULL, NULL, 0);
	if (!s->cq)
		return failed("ibv_create_cq", errno);
	if (posix_memalign((void **)&s->buffer, 4096, 2 * SIZE)) {
		s->buffer = NULL;
		return failed("posix_memalign", ENOMEM);
	}
	memset(s->buffer, 'x', SIZE);
	memset(s->buffer + SIZE, 0, SIZE);
	s->mr = ibv_reg_mr(s->pd, s->buffer, 2 * SIZE,
			   IBV_ACCESS_LOCAL_WRITE |
				   (s->write ? IBV_ACCESS_REMOTE_WRITE : IBV_ACCESS_REMOTE_READ));
	if (!s->mr)
		return failed("ibv_reg_mr", errno);
	if (create_qp(s) || to_rts(s))
		return -1;
	return create_ah(s);
}

/*
 * One session: start, and for each request the builder, its buffer, its destination; then
 * complete, which posts all of them or none. EFA wants every request signaled.
 */
static int post(struct srd *s, uint32_t rkey)
{
	uintptr_t from = (uintptr_t)s->buffer, to = from + SIZE;
	int err;

	ibv_wr_start(s->ex);
	s->ex->wr_id = 1;
	s->ex->wr_flags = IBV_SEND_SIGNALED;
	if (s->write)
		ibv_wr_rdma_write(s->ex, rkey, to);
	else
		ibv_wr_rdma_read(s->ex, rkey, from);
	ibv_wr_set_sge(s->ex, s->mr->lkey, s->write ? from : to, SIZE);
	ibv_wr_set_ud_addr(s->ex, s->ah, s->qp->qp_num, QKEY);
	err = ibv_wr_complete(s->ex);
	return err ? failed("ibv_wr_complete", err) : 0;
}

/*
 * vendor_err is the EFA status, and tells more than status does. A failed request is one
 * request's affair: the queue pair stays in RTS, and its neighbours are as good as before.
 */
static int wait_completion(struct srd *s)
{
	time_t end = time(NULL) + PATIENCE;
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(s->cq, 1, &wc)) && time(NULL) < end)
		;
	if (n < 0)
		return failed("ibv_poll_cq", -n);
	if (!n)
		return failed("no completion", ETIMEDOUT);
	if (wc.status == IBV_WC_SUCCESS)
		return 0;
	fprintf(stderr, "request %lu: %s (%d), vendor error %u\n", (unsigned long)wc.wr_id,
		ibv_wc_status_str(wc.status), wc.status, wc.vendor_err);
	return -1;
}

/* The queue pair before its address handle and its queue; all of them before the domain. */
static void teardown(struct srd *s)
{
	if (s->qp)
		ibv_destroy_qp(s->qp);
	if (s->ah)
		ibv_destroy_ah(s->ah);
	if (s->mr)
		ibv_dereg_mr(s->mr);
	free(s->buffer);
	if (s->cq)
		ibv_destroy_cq(s->cq);
	if (s->pd)
		ibv_dealloc_pd(s->pd);
	if (s->context)
		ibv_close_device(s->context);
}

int main(int argc, char **argv)
{
	uint32_t wrong = argc > 1 && !strcmp(argv[1], "bad-rkey") ? 0xff : 0;
	struct srd s = {0};
	int status = 2;

	if (!setup(&s)) {
		status = 1;
		if (!post(&s, s.mr->rkey ^ wrong) && !wait_completion(&s) &&
		    !memcmp(s.buffer, s.buffer + SIZE, SIZE)) {
			printf("%d bytes arrived\n", SIZE);
			status = 0;
		}
	}
	teardown(&s);
	return status;
}
