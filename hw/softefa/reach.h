/* SPDX-License-Identifier: MIT */
/* Whether a library can be preloaded into a program: the device reaches no other. */
#ifndef SRD_SOFTEFA_REACH_H
#define SRD_SOFTEFA_REACH_H

#include "verbs/launch.h"

/*
 * Of the program that execvp finds by NAME: SRD_LAUNCH_STATIC, SRD_LAUNCH_SETUID, or
 * SRD_LAUNCH_UNUSED where nothing that can be seen hinders it.
 */
enum srd_launch_met soft_reach(const char *name);

#endif
