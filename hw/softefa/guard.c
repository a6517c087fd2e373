/* SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "guard.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct sigaction before_segv, before_bus;
static bool installed;
static __thread sigjmp_buf *volatile way_out;
static soft_guard_fn *handler;

int soft_real_sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
	static __typeof__(&sigaction) real;

	if (!real)
		real = (__typeof__(&sigaction))dlsym(RTLD_NEXT, "sigaction");
	return real(signal, action, old);
}

/*
 * While a handler of the program runs, a second fault of its kind ends the program, unless
 * SA_NODEFER says otherwise. The kernel does that by the mask, but a blocked fault could not
 * come to us. So another signal is blocked that stands for it: its mask is restored by
 * whatever would restore theirs, be it a return or siglongjmp, and the C library lets no
 * program block it, as it is the one that cancels threads.
 */
#define STANDS_FOR 32

typedef uint64_t kernel_set; /* of the 64 signals that the kernel knows */

static kernel_set bit(int signal)
{
	return UINT64_C(1) << (signal - 1);
}

static kernel_set to_kernel(const sigset_t *set)
{
	kernel_set bits;

	memcpy(&bits, set, sizeof(bits));
	return bits;
}

/* As the kernel does before it calls a handler. */
static void block_for(int signal, const struct sigaction *action)
{
	kernel_set mask = to_kernel(&action->sa_mask) & ~(bit(SIGSEGV) | bit(SIGBUS));

	if (!(action->sa_flags & SA_NODEFER))
		mask |= bit(STANDS_FOR);
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &mask, NULL, sizeof(mask));
}

/* Nothing of ours is left between SIGNAL and what it does to a program without a handler. */
static void end_by(int signal, const siginfo_t *info)
{
	struct sigaction none = {.sa_handler = SIG_DFL};

	installed = false;
	soft_real_sigaction(signal, &none, NULL);
	/* A fault happens again on return; what somebody sent does not. */
	if (info->si_code <= 0)
		raise(signal);
}

static void pass_on(int signal, siginfo_t *info, void *context)
{
	struct sigaction *before = signal == SIGSEGV ? &before_segv : &before_bus;
	const struct sigaction action = *before;
	bool sent = info->si_code <= 0;

	if (action.sa_handler == SIG_IGN && sent)
		return;
	if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN ||
	    (!sent && to_kernel(&((ucontext_t *)context)->uc_sigmask) & bit(STANDS_FOR))) {
		end_by(signal, info);
		return;
	}
	if (action.sa_flags & (int)SA_RESETHAND)
		before->sa_handler = SIG_DFL;
	block_for(signal, &action);
	if (action.sa_flags & SA_SIGINFO)
		action.sa_sigaction(signal, info, context);
	else
		action.sa_handler(signal);
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

	soft_real_sigaction(signal, NULL, &now);
	if (now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_fault)
		return;
	*before = now;
	soft_real_sigaction(signal, action, NULL);
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
