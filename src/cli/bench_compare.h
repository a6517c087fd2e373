/* SPDX-License-Identifier: MIT */
/* Two reports of srdlab bench --json, side by side. */
#ifndef SRD_CLI_BENCH_COMPARE_H
#define SRD_CLI_BENCH_COMPARE_H

/*
 * Print each figure of both files and how many times the old one the new one is: as it is,
 * and in bare loops of its own run, which takes the machine out of it. An exit status: 2 where
 * a file cannot be read or is no such report, which is told.
 */
int srd_bench_compare(const char *old_path, const char *new_path);

#endif
