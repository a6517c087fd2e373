/* SPDX-License-Identifier: MIT */
/*
 * A child that its parent leaves behind: one that opens the device then, and one that was made
 * with the device open. A program whose `srdlab exec` is killed.
 * usage: left_behind late|inherited
 *        left_behind orphan FILE    says so in FILE, and goes on when that is gone
 */
#include <unistd.h>

#include "end.h"

static uint8_t memory[4096];

static void wait_for_orphanage(pid_t parent)
{
	while (getppid() == parent)
		usleep(1000);
}

static void open_and_read(void)
{
	struct end_name name;
	struct end end;

	end_open(&end, memory, sizeof(memory));
	end_name(&end, &name);
	must(!end_read(&end, &name, 2048, 64));
}

static void late(pid_t parent)
{
	wait_for_orphanage(parent);
	usleep(400000); /* longer than it takes to say that it is waited for */
	open_and_read();
	puts("it read");
}

static void inherited(const struct end *end, pid_t parent)
{
	struct ibv_wc wc;

	wait_for_orphanage(parent);
	must(!ibv_create_cq(end->context, 16, NULL, NULL, 0));
	must(!ibv_poll_cq(end->cq, 1, &wc));
	puts("it got nothing");
}

/* What it has goes on, what it makes and opens is good too, and so is the next program's. */
static int orphan(char **argv)
{
	pid_t parent = getppid();
	struct end_name name;
	struct end end;
	FILE *file;

	end_open(&end, memory, sizeof(memory));
	file = fopen(argv[2], "w");
	must(file && !fclose(file));
	wait_for_orphanage(parent);
	while (!access(argv[2], F_OK))
		usleep(1000);
	end_register(&end, memory, sizeof(memory));
	end_name(&end, &name);
	must(!end_read(&end, &name, 2048, 64));
	must(end_create_qp(&end, IBV_QP_EX_WITH_RDMA_READ));
	open_and_read();
	execl(argv[0], argv[0], "again", NULL);
	return 1;
}

static int again(void)
{
	open_and_read();
	puts("it read");
	return 0;
}

int main(int argc, char **argv)
{
	int is_late = argc > 1 && !strcmp(argv[1], "late");
	pid_t parent = getpid(), child;
	struct end end;

	alarm(60);
	if (argc > 1 && !strcmp(argv[1], "again"))
		return again();
	if (argc > 2)
		return orphan(argv);
	if (!is_late)
		end_open(&end, memory, sizeof(memory));
	child = fork();
	must(child >= 0);
	if (child)
		return 3;
	alarm(60);
	if (is_late)
		late(parent);
	else
		inherited(&end, parent);
	return 0;
}
