/* SPDX-License-Identifier: MIT */
/*
 * Event channels: named pipes in the group's folder, so that read, poll and fcntl work on
 * them as they are, and a process that moves the device can tell another. With the lock held.
 */
#ifndef SRD_SOFTEFA_EVENT_H
#define SRD_SOFTEFA_EVENT_H

#include "group.h"

/* The descriptor that the program reads, or a negative errno. */
int soft_channel_open(struct soft_object *channel);
void soft_channel_unlink(struct soft_object *channel);

/* An entry has come for a queue that was armed. */
void soft_channel_event(struct soft_object *cq);

/* For the supervisor: write those that others could not. Without the lock. */
void soft_channels_due(void);

/* CQ goes: its events that nobody has read are taken back. Returns how many were read. */
uint32_t soft_channel_forget(struct soft_object *cq);

#endif
