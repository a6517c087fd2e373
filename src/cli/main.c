/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "verbs/backend.h"

int main(void)
{
	for (const struct srd_backend *b = srd_backend_first(); b; b = b->next)
		printf("%s: %s\n", b->name, b->summary);
	return 0;
}
