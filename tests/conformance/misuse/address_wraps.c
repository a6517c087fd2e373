/* SPDX-License-Identifier: MIT */
/* The remote address was counted past the end of the address space. */
#include "rig.h"

int main(void)
{
	struct rig rig = {0};

	rig_open(&rig);
	rig_connect(&rig);
	ibv_wr_start(rig.ex[0]);
	rig.ex[0]->wr_id = 1;
	rig.ex[0]->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_read(rig.ex[0], rig.mr->rkey, UINT64_MAX - 9);
	ibv_wr_set_sge(rig.ex[0], rig.mr->lkey, (uintptr_t)rig.buffer, 64);
	ibv_wr_set_ud_addr(rig.ex[0], rig.ah, rig.qp[1]->qp_num, RIG_QKEY);
	RIG_NEED(!ibv_wr_complete(rig.ex[0]));
	RIG_NEED(rig_poll(rig.cq[0], 1));
	rig_close(&rig);
	return 0;
}
