/* SPDX-License-Identifier: MIT */
/*
 * The fault injector: a table that makes chosen calls fail without handing them to the
 * table below.
 *
 * What a failed call leaves behind is what the device leaves: a create made nothing, a
 * destroy leaves the object alive, a modify or query changes and fills in nothing, post_recv
 * posts nothing and names the first entry as the bad one, a poll_cq takes no entry out of
 * the queue, and a wr_complete rolls the session back (by wr_abort below), so that none of
 * its requests exists. Builders and setters return nothing and cannot be made to fail: their
 * error comes out of wr_complete.
 */
#ifndef SRD_INJECT_H
#define SRD_INJECT_H

#include <srdlab/error.h>
#include <srdlab/verbs.h>

struct srd_inject;

#define SRD_INJECT_ANY (-1) /* in place of an enum srd_verb: every operation that can fail */

/* A table over NEXT, which it closes when it is closed. -ENOMEM: NEXT is still the caller's. */
int srd_inject_open(struct srd_verbs *next, struct srd_inject **out, struct srd_error *error);
struct srd_verbs *srd_inject_verbs(struct srd_inject *inject);

/*
 * Let the NTH call of VERB from now (1: the next one) fail with ERRNUM, a positive errno;
 * NTH 0: every call, until srd_inject_clear. Rules may be many; where two meet in one call
 * the older decides and the other waits for the next call. -EINVAL: the verb cannot fail, or
 * ERRNUM is not positive. -ENOMEM.
 */
int srd_inject_fail(struct srd_inject *inject, int verb, uint64_t nth, int errnum,
		    struct srd_error *error);
/* Forget all rules. */
void srd_inject_clear(struct srd_inject *inject);
/* Calls so far of VERB, failed ones included. */
uint64_t srd_inject_calls(const struct srd_inject *inject, int verb);

/*
 * For the observer above: whether a call failed here since the question was last asked; and
 * calls of its own, which are to be neither counted nor failed.
 */
bool srd_inject_take_hit(struct srd_inject *inject);
void srd_inject_suspend(struct srd_inject *inject, bool suspended);

#endif
