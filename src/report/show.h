/* SPDX-License-Identifier: MIT */
/* A trace as text: a line an event, and what it adds up to. */
#ifndef SRD_SHOW_H
#define SRD_SHOW_H

#include <stdio.h>

#include <srdlab/error.h>
#include <srdlab/event.h>

struct srd_show_options {
	const uint32_t *qps;      /* only events of these queue pairs (handles) */
	int num_qps;              /* 0: of all, and those of no queue pair */
	const char *const *types; /* only events of these types */
	int num_types;            /* 0: of all */
	bool no_events;           /* the summary only */
	bool no_summary;          /* the events only */
};

/*
 * Write the account of the trace PATH to OUT. The summary is of the whole trace, whatever is
 * selected. -EINVAL: the trace is not a whole and true one (what could be read is shown
 * first), or a type does not exist. -ENOMEM. Errors of OUT are the caller's to see.
 */
int srd_show(const char *path, const struct srd_show_options *options, FILE *out,
	     struct srd_error *error);

#endif
