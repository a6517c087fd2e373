/* SPDX-License-Identifier: MIT */
/* A completion queue is polled while a session holds the lock that a completion needs. */
#include "rig.h"

int main(void)
{
	struct rig rig = {0};
	struct ibv_wc wc;

	rig_open(&rig);
	rig_connect(&rig);
	RIG_NEED(!rig_read(&rig, 1, 64));
	ibv_wr_start(rig.ex[0]);
	RIG_NEED(ibv_poll_cq(rig.cq[0], 1, &wc) < 0);
	ibv_wr_abort(rig.ex[0]);
	rig_poll(rig.cq[0], 1);
	rig_close(&rig);
	return 0;
}
