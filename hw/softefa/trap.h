/* SPDX-License-Identifier: MIT */
/*
 * How the device learns of work that a program puts into the rings by itself: the page of the
 * doorbells is read-only in the program, and the handler of the fault that a store to it
 * makes performs the store, moves the device, and goes on behind it. Nothing is lost and
 * nobody watches; it costs a signal for each doorbell.
 */
#ifndef SRD_SOFTEFA_TRAP_H
#define SRD_SOFTEFA_TRAP_H

#include "group.h"

/*
 * The program has mapped the page of "rings" at KEY of the device FILE at AT, with the rights
 * PROT. Without the lock.
 */
void soft_trap_note(uint32_t file, uint64_t key, void *at, int prot);
/* With the lock held: from now on its doorbells trap; false: they cannot. */
bool soft_trap_qp(const struct soft_object *qp);
void soft_untrap_qp(const struct soft_object *qp);

#endif
