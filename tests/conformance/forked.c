/* SPDX-License-Identifier: MIT */
/*
 * Processes that share a device from fork: one opens it and is killed, its children make queues
 * of their own through its context, and read from one another and from it, also after their
 * deaths. When all are gone, so is all that they had.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "end.h"

#define WORKERS      3
#define ROUNDS       200
#define BAD_DEST_QPN 9

static struct shared {
	struct end_name names[1 + WORKERS];
	int done;
} * shared;
static uint8_t memory[8192] __attribute__((aligned(4096)));

/* Queues and memory of its own over what the parent opened. */
static void end_of_child(struct end *end)
{
	end->mr = NULL;
	end->cq = ibv_create_cq(end->context, 2 * END_DEPTH, NULL, NULL, 0);
	must(end->cq);
	end->qp = ibv_qp_to_qp_ex(end_create_qp(end, IBV_QP_EX_WITH_RDMA_READ));
	end_register(end, memory, sizeof(memory));
	end_modify(end, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	end_modify(end, IBV_QPS_RTR, 0);
	end_modify(end, IBV_QPS_RTS, IBV_QP_SQ_PSN);
}

static void work(struct end *end, int number, pid_t parent)
{
	memory[0] = (uint8_t)number;
	end_of_child(end);
	end_name(end, &shared->names[number]);
	for (int i = 0; i <= WORKERS; i++)
		while (!shared->names[i].ready)
			usleep(100);
	for (int i = 0; i < ROUNDS || getppid() == parent; i++) {
		int from = i % (1 + WORKERS);

		/* Where its memory is not shared, what stands for that of the dead is a child's. */
		must(!end_read(end, &shared->names[from], 4096, 64) &&
		     (!from || memory[4096] == from));
	}
	__atomic_add_fetch(&shared->done, 1, __ATOMIC_RELEASE);
	/* Its memory goes with it, where that is not shared. */
	while (__atomic_load_n(&shared->done, __ATOMIC_ACQUIRE) < WORKERS)
		usleep(100);
	exit(0);
}

static void open_and_die(void)
{
	struct end end;

	end_open(&end, memory, sizeof(memory));
	end_name(&end, &shared->names[0]);
	for (int i = 1; i <= WORKERS; i++) {
		pid_t parent = getpid(), pid = fork();

		must(pid >= 0);
		if (!pid)
			work(&end, i, parent);
	}
	for (int i = 1; i <= WORKERS; i++)
		while (!shared->names[i].ready)
			usleep(100);
	for (int i = 0; i < ROUNDS; i++)
		must(!end_read(&end, &shared->names[i % (1 + WORKERS)], 4096, 64));
	kill(getpid(), SIGKILL);
}

int main(void)
{
	struct end end;
	pid_t pid;
	int status;

	alarm(120);
	shared = end_common(sizeof(*shared));
	pid = fork();
	must(pid >= 0);
	if (!pid)
		open_and_die();
	end_open(&end, memory, sizeof(memory));
	must(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
	must(WTERMSIG(status) == SIGKILL);
	for (int i = 0; i < 50000 && __atomic_load_n(&shared->done, __ATOMIC_ACQUIRE) < WORKERS;
	     i++)
		usleep(1000);
	must(shared->done == WORKERS);
	for (int i = 0; i <= WORKERS; i++)
		while (end_read(&end, &shared->names[i], 4096, 64) != BAD_DEST_QPN)
			usleep(1000);
	return 0;
}
