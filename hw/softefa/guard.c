/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>

#include "guard.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct sigaction before_segv, before_bus;
static bool installed;
static __thread sigjmp_buf *volatile way_out;
static soft_guard_fn *handler;

static void pass_on(int signal, siginfo_t *info, void *context)
{
	const struct sigaction *before = signal == SIGSEGV ? &before_segv : &before_bus;

	if (before->sa_flags & SA_SIGINFO) {
		before->sa_sigaction(signal, info, context);
	} else if (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN) {
		before->sa_handler(signal);
	} else {
		/* It happens again on return, and then ends the program. */
		installed = false;
		sigaction(signal, before, NULL);
	}
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
	if (way_out)
		siglongjmp(*way_out, 1);
	if (signal == SIGSEGV && handler && handler(info, context))
		return;
	pass_on(signal, info, context);
}

static void install_one(int signal, const struct sigaction *action, struct sigaction *before)
{
	struct sigaction now;

	sigaction(signal, NULL, &now);
	if (now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_fault)
		return;
	*before = now;
	sigaction(signal, action, NULL);
}

void soft_guard_install(void)
{
	struct sigaction action = {
		.sa_sigaction = on_fault,
		/* Left by a jump: it must not stay blocked. */
		.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK,
	};

	install_one(SIGSEGV, &action, &before_segv);
	install_one(SIGBUS, &action, &before_bus);
	installed = true;
}

void soft_guard_on_fault(soft_guard_fn *fn)
{
	handler = fn;
}

bool soft_guard_sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
	struct sigaction *before = signal == SIGSEGV ? &before_segv : &before_bus;

	if (!installed || (signal != SIGSEGV && signal != SIGBUS))
		return false;
	if (old)
		*old = *before;
	if (action)
		*before = *action;
	return true;
}

bool soft_guarded_copy(void *to, const void *from, size_t length)
{
	sigjmp_buf here;

	pthread_once(&once, soft_guard_install);
	if (sigsetjmp(here, 0)) {
		way_out = NULL;
		return false;
	}
	way_out = &here;
	memmove(to, from, length);
	way_out = NULL;
	return true;
}
