/* SPDX-License-Identifier: MIT */
/* A queue key with the top bit set is not for programs. */
#include "rig.h"

int main(void)
{
	struct rig rig = {0};

	rig_open(&rig);
	rig_to(rig.qp[0], IBV_QPS_INIT, 0x80000000u | RIG_QKEY);
	rig_close(&rig);
	return 0;
}
