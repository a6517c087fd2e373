/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"

static _Thread_local uint64_t count, fail_at;
static _Thread_local int64_t live;

bool srd_alloc_refused(void)
{
	if (++count != fail_at)
		return false;
	errno = ENOMEM;
	return true;
}

static void *counted(void *block)
{
	live += block != NULL;
	return block;
}

void *srd_malloc(size_t size)
{
	return srd_alloc_refused() ? NULL : counted(malloc(size));
}

void *srd_calloc(size_t n, size_t size)
{
	return srd_alloc_refused() ? NULL : counted(calloc(n, size));
}

/* The product is checked here: the address sanitizer aborts where reallocarray would not. */
void *srd_reallocarray(void *block, size_t n, size_t size)
{
	size_t bytes;
	void *moved;

	if (srd_alloc_refused())
		return NULL;
	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	moved = realloc(block, bytes ? bytes : 1); /* with 0 it would be a free */
	return block ? moved : counted(moved);
}

void *srd_realloc(void *block, size_t size)
{
	return srd_reallocarray(block, 1, size);
}

char *srd_strdup(const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = srd_malloc(size);

	return copy ? memcpy(copy, text, size) : NULL;
}

char *srd_asprintf(const char *format, ...)
{
	va_list args;
	char *text;
	int length;

	if (srd_alloc_refused())
		return NULL;
	va_start(args, format);
	length = vasprintf(&text, format, args);
	va_end(args);
	return length < 0 ? NULL : counted(text);
}

void srd_free(void *block)
{
	live -= block != NULL;
	free(block);
}

void srd_alloc_fail_at(uint64_t n)
{
	count = 0;
	fail_at = n;
}

uint64_t srd_alloc_count(void)
{
	return count;
}

int64_t srd_alloc_live(void)
{
	return live;
}
