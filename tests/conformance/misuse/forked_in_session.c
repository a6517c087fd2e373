/* SPDX-License-Identifier: MIT */
/*
 * No misuse of a session: it is the parent's, whose child ends while the queue pair is still
 * there, and after the session was ended.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "rig.h"

int main(void)
{
	struct rig rig = {0};
	int pipe_fd[2];
	char byte;
	pid_t child;

	rig_open(&rig);
	rig_connect(&rig);
	RIG_NEED(!pipe(pipe_fd));
	ibv_wr_start(rig.ex[0]);
	rig_build(&rig, 1, 64);
	child = fork();
	RIG_NEED(child >= 0);
	if (!child) {
		close(pipe_fd[1]);
		exit((int)read(pipe_fd[0], &byte, 1));
	}
	RIG_NEED(!ibv_wr_complete(rig.ex[0]));
	rig_poll(rig.cq[0], 1);
	close(pipe_fd[1]);
	RIG_NEED(waitpid(child, NULL, 0) == child);
	return 0;
}
