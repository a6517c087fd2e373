/* SPDX-License-Identifier: MIT */
/*
 * Any queue pair and any scheduler, observed: wrappers that emit the engine's events and
 * use nothing but the operations, so that a plug-in is judged as our own is.
 *
 * Each op gets its number, from 1 over the whole stream, when it is submitted. A scheduler
 * under observation posts through the observed queue pair, which has to tell whose post it
 * sees: the interface passes two views there and no name. It looks for the oldest op that
 * was submitted and not posted yet with exactly these views; so a scheduler that goes by
 * the rules is always understood, in whatever order it posts, and two ops that are equal
 * in every field are taken in the order of their submission. A post that is nobody's whole
 * op, but lies in the ranges of one that is unanswered, counts for that one (somebody cut
 * the op, or posted it twice); any other is op 0: nobody asked for it.
 *
 * A post from outside of the scheduler's calls is a direct one, and an op of its own; it
 * ends when it is refused, or when the scheduler that adopted it gives its result.
 *
 * The cookie of an op below is the observer's, so a result with a cookie that is not, or
 * not any more, outstanding is seen: it is an op_end event and goes no further.
 */
#ifndef SRD_OBSERVE_QP_H
#define SRD_OBSERVE_QP_H

#include <srdlab/event.h>
#include <srdlab/queue_pair.h>

/* The operations of what the two functions below make; they have no create. */
extern const struct srd_queue_pair_ops srd_observed_queue_pair_ops;
extern const struct srd_scheduler_ops srd_observed_scheduler_ops;

/* A queue pair of OPS, created with what follows and observed. Errors are those of OPS. */
int srd_observed_queue_pair_create(const struct srd_queue_pair_ops *ops, struct srd_stream *stream,
				   struct srd_verbs *verbs, struct srd_pd *pd,
				   const struct srd_queue_pair_config *config,
				   struct srd_cq *send_cq, struct srd_cq *recv_cq,
				   struct srd_queue_pair **out, struct srd_error *error);

/* A scheduler of OPS over QP, an observed queue pair, which outlives it. One at a time. */
int srd_observed_scheduler_create(const struct srd_scheduler_ops *ops, struct srd_queue_pair *qp,
				  const struct srd_scheduler_config *config,
				  struct srd_scheduler **out, struct srd_error *error);

#endif
