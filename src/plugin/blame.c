/* SPDX-License-Identifier: MIT */
/*
 * The handlers run on a stack of their own, since a stack that is used up is one of the
 * things to be told. They call what is not promised to be safe in a handler (snprintf
 * without floating point, dladdr): where that goes wrong the process dies all the same, and
 * the parent says so without a stack.
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "plugin/blame.h"
#include "verbs/units.h"

#define STACK_SIZE   65536
#define MAX_FRAMES   64
#define SHOWN        12
#define BLAME_STATUS 70

static struct {
	int fd; /* -1: nothing is told */
	pid_t owner, process, parent;
	void (*flush)(void);
	struct srd_blame_page *page;
	const char *where; /* NULL: none of the plug-in's functions runs */
	const void *self;  /* where the program is loaded */
	size_t used;
	char text[4096];
} state = {.fd = -1};

static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};

static void add(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void add_list(const char *format, va_list args)
{
	size_t room = sizeof(state.text) - state.used;
	int n = vsnprintf(state.text + state.used, room, format, args);

	if (n > 0)
		state.used += (size_t)n < room ? (size_t)n : room - 1;
}

static void add(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add_list(format, args);
	va_end(args);
}

static void look_up(const void *address, Dl_info *info)
{
	if (!dladdr(address, info))
		*info = (Dl_info){0};
}

static void add_frame(const char *address, const Dl_info *info)
{
	const char *base = info->dli_fname ? strrchr(info->dli_fname, '/') : NULL;
	const char *file = base ? base + 1 : info->dli_fname ? info->dli_fname : "?";

	if (info->dli_sname)
		add("\n  at %s+0x%tx in %s", info->dli_sname,
		    address - (const char *)info->dli_saddr, file);
	else
		add("\n  at %s+0x%tx", file, address - (const char *)info->dli_fbase);
}

/* Where the signal came, which is a frame of the stack; NULL: unknown. */
static void *interrupted(const ucontext_t *context)
{
#if defined(__x86_64__)
	return (void *)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
	return (void *)context->uc_mcontext.pc;
#else
	return NULL;
#endif
}

/*
 * The plug-in's part of the stack: from FROM, or from behind ourselves, to the frame of ours
 * that called it. What the C library does in its own name before is left out.
 */
static void add_stack(const void *from)
{
	void *frames[MAX_FRAMES];
	int count = backtrace(frames, MAX_FRAMES), at = 0, shown = 0;
	Dl_info info, libc;

	look_up((void *)(uintptr_t)exit, &libc);
	for (int i = count - 1; i >= 0; i--) {
		look_up(frames[i], &info);
		/* A sanitizer's own backtrace may stand before the first of ours. */
		if (from ? frames[i] == from : info.dli_fbase == state.self)
			at = i;
	}
	for (; at < count && shown < SHOWN; at++) {
		const char *address = frames[at];

		/* A return address may be behind the function, where the call is its end. */
		look_up(address == from ? address : address - 1, &info);
		if (info.dli_fbase == state.self && shown)
			break;
		if (info.dli_fbase == state.self ||
		    (!shown && info.dli_fbase == libc.dli_fbase &&
		     (!info.dli_sname || !strcmp(info.dli_sname, "exit"))))
			continue;
		add_frame(address, &info);
		shown++;
	}
}

/* Whole, as far as there is somebody who reads it. */
static void tell(void)
{
	size_t done = 0;

	srd_blame_process();
	if (state.flush)
		state.flush();
	while (state.fd >= 0 && done < state.used) {
		ssize_t n = write(state.fd, state.text + done, state.used - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	state.fd = -1;
}

/* A build that measures coverage would lose what it has measured. */
static void __attribute__((noreturn)) leave(void)
{
#ifdef SRD_COVERAGE
	void __gcov_dump(void);

	__gcov_dump();
#endif
	_exit(BLAME_STATUS);
}

static void begin(void)
{
	state.used = 0;
	add("%c", SRD_TOLD_BLAME);
}

void srd_blame_stopped(const struct srd_blame_page *page, const char *how, char *text, size_t size)
{
	char memory[24], doing[sizeof(page->doing)];

	snprintf(doing, sizeof(doing), "%.*s", (int)sizeof(doing) - 1, page->doing);
	if (page->memory)
		snprintf(text, size, "the plug-in takes more than %s of memory%s: it was %s",
			 srd_units_format(SRD_UNIT_SIZE, page->memory, memory, sizeof(memory)),
			 doing, how);
	else
		snprintf(text, size, "the plug-in hangs%s: it was %s when %s time was over", doing,
			 how, page->loading ? "its" : "the scenario's");
}

static void handle(int number, siginfo_t *info, void *context)
{
	char text[512];

	if (state.fd < 0)
		return; /* the handler is reset: it dies of the signal now */
	begin();
	if (number == SIGALRM && info->si_code == SI_USER && info->si_pid == state.parent) {
		srd_blame_stopped(state.page, "stopped", text, sizeof(text));
		add("%s", text);
	} else if (number == SIGALRM) {
		add("the plug-in was ended by an alarm of its own%s: signal %d (%s)",
		    state.page->doing, number, sigdescr_np(number));
	} else {
		add("the plug-in crashed%s: signal %d (%s)", state.page->doing, number,
		    sigdescr_np(number));
	}
	add_stack(interrupted(context));
	tell();
	leave();
}

static void left(int status, void *arg)
{
	if (state.fd < 0 || getpid() != state.process)
		return;
	begin();
	add("the plug-in called exit(%d)%s", status, state.page->doing);
	add_stack(NULL);
	tell();
}

void srd_blame(const char *format, ...)
{
	va_list args;

	begin();
	va_start(args, format);
	add_list(format, args);
	va_end(args);
	tell();
	leave();
}

void srd_blame_call(const char *format, ...)
{
	va_list args;

	begin();
	va_start(args, format);
	add_list(format, args);
	va_end(args);
	add_stack(NULL);
	tell();
	leave();
}

/* Before a fork: what both processes then do with one seam and one pipe is no run any more. */
static void forks(void)
{
	if (state.fd >= 0 && getpid() == state.process)
		srd_blame_call("the plug-in forks%s: a queue pair and its memory are those of one "
			       "process",
			       state.page->doing);
}

int srd_blame_start(int fd, void (*flush)(void), struct srd_blame_page *page,
		    struct srd_error *error)
{
	static char stack[STACK_SIZE];
	const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction action = {.sa_sigaction = handle,
				   .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND};
	void *first;
	Dl_info info;

	backtrace(&first, 1); /* so that its library is not loaded in a handler */
	look_up((void *)(uintptr_t)srd_blame_start, &info);
	state.self = info.dli_fbase;
	state.owner = gettid();
	state.process = getpid();
	state.parent = getppid();
	state.flush = flush;
	state.page = page;
	if (sigaltstack(&alternate, NULL) || on_exit(left, NULL) ||
	    pthread_atfork(forks, NULL, NULL))
		return srd_error_set(error, -errno, "no handlers for a crash: %m");
	for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++)
		sigaction(crashes[i], &action, NULL);
	sigaction(SIGALRM, &action, NULL);
	state.fd = fd;
	return 0;
}

void srd_blame_stop(void)
{
	state.fd = -1;
}

void srd_blame_closed(void)
{
	state.page->closed = 1;
}

void srd_blame_process(void)
{
	if (getpid() != state.process)
		_exit(BLAME_STATUS);
}

void srd_blame_load(const char *path, const char *role)
{
	state.page->loading = 1;
	snprintf(state.page->doing, sizeof(state.page->doing), " while %s was loaded as the %s",
		 path, role);
}

void srd_blame_loaded(void)
{
	state.page->loading = 0;
	state.page->doing[0] = '\0';
}

static void follow(const char *where)
{
	state.where = where;
	if (where)
		stpcpy(stpcpy(state.page->doing, " in "), where);
	else
		state.page->doing[0] = '\0';
}

const char *srd_blame_enter(const char *where)
{
	const char *before = state.where;

	follow(where);
	return before;
}

void srd_blame_leave(const char *before)
{
	follow(before);
}

void srd_blame_thread(const char *call)
{
	if (gettid() != state.owner)
		srd_blame_call("the plug-in called %s from another thread: an object has one owner "
			       "thread, the one that called its create",
			       call);
}
