/* SPDX-License-Identifier: MIT */
/* An address handle is destroyed while a request goes through it. */
#include "rig.h"

int main(void)
{
	struct rig rig = {0};

	rig_open(&rig);
	rig_connect(&rig);
	RIG_NEED(!rig_read(&rig, 1, 64));
	RIG_NEED(!ibv_destroy_ah(rig.ah));
	rig.ah = NULL;
	rig_poll(rig.cq[0], 1);
	rig_close(&rig);
	return 0;
}
