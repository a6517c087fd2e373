/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "backend.h"

static struct srd_backend *backends;

/* Sorted, since the order of constructors is the linker's. */
void srd_backend_register(struct srd_backend *backend)
{
	struct srd_backend **at = &backends;

	while (*at && strcmp((*at)->name, backend->name) < 0)
		at = &(*at)->next;
	backend->next = *at;
	*at = backend;
}

const struct srd_backend *srd_backend_find(const char *name)
{
	for (const struct srd_backend *b = backends; b; b = b->next)
		if (!strcmp(b->name, name))
			return b;
	return NULL;
}

const struct srd_backend *srd_backend_first(void)
{
	return backends;
}
