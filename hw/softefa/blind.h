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

/*
 * Whether the program was told where OBJECT's entries are. Of a queue pair those of its
 * completion queues count too: their ids must be the ones that it posts with.
 */
static inline bool soft_exposed(const struct soft_object *object)
{
	return object->exposed ||
	       (object->kind == SOFT_QP && (soft_object(object->qp.send_cq)->exposed ||
					    soft_object(object->qp.recv_cq)->exposed));
}

static inline bool soft_blind(const struct soft_object *object)
{
	return soft_events_wanted() && (!object->observed || soft_exposed(object));
}

/* QP has posted REQUEST, which is not submitted yet. */
void soft_blind_send(const struct soft_object *qp, const struct srd_request *request);
void soft_blind_receive(const struct soft_object *qp, const struct srd_receive *receive);
/* ENTRY is written to CQ, of which nobody can tell how far it is read: take it for read. */
void soft_blind_written(struct soft_object *cq, const struct srd_cqe *entry);
/* The program has read entries of CQ up to ring.done. */
void soft_blind_read(struct soft_object *cq);

#endif
