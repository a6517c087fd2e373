/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "qp/stash.h"
#include "verbs/alloc.h"

int srd_stash_grow(struct srd_stash *stash)
{
	uint32_t capacity = stash->capacity ? 2 * stash->capacity : 16;
	struct srd_completion *entries = srd_reallocarray(NULL, capacity, sizeof(*entries));

	if (!entries)
		return -ENOMEM;
	for (uint32_t i = 0; i < stash->count; i++)
		entries[i] = stash->entries[(stash->head + i) & (stash->capacity - 1)];
	srd_free(stash->entries);
	stash->entries = entries;
	stash->capacity = capacity;
	stash->head = 0;
	return 0;
}

void srd_stash_release(struct srd_stash *stash)
{
	srd_free(stash->entries);
	*stash = (struct srd_stash){0};
}
