/* SPDX-License-Identifier: MIT */
/* A queue pair posts as soon as it could receive, its last state left out. */
#include "rig.h"

int main(void)
{
	struct rig rig = {0};

	rig_open(&rig);
	rig_connect(&rig);
	rig_to(rig.qp[0], IBV_QPS_RESET, 0);
	rig_to(rig.qp[0], IBV_QPS_INIT, RIG_QKEY);
	rig_to(rig.qp[0], IBV_QPS_RTR, 0);
	RIG_NEED(rig_read(&rig, 1, 64) == EINVAL);
	rig_close(&rig);
	return 0;
}
