/* SPDX-License-Identifier: MIT */
/*
 * The memory of the programs. An address is looked at only through the kernel, so that one
 * that is not there is an answer and not a crash, in our own process as in another.
 */
#ifndef SRD_SOFTEFA_MEMORY_H
#define SRD_SOFTEFA_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/model.h"

/* Between our own memory and what a call of the program points to. */
bool soft_user_read(void *to, uint64_t from, size_t length);
bool soft_user_write(uint64_t to, const void *from, size_t length);

/* Struct srd_model_memory; an owner is the slot of a process. With the lock held. */
bool soft_memory_present(void *context, uint32_t owner, uint64_t addr, uint64_t length);
enum srd_memory_side soft_memory_copy(void *context, uint32_t to_owner, uint64_t to,
				      uint32_t from_owner, uint64_t from, uint64_t length);
enum srd_memory_side soft_memory_store(void *context, uint32_t owner, uint64_t addr,
				       const void *bytes, size_t length);

#endif
