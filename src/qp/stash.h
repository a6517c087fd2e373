/* SPDX-License-Identifier: MIT */
/*
 * Completions of one queue that were met while the other was polled, where both report to
 * one completion queue. Without it a poll of one would steal the completions of the other,
 * and whoever waits for those would wait for ever.
 */
#ifndef SRD_STASH_H
#define SRD_STASH_H

#include <srdlab/queue_pair.h>

/* A ring, zero to begin with. */
struct srd_stash {
	struct srd_completion *entries;
	uint32_t capacity; /* a power of two, or 0 */
	uint32_t head;
	uint32_t count;
};

int srd_stash_grow(struct srd_stash *stash);
void srd_stash_release(struct srd_stash *stash);

/* Room for one more; -ENOMEM. */
static inline int srd_stash_reserve(struct srd_stash *stash)
{
	return stash->count < stash->capacity ? 0 : srd_stash_grow(stash);
}

/* Room for it was reserved. */
static inline void srd_stash_put(struct srd_stash *stash, const struct srd_completion *completion)
{
	stash->entries[(stash->head + stash->count++) & (stash->capacity - 1)] = *completion;
}

static inline bool srd_stash_take(struct srd_stash *stash, struct srd_completion *out)
{
	if (!stash->count)
		return false;
	*out = stash->entries[stash->head];
	stash->head = (stash->head + 1) & (stash->capacity - 1);
	stash->count--;
	return true;
}

#endif
