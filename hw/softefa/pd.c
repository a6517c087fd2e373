/* SPDX-License-Identifier: MIT */
/*
 * Commands that make protection domains and address handles, and the one that destroys what
 * has no queue. Here as in mr.c, cq.c and qp.c the checks and their order are those of the RDMA
 * core and of efa_verbs.c.
 */
#include <errno.h>
#include <string.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>

#include "command.h"
#include "softefa/efa_abi.h"

int soft_alloc_pd(struct soft_call *call)
{
	struct soft_object *pd = soft_object_new(SOFT_PD, call->file);
	struct ib_uverbs_alloc_pd_resp r;
	struct efa_ibv_alloc_pd_resp efa = {0};
	int err;

	if (!pd)
		return ENOMEM;
	err = srd_model_pd_alloc(&soft.model, call->host, soft.process, &pd->model);
	if (err) {
		soft_object_free(pd);
		return err;
	}
	r.pd_handle = soft_handle(pd);
	efa.pdn = (uint16_t)pd->model;
	err = soft_out(call, UVERBS_ATTR_CORE_OUT, &r, sizeof(r));
	if (!err)
		err = soft_out(call, UVERBS_ATTR_UHW_OUT, &efa, sizeof(efa));
	if (err)
		soft_object_destroy(pd);
	return err;
}

static void ah_attr(const struct ib_uverbs_ah_attr *from, struct srd_ah_attr *to)
{
	*to = (struct srd_ah_attr){
		.flow_label = from->grh.flow_label,
		.dlid = from->dlid,
		.sgid_index = from->grh.sgid_index,
		.hop_limit = from->grh.hop_limit,
		.traffic_class = from->grh.traffic_class,
		.sl = from->sl,
		.is_global = from->is_global,
		.port_num = from->port_num,
	};
	memcpy(to->dgid.raw, from->grh.dgid, sizeof(to->dgid.raw));
}

int soft_create_ah(struct soft_call *call)
{
	struct efa_ibv_create_ah_resp efa = {0};
	struct ib_uverbs_create_ah_resp r;
	struct ib_uverbs_create_ah in;
	struct soft_object *pd, *ah;
	struct srd_ah_attr attr;
	int err = soft_in(call, UVERBS_ATTR_CORE_IN, &in, sizeof(in), sizeof(in));

	if (err)
		return err;
	pd = soft_object_find(in.pd_handle, SOFT_PD, call->file);
	if (!pd)
		return EINVAL;
	ah = soft_object_new(SOFT_AH, call->file);
	if (!ah)
		return ENOMEM;
	ah_attr(&in.attr, &attr);
	err = srd_model_ah_create(&soft.model, pd->model, &attr, &ah->number);
	if (err) {
		soft_object_free(ah);
		return err;
	}
	ah->pd = soft_handle(pd);
	pd->users++;
	r.ah_handle = soft_handle(ah);
	efa.efa_address_handle = ah->number;
	err = soft_out(call, UVERBS_ATTR_CORE_OUT, &r, sizeof(r));
	if (!err)
		err = soft_out(call, UVERBS_ATTR_UHW_OUT, &efa, sizeof(efa));
	if (err)
		soft_object_destroy(ah);
	return err;
}

int soft_destroy(struct soft_call *call, enum soft_kind kind)
{
	struct soft_object *object = soft_object_find(soft_in_number(call, 0), kind, call->file);

	return object ? soft_object_destroy(object) : EINVAL;
}
