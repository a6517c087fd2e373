/* SPDX-License-Identifier: MIT */
/* Between inject.c and the generated inject_calls.c. */
#ifndef SRD_INJECT_INTERNAL_H
#define SRD_INJECT_INTERNAL_H

#include <srdlab/verbs.h>

/* Count a call of VERB; the errno that it is to fail with, or 0. */
int srd_inject_next(struct srd_verbs *verbs, enum srd_verb verb);

/* Put the operations that can fail into the table. */
void srd_inject_fill(struct srd_verbs *verbs);
/* Which those are. */
extern const bool srd_inject_can_fail[SRD_NUM_VERBS];

#endif
