/* SPDX-License-Identifier: MIT */
/* A request names a region that was deregistered before. */
#include "rig.h"

int main(void)
{
	struct rig rig = {0};
	uint32_t lkey;

	rig_open(&rig);
	rig_connect(&rig);
	lkey = rig.mr->lkey;
	RIG_NEED(!ibv_dereg_mr(rig.mr));
	rig.mr = ibv_reg_mr(rig.pd, rig.buffer, RIG_SIZE,
			    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	RIG_NEED(rig.mr);
	ibv_wr_start(rig.ex[0]);
	rig.ex[0]->wr_id = 1;
	rig.ex[0]->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_read(rig.ex[0], rig.mr->rkey, (uintptr_t)rig.buffer + RIG_SIZE / 2);
	ibv_wr_set_sge(rig.ex[0], lkey, (uintptr_t)rig.buffer, 64);
	ibv_wr_set_ud_addr(rig.ex[0], rig.ah, rig.qp[1]->qp_num, RIG_QKEY);
	RIG_NEED(!ibv_wr_complete(rig.ex[0]));
	rig_poll(rig.cq[0], 1);
	rig_close(&rig);
	return 0;
}
