/* SPDX-License-Identifier: MIT */
/*
 * The reliable-connected queue pair, for the contrast: the same interface over a device that
 * is not EFA's. What differs from qp/efa_srd.h:
 *
 * The peer is an attribute of the queue pair, set on the way to RTR, and no address handle
 * exists. The queue key is not used; psn must be the one that the peer was told, and so on.
 *
 * A transfer is posted request by request, as ibv_post_send does it. Where one in the middle
 * is refused, those before it are posted: see one_by_one.
 *
 * A request that fails ends the connection: the queue pair is in ERR, and all that is posted
 * behind it, before or afterwards, is flushed. It can be connected anew from RESET.
 *
 * max_msg_size is what the port carries as one message.
 */
#ifndef SRD_QP_RC_H
#define SRD_QP_RC_H

#include <srdlab/queue_pair.h>

extern const struct srd_queue_pair_ops srd_rc_ops;

/* What a connection takes unless it is told otherwise, into the fields of CONFIG that it has. */
void srd_rc_defaults(struct srd_queue_pair_config *config);

#endif
