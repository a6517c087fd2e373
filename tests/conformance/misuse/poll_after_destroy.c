/* SPDX-License-Identifier: MIT */
/* A completion queue is polled after it was destroyed. */
#include "rig.h"

int main(void)
{
	struct rig rig = {0};
	struct ibv_cq_init_attr_ex attr = {.cqe = 16};
	struct ibv_poll_cq_attr poll = {0};
	struct ibv_cq_ex *ex;

	rig_open(&rig);
	rig_connect(&rig);
	ex = ibv_create_cq_ex(rig.context, &attr);
	RIG_NEED(ex);
	RIG_NEED(!ibv_destroy_cq(ibv_cq_ex_to_cq(ex)));
	RIG_NEED(ibv_start_poll(ex, &poll));
	rig_close(&rig);
	return 0;
}
