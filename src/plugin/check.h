/* SPDX-License-Identifier: MIT */
/*
 * Tables in front of a plug-in's: they hand every call on, and blame the plug-in (blame.h)
 * for an answer that the interface does not allow and for a call of the seam from another
 * thread, before anything believes it. Whether the answers are right is for the rules.
 *
 * There is one queue pair and one scheduler under check a process.
 */
#ifndef SRD_PLUGIN_CHECK_H
#define SRD_PLUGIN_CHECK_H

#include <srdlab/queue_pair.h>

const struct srd_queue_pair_ops *srd_check_queue_pair(const struct srd_queue_pair_ops *ops);
const struct srd_scheduler_ops *srd_check_scheduler(const struct srd_scheduler_ops *ops);

/* Fill in a table over NEXT that looks at the thread of each call; generated. */
void srd_guard_fill(struct srd_verbs *guard, struct srd_verbs *next);

#endif
