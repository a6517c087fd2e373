/* SPDX-License-Identifier: MIT */
/* The stacks of a program that runs under srdlab exec, which events name by number. */
#ifndef SRD_CLI_STACKS_H
#define SRD_CLI_STACKS_H

#include <stdint.h>
#include <stdio.h>

/* All zeros has none. */
struct srd_cli_stacks {
	char **text; /* by number; a line a frame, as srd_launch_record has it */
	uint32_t size;
};

/* 0 or -ENOMEM. */
int srd_cli_stacks_add(struct srd_cli_stacks *stacks, uint32_t number, const char *text,
		       size_t length);
void srd_cli_stacks_release(struct srd_cli_stacks *stacks);
/*
 * Stack NUMBER to OUT, a line for each frame up to main, with file and line of the source
 * where addr2line of the binutils is there and can tell. Nothing where it is not known.
 */
void srd_cli_stacks_put(const struct srd_cli_stacks *stacks, uint32_t number, FILE *out);

#endif
