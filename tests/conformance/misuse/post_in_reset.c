/* SPDX-License-Identifier: MIT */
/* A queue pair goes on after somebody else reset it. */
#include "rig.h"

int main(void)
{
	struct rig rig = {0};

	rig_open(&rig);
	rig_connect(&rig);
	RIG_NEED(!rig_read(&rig, 1, 64));
	rig_poll(rig.cq[0], 1);
	rig_to(rig.qp[0], IBV_QPS_RESET, 0);
	RIG_NEED(rig_read(&rig, 2, 64) == EINVAL);
	rig_close(&rig);
	return 0;
}
