/* SPDX-License-Identifier: MIT */
/*
 * In the process of a plug-in: whatever the plug-in does that ends the process is told to
 * the parent in one line, with the stack that led there.
 */
#ifndef SRD_PLUGIN_BLAME_H
#define SRD_PLUGIN_BLAME_H

#include <srdlab/error.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What the process and its parent both see, so that the parent can tell where it was though it
 * says nothing. The plug-in may write here too: nothing in it is trusted.
 */
struct srd_blame_page {
	char doing[256];  /* " in queue pair put"; empty: nothing of the plug-in runs */
	uint64_t memory;  /* bytes that the parent found to be too many; 0: it has not */
	uint32_t loading; /* nonzero: the plug-in is not loaded yet */
	uint32_t closed;  /* nonzero: a pipe to the parent was no more */
};

/* The end of a process that the parent stops, as it stands in PAGE; HOW is what it did. */
void srd_blame_stopped(const struct srd_blame_page *page, const char *how, char *text, size_t size);

/*
 * From now on signals of a crash, SIGALRM (sent by the parent to what hangs) and exit are
 * told to FD; FLUSH, which may be NULL and must be fit for a signal handler, is called
 * first; PAGE, which stays, follows what the plug-in does. A process that it forks off tells
 * nothing. The calling thread is the owner of the seam. 0 or a negative errno.
 */
int srd_blame_start(int fd, void (*flush)(void), struct srd_blame_page *page,
		    struct srd_error *error);

/* A pipe to the parent has been closed, which only the plug-in can have done. */
void srd_blame_closed(void);
/* End the process without a word if it is one that the plug-in has forked off. */
void srd_blame_process(void);

/* The plug-in at PATH is loaded as ROLE, until srd_blame_loaded. */
void srd_blame_load(const char *path, const char *role);
void srd_blame_loaded(void);

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
