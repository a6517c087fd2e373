/* SPDX-License-Identifier: MIT */
/* Protection domains, memory regions, completion queues and address handles. */
#include <errno.h>

#include "door.h"
#include "verbs/alloc.h"

static struct srd_pd *alloc_pd(struct srd_verbs *verbs, struct srd_context *context)
{
	struct srd_door *door = door_of(verbs);
	struct door_pd *pd = srd_calloc(1, sizeof(*pd));
	int err = ENOMEM;

	if (!pd)
		goto fail;
	err = srd_model_pd_alloc(&door->model, context->host, door_context(context)->owner,
				 &pd->model);
	if (err)
		goto free_pd;
	pd->pd.context = context;
	pd->pd.handle = door_handle(door, DOOR_PD);
	door_context(context)->users++;
	LIST_INSERT_HEAD(&door->pds, pd, link);
	return &pd->pd;

free_pd:
	srd_free(pd);
fail:
	errno = err;
	return NULL;
}

static int dealloc_pd(struct srd_verbs *verbs, struct srd_pd *public)
{
	struct door_pd *pd = door_pd(public);
	int err = srd_model_pd_dealloc(&door_of(verbs)->model, pd->model);

	if (err)
		return err;
	door_context(public->context)->users--;
	LIST_REMOVE(pd, link);
	srd_free(pd);
	return 0;
}

static struct srd_mr *reg_mr(struct srd_verbs *verbs, struct srd_pd *pd, uint64_t addr,
			     uint64_t length, uint32_t access)
{
	struct srd_door *door = door_of(verbs);
	struct srd_mr_init init = {
		.pd = door_pd(pd)->model,
		.access = access,
		.tag = door->handles[DOOR_MR] + 1,
		.addr = addr,
		.length = length,
	};
	struct door_mr *mr = srd_calloc(1, sizeof(*mr));
	int err = ENOMEM;
	uint32_t key;

	if (!mr)
		goto fail;
	err = srd_model_mr_reg(&door->model, &init, &mr->model, &key);
	if (err)
		goto free_mr;
	mr->mr = (struct srd_mr){
		.context = pd->context,
		.pd = pd,
		.handle = door_handle(door, DOOR_MR),
		.addr = addr,
		.length = length,
		.lkey = key,
		.rkey = key,
	};
	LIST_INSERT_HEAD(&door->mrs, mr, link);
	return &mr->mr;

free_mr:
	srd_free(mr);
fail:
	errno = err;
	return NULL;
}

static int dereg_mr(struct srd_verbs *verbs, struct srd_mr *public)
{
	struct door_mr *mr = (struct door_mr *)public;

	srd_model_mr_dereg(&door_of(verbs)->model, mr->model);
	LIST_REMOVE(mr, link);
	srd_free(mr);
	return 0;
}

static int check_cq_attr(const struct srd_profile *p, const struct srd_cq_init_attr_ex *attr)
{
	uint32_t efa = SRD_EFADV_WC_EX_WITH_SGID;

	if (p->cap_unsolicited_write_recv)
		efa |= SRD_EFADV_WC_EX_WITH_IS_UNSOLICITED;
	if (attr->efa_wc_flags & ~(uint64_t)efa ||
	    attr->comp_mask & ~(uint32_t)SRD_CQ_INIT_ATTR_MASK_FLAGS ||
	    attr->wc_flags >= SRD_WC_EX_WITH_COMPLETION_TIMESTAMP)
		return EOPNOTSUPP;
	if (attr->comp_mask & SRD_CQ_INIT_ATTR_MASK_FLAGS &&
	    attr->flags & ~(uint32_t)SRD_CREATE_CQ_ATTR_SINGLE_THREADED)
		return EOPNOTSUPP;
	/* libefa rounds 0 up by an undefined shift; the kernel has signed numbers of entries. */
	return !attr->cqe || attr->cqe > INT32_MAX ? EINVAL : 0;
}

static struct srd_cq *new_cq(struct srd_door *door, struct srd_context *context,
			     const struct srd_cq_init_attr_ex *attr, bool extended)
{
	int err = check_cq_attr(door_profile(door), attr);
	struct door_cq *cq = NULL;

	if (err)
		goto fail;
	err = ENOMEM;
	cq = srd_calloc(1, sizeof(*cq));
	if (!cq)
		goto fail;
	cq->cq.cqe = (uint32_t)round_up_power(attr->cqe);
	err = srd_model_cq_create(&door->model, context->host, cq->cq.cqe,
				  door->handles[DOOR_CQ] + 1, &cq->model);
	if (err)
		goto fail;
	cq->cq.context = context;
	cq->cq.handle = door_handle(door, DOOR_CQ);
	cq->extended = extended;
	cq->wc_flags = attr->wc_flags;
	cq->efa_wc_flags = (uint32_t)attr->efa_wc_flags;
	cq->channel = (struct door_channel *)attr->channel;
	if (cq->channel)
		cq->channel->users++;
	door_context(context)->users++;
	LIST_INSERT_HEAD(&door->cqs, cq, link);
	return &cq->cq;

fail:
	srd_free(cq);
	errno = err;
	return NULL;
}

static struct srd_cq *create_cq(struct srd_verbs *verbs, struct srd_context *context, uint32_t cqe)
{
	struct srd_cq_init_attr_ex attr = {.cqe = cqe};

	return new_cq(door_of(verbs), context, &attr, false);
}

static struct srd_cq *create_cq_ex(struct srd_verbs *verbs, struct srd_context *context,
				   const struct srd_cq_init_attr_ex *attr)
{
	return new_cq(door_of(verbs), context, attr, true);
}

static int destroy_cq(struct srd_verbs *verbs, struct srd_cq *public)
{
	struct door_cq *cq = door_cq(public);
	int err;

	door_poll_end(cq);
	err = srd_model_cq_destroy(&door_of(verbs)->model, cq->model);
	if (err)
		return err;
	if (cq->channel)
		cq->channel->users--;
	door_context(public->context)->users--;
	LIST_REMOVE(cq, link);
	srd_free(cq);
	return 0;
}

static struct srd_ah *create_ah(struct srd_verbs *verbs, struct srd_pd *pd,
				const struct srd_ah_attr *attr)
{
	struct srd_door *door = door_of(verbs);
	struct door_ah *ah = srd_calloc(1, sizeof(*ah));
	int err = ENOMEM;

	if (!ah)
		goto fail;
	err = srd_model_ah_create(&door->model, door_pd(pd)->model, attr, &ah->number);
	if (err)
		goto free_ah;
	ah->ah.context = pd->context;
	ah->ah.pd = pd;
	ah->ah.handle = door_handle(door, DOOR_AH);
	LIST_INSERT_HEAD(&door->ahs, ah, link);
	return &ah->ah;

free_ah:
	srd_free(ah);
fail:
	errno = err;
	return NULL;
}

/* The kernel reports success whatever the device answers. */
static int destroy_ah(struct srd_verbs *verbs, struct srd_ah *public)
{
	struct door_ah *ah = (struct door_ah *)public;

	srd_model_ah_destroy(&door_of(verbs)->model, ah->number);
	LIST_REMOVE(ah, link);
	srd_free(ah);
	return 0;
}

void door_object_ops(struct srd_verbs *verbs)
{
	verbs->alloc_pd = alloc_pd;
	verbs->dealloc_pd = dealloc_pd;
	verbs->reg_mr = reg_mr;
	verbs->dereg_mr = dereg_mr;
	verbs->create_cq = create_cq;
	verbs->create_cq_ex = create_cq_ex;
	verbs->destroy_cq = destroy_cq;
	verbs->create_ah = create_ah;
	verbs->destroy_ah = destroy_ah;
}
