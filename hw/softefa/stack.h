/* SPDX-License-Identifier: MIT */
/* Where in the program a call came from. */
#ifndef SRD_SOFTEFA_STACK_H
#define SRD_SOFTEFA_STACK_H

#include <stdint.h>

/*
 * The number in the stream of the stack of the calling thread, without the frames of
 * srdlab's own libraries; 0: none is wanted. Takes the group's lock where the stack is a new
 * one, so that it must not be held.
 */
uint32_t soft_stack(void);
/* In a child of fork: its stacks are its own. */
void soft_stack_forked(void);

#endif
