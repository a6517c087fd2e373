/* SPDX-License-Identifier: MIT */
/*
 * Who decides what happens next on the fabric. A mock that is given a chooser asks it
 * wherever messages could arrive, or completions be delivered, in another order than they
 * would by themselves; what is chosen comes at the time of what would have come first.
 */
#ifndef SRDLAB_CHOOSER_H
#define SRDLAB_CHOOSER_H

#include <stdbool.h>
#include <stdint.h>

#include <srdlab/enums.h>

#ifdef __cplusplus
extern "C" {
#endif

struct srd_choice {
	uint32_t qp;        /* handle of the queue pair that posted it */
	uint32_t dest_host; /* as the model counts devices */
	uint32_t dest_qpn;
	uint8_t opcode;   /* enum srd_wr_opcode */
	bool arrives;     /* at its destination; else its completion is delivered */
	uint64_t ordinal; /* among the requests of its queue pair, from 0 */
	uint64_t local_addr;
	uint64_t remote_addr;
	uint64_t length; /* bytes that it moves */
};

struct srd_chooser {
	/*
	 * Which of the N, at least 1, in LIST comes next; the first is what would. -1: nothing,
	 * the wait ends with ECANCELED.
	 */
	int (*choose)(struct srd_chooser *chooser, const struct srd_choice *list, uint32_t n);
};

/* The earliest so many of those that could come are asked about. */
#define SRD_MAX_CHOICES 64

#ifdef __cplusplus
}
#endif

#endif
