/* SPDX-License-Identifier: MIT */
/*
 * The observer: a table that emits the seam's events (scripts/spec/events.lua) for every
 * call that passes through it, and keeps the stream's clock. It stands above every other
 * table, so that the stream shows what the engine asked for and what it was answered.
 *
 * Calls of a posting session that rdma-core leaves undefined are trapped: the event
 * setter_misuse is emitted, and what would lock up or corrupt the table below does not reach
 * it.
 *  - A setter before any builder of the session (libefa would write through a stale
 *    descriptor), or start inside a session (it would wait for a lock that it holds): not
 *    forwarded; EINVAL is the session's error, so the rest is swallowed, complete answers
 *    EINVAL and no request is posted.
 *  - A builder or setter outside a session, abort outside one: not forwarded. Complete
 *    outside one (it would open a lock that is not held): EINVAL.
 *  - Destroy of a queue pair with an open session (the lock would be destroyed while it is
 *    held): the session is aborted first.
 *  - Poll of a completion queue while one of the queue pairs that send to it has an open
 *    session (crediting a completion takes the lock that the session holds): -EDEADLK, with
 *    nothing taken out of the queue. libefa locks up only where it finds an entry of that
 *    queue pair; the answer here does not depend on timing.
 */
#ifndef SRD_OBSERVE_H
#define SRD_OBSERVE_H

#include <srdlab/error.h>
#include <srdlab/event.h>
#include <srdlab/verbs.h>

struct srd_inject;

/*
 * A table over NEXT, which it closes when it is closed. INJECT is the fault injector if NEXT
 * is its table, to tell its failures from the device's; else NULL. STREAM has to live as
 * long as the table. -ENOMEM: NEXT is still the caller's.
 */
int srd_observe_open(struct srd_verbs *next, struct srd_stream *stream, struct srd_inject *inject,
		     struct srd_verbs **out, struct srd_error *error);

#endif
