/* SPDX-License-Identifier: MIT */
/*
 * From a 64-bit key to a pointer: open addressing in a power of two. Keys are never 0,
 * and nothing iterates over it, so that no result depends on the hash.
 */
#ifndef SRD_MAP_H
#define SRD_MAP_H

#include <stddef.h>
#include <stdint.h>

/* Of a function that hardly ever runs: kept out of the way of what runs for every request. */
#define SRD_RARE __attribute__((cold, noinline))

struct srd_map_slot {
	uint64_t key; /* 0: free */
	void *value;
};

/* All zeros is an empty map. */
struct srd_map {
	struct srd_map_slot *slots;
	uint32_t mask; /* slots - 1 */
	uint32_t count;
};

/* Set KEY to VALUE, replacing what was there. 0 or -ENOMEM. */
int srd_map_set(struct srd_map *map, uint64_t key, void *value);
/* Nothing happens where there is no such key. */
void srd_map_remove(struct srd_map *map, uint64_t key);
void srd_map_release(struct srd_map *map);

/* Fibonacci hashing: the high bits of the product are the well-mixed ones. */
static inline uint32_t srd_map_hash(uint64_t key)
{
	return (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
}

/* NULL: there is none. */
static inline void *srd_map_get(const struct srd_map *map, uint64_t key)
{
	if (!map->slots)
		return NULL;
	for (uint32_t i = srd_map_hash(key) & map->mask;; i = (i + 1) & map->mask) {
		if (map->slots[i].key == key)
			return map->slots[i].value;
		if (!map->slots[i].key)
			return NULL;
	}
}

#endif
