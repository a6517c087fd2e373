/* SPDX-License-Identifier: MIT */
/* srdlab's own queue pair for the devices of a table: SRD on EFA, else connected ones. */
#ifndef SRD_TRANSPORT_H
#define SRD_TRANSPORT_H

#include "qp/efa_srd.h"
#include "qp/rc.h"

static inline const struct srd_queue_pair_ops *srd_queue_pair_ops_for(const struct srd_verbs *verbs)
{
	return verbs->can & SRD_VERBS_IS_RC ? &srd_rc_ops : &srd_efa_srd_ops;
}

#endif
