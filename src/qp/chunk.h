/* SPDX-License-Identifier: MIT */
/*
 * The chunk planner: how one transfer is cut into requests. It is an iterator, so that a
 * transfer of any size is planned without a list of its chunks, and all of it is exact in
 * 64 bits: a count that is cut to 32 can wrap to a few, or to 0, and pass for small.
 */
#ifndef SRD_CHUNK_H
#define SRD_CHUNK_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

struct srd_chunk {
	uint64_t local;  /* address */
	uint64_t remote; /* address */
	uint32_t length; /* bytes; 0 only for an empty transfer */
};

struct srd_chunk_plan {
	uint64_t local;    /* address of the next chunk */
	uint64_t remote;   /* address of the next chunk */
	uint64_t left;     /* bytes not yet handed out */
	uint64_t num_left; /* chunks not yet handed out */
	uint32_t max;
};

/* max(1, ceil(SIZE / MAX)): an empty transfer is one empty request. MAX is not 0. */
static inline uint64_t srd_chunk_count(uint64_t size, uint32_t max)
{
	return size <= max ? 1 : (size - 1) / max + 1;
}

/*
 * Plan the transfer of SIZE bytes between LOCAL and REMOTE in chunks of at most MAX bytes;
 * nothing is consumed where it fails. -EINVAL: MAX is 0. -EOVERFLOW: a range reaches
 * beyond the last address, so that a sum would wrap to a low one.
 */
static inline int srd_chunk_plan_start(struct srd_chunk_plan *plan, uint64_t local, uint64_t remote,
				       uint64_t size, uint32_t max)
{
	uint64_t last;

	if (!max)
		return -EINVAL;
	/* The byte after the last may be 2^64, the last one not. */
	if (size && (__builtin_add_overflow(local, size - 1, &last) ||
		     __builtin_add_overflow(remote, size - 1, &last)))
		return -EOVERFLOW;
	plan->local = local;
	plan->remote = remote;
	plan->left = size;
	plan->num_left = srd_chunk_count(size, max);
	plan->max = max;
	return 0;
}

/* The next chunk, in order of offset; false where there is none left. */
static inline bool srd_chunk_plan_next(struct srd_chunk_plan *plan, struct srd_chunk *chunk)
{
	if (!plan->num_left)
		return false;
	plan->num_left--;
	chunk->local = plan->local;
	chunk->remote = plan->remote;
	chunk->length = plan->left < plan->max ? (uint32_t)plan->left : plan->max;
	plan->local += chunk->length;
	plan->remote += chunk->length;
	plan->left -= chunk->length;
	return true;
}

#endif
