/* SPDX-License-Identifier: MIT */
/* A session is ended that was not started: libefa releases a lock that is not held. */
#include "rig.h"

int main(void)
{
	struct rig rig = {0};

	rig_open(&rig);
	rig_connect(&rig);
	RIG_NEED(!rig_read(&rig, 1, 64));
	rig_poll(rig.cq[0], 1);
	RIG_NEED(ibv_wr_complete(rig.ex[0]));
	rig_close(&rig);
	return 0;
}
