/* SPDX-License-Identifier: MIT */
/*
 * A child that its parent leaves behind: one that opens the device then, and one that was made
 * with the device open. A program whose `srdlab exec` is killed.
 * usage: left_behind late|inherited
 *        left_behind orphan FILE    says so in FILE, and goes on when that is gone
 */
#include <unistd.h>

#include "end.h"

static uint8_t memory[4096] __attribute__((aligned(4096)));

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

/*
 * A context, a protection domain and queues from before fork serve on; of the memory that was
 * registered then the child has a copy, and the device the original.
 */
static void inherited(struct end *end, pid_t parent)
{
	static uint8_t fresh[4096];
	struct end_name old, new;
	struct ibv_mr *mr = end->mr;

	wait_for_orphanage(parent);
	end_name(end, &old);
	end->mr = NULL;
	end_register(end, fresh, sizeof(fresh));
	end_name(end, &new);
	memset(fresh, 7, 64);
	must(!end_read(end, &new, 2048, 64) && fresh[2048] == 7);
	memory[0] = 8;
	must(!end_read(end, &old, 2048, 64));
	printf("it read %u, ", fresh[2048]);
	end->mr = mr;
	end->memory = memory;
	must(!end_read(end, &new, 2048, 64));
	printf("and here %u\n", memory[2048]);
	must(ibv_create_cq(end->context, 16, NULL, NULL, 0));
	must(!ibv_destroy_qp(&end->qp->qp_base) && !ibv_dereg_mr(mr));
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
	if (!is_late) {
		end_open(&end, memory, sizeof(memory));
		memory[0] = 5;
	}
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
