/* SPDX-License-Identifier: MIT */
/* A request is posted to a queue pair that was moved to ERR. */
#include "rig.h"

int main(void)
{
	struct rig rig = {0};

	rig_open(&rig);
	rig_connect(&rig);
	rig_to(rig.qp[0], IBV_QPS_ERR, 0);
	RIG_NEED(rig_read(&rig, 1, 64) == EINVAL);
	rig_close(&rig);
	return 0;
}
