/* SPDX-License-Identifier: MIT */
/*
 * A table that wraps another: embed struct srd_verbs as the first member, fill it with
 * srd_verbs_forward, then replace what the wrapper is there for.
 */
#ifndef SRD_FORWARD_H
#define SRD_FORWARD_H

#include <srdlab/verbs.h>

/* Every operation hands the call to NEXT. Close releases NEXT first; a wrapper that owns
 * memory replaces it. */
void srd_verbs_forward(struct srd_verbs *verbs, const char *name, struct srd_verbs *next);

#endif
