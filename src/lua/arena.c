/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <string.h>

#include "arena.h"
#include "verbs/alloc.h"

#define SLAB_SIZE 32000 /* with what malloc and the link add, less than eight pages */

struct srd_slab {
	struct srd_slab *next;
	char bytes[SLAB_SIZE] __attribute__((aligned(SRD_ARENA_STEP)));
};

static size_t size_class(size_t size)
{
	return (size + SRD_ARENA_STEP - 1) / SRD_ARENA_STEP;
}

static bool in_slab(const struct srd_arena *arena, const char *block)
{
	for (const struct srd_slab *slab = arena->slabs; slab; slab = slab->next)
		if (block >= slab->bytes && block < slab->bytes + SLAB_SIZE)
			return true;
	return false;
}

/* Whether BLOCK, of SIZE bytes, was cut from a slab. */
static inline bool is_cut(const struct srd_arena *arena, const void *block, size_t size)
{
	return size <= SRD_ARENA_SMALL && (!arena->strays || in_slab(arena, block));
}

static void *cut(struct srd_arena *arena, size_t class)
{
	void **block = arena->free[class];

	/* A test that fails each allocation in turn fails these too. */
	if (srd_alloc_refused())
		return NULL;
	if (block) {
		arena->free[class] = *block;
		return block;
	}
	if (arena->left < class * SRD_ARENA_STEP) {
		struct srd_slab *slab = srd_malloc(sizeof(*slab));

		if (!slab)
			return NULL;
		slab->next = arena->slabs;
		arena->slabs = slab;
		arena->left = SLAB_SIZE;
	}
	arena->left -= class * SRD_ARENA_STEP;
	return arena->slabs->bytes + arena->left;
}

void srd_arena_free(struct srd_arena *arena, void *block, size_t size)
{
	size_t class = size_class(size);

	if (!block)
		return;
	if (is_cut(arena, block, size)) {
		*(void **)block = arena->free[class];
		arena->free[class] = block;
		return;
	}
	arena->strays -= size <= SRD_ARENA_SMALL;
	srd_free(block);
}

void *srd_arena_resize(struct srd_arena *arena, void *block, size_t old, size_t new)
{
	bool was_cut = block && is_cut(arena, block, old);
	void *moved;

	if (was_cut && size_class(old) == size_class(new))
		return block;
	if (new > SRD_ARENA_SMALL && !was_cut) {
		moved = block ? srd_realloc(block, new) : srd_malloc(new);
		arena->strays -= moved && block && old <= SRD_ARENA_SMALL;
		return moved || new > old ? moved : block;
	}
	moved = new > SRD_ARENA_SMALL ? srd_malloc(new) : cut(arena, size_class(new));
	if (!block)
		return moved;
	if (moved) {
		memcpy(moved, block, old < new ? old : new);
		srd_arena_free(arena, block, old);
	} else if (new <= old) {
		/* It stays where it is; of a large one that has to be remembered. */
		arena->strays += old > SRD_ARENA_SMALL;
		return block;
	}
	return moved;
}

void srd_arena_release(struct srd_arena *arena)
{
	while (arena->slabs) {
		struct srd_slab *slab = arena->slabs;

		arena->slabs = slab->next;
		srd_free(slab);
	}
	*arena = (struct srd_arena){0};
}
