/* SPDX-License-Identifier: MIT */
/* A context is closed while its objects are there. */
#include "rig.h"

int main(void)
{
	struct rig rig = {0};

	rig_open_device(&rig);
	RIG_NEED(!ibv_close_device(rig.context));
	return 0;
}
