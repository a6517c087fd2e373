/* SPDX-License-Identifier: MIT */
/*
 * A child that its parent leaves behind: one that opens the device then, and one that was made
 * with the device open.
 * usage: left_behind late|inherited
 */
#include <unistd.h>

#include "end.h"

static uint8_t memory[4096];

static void wait_for_orphanage(pid_t parent)
{
	while (getppid() == parent)
		usleep(1000);
}

static void late(pid_t parent)
{
	struct end_name name;
	struct end end;

	wait_for_orphanage(parent);
	usleep(400000); /* longer than it takes to say that it is waited for */
	end_open(&end, memory, sizeof(memory));
	end_name(&end, &name);
	must(!end_read(&end, &name, 2048, 64));
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

int main(int argc, char **argv)
{
	int is_late = argc > 1 && !strcmp(argv[1], "late");
	pid_t parent = getpid(), child;
	struct end end;

	alarm(60);
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
