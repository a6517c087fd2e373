/* SPDX-License-Identifier: MIT */
/* A posting session is never ended; the queue pair cannot be destroyed then. */
#include "rig.h"

int main(void)
{
	struct rig rig = {0};

	rig_open(&rig);
	rig_connect(&rig);
	ibv_wr_start(rig.ex[0]);
	rig_build(&rig, 1, 64);
	return 0;
}
