/* SPDX-License-Identifier: MIT */
/*
 * A child of fork goes on with its parent's queues, and so does the parent: both are given the
 * completion of one request, as the library's place in the ring is each one's own.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "end.h"

static uint8_t memory[8192] __attribute__((aligned(4096)));

static void reap(struct end *end)
{
	struct ibv_wc wc;
	int n;

	do
		n = ibv_poll_cq(end->cq, 1, &wc);
	while (!n);
	must(n == 1 && !wc.status);
}

int main(void)
{
	struct end_name self;
	struct end end;
	pid_t pid;
	int status;

	alarm(60);
	end_open(&end, memory, sizeof(memory));
	end_name(&end, &self);
	end_post(&end, &self, 0, 1, 4096, 64);
	pid = fork();
	must(pid >= 0);
	if (!pid) {
		reap(&end);
		_exit(0);
	}
	must(waitpid(pid, &status, 0) == pid && !status);
	reap(&end);
	for (int i = 0; i < 100; i++)
		must(!end_read(&end, &self, 4096, 64));
	end_close(&end);
	return 0;
}
