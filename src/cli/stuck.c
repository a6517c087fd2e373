/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/stuck.h"
#include "lua/scenario.h"

static const char *running;
static int exit_status;

static void end(int line, const char *what)
{
	char text[4352];
	int length = snprintf(text, sizeof(text), "%s:%d: error: out of time: this line %s\n",
			      running, line, what);

	if (write(STDERR_FILENO, text,
		  (size_t)length < sizeof(text) ? (size_t)length : sizeof(text)) < 0)
		exit_status = SRD_EXIT_INTERNAL;
	_exit(exit_status);
}

void srd_cli_stuck(const char *path, int status)
{
	running = path;
	exit_status = status;
	srd_watchdog_stuck = path ? end : NULL;
}
