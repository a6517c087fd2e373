/* SPDX-License-Identifier: MIT */
/*
 * The EFA SRD queue pair: RDMA write and read over the seam, one thread, to the peer of
 * connect and to any number of others that add_peer gives it.
 *
 * create refuses what the device cannot do and never lowers a limit by itself, since
 * whoever schedules budgets credits from the same configuration. In this order: no
 * protection domain (-EINVAL); no such port, GID or partition key (-ENODEV, -EINVAL); the
 * EFA attributes cannot be queried; no RDMA read and write, or RDMA of 0 bytes
 * (-EOPNOTSUPP); a depth of 0 or above the device's, a psn or qkey out of range (-EINVAL);
 * whatever the device answers to the creation.
 *
 * connect refuses an endpoint without a GID or with a queue-pair number above 65535
 * (-EINVAL) and a second call after success (-EISCONN) before it touches anything. A
 * transition that fails is named with its errno; the address handle is released, the
 * queue pair stays in the state that it reached, and posting stays refused. connect may
 * then be called again: it goes on at the transition that failed, so that each state is
 * entered once, or starts over where somebody has moved the queue pair back to RESET.
 *
 * add_peer refuses the same endpoints, and moves a queue pair that is not in RTS as connect
 * does. A peer costs an address handle only where none is at its GID already.
 *
 * Ids are 0, 1, 2, ... over the life of the queue pair. An error found before the session
 * opens (sizes, not connected, addresses, room for the ids) consumes none. A session that
 * the device refuses consumes its ids: they are never used again, so that a completion
 * with one of them shows that the device kept a request that it should have dropped.
 */
#ifndef SRD_EFA_SRD_H
#define SRD_EFA_SRD_H

#include <srdlab/queue_pair.h>

extern const struct srd_queue_pair_ops srd_efa_srd_ops;

/* The largest queue-pair number that an EFA descriptor can carry. */
#define SRD_EFA_MAX_QP_NUM 65535

#endif
