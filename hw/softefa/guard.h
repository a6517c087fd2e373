/* SPDX-License-Identifier: MIT */
/*
 * Copies inside our own process that a bad address ends and does not kill. A system call
 * does that too, at ten times the price of a small copy. The handlers of SIGSEGV and SIGBUS
 * that were there before are called for all that is not ours. Where the program sets its own
 * later, a bad address is its crash: in a copy that it asked for from memory it has freed.
 */
#ifndef SRD_SOFTEFA_GUARD_H
#define SRD_SOFTEFA_GUARD_H

#include <stdbool.h>
#include <stddef.h>

/* As memmove; false: part of it is not there, and any part of TO may be changed. */
bool soft_guarded_copy(void *to, const void *from, size_t length);

#endif
