/* SPDX-License-Identifier: MIT */
#include "rig.h"

static struct ibv_qp *make_qp(struct rig *rig, struct ibv_cq *cq)
{
	struct efadv_qp_init_attr efa = {.driver_qp_type = EFADV_QP_DRIVER_TYPE_SRD};
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {.max_send_wr = RIG_DEPTH,
			.max_recv_wr = RIG_DEPTH,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.qp_type = IBV_QPT_DRIVER,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = rig->pd,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_SEND,
	};
	struct ibv_qp *qp = efadv_create_qp_ex(rig->context, &attr, &efa, sizeof(efa));

	RIG_NEED(qp);
	return qp;
}

void rig_open_device(struct rig *rig)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_ah_attr ah = {.is_global = 1, .port_num = 1};
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;

	RIG_NEED(list && list[0]);
	rig->context = ibv_open_device(list[rig->device]);
	RIG_NEED(rig->context);
	ibv_free_device_list(list);
	rig->pd = ibv_alloc_pd(rig->context);
	RIG_NEED(rig->pd);
	rig->buffer = calloc(1, RIG_SIZE);
	RIG_NEED(rig->buffer);
	rig->mr = ibv_reg_mr(rig->pd, rig->buffer, RIG_SIZE, rig->access ? rig->access : access);
	RIG_NEED(rig->mr);
	RIG_NEED(!ibv_query_gid(rig->context, 1, 0, &ah.grh.dgid));
	rig->ah = ibv_create_ah(rig->pd, &ah);
	RIG_NEED(rig->ah);
}

void rig_open_queues(struct rig *rig)
{
	for (int i = 0; i < 2; i++) {
		rig->cq[i] = ibv_create_cq(rig->context, rig->cqe ? rig->cqe : 2 * RIG_DEPTH, NULL,
					   NULL, 0);
		RIG_NEED(rig->cq[i]);
		rig->qp[i] = make_qp(rig, rig->cq[i]);
		rig->ex[i] = ibv_qp_to_qp_ex(rig->qp[i]);
	}
}

void rig_open(struct rig *rig)
{
	rig_open_device(rig);
	rig_open_queues(rig);
}

void rig_to(struct ibv_qp *qp, enum ibv_qp_state state, uint32_t qkey)
{
	struct ibv_qp_attr attr = {.qp_state = state, .port_num = 1, .qkey = qkey};
	int mask = IBV_QP_STATE;

	if (state == IBV_QPS_INIT)
		mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
	if (state == IBV_QPS_RTS)
		mask |= IBV_QP_SQ_PSN;
	RIG_NEED(!ibv_modify_qp(qp, &attr, mask));
}

void rig_connect(struct rig *rig)
{
	for (int i = 0; i < 2; i++) {
		rig_to(rig->qp[i], IBV_QPS_INIT, RIG_QKEY);
		rig_to(rig->qp[i], IBV_QPS_RTR, 0);
		rig_to(rig->qp[i], IBV_QPS_RTS, 0);
	}
}

void rig_close_queues(struct rig *rig)
{
	for (int i = 0; i < 2; i++)
		if (rig->qp[i])
			RIG_NEED(!ibv_destroy_qp(rig->qp[i]));
	for (int i = 0; i < 2; i++)
		if (rig->cq[i])
			RIG_NEED(!ibv_destroy_cq(rig->cq[i]));
	for (int i = 0; i < 2; i++) {
		rig->qp[i] = NULL;
		rig->cq[i] = NULL;
	}
}

void rig_close(struct rig *rig)
{
	rig_close_queues(rig);
	if (rig->ah)
		RIG_NEED(!ibv_destroy_ah(rig->ah));
	if (rig->mr)
		RIG_NEED(!ibv_dereg_mr(rig->mr));
	RIG_NEED(!ibv_dealloc_pd(rig->pd));
	RIG_NEED(!ibv_close_device(rig->context));
	free(rig->buffer);
}

void rig_build(struct rig *rig, uint64_t wr_id, uint32_t length)
{
	rig->ex[0]->wr_id = wr_id;
	rig->ex[0]->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_read(rig->ex[0], rig->mr->rkey, (uintptr_t)rig->buffer + RIG_SIZE / 2);
	ibv_wr_set_sge(rig->ex[0], rig->mr->lkey, (uintptr_t)rig->buffer, length);
	ibv_wr_set_ud_addr(rig->ex[0], rig->ah, rig->qp[1]->qp_num, RIG_QKEY);
}

int rig_read(struct rig *rig, uint64_t wr_id, uint32_t length)
{
	ibv_wr_start(rig->ex[0]);
	rig_build(rig, wr_id, length);
	return ibv_wr_complete(rig->ex[0]);
}

int rig_send(struct rig *rig, uint64_t wr_id, uint32_t length)
{
	ibv_wr_start(rig->ex[0]);
	rig->ex[0]->wr_id = wr_id;
	rig->ex[0]->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(rig->ex[0]);
	ibv_wr_set_sge(rig->ex[0], rig->mr->lkey, (uintptr_t)rig->buffer, length);
	ibv_wr_set_ud_addr(rig->ex[0], rig->ah, rig->qp[1]->qp_num, RIG_QKEY);
	return ibv_wr_complete(rig->ex[0]);
}

enum ibv_wc_status rig_poll(struct ibv_cq *cq, int count)
{
	struct ibv_wc wc = {0};

	while (count) {
		int n = ibv_poll_cq(cq, 1, &wc);

		RIG_NEED(n >= 0);
		count -= n;
	}
	return wc.status;
}
