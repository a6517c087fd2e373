/* SPDX-License-Identifier: MIT */
/* The thread of `srdlab exec` in which a script is asked: the other side of ask.h. */
#ifndef SRD_SOFTEFA_ANSWER_H
#define SRD_SOFTEFA_ANSWER_H

#include <stdbool.h>

#include "verbs/launch.h"

/* The programs of the group that was just made will ask SCRIPT, and wait for its answers. */
void soft_answer_prepare(const struct srd_launch_script *script);
/* Begin to answer. A negative errno: nobody does, and nobody waits. */
int soft_answer_start(void);
/* Nobody is asked any more. */
void soft_answer_end(void);
/* The script has failed. */
bool soft_answer_failed(void);

#endif
