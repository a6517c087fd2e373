/* SPDX-License-Identifier: MIT */
/* No misuse: it waits, with everything open, to be killed. */
#include <unistd.h>

#include "rig.h"

int main(void)
{
	struct rig rig = {0};

	rig_open(&rig);
	rig_connect(&rig);
	pause();
	return 0;
}
