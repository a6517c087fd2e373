/* SPDX-License-Identifier: MIT */
/* A read comes from a region that does not allow it. */
#include "rig.h"

int main(void)
{
	struct rig rig = {0};

	rig.access = IBV_ACCESS_LOCAL_WRITE;
	rig_open(&rig);
	rig_connect(&rig);
	RIG_NEED(!rig_read(&rig, 1, 64));
	rig_poll(rig.cq[0], 1);
	rig_close(&rig);
	return 0;
}
