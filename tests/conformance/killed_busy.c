/* SPDX-License-Identifier: MIT */
/*
 * Peers that are killed while they are busy, most of them in the middle of a call into the
 * device: the others go on as if a peer had died, which is all that has happened.
 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "end.h"

#define ROUNDS 40u
#define SIZE   8192u

static struct end_name *names; /* ours, the peer's */
static uint8_t memory[SIZE];

/* Requests to both ends, 16 and one a doorbell, for ever. */
static void be_busy(void)
{
	static struct end end;
	uint32_t out = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	end_open(&end, memory, SIZE);
	end_name(&end, &names[1]);
	for (uint32_t i = 0;; i++) {
		uint32_t num = i % 3 ? 1 : 16;
		struct ibv_wc wc[16];

		if (out + num <= END_DEPTH) {
			end_post(&end, &names[i & 1], end.writes, num, SIZE / 2, 64);
			out += num;
		}
		out -= (uint32_t)ibv_poll_cq(end.cq, 16, wc);
	}
}

int main(void)
{
	struct end end;

	names = end_common(2 * sizeof(*names));
	end_open(&end, memory, SIZE);
	end_name(&end, &names[0]);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		pid_t pid;

		names[1].ready = 0;
		pid = fork();
		must(pid >= 0);
		if (!pid)
			be_busy();
		while (!names[1].ready)
			usleep(100);
		for (uint32_t k = 0; k < 10 + i % 7 * 10; k++)
			must(!end_read(&end, &names[k & 1], SIZE / 2, 64));
		kill(pid, SIGKILL);
		for (uint32_t k = 0; k < 20; k++)
			must(!end_read(&end, &names[0], SIZE / 2, 64));
		must(waitpid(pid, NULL, 0) == pid);
	}
	/* New objects can be had, and what was there before can be given back. */
	end_register(&end, memory, SIZE);
	end_name(&end, &names[0]);
	must(!end_read(&end, &names[0], SIZE / 2, 64));
	must(!ibv_destroy_qp(&end.qp->qp_base));
	must(!ibv_destroy_cq(end.cq));
	return 0;
}
