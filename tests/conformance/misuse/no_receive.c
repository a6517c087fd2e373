/* SPDX-License-Identifier: MIT */
/* A send comes to a queue pair that has no receive posted. */
#include "rig.h"

int main(void)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS, .rnr_retry = 0};
	struct rig rig = {0};

	rig_open(&rig);
	for (int i = 0; i < 2; i++) {
		rig_to(rig.qp[i], IBV_QPS_INIT, RIG_QKEY);
		rig_to(rig.qp[i], IBV_QPS_RTR, 0);
		RIG_NEED(!ibv_modify_qp(rig.qp[i], &attr,
					IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_RNR_RETRY));
	}
	RIG_NEED(!rig_send(&rig, 1, 64));
	RIG_NEED(rig_poll(rig.cq[0], 1) == IBV_WC_RNR_RETRY_EXC_ERR);
	rig_close(&rig);
	return 0;
}
