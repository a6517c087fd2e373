/* SPDX-License-Identifier: MIT */
/*
 * How the device learns of work without a trap: the program's calls to post and poll go
 * through function pointers of public structures (ibv_context, ibv_qp_ex, ibv_cq_ex), which
 * are found from the names that libibverbs gives the kernel for its objects. Each then runs
 * the library's own function and moves the device. Where what is found there does not look
 * like it (rings of a program's own), the queue pair stays "raw" and its doorbells are
 * looked at by the supervisor and by all calls that move the device. With the lock held.
 */
#ifndef SRD_SOFTEFA_WRAP_H
#define SRD_SOFTEFA_WRAP_H

#include "group.h"

/* Wrap what can be of a queue pair that was just modified, and its completion queues. */
void soft_wrap_qp(struct soft_object *qp);
void soft_unwrap_qp(uint32_t handle);
void soft_unwrap_cq(uint32_t handle);
void soft_unwrap_file(uint32_t file);

#endif
