/* SPDX-License-Identifier: MIT */
/*
 * The short way for traffic that is as it should be. For each event that comes with every
 * transfer it holds, in one place, what excludes that any rule of any family is broken: one
 * comparison after another instead of a call to each family. Whatever does not pass here is
 * judged by the families, which alone know what is wrong; so a condition too many costs
 * time, and one too few is found by the planted defects.
 */
#ifndef SRD_STEADY_H
#define SRD_STEADY_H

#include "judge.h"

/* What takes in events of TYPE once one has come; srd_rules_judge where it has no short way. */
srd_check_fn *srd_steady_fn(enum srd_event_type type);
/* POST of the queue pair in focus was judged and is about to be taken in: those like it are right. */
void srd_steady_learn(struct srd_rules *rules, const struct srd_ev_wr_post *post);

#endif
