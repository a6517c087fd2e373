/* SPDX-License-Identifier: MIT */
/* More requests are posted than the send queue has room for, without a look at the answer. */
#include "rig.h"

int main(void)
{
	struct rig rig = {0};

	rig_open(&rig);
	rig_connect(&rig);
	for (uint64_t i = 0; i <= RIG_DEPTH; i++)
		rig_read(&rig, i, 64);
	rig_poll(rig.cq[0], RIG_DEPTH);
	rig_close(&rig);
	return 0;
}
