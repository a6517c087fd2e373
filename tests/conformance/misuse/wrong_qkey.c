/* SPDX-License-Identifier: MIT */
/* A request carries another queue key than its destination has. */
#include "rig.h"

int main(void)
{
	struct rig rig = {0};

	rig_open(&rig);
	rig_to(rig.qp[0], IBV_QPS_INIT, RIG_QKEY);
	rig_to(rig.qp[0], IBV_QPS_RTR, 0);
	rig_to(rig.qp[0], IBV_QPS_RTS, 0);
	rig_to(rig.qp[1], IBV_QPS_INIT, RIG_QKEY + 1);
	rig_to(rig.qp[1], IBV_QPS_RTR, 0);
	rig_to(rig.qp[1], IBV_QPS_RTS, 0);
	RIG_NEED(!rig_read(&rig, 1, 64));
	rig_poll(rig.cq[0], 1);
	rig_close(&rig);
	return 0;
}
