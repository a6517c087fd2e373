/* SPDX-License-Identifier: MIT */
/*
 * Posts and completions of a program in which nobody observes (its libibverbs is linked
 * statically, say, or it asked for its rings), as the device sees them: ids are those of
 * descriptors, what is posted has no session, and completions are taken as far as the doorbell
 * of their queue says. Rules that need a session are then not judged. With the lock held.
 */
#ifndef SRD_SOFTEFA_BLIND_H
#define SRD_SOFTEFA_BLIND_H

#include "events.h"
#include "ring.h"

static inline bool soft_blind(const struct soft_object *object)
{
	return soft_events_wanted() && (object->teller == SOFT_DEVICE ||
					(object->teller == SOFT_OBSERVER && !object->observed));
}

/*
 * From now on TELLER tells of OBJECT (NULL: some queue pair is new) and of all that it shares
 * completions with, whoever posts and polls, as the ids of posts must be those of completions.
 */
void soft_blind_take_over(struct soft_object *object, enum soft_teller teller);

/* QP has posted REQUEST, which is not submitted yet. */
void soft_blind_send(const struct soft_object *qp, const struct srd_request *request);
void soft_blind_receive(const struct soft_object *qp, const struct srd_receive *receive);
/*
 * ENTRY is written to CQ, of which nobody can tell how far it is read, or by whom: take it for
 * read.
 */
void soft_blind_written(struct soft_object *cq, const struct srd_cqe *entry);
/* The program has read entries of CQ up to ring.done. */
void soft_blind_read(struct soft_object *cq);

#endif
