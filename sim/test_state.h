/* SPDX-License-Identifier: MIT */
/* For tests: states that no call leads to. */
#ifndef SRD_TEST_STATE_H
#define SRD_TEST_STATE_H

#include <srdlab/verbs.h>

/*
 * Put QP of the mock VERBS (not of a table that wraps it) into STATE, as if it had always
 * been there: the device's state, the driver's and the cached one.
 */
void srd_sim_force_qp_state(struct srd_verbs *verbs, struct srd_qp *qp, enum srd_qp_state state);

#endif
