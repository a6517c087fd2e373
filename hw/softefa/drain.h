/* SPDX-License-Identifier: MIT */
/* The supervisor's end of the ring of events: a thread that hands them on to a stream. */
#ifndef SRD_SOFTEFA_DRAIN_H
#define SRD_SOFTEFA_DRAIN_H

#include "verbs/launch.h"

/* Begin to read. The stream and the stacks of RECORD are the thread's until the end. */
int soft_drain_start(const struct srd_launch_record *record);
/* Nothing is written from now on; read what is left. With the group's lock free. */
void soft_drain_end(void);

#endif
