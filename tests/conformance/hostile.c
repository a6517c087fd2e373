/* SPDX-License-Identifier: MIT */
/*
 * Programs that break the rules of their own process: each in a child of its own, which must
 * come to its end, not crash and not hang; and after all of them the device still works.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "end.h"

#define SIZE    8192u
#define SECONDS 60

static struct end end;
static struct end_name name;
static uint8_t *memory;

static void *map(void)
{
	void *at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	must(at != MAP_FAILED);
	return at;
}

static void open_one(void)
{
	memory = map();
	end_open(&end, memory, SIZE);
	end_name(&end, &name);
	must(!end_read(&end, &name, SIZE / 2, 64));
}

/* All that a program may do, none of it with a promise. */
static void use_all(void)
{
	struct ibv_wc wc;

	ibv_wr_start(end.qp);
	end.qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_read(end.qp, name.rkey, name.addr);
	ibv_wr_set_sge(end.qp, end.mr->lkey, (uintptr_t)memory + SIZE / 2, 64);
	ibv_wr_set_ud_addr(end.qp, end.ah, name.qpn, END_QKEY);
	ibv_wr_complete(end.qp);
	for (int i = 0; i < 100; i++)
		ibv_poll_cq(end.cq, 1, &wc);
	ibv_req_notify_cq(end.cq, 0);
}

/* The kernel keeps a device while its queues are mapped: it goes on, but nothing new comes. */
static void closed_under_the_library(void)
{
	open_one();
	must(!close(end.context->cmd_fd));
	must(!end_read(&end, &name, SIZE / 2, 64));
	must(!ibv_alloc_pd(end.context));
	must(ibv_dereg_mr(end.mr));
	use_all();
}

static void replaced_under_the_library(void)
{
	int fd = open("/dev/null", O_RDWR);
	struct stat st;

	open_one();
	must(dup2(fd, end.context->cmd_fd) == end.context->cmd_fd);
	must(!fstat(end.context->cmd_fd, &st) && st.st_rdev != 0);
	must(!ibv_alloc_pd(end.context));
	use_all();
}

static void closed_by_a_range(void)
{
	open_one();
	must(!close_range((unsigned int)end.context->cmd_fd, ~0u, 0));
	must(open("/dev/null", O_RDWR) >= 0);
	must(!ibv_alloc_pd(end.context));
	use_all();
}

/* A copy is the device as much as the original was. */
static void copied_descriptor(void)
{
	int before, copy;

	open_one();
	before = end.context->cmd_fd;
	copy = fcntl(before, F_DUPFD_CLOEXEC, 100);
	must(copy >= 100 && !close(before));
	end.context->cmd_fd = copy;
	must(ibv_alloc_pd(end.context));
	must(!end_read(&end, &name, SIZE / 2, 64));
	must(!ibv_destroy_qp(&end.qp->qp_base));
}

static void freed_while_registered(void)
{
	open_one();
	must(!munmap(memory, SIZE));
	end_read(&end, &name, SIZE / 2, 64);
	map();
	use_all();
}

static void wrong_handles(void)
{
	uint32_t qp, cq;

	open_one();
	qp = end.qp->qp_base.handle;
	cq = end.cq->handle;
	for (uint32_t shift = 0; shift < 32; shift++) {
		end.qp->qp_base.handle = 1u << shift;
		end.cq->handle = ~(1u << shift);
		use_all();
	}
	end.qp->qp_base.handle = qp;
	end.cq->handle = cq;
}

/* A child of fork has what its parent has, and what it destroys is gone for both. */
static void child_uses_its_parents(void)
{
	pid_t pid;
	int status;

	open_one();
	pid = fork();
	must(pid >= 0);
	if (!pid) {
		alarm(SECONDS);
		use_all();
		must(!ibv_destroy_qp(&end.qp->qp_base));
		exit(0);
	}
	must(waitpid(pid, &status, 0) == pid && status == 0);
	must(ibv_destroy_qp(&end.qp->qp_base));
	must(!ibv_destroy_cq(end.cq));
}

static void *work(void *argument)
{
	for (;;)
		must(!end_read(&end, &name, SIZE / 2, 64));
	return NULL;
}

static void forks_in_the_middle(void)
{
	pthread_t thread;
	int status;

	open_one();
	must(!pthread_create(&thread, NULL, work, NULL));
	for (int i = 0; i < 50; i++) {
		pid_t pid = fork();

		must(pid >= 0);
		if (!pid) {
			static struct end other;

			alarm(SECONDS);
			if (i % 2)
				end_open(&other, map(), SIZE);
			exit(0);
		}
		must(waitpid(pid, &status, 0) == pid && status == 0);
	}
	exit(0); /* with a thread that goes on */
}

static void ends_in_a_handler(int signal)
{
	exit(0);
}

static void ends_anywhere(void)
{
	open_one();
	signal(SIGALRM, ends_in_a_handler);
	ualarm(20000, 0);
	work(NULL);
}

int main(void)
{
	static const struct {
		const char *what;
		void (*run)(void);
	} cases[] = {
		{"closed under the library", closed_under_the_library},
		{"replaced under the library", replaced_under_the_library},
		{"closed by a range", closed_by_a_range},
		{"a copied descriptor", copied_descriptor},
		{"freed while registered", freed_while_registered},
		{"wrong handles", wrong_handles},
		{"a child uses its parent's", child_uses_its_parents},
		{"fork in the middle", forks_in_the_middle},
		{"exit in a handler", ends_anywhere},
	};
	int status, failures = 0;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		pid_t pid;

		fflush(stdout);
		pid = fork();
		must(pid >= 0);
		if (!pid) {
			alarm(SECONDS);
			cases[i].run();
			exit(0);
		}
		must(waitpid(pid, &status, 0) == pid);
		if (status) {
			printf("%s: status %#x\n", cases[i].what, (unsigned int)status);
			failures++;
		}
	}
	open_one();
	return failures > 0;
}
