/* SPDX-License-Identifier: MIT */
/* A memory region is deregistered while a request that names it has not been reaped. */
#include "rig.h"

int main(void)
{
	struct rig rig = {0};

	rig_open(&rig);
	rig_connect(&rig);
	RIG_NEED(!rig_read(&rig, 1, 64));
	RIG_NEED(!ibv_dereg_mr(rig.mr));
	rig.mr = NULL;
	rig_poll(rig.cq[0], 1);
	rig_close(&rig);
	return 0;
}
