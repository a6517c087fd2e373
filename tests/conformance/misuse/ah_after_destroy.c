/* SPDX-License-Identifier: MIT */
/* A request goes through an address handle that is destroyed. */
#include "rig.h"

int main(void)
{
	struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1};
	struct rig rig = {0};
	struct ibv_ah *other;

	rig_open(&rig);
	rig_connect(&rig);
	/* The device still has one for the same destination. */
	RIG_NEED(!ibv_query_gid(rig.context, 1, 0, &attr.grh.dgid));
	other = ibv_create_ah(rig.pd, &attr);
	RIG_NEED(other);
	RIG_NEED(!ibv_destroy_ah(rig.ah));
	RIG_NEED(!rig_read(&rig, 1, 64));
	rig.ah = NULL;
	rig_poll(rig.cq[0], 1);
	RIG_NEED(!ibv_destroy_ah(other));
	rig_close(&rig);
	return 0;
}
