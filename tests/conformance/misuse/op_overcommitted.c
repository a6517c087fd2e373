/* SPDX-License-Identifier: MIT */
/* A get that is marked, and posts more requests than its scheduler has credits. */
#include <srdlab/annotate.h>

#include "rig.h"

#define SIZE 3000

int main(void)
{
	struct rig rig = {0};
	struct srdlab_transfer get = {.is_get = 1};
	srdlab_op_t op;

	rig_open(&rig);
	rig_connect(&rig);
	srdlab_credits(rig.qp[0], 1);
	get.lkey = rig.mr->lkey;
	get.rkey = rig.mr->rkey;
	get.local_addr = (uintptr_t)rig.buffer;
	get.local_size = get.remote_size = SIZE;
	get.remote_addr = (uintptr_t)rig.buffer + RIG_SIZE / 2;
	get.num_wr = 1;
	op = srdlab_op_begin(rig.qp[0], &get);
	srdlab_op_post(op);
	ibv_wr_start(rig.ex[0]);
	rig_build(&rig, 0, SIZE);
	rig_build(&rig, 1, 0);
	RIG_NEED(!ibv_wr_complete(rig.ex[0]));
	srdlab_op_posted(op, 0);
	rig_poll(rig.cq[0], 2);
	srdlab_op_end(op, 0, NULL);
	srdlab_credits(rig.qp[0], 0);
	rig_close(&rig);
	return 0;
}
