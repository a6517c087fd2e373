/* SPDX-License-Identifier: MIT */
/* A thread builds a request in the session that another thread has open on the queue pair. */
#include <pthread.h>

#include "rig.h"

static void *other(void *arg)
{
	rig_build(arg, 2, 64);
	return NULL;
}

int main(void)
{
	struct rig rig = {0};
	pthread_t thread;

	rig_open(&rig);
	rig_connect(&rig);
	ibv_wr_start(rig.ex[0]);
	rig_build(&rig, 1, 64);
	RIG_NEED(!pthread_create(&thread, NULL, other, &rig));
	RIG_NEED(!pthread_join(thread, NULL));
	RIG_NEED(!ibv_wr_complete(rig.ex[0]));
	rig_poll(rig.cq[0], 1);
	rig_close(&rig);
	return 0;
}
