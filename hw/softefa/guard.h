/* SPDX-License-Identifier: MIT */
/*
 * Copies inside our own process that a bad address ends and does not kill. A system call
 * does that too, at ten times the price of a small copy. The handlers of SIGSEGV and SIGBUS
 * that the program has are called for all that is not ours; the preloaded library keeps them
 * apart when the program sets them.
 */
#ifndef SRD_SOFTEFA_GUARD_H
#define SRD_SOFTEFA_GUARD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/* As memmove; false: part of it is not there, and any part of TO may be changed. */
bool soft_guarded_copy(void *to, const void *from, size_t length);

/* Put our handlers in place, unless they are. */
void soft_guard_install(void);
/* Ask FN about each SIGSEGV first: true, it is dealt with. */
typedef bool soft_guard_fn(siginfo_t *info, void *context);
void soft_guard_on_fault(soft_guard_fn *fn);
/* As sigaction, for a handler of the program's beside ours; false: SIGNAL is not ours. */
bool soft_guard_sigaction(int signal, const struct sigaction *action, struct sigaction *old);
/* The C library's own, where ours stands in front of it. */
int soft_real_sigaction(int signal, const struct sigaction *action, struct sigaction *old);

#endif
