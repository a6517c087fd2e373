/* SPDX-License-Identifier: MIT */
/* A setter comes before any builder of the session. */
#include "rig.h"

int main(void)
{
	struct rig rig = {0};

	rig_open(&rig);
	rig_connect(&rig);
	ibv_wr_start(rig.ex[0]);
	ibv_wr_set_sge(rig.ex[0], rig.mr->lkey, (uintptr_t)rig.buffer, 64);
	RIG_NEED(ibv_wr_complete(rig.ex[0]));
	rig_close(&rig);
	return 0;
}
