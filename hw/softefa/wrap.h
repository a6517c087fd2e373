/* SPDX-License-Identifier: MIT */
/*
 * How the device learns of work without a trap: the program's calls to post and poll go
 * through function pointers of public structures (ibv_context, ibv_qp_ex, ibv_cq_ex), which
 * are found from the names that libibverbs gives the kernel for its objects. Each then runs
 * the library's own function and moves the device. Where what is found there does not look
 * like it, or the program was given the rings themselves, the doorbells trap (trap.h). Where
 * they cannot, the queue pair stays "raw": its doorbells are looked at by the supervisor and
 * by all calls that move the device. With the lock held, unless a function says otherwise.
 */
#ifndef SRD_SOFTEFA_WRAP_H
#define SRD_SOFTEFA_WRAP_H

#include "group.h"

/* Wrap what can be of a queue pair that was just modified, and its completion queues. */
void soft_wrap_qp(struct soft_object *qp);
/*
 * The library tells the program where the rings of that queue pair or completion queue are.
 * Without the lock.
 */
void soft_rings_exposed(uint32_t file, uint32_t handle);
void soft_cq_exposed(uint32_t file, uint32_t handle);
void soft_unwrap_qp(uint32_t handle);
/* recorder.h. Without the lock. */
void soft_posts_hold(uint32_t handle, bool receives);
void soft_posts_release(uint32_t handle, bool receives);

#endif
