/* SPDX-License-Identifier: MIT */
/* A read from a device that has no address handle for the one that reads. */
#include "rig.h"

int main(void)
{
	struct rig rig = {0};
	struct ibv_ah_attr to = {.is_global = 1, .port_num = 1};
	struct rig far = {.device = 1};

	rig_open(&rig);
	rig_connect(&rig);
	rig_open(&far);
	rig_connect(&far);
	RIG_NEED(!ibv_query_gid(far.context, 1, 0, &to.grh.dgid));
	RIG_NEED(!ibv_destroy_ah(rig.ah));
	rig.ah = ibv_create_ah(rig.pd, &to);
	RIG_NEED(rig.ah);
	ibv_wr_start(rig.ex[0]);
	rig.ex[0]->wr_id = 1;
	rig.ex[0]->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_read(rig.ex[0], far.mr->rkey, (uintptr_t)far.buffer);
	ibv_wr_set_sge(rig.ex[0], rig.mr->lkey, (uintptr_t)rig.buffer, 64);
	ibv_wr_set_ud_addr(rig.ex[0], rig.ah, far.qp[1]->qp_num, RIG_QKEY);
	RIG_NEED(!ibv_wr_complete(rig.ex[0]));
	rig_poll(rig.cq[0], 1);
	rig_close(&far);
	rig_close(&rig);
	return 0;
}
