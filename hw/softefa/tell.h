/* SPDX-License-Identifier: MIT */
/*
 * What a program did through the kernel's calls, as events of the seam: each is written
 * behind the command that it tells of. What the kernel never learns (the depth that was asked
 * for before the library rounded it, the operations that were named) an observer in the
 * program says before (recorder.h). With the lock held.
 */
#ifndef SRD_SOFTEFA_TELL_H
#define SRD_SOFTEFA_TELL_H

#include "call.h"
#include "group.h"

/* What is known of a command before it is performed. */
struct soft_tale {
	uint32_t line;  /* where it was called; 0: unknown */
	uint32_t name;  /* of the object that it destroys, changes or asks about */
	uint32_t state; /* of the queue pair, before */
};

void soft_tell_before(const struct soft_call *call, struct soft_tale *tale);
void soft_tell(const struct soft_call *call, const struct soft_tale *tale, int err);
/* The file of a context is closed. */
void soft_tell_close(uint32_t file, uint32_t host, uint32_t line);

#endif
