/* SPDX-License-Identifier: MIT */
/*
 * No misuse: more events than the ring holds. With an argument, srdlab exec is stopped for a
 * second meanwhile, so that nobody reads; then this program has to wait.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rig.h"

#define REQUESTS 40000

static pid_t stop_reader(void)
{
	pid_t reader = getppid(), child;

	RIG_NEED(!kill(reader, SIGSTOP));
	child = fork();
	if (child)
		return child;
	sleep(1);
	kill(reader, SIGCONT);
	_exit(0);
}

int main(int argc, char *argv[] __attribute__((unused)))
{
	pid_t child = argc > 1 ? stop_reader() : 0;
	struct rig rig = {0};

	rig_open(&rig);
	rig_connect(&rig);
	for (uint64_t i = 0; i < REQUESTS; i += RIG_DEPTH) {
		for (uint64_t k = 0; k < RIG_DEPTH; k++)
			RIG_NEED(!rig_read(&rig, i + k, 64));
		RIG_NEED(rig_poll(rig.cq[0], RIG_DEPTH) == IBV_WC_SUCCESS);
	}
	rig_close(&rig);
	if (child)
		RIG_NEED(waitpid(child, NULL, 0) == child);
	return 0;
}
