/* SPDX-License-Identifier: MIT */
/* A script that runs in the command's own process and cannot be stopped: what is said of it. */
#ifndef SRD_CLI_STUCK_H
#define SRD_CLI_STUCK_H

/*
 * From here on PATH is what runs, and the process ends with STATUS and one line to standard
 * error where it does not stop when its time is over. PATH is kept; NULL: nothing runs.
 */
void srd_cli_stuck(const char *path, int status);

#endif
