/* SPDX-License-Identifier: MIT */
/*
 * Reports of a run: each is handed every scenario as it is judged, in the order of the
 * scripts, and writes its own form. The caller opens and closes the file.
 */
#ifndef SRD_REPORT_H
#define SRD_REPORT_H

#include <stdio.h>

#include "lua/scenario.h"

struct srd_report_head {
	const char *backend;
	const char *profile; /* NULL: the backend has none */
	uint64_t first_seed;
	uint64_t last_seed;
	uint64_t num_cases;
	int file_width; /* letters of the longest path */
};

/* One scenario with one seed, or a file that could not be loaded. */
struct srd_report_case {
	const char *file;
	const char *name; /* NULL: the file could not be loaded */
	int line;         /* 0: unknown */
	uint64_t seed;
	bool broken;                          /* it failed because the tool did */
	const struct srd_scenario_info *info; /* NULL: the file could not be loaded */
	const struct srd_scenario_result *result;
	const char *log;    /* what the script logged, a line each; may be empty */
	const char *repeat; /* a command; NULL unless it failed */
	const char *replay; /* path of its replay file; NULL where there is none */
};

struct srd_report_tail {
	uint64_t passed;
	uint64_t failed;
	uint64_t skipped;
	const char *ended;  /* why it ended early, in words; NULL: all was run */
	uint64_t wall_time; /* ns */
};

struct srd_report;

/* Each returns 0 or -ENOMEM; whether all could be written, the file knows. */
struct srd_report_ops {
	int (*begin)(struct srd_report *report, const struct srd_report_head *head);
	int (*add)(struct srd_report *report, const struct srd_report_case *one);
	int (*end)(struct srd_report *report, const struct srd_report_tail *tail);
	void (*destroy)(struct srd_report *report);
};

struct srd_report {
	const struct srd_report_ops *ops;
};

struct srd_terminal_options {
	bool colours;
	bool verbose;
	bool timing; /* show wall time, which differs from run to run */
	int slowest; /* how many of the slowest scenarios to name */
};

/* NULL: out of memory. Released by their destroy operation. */
struct srd_report *srd_report_terminal(FILE *out, const struct srd_terminal_options *options);
struct srd_report *srd_report_tap(FILE *out);
struct srd_report *srd_report_junit(FILE *out);
struct srd_report *srd_report_json(FILE *out);

/* The first line of MESSAGE ends here; its detail begins after the line break. */
static inline int srd_report_summary_length(const char *message)
{
	return (int)__builtin_strcspn(message, "\n");
}

#endif
