/* SPDX-License-Identifier: MIT */
#include "door/door.h"
#include "test_state.h"

void srd_sim_force_qp_state(struct srd_verbs *verbs, struct srd_qp *qp, enum srd_qp_state state)
{
	srd_model_qp_force_state(&door_of(verbs)->model, door_qp(qp)->model, state);
	qp->state = state;
}
