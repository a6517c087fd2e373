/* SPDX-License-Identifier: MIT */
/* What the benchmarks share: a clock (CPU time: others may be busy), a line of the report. */
#ifndef BENCH_H
#define BENCH_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline double bench_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* COUNT of WHAT in SECONDS, which is so many times what BARE (seconds each) costs. */
static inline double bench_report(const char *what, double count, double seconds, double bare)
{
	double each = seconds / count;

	printf("%-44s %8.2f M/s %8.1f ns", what, count / seconds / 1e6, each * 1e9);
	if (bare > 0)
		printf("  %5.1f x bare", each / bare);
	printf("\n");
	return each;
}

#define bench_check(ok)                                                          \
	do {                                                                     \
		if (!(ok)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #ok); \
			exit(1);                                                 \
		}                                                                \
	} while (0)

#endif
