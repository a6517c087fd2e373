/* SPDX-License-Identifier: MIT */
/*
 * A program that gives up what it may, with a device open, and goes on with that; and one that
 * begins so.
 * usage: confined WAY
 */
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "end.h"

static uint8_t memory[8192] __attribute__((aligned(4096)));

static void limit(int what, rlim_t most)
{
	struct rlimit limit = {most, most};

	must(!setrlimit(what, &limit));
}

/* False: there is no such way. */
static int begin(const char *way)
{
	if (!strcmp(way, "small_files"))
		limit(RLIMIT_FSIZE, 4096);
	else if (!strcmp(way, "small_memory"))
		limit(RLIMIT_AS, 1 << 30);
	else
		return 0;
	return 1;
}

static void give_up(const char *way)
{
	if (!strcmp(way, "root"))
		must(!chroot("/proc/self/fdinfo"));
	else if (!strcmp(way, "descriptors"))
		limit(RLIMIT_NOFILE, 3);
	else
		must(!strcmp(way, "closed") && !syscall(SYS_close_range, 3, ~0u, 0));
}

static void send_to(struct end *end, const struct end_name *to)
{
	struct ibv_sge sge = {(uintptr_t)memory, 8, end->mr->lkey};
	struct ibv_send_wr *bad,
		wr = {
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = IBV_WR_SEND,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.ud = {.ah = end->ah, .remote_qpn = to->qpn, .remote_qkey = END_QKEY},
		};

	must(!ibv_post_send(&end->qp->qp_base, &wr, &bad));
}

/* Its completion is for another process that sleeps until it is told: who tells it cannot. */
static void child(const struct end_name *parent, const char *way)
{
	struct end_name name;
	struct end end;
	struct ibv_mr *mr;

	end_channel = NULL;
	end_open(&end, memory, sizeof(memory));
	end_name(&end, &name);
	give_up(way);
	must(!end_read(&end, &name, 4096, 64));
	mr = ibv_reg_mr(end.pd, memory, 64, IBV_ACCESS_LOCAL_WRITE);
	must(!mr == !strcmp(way, "closed"));
	while (!parent->ready)
		usleep(100);
	send_to(&end, parent);
	must(!end_read(&end, &name, 4096, 64));
	_exit(0); /* what a build that counts would write at the end it may not */
}

int main(int argc, char **argv)
{
	struct end_name *name = end_common(sizeof(*name));
	int begins = begin(argv[1]), status;
	struct ibv_comp_channel *channel;
	struct ibv_sge sge = {(uintptr_t)memory, 64, 0};
	struct ibv_recv_wr *bad, wr = {.sg_list = &sge, .num_sge = 1};
	struct ibv_cq *cq;
	struct end end;
	void *context;
	pid_t pid = 0;

	alarm(60);
	if (!begins)
		pid = fork();
	must(pid >= 0);
	if (!begins && !pid)
		child(name, argv[1]);
	end_channel = &channel;
	end_open(&end, memory, sizeof(memory));
	if (begins) {
		end_name(&end, name);
		must(!end_read(&end, name, 4096, 64));
		_exit(0);
	}
	sge.lkey = end.mr->lkey;
	must(!ibv_post_recv(&end.qp->qp_base, &wr, &bad) && !ibv_req_notify_cq(end.cq, 0));
	end_name(&end, name);
	must(!ibv_get_cq_event(channel, &cq, &context) && cq == end.cq);
	must(waitpid(pid, &status, 0) == pid && !status);
	return 0;
}
