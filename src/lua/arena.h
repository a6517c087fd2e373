/* SPDX-License-Identifier: MIT */
/*
 * Memory for one Lua state. Most of what Lua allocates is small and soon garbage, and Lua
 * says of every block how large it is: small blocks are cut from slabs, kept in a list for
 * each size when they are freed, and given back with the state. Large ones are malloc's.
 */
#ifndef SRD_LUA_ARENA_H
#define SRD_LUA_ARENA_H

#include <stddef.h>
#include <stdint.h>

#define SRD_ARENA_STEP  16  /* sizes are multiples of it, and addresses too */
#define SRD_ARENA_SMALL 512 /* bytes of the largest that is cut from a slab */

struct srd_slab;

/* All zeros is an empty one. */
struct srd_arena {
	void *free[SRD_ARENA_SMALL / SRD_ARENA_STEP +
		   1];          /* by size; linked through the first word */
	struct srd_slab *slabs; /* the newest first */
	size_t left;            /* bytes of the newest */
	uint32_t
		strays; /* blocks of malloc that are small by now: there was no memory to move them */
};

/*
 * BLOCK, of OLD bytes, with NEW bytes, of which there is one at least; BLOCK NULL (OLD 0): a
 * new one. NULL: no memory, and nothing has changed; never where NEW is not above OLD.
 */
void *srd_arena_resize(struct srd_arena *arena, void *block, size_t old, size_t new);
/* BLOCK may be NULL. */
void srd_arena_free(struct srd_arena *arena, void *block, size_t size);
/* The slabs; every block was freed. */
void srd_arena_release(struct srd_arena *arena);

#endif
