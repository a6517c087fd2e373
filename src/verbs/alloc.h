/* SPDX-License-Identifier: MIT */
/*
 * The memory of the engine and of the mock, so that a test can fail every allocation in
 * turn: all code under src/, sim/ and hw/ allocates here and frees with srd_free. A block
 * that a library hands out (jansson, Lua, getline) is that library's and goes back to it.
 *
 * Results are those of the C library: NULL with errno ENOMEM where there is no memory.
 */
#ifndef SRD_ALLOC_H
#define SRD_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *srd_malloc(size_t size) __attribute__((malloc));
void *srd_calloc(size_t count, size_t size) __attribute__((malloc)); /* zeros */
void *srd_realloc(void *block, size_t size);
/* COUNT * SIZE bytes; ENOMEM also where the product is too large. */
void *srd_reallocarray(void *block, size_t count, size_t size);
char *srd_strdup(const char *text) __attribute__((malloc));
/* The text, or NULL. */
char *srd_asprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));
void srd_free(void *block); /* NULL is allowed */

/*
 * For tests, per thread: let the N-th allocation from now fail, 1 being the next one, and
 * start srd_alloc_count at 0; 0 takes the failure back. The ones after it succeed again.
 */
void srd_alloc_fail_at(uint64_t n);
/*
 * For an allocator that stands on this one: count a block that it hands out; true: this is
 * the one that is to fail, and errno is ENOMEM.
 */
bool srd_alloc_refused(void);
/* Allocations since the last srd_alloc_fail_at, the failed one included. */
uint64_t srd_alloc_count(void);
/* Blocks that this thread has allocated and not freed. */
int64_t srd_alloc_live(void);

#endif
