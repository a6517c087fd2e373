/* SPDX-License-Identifier: MIT */
/* A queue pair is destroyed while a request of it is in flight. */
#include "rig.h"

int main(void)
{
	struct rig rig = {0};

	rig_open(&rig);
	rig_connect(&rig);
	RIG_NEED(!rig_read(&rig, 1, 64));
	rig_close(&rig);
	return 0;
}
