/* SPDX-License-Identifier: MIT */
/*
 * The last events of one queue pair, kept as they came; they become text only where a rule
 * is violated.
 */
#ifndef SRD_HISTORY_H
#define SRD_HISTORY_H

#include <stddef.h>

#include <srdlab/event.h>

#define SRD_HISTORY_EVENTS 8

struct srd_history_entry {
	uint64_t number; /* of the event in the stream, from 1; 0: nothing here */
	union {
		struct srd_event event;
		char bytes[SRD_EVENT_MAX_SIZE];
	};
};

struct srd_history {
	uint32_t next;
	struct srd_history_entry entries[SRD_HISTORY_EVENTS];
};

void srd_history_add(struct srd_history *history, uint64_t number, const struct srd_event *event);

/*
 * The newest events of A and B (either may be NULL) in the order of the stream, a line
 * each; to be freed by the caller. NULL: there are none, or no memory.
 */
char *srd_history_text(const struct srd_history *a, const struct srd_history *b);

#endif
