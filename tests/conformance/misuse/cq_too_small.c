/* SPDX-License-Identifier: MIT */
/* A completion queue has room for fewer completions than its queue pair has outstanding. */
#include "rig.h"

int main(void)
{
	struct rig rig = {0};

	rig.cqe = 4;
	rig_open(&rig);
	rig_connect(&rig);
	for (uint64_t i = 0; i < 5; i++)
		RIG_NEED(!rig_read(&rig, i, 64));
	rig_poll(rig.cq[0], 4);
	rig_close(&rig);
	return 0;
}
