/* SPDX-License-Identifier: MIT */
/* Whether a library can be preloaded into a program: the device reaches no other. */
#ifndef SRD_SOFTEFA_REACH_H
#define SRD_SOFTEFA_REACH_H

#include "verbs/launch.h"

/*
 * What hinders the program that execvp finds by NAME, or the interpreter that is started for it;
 * SRD_LAUNCH_UNUSED where nothing can be seen that does.
 */
void soft_reach(const char *name, struct srd_launch_reach *reach);

#endif
