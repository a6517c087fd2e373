/* SPDX-License-Identifier: MIT */
/* A send is longer than the MTU. */
#include "rig.h"

int main(void)
{
	struct rig rig = {0};

	rig_open(&rig);
	rig_connect(&rig);
	RIG_NEED(!rig_send(&rig, 1, 9000));
	rig_poll(rig.cq[0], 1);
	rig_close(&rig);
	return 0;
}
