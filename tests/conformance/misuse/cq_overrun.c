/* SPDX-License-Identifier: MIT */
/* A completion queue gets more completions than it has entries before anybody polls. */
#include "rig.h"

int main(void)
{
	struct rig rig = {0};
	struct ibv_wc wc;

	rig.cqe = 4;
	rig_open(&rig);
	rig_connect(&rig);
	for (uint64_t i = 0; i < RIG_DEPTH; i++)
		RIG_NEED(!rig_read(&rig, i, 64));
	/* Another queue moves the device until all have completed. */
	for (int i = 0; i < 1000; i++)
		RIG_NEED(!ibv_poll_cq(rig.cq[1], 1, &wc));
	rig_poll(rig.cq[0], 4);
	rig_close(&rig);
	return 0;
}
