/* SPDX-License-Identifier: MIT */
/*
 * Rails, observed: a wrapper that emits the events of striped transfers. A transfer has a
 * number like an op, and the ops that carry its stripes name that number.
 */
#ifndef SRD_OBSERVE_RAILS_H
#define SRD_OBSERVE_RAILS_H

#include <srdlab/event.h>

#include "qp/rails.h"

/* The operations of what is made below; they have no create. */
extern const struct srd_rails_ops srd_observed_rails_ops;

/*
 * Rails of OPS over RAILS, all of whose queue pairs and schedulers are observed ones.
 * Errors are those of OPS.
 */
int srd_observed_rails_create(const struct srd_rails_ops *ops, struct srd_stream *stream,
			      const struct srd_rail *rails, uint32_t num_rails,
			      const struct srd_rails_config *config, struct srd_rails **out,
			      struct srd_error *error);

#endif
