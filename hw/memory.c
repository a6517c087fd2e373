/* SPDX-License-Identifier: MIT */
/* Memory regions. */
#include <errno.h>

#include "efa.h"

static struct srd_mr *reg_mr(struct srd_verbs *verbs, struct srd_pd *pd, uint64_t addr,
			     uint64_t length, uint32_t access)
{
	struct hw_mr *mr = hw_object_new(sizeof(*mr));

	if (!mr)
		return NULL;
	mr->ibv = ibv_reg_mr(HW_OF(hw_pd, pd)->ibv, (void *)(uintptr_t)addr, length, access);
	if (!mr->ibv)
		return hw_object_discard(mr);
	mr->srd = (struct srd_mr){
		.context = pd->context,
		.pd = pd,
		.handle = hw_object_add(to_hw(verbs), HW_MR, &mr->object),
		.addr = addr,
		.length = length,
		.lkey = mr->ibv->lkey,
		.rkey = mr->ibv->rkey,
	};
	return &mr->srd;
}

static int dereg_mr(struct srd_verbs *verbs, struct srd_mr *srd)
{
	struct hw_mr *mr = HW_OF(hw_mr, srd);
	int err = ibv_dereg_mr(mr->ibv);

	if (err)
		return err;
	hw_object_free(to_hw(verbs), HW_MR, &mr->object);
	return 0;
}

void hw_memory_fill(struct srd_verbs *verbs)
{
	verbs->reg_mr = reg_mr;
	verbs->dereg_mr = dereg_mr;
}
