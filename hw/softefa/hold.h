/* SPDX-License-Identifier: MIT */
/*
 * Locks of files that last as long as somebody's memory, whatever becomes of descriptors: an
 * open file, and with it the lock that flock took on it, is kept by each mapping of it (fs/locks.c:
 * locks_remove_file is called when the last reference goes). Here that is a page that nobody
 * looks at. A child of fork has it too; exec ends it, and so does every death. It says the
 * same in every PID namespace.
 */
#ifndef SRD_SOFTEFA_HOLD_H
#define SRD_SOFTEFA_HOLD_H

#include <stdbool.h>

/* Files of a group's folder, and who holds them. */
#define SOFT_LAUNCHED "lock"  /* each `srdlab exec`, by a descriptor */
#define SOFT_HELD     "held"  /* each process of their programs */
#define SOFT_FIRST    "first" /* the `srdlab exec` that made the folder */

/* Hold NAME of FOLDER, which is made where it is not there. 0 or a positive errno. */
int soft_hold(const char *folder, const char *name);
/* Whether anybody holds it, or that cannot be told. */
bool soft_held(const char *folder, const char *name);

#endif
