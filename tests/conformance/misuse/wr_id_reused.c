/* SPDX-License-Identifier: MIT */
/* Two requests that are in flight have the same id. */
#include "rig.h"

int main(void)
{
	struct rig rig = {0};

	rig_open(&rig);
	rig_connect(&rig);
	RIG_NEED(!rig_read(&rig, 7, 64));
	RIG_NEED(!rig_read(&rig, 7, 64));
	rig_poll(rig.cq[0], 2);
	rig_close(&rig);
	return 0;
}
