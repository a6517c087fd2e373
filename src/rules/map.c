/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "verbs/alloc.h"

#include "map.h"

static void put(struct srd_map *map, uint64_t key, void *value)
{
	uint32_t i = srd_map_hash(key) & map->mask;

	while (map->slots[i].key && map->slots[i].key != key)
		i = (i + 1) & map->mask;
	if (!map->slots[i].key)
		map->count++;
	map->slots[i].key = key;
	map->slots[i].value = value;
}

static int grow(struct srd_map *map)
{
	uint32_t size = map->slots ? 2 * (map->mask + 1) : 16;
	struct srd_map bigger = {.mask = size - 1};

	bigger.slots = srd_calloc(size, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (uint32_t i = 0; map->slots && i <= map->mask; i++)
		if (map->slots[i].key)
			put(&bigger, map->slots[i].key, map->slots[i].value);
	srd_free(map->slots);
	*map = bigger;
	return 0;
}

int srd_map_set(struct srd_map *map, uint64_t key, void *value)
{
	/* At most half full, so that a search stays short. */
	if (!map->slots || 2 * (map->count + 1) > map->mask + 1) {
		int result = grow(map);

		if (result)
			return result;
	}
	put(map, key, value);
	return 0;
}

void srd_map_remove(struct srd_map *map, uint64_t key)
{
	uint32_t hole, i;

	if (!srd_map_get(map, key))
		return;
	for (hole = srd_map_hash(key) & map->mask; map->slots[hole].key != key;)
		hole = (hole + 1) & map->mask;
	/* Close the hole with the next entry that may stand there, again and again. */
	for (i = (hole + 1) & map->mask; map->slots[i].key; i = (i + 1) & map->mask) {
		uint32_t home = srd_map_hash(map->slots[i].key) & map->mask;

		if (((i - home) & map->mask) < ((i - hole) & map->mask))
			continue;
		map->slots[hole] = map->slots[i];
		hole = i;
	}
	map->slots[hole].key = 0;
	map->count--;
}

void srd_map_release(struct srd_map *map)
{
	srd_free(map->slots);
	*map = (struct srd_map){0};
}
