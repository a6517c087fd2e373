/* SPDX-License-Identifier: MIT */
#include "planted.h"

/* The mock frees what is destroyed, so a use after that is told, not done. */
static void use_of_cq(struct stage *s)
{
	struct srd_cq *cq = s->verbs->create_cq(s->verbs, s->a.context, 4);
	uint32_t handle = cq->handle;

	s->verbs->destroy_cq(s->verbs, cq);
	FORGE(CQ_POLL, cq_poll, handle, .num_entries = 1);
}

static struct srd_ah *make_ah(struct stage *s)
{
	const struct srd_ah_attr attr = {.dgid = s->b.endpoint.gid, .is_global = 1, .port_num = 1};

	return s->verbs->create_ah(s->verbs, s->a.pd, &attr);
}

static void ah_twice(struct stage *s)
{
	struct srd_ah *ah = make_ah(s);
	uint32_t handle = ah->handle;

	s->verbs->destroy_ah(s->verbs, ah);
	FORGE(AH_DESTROY, ah_destroy, handle, );
}

/* A kernel that does not look whether a domain is in use. */
static int never_busy(struct srd_verbs *verbs, struct srd_pd *pd)
{
	verbs->next->dealloc_pd(verbs->next, pd);
	return 0;
}

static void plant_never_busy(struct srd_verbs *verbs)
{
	verbs->dealloc_pd = never_busy;
}

static void pd_first(struct stage *s)
{
	struct srd_pd *pd = s->verbs->alloc_pd(s->verbs, s->a.context);
	struct srd_mr *mr = s->verbs->reg_mr(s->verbs, pd, s->a.buffer->addr, 4096, 0);

	s->verbs->dealloc_pd(s->verbs, pd);
	s->verbs->dereg_mr(s->verbs, mr);
	s->verbs->next->next->dealloc_pd(s->verbs->next->next, pd);
}

static int ah_first(struct srd_verbs *verbs, struct srd_qp *qp)
{
	struct tamper *t = (struct tamper *)verbs;

	verbs->next->destroy_ah(verbs->next, t->ah);
	return verbs->next->destroy_qp(verbs->next, qp);
}

static int is_gone(struct srd_verbs *verbs, struct srd_ah *ah)
{
	return 0;
}

static void plant_ah_first(struct srd_verbs *verbs)
{
	verbs->destroy_qp = ah_first;
	verbs->destroy_ah = is_gone;
}

static void ah_in_use(struct stage *s)
{
	struct srd_ah *ah = make_ah(s);
	struct srd_op op = op_of(SRD_OP_PUT, 0, 100);
	struct srd_wc wc;

	raw_post(0, &op, ah);
	s->verbs->destroy_ah(s->verbs, ah);
	raw_wait(&wc);
}

static void leaves_work(struct stage *s)
{
	raw_write(0, 100);
}

static void forgets_a_buffer(struct stage *s)
{
	s->verbs->alloc_buffer(s->verbs, s->a.context, 4096, SRD_BUFFER_REAL);
}

const struct planted planted_lifetime[] = {
	{"lifetime.use", NULL, "a completion queue is polled after its destroy", .run = use_of_cq},
	{"lifetime.twice", NULL, "an address handle is destroyed twice", .run = ah_twice},
	{"lifetime.order", NULL, "a protection domain goes before its region",
	 .below = plant_never_busy, .run = pd_first},
	{"lifetime.ah_order", NULL, "the address handle goes before the queue pair",
	 .above = plant_ah_first},
	{"lifetime.busy_ah", NULL, "an address handle goes before the completion",
	 .run = ah_in_use},
	{"lifetime.busy_qp", NULL, "a queue pair is destroyed with a request out",
	 .run = leaves_work},
	{"lifetime.leak", NULL, "a buffer is never freed", .run = forgets_a_buffer},
	{NULL},
};
