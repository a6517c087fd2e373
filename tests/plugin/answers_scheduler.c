/* SPDX-License-Identifier: MIT */
/* The example scheduler under another name: a unit of its own, since names are used twice. */
#include <srdlab/plugin.h>

const struct srd_scheduler_ops *good_scheduler(void);
#define srdlab_scheduler_v1 good_scheduler
#include "../../examples/scheduler_c/scheduler.c"
