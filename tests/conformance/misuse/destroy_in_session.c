/* SPDX-License-Identifier: MIT */
/* A queue pair is destroyed with a session open. */
#include "rig.h"

int main(void)
{
	struct rig rig = {0};

	rig_open(&rig);
	rig_connect(&rig);
	ibv_wr_start(rig.ex[0]);
	rig_build(&rig, 1, 64);
	rig_close(&rig);
	return 0;
}
