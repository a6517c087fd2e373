/* SPDX-License-Identifier: MIT */
/* A read begins inside the region of the destination and ends behind it. */
#include "rig.h"

int main(void)
{
	struct rig rig = {0};

	rig_open(&rig);
	rig_connect(&rig);
	RIG_NEED(!rig_read(&rig, 1, RIG_SIZE / 2 + 1));
	rig_poll(rig.cq[0], 1);
	rig_close(&rig);
	return 0;
}
