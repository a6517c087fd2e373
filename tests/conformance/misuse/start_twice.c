/* SPDX-License-Identifier: MIT */
/* A session is started inside a session: libefa waits for its own lock. */
#include "rig.h"

int main(void)
{
	struct rig rig = {0};

	rig_open(&rig);
	rig_connect(&rig);
	ibv_wr_start(rig.ex[0]);
	ibv_wr_start(rig.ex[0]);
	ibv_wr_abort(rig.ex[0]);
	rig_close(&rig);
	return 0;
}
