/* SPDX-License-Identifier: MIT */
/* The completion of a request is never taken, and nothing is taken down. */
#include "rig.h"

int main(void)
{
	struct rig rig = {0};

	rig_open(&rig);
	rig_connect(&rig);
	RIG_NEED(!rig_read(&rig, 1, 64));
	return 0;
}
