/* SPDX-License-Identifier: MIT */
/*
 * The credit scheduler: ops on one queue pair, first in, first out, each posted once all
 * of its requests fit into max_send_wr credits. A head that must wait holds the line: a
 * smaller op behind it would fit, but does not overtake.
 *
 * - Ops to different peers of the queue pair stand in the same line and share the credits.
 * - How many requests an op needs is asked of the queue pair, for the size that is
 *   transferred: a get's is the remote size, which may be the smaller one.
 * - An op that needs more than max_send_wr can never be posted: its result is -E2BIG, and
 *   the ops behind it go on.
 * - A post that fails is the result of that op and of no other. -ENOMEM while requests are
 *   outstanding means that somebody else's direct posts fill the send queue: the head is
 *   tried again after the next completion.
 * - An op is answered once, when the last of its requests is reaped. Its cause is the
 *   first of its errors that is not a flush; a flush only where there is nothing else,
 *   because completions come in any order and a flush is never the reason.
 * - A completion with an id that is unknown, or that completed before, credits nothing;
 *   nor does a stale entry (-EINVAL of the queue pair's poll). Both leave a sentence in
 *   *error of progress, which still succeeds.
 * - A poll that fails otherwise ends the scheduler: every op that is unanswered is
 *   answered with -ECANCELED, and so is every later one. -ENOMEM does not end it.
 */
#ifndef SRD_SCHEDULER_H
#define SRD_SCHEDULER_H

#include <srdlab/queue_pair.h>

extern const struct srd_scheduler_ops srd_credit_scheduler_ops;

#endif
