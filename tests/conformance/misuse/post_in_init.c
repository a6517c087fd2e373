/* SPDX-License-Identifier: MIT */
/* A request is posted before the queue pair is in RTS: libefa refuses it. */
#include "rig.h"

int main(void)
{
	struct rig rig = {0};

	rig_open(&rig);
	rig_to(rig.qp[0], IBV_QPS_INIT, RIG_QKEY);
	RIG_NEED(rig_read(&rig, 1, 64) == EINVAL);
	rig_close(&rig);
	return 0;
}
