/* SPDX-License-Identifier: MIT */
/*
 * In the process of a plug-in: whatever the plug-in does that ends the process is told to
 * the parent in one line, with the stack that led there.
 */
#ifndef SRD_PLUGIN_BLAME_H
#define SRD_PLUGIN_BLAME_H

#include <srdlab/error.h>

/*
 * From now on signals of a crash, SIGALRM (sent by the parent to what hangs) and exit are
 * told to FD; FLUSH, which may be NULL and must be fit for a signal handler, is called
 * first. The calling thread is the owner of the seam. 0 or a negative errno.
 */
int srd_blame_start(int fd, void (*flush)(void), struct srd_error *error);

/* All is told: exit is no offence any more. */
void srd_blame_stop(void);

/* The function of the plug-in that runs, in words; returns what it was before. */
const char *srd_blame_enter(const char *where);
void srd_blame_leave(const char *before);

/* Blame the plug-in if this is not the thread that called srd_blame_start. */
void srd_blame_thread(const char *call);

/* Tell what it answered, or what it does now, with the stack; and end the process. */
void srd_blame(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
void srd_blame_call(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* The first byte of what is told: how the process ended. */
#define SRD_TOLD_RESULT  'R' /* the text is the result */
#define SRD_TOLD_REFUSED 'E' /* the plug-in could not be loaded: the text says why */
#define SRD_TOLD_BLAME   'B' /* the plug-in is to blame */

#endif
