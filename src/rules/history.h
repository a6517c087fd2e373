/* SPDX-License-Identifier: MIT */
/*
 * The last events of one kind of thing, kept as they came; they become text only where a
 * rule is violated.
 */
#ifndef SRD_HISTORY_H
#define SRD_HISTORY_H

#include <stdbool.h>
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

/* All zeros is an empty history. */
struct srd_history {
	struct srd_history_entry *entries;
	uint32_t size; /* a power of two; 0: no event yet */
	uint32_t next; /* events ever */
};

/* Room for AT_LEAST events, and for SRD_HISTORY_EVENTS. 0 or -ENOMEM. */
int srd_history_reserve(struct srd_history *history, uint32_t at_least)
	__attribute__((cold, noinline));
void srd_history_release(struct srd_history *history);

/* The place of the next event, which the caller fills in. There has to be room. */
static inline struct srd_history_entry *srd_history_next(struct srd_history *history)
{
	return &history->entries[history->next++ & (history->size - 1)];
}

/* The event that came BACK events before the last, 0 being the last itself. */
static inline struct srd_event *srd_history_back(const struct srd_history *history, uint32_t back)
{
	return &history->entries[(history->next - 1 - back) & (history->size - 1)].event;
}

/* A history, and which of its events matter; NULL: all of them. */
struct srd_history_view {
	const struct srd_history *history; /* NULL: none */
	bool (*matters)(const void *arg, const struct srd_event *event);
	const void *arg;
};

/*
 * At most SRD_HISTORY_EVENTS: FIRST, the newest events of the COUNT views of LIST in the
 * order of the stream, and LAST, a line each; FIRST and LAST may be NULL. To be freed with
 * srd_free. NULL: there are none, or no memory.
 */
char *srd_history_text(const struct srd_event *first, const struct srd_history_view *list,
		       int count, const struct srd_event *last);

#endif
