/* SPDX-License-Identifier: MIT */
/* A receive without a scatter entry: libefa counts it and gives the device nothing. */
#include "rig.h"

int main(void)
{
	struct rig rig = {0};
	struct ibv_recv_wr wr = {.wr_id = 1}, *bad;

	rig_open(&rig);
	rig_connect(&rig);
	RIG_NEED(!ibv_post_recv(rig.qp[1], &wr, &bad));
	rig_close(&rig);
	return 0;
}
