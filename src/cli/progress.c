/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/pool.h"
#include "cli/progress.h"

#define PAUSE 100000000 /* ns between two writes */

static uint64_t last;
static bool shown;

void srd_cli_progress_show(uint64_t done, uint64_t count, uint64_t failed)
{
	uint64_t now = srd_cli_now();

	if (!isatty(STDERR_FILENO) || now - last < PAUSE)
		return;
	last = now;
	shown = true;
	fflush(stdout);
	fprintf(stderr, "\r\033[K%" PRIu64 " of %" PRIu64, done, count);
	if (failed)
		fprintf(stderr, ", %" PRIu64 " failed", failed);
}

void srd_cli_progress_clear(void)
{
	if (shown)
		fputs("\r\033[K", stderr);
	shown = false;
}
