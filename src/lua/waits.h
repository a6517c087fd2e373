/* SPDX-License-Identifier: MIT */
/*
 * Who waits for whom: of a run that does not get on, the lines that wait, the ops and
 * requests that are not done and where each of them is, and the likely cause in a sentence.
 */
#ifndef SRD_LUA_WAITS_H
#define SRD_LUA_WAITS_H

#include "run.h"

/* Why the report is made. */
enum srd_trouble {
	SRD_TROUBLE_DEADLOCK, /* nothing can happen any more */
	SRD_TROUBLE_TIME,     /* a limit is over, though something may happen yet */
	SRD_TROUBLE_END,      /* the run has ended */
};

#define SRD_REPORT_SIZE 3500 /* bytes; a failure has room for 4096 */

/* The report while the current task waits, for the error that it raises. */
void srd_task_report(lua_State *L, enum srd_trouble trouble, char report[SRD_REPORT_SIZE]);

/*
 * Into TEXT, at most SIZE bytes, a line each, each after a line break; the empty text where
 * nothing is outstanding. Emits nothing.
 */
void srd_waits_explain(struct srd_run *run, enum srd_trouble trouble, char *text, size_t size);

#endif
