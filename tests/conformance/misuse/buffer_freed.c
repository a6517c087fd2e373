/* SPDX-License-Identifier: MIT */
/* Memory is given back while a request in flight writes to it. */
#include "rig.h"

int main(void)
{
	struct rig rig = {0};

	rig_open(&rig);
	rig_connect(&rig);
	RIG_NEED(!rig_read(&rig, 1, 64));
	free(rig.buffer);
	rig.buffer = NULL;
	rig_poll(rig.cq[0], 1);
	rig_close(&rig);
	return 0;
}
