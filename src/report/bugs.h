/* SPDX-License-Identifier: MIT */
/* The table of bugs: what flagged the broken form of each, and whether the right one passed. */
#ifndef SRD_BUGS_H
#define SRD_BUGS_H

#include <stdio.h>

#include "report.h"

struct srd_bug_row {
	char *bug;     /* "B35" */
	char *title;   /* the name of its first scenario */
	char *flagged; /* by which rules and failures, each once; NULL: by none yet */
	bool missed;   /* a broken form was not flagged as it should be */
	bool unseen;   /* one was skipped */
	bool failed;   /* a right form failed */
	bool passed;   /* one passed */
	bool skipped;  /* one was skipped */
};

struct srd_bugs {
	struct srd_bug_row *rows; /* by name */
	int count;
};

/* Note ONE if it is of a bug. 0 or -ENOMEM. */
int srd_bugs_add(struct srd_bugs *bugs, const struct srd_report_case *one);
/* Nothing where no scenario was of a bug. */
void srd_bugs_put(const struct srd_bugs *bugs, FILE *out);
void srd_bugs_release(struct srd_bugs *bugs);

#endif
