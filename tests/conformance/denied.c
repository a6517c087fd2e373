/* SPDX-License-Identifier: MIT */
/*
 * Two processes where the system forbids something: system calls between processes (a
 * filter), the right to look into each other (not dumpable, no capabilities), a common PID
 * namespace. Memory that the device shares is reached all the same. Memory that it cannot
 * share (here: a shared mapping) is reached if there is any way to it, and else it is a
 * status, and `srdlab exec` says why.
 * usage: denied filter|rights|namespace      exit 77: this system does not let us forbid it
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "end.h"

#define SIZE 8192u

/* process_vm_readv and process_vm_writev fail with EPERM, in this process and its children. */
static int forbid_calls(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int drop_rights(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {0};

	return syscall(SYS_capset, &header, none) || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* The status of a read of what the other end has at MEMORY; 0: and the bytes were right. */
static uint32_t read_all(struct end *end, const struct end_name *name)
{
	uint32_t status;

	while (!name->ready)
		usleep(1000);
	memset(end->memory, 0, SIZE);
	status = end_read(end, name, 0, SIZE);
	for (uint32_t i = 0; i < SIZE && !status; i++)
		must(end->memory[i] == (uint8_t)(i * 7));
	return status;
}

static void fill(uint8_t *memory)
{
	for (uint32_t i = 0; i < SIZE; i++)
		memory[i] = (uint8_t)(i * 7);
}

static void *map(int flags)
{
	void *at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	must(at != MAP_FAILED);
	return at;
}

/* Two names: that of memory that can be shared, and then of memory that cannot. */
static void serve(struct end_name *names)
{
	static struct end ends[2];
	static const int kinds[2] = {MAP_PRIVATE, MAP_SHARED};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < 2; i++) {
		void *memory = map(kinds[i]);

		fill(memory);
		end_open(&ends[i], memory, SIZE);
		end_name(&ends[i], &names[i]);
	}
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	struct end_name *names = end_common(2 * sizeof(*names));
	const char *what = argc == 2 ? argv[1] : "";
	uint32_t shared, other;
	struct end end;
	int err = 0;
	pid_t peer;

	alarm(60);
	if (!strcmp(what, "filter"))
		err = forbid_calls();
	else if (!strcmp(what, "rights"))
		err = drop_rights();
	else if (!strcmp(what, "namespace"))
		err = unshare(CLONE_NEWPID); /* of its children */
	else
		return 2;
	if (err) {
		perror(what);
		return 77;
	}
	peer = fork();
	must(peer >= 0);
	if (!peer)
		serve(names);
	end_open(&end, map(MAP_PRIVATE), SIZE);
	shared = read_all(&end, &names[0]);
	other = read_all(&end, &names[1]);
	/* Time for the supervisor to look at the one whose number it does not know. */
	usleep(300000);
	must(read_all(&end, &names[0]) == shared);
	printf("shared %u, other %u\n", shared, other);
	kill(peer, SIGKILL);
	waitpid(peer, NULL, 0);
	return 0;
}
