/* SPDX-License-Identifier: MIT */
/*
 * A program's own faults, beside the device's: each reaches the program's handler with its
 * signal and address, as often as it would without a device, or ends the program. What is
 * posted after a handler was left completes.
 */
#include <setjmp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "end.h"

typedef void (*handler)(int signal);
/* What signal() is in a program of strict C. */
handler __sysv_signal(int signal, handler fn);

/* The compiler is not to know. */
static volatile int *volatile nowhere = (volatile int *)8;

static struct end end;
static struct end_name name;
static uint8_t memory[4096];
static sigjmp_buf out;
static volatile int *calls; /* of handlers; shared with who looks */
static void *volatile address;
static volatile int code;

static void open_end(void)
{
	end_open(&end, memory, sizeof(memory));
	end_name(&end, &name);
	must(!end_read(&end, &name, 2048, 64));
}

static void leave(int signal, siginfo_t *info, void *context)
{
	must(signal == SIGSEGV);
	++*calls;
	address = info->si_addr;
	code = info->si_code;
	siglongjmp(out, 1);
}

static void leave_plainly(int signal)
{
	++*calls;
	siglongjmp(out, 1);
}

static void count(int signal)
{
	++*calls;
}

static void fault_again(int signal)
{
	++*calls;
	*nowhere = 1;
}

static void install(void (*fn)(int, siginfo_t *, void *), int flags)
{
	struct sigaction action = {.sa_sigaction = fn, .sa_flags = SA_SIGINFO | flags};

	must(!sigaction(SIGSEGV, &action, NULL));
}

static void install_plain(handler fn, int flags)
{
	struct sigaction action = {.sa_handler = fn, .sa_flags = flags};

	must(!sigaction(SIGSEGV, &action, NULL));
}

/* It stores to AT, and comes back by a handler. */
static void fault(volatile int *at)
{
	if (sigsetjmp(out, 1))
		return;
	*at = 1;
	must(0);
}

static void without_handler(void)
{
	open_end();
	*nowhere = 1;
}

static void left_by_a_jump(void)
{
	open_end();
	install(leave, 0);
	for (int i = 0; i < 3; i++) {
		fault(nowhere);
		must(address == nowhere && code == SEGV_MAPERR);
		must(!end_read(&end, &name, 2048, 64));
	}
	must(*calls == 3);
}

static void installed_before(void)
{
	install(leave, 0);
	open_end();
	fault(nowhere);
	must(address == nowhere && *calls == 1);
	must(!end_read(&end, &name, 2048, 64));
}

static void only_once(void)
{
	open_end();
	install(leave, (int)SA_RESETHAND);
	fault(nowhere);
	must(!end_read(&end, &name, 2048, 64));
	*nowhere = 1;
}

static void of_strict_c(void)
{
	open_end();
	must(__sysv_signal(SIGSEGV, leave_plainly) == SIG_DFL);
	must(!end_read(&end, &name, 2048, 64));
	fault(nowhere);
	must(*calls == 1);
	*nowhere = 1;
}

static void in_its_handler(void)
{
	open_end();
	install_plain(fault_again, 0);
	*nowhere = 1;
}

/* A page of the device that the program may not write to. */
static void of_a_mapping(void)
{
	volatile int *page;

	open_end();
	page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, end.context->cmd_fd, 1 << 20);
	must(page != MAP_FAILED);
	install(leave, 0);
	fault(page + 1);
	must(address == page + 1 && code == SEGV_ACCERR);
}

static void that_is_sent(void)
{
	open_end();
	must(signal(SIGSEGV, SIG_IGN) == SIG_DFL);
	raise(SIGSEGV);
	install_plain(count, 0);
	raise(SIGSEGV);
	raise(SIGSEGV);
	must(*calls == 2);
	must(signal(SIGSEGV, SIG_DFL) == count);
	raise(SIGSEGV);
}

static void that_is_ignored(void)
{
	open_end();
	must(signal(SIGSEGV, SIG_IGN) == SIG_DFL);
	*nowhere = 1;
}

static const struct {
	const char *what;
	void (*run)(void);
	int signal; /* that ends it; 0: none */
	int calls;
} cases[] = {
	{"without a handler", without_handler, SIGSEGV, 0},
	{"left by a jump", left_by_a_jump, 0, 3},
	{"with a handler from before", installed_before, 0, 1},
	{"with a handler for one", only_once, SIGSEGV, 1},
	{"with a handler of strict C", of_strict_c, SIGSEGV, 1},
	{"in its own handler", in_its_handler, SIGSEGV, 1},
	{"of a read-only page of the device", of_a_mapping, 0, 1},
	{"that is sent", that_is_sent, SIGSEGV, 2},
	{"that is ignored", that_is_ignored, SIGSEGV, 0},
};

int main(void)
{
	static const struct rlimit no_core = {0, 0};
	int failures = 0, status;

	setrlimit(RLIMIT_CORE, &no_core);
	calls = end_common(sizeof(*calls));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		pid_t pid;

		*calls = 0;
		pid = fork();
		must(pid >= 0);
		if (!pid) {
			alarm(100);
			cases[i].run();
			_exit(0);
		}
		must(waitpid(pid, &status, 0) == pid);
		if (*calls == cases[i].calls && status == cases[i].signal)
			continue;
		printf("a fault %s: status 0x%x instead of 0x%x, %d calls instead of %d\n",
		       cases[i].what, (unsigned int)status, (unsigned int)cases[i].signal, *calls,
		       cases[i].calls);
		failures++;
	}
	return failures > 0;
}
