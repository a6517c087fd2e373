/* SPDX-License-Identifier: MIT */
/*
 * The instruction that a signal handler was called for: what it stores, and how to go on
 * behind it. x86-64 and aarch64, and of these what compilers make of a 32-bit store.
 */
#ifndef SRD_SOFTEFA_STORE_H
#define SRD_SOFTEFA_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether there is a decoder for this processor. */
bool soft_store_known(void);
/*
 * CONTEXT is the handler's, OLD what is there so far. False: it is no such store; then nothing
 * has changed.
 */
bool soft_store_skip(void *context, uint32_t old, uint32_t *value);

/* What one instruction stores. */
struct soft_store {
	size_t size;    /* bytes of it, 0: it is not one of these */
	int reg;        /* number of the register that is stored, -1: VALUE is */
	uint32_t value; /* where the instruction has it in itself */
	bool swaps;     /* the register gets what was there */
};

/* x86-64: of the instruction at CODE. */
struct soft_store soft_store_x86(const uint8_t *code);
/* aarch64: the same of one instruction; register 31 is zero. */
struct soft_store soft_store_arm(uint32_t code);

#endif
