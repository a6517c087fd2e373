/* SPDX-License-Identifier: MIT */
/* An address handle is destroyed twice. */
#include "rig.h"

int main(void)
{
	struct rig rig = {0};

	rig_open(&rig);
	rig_connect(&rig);
	RIG_NEED(!ibv_destroy_ah(rig.ah));
	RIG_NEED(ibv_destroy_ah(rig.ah));
	rig.ah = NULL;
	rig_close(&rig);
	return 0;
}
