/* SPDX-License-Identifier: MIT */
/* The line on a terminal that says how far a run is; nothing where there is no terminal. */
#ifndef SRD_CLI_PROGRESS_H
#define SRD_CLI_PROGRESS_H

#include <stdint.h>

/* Call show as often as you like: it writes some times a second at most. */
void srd_cli_progress_show(uint64_t done, uint64_t count, uint64_t failed);
/* Before anything else is written to the terminal. */
void srd_cli_progress_clear(void);

#endif
