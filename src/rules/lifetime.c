/* SPDX-License-Identifier: MIT */
/* Made, used, destroyed. */
#include "judge.h"

static struct srd_where at(const struct srd_thing *thing)
{
	if (thing->kind == SRD_KIND_QP)
		return (struct srd_where){.qp = (const struct srd_book_qp *)thing};
	return (struct srd_where){.thing = thing};
}

static void use_fault(struct srd_rules *rules, const struct srd_thing *thing)
{
	srd_judge_fail(rules, SRD_R_LIFETIME_USE, at(thing),
		       "%s uses %s %u, which line %u destroyed",
		       srd_event_infos[rules->event->type].name, srd_kind_str(thing->kind),
		       thing->handle, thing->end_line);
}

/* Calls that work on an object, rather than destroy it or tell of it. */
static const uint64_t uses = UINT64_C(1) << SRD_EV_SESSION_START |
			     UINT64_C(1) << SRD_EV_SETTER_MISUSE |
			     UINT64_C(1) << SRD_EV_SESSION_COMPLETE |
			     UINT64_C(1) << SRD_EV_RECV_POST | UINT64_C(1) << SRD_EV_CQ_POLL |
			     UINT64_C(1) << SRD_EV_QP_MODIFY | UINT64_C(1) << SRD_EV_QP_QUERY;

static void dead(struct srd_rules *rules, const struct srd_event *event)
{
	if (uses >> event->type & 1)
		use_fault(rules, rules->book.thing);
}

/* An object is made on one that may be gone. */
static void stand_on(struct srd_rules *rules, enum srd_kind kind, uint32_t handle)
{
	const struct srd_thing *thing = srd_book_find(&rules->book, kind, handle);

	if (thing && !thing->alive)
		use_fault(rules, thing);
}

static void pd_alloc(struct srd_rules *rules, const struct srd_event *event)
{
	stand_on(rules, SRD_KIND_CONTEXT, ((const struct srd_ev_pd_alloc *)event)->context);
}

static void mr_reg(struct srd_rules *rules, const struct srd_event *event)
{
	stand_on(rules, SRD_KIND_PD, ((const struct srd_ev_mr_reg *)event)->pd);
}

static void cq_create(struct srd_rules *rules, const struct srd_event *event)
{
	stand_on(rules, SRD_KIND_CONTEXT, ((const struct srd_ev_cq_create *)event)->context);
}

static void ah_create(struct srd_rules *rules, const struct srd_event *event)
{
	stand_on(rules, SRD_KIND_PD, ((const struct srd_ev_ah_create *)event)->pd);
}

static void qp_create(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_ev_qp_create *ev = (const void *)event;

	stand_on(rules, SRD_KIND_PD, ev->pd);
	stand_on(rules, SRD_KIND_CQ, ev->send_cq);
	stand_on(rules, SRD_KIND_CQ, ev->recv_cq);
}

/* A live object that stands on THING; NULL: none. */
static const struct srd_thing *child_of(const struct srd_rules *rules,
					const struct srd_thing *thing)
{
	for (const struct srd_thing *child = rules->book.all; child; child = child->next)
		for (int i = 0; child->alive && i < 3; i++)
			if (child->below[i] == thing)
				return child;
	return NULL;
}

static void destroy(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_thing *thing = rules->book.thing;
	const struct srd_thing *child;

	if (!thing)
		return;
	if (!thing->alive) {
		srd_judge_fail(rules, SRD_R_LIFETIME_TWICE, at(thing),
			       "%s %u: line %u destroyed it first", srd_kind_str(thing->kind),
			       thing->handle, thing->end_line);
		return;
	}
	child = thing->children ? child_of(rules, thing) : NULL;
	if (child)
		srd_judge_fail(
			rules, SRD_R_LIFETIME_ORDER, at(thing),
			"%s %u is destroyed; %s %u, made by line %u, and %u in all stand on it",
			srd_kind_str(thing->kind), thing->handle, srd_kind_str(child->kind),
			child->handle, child->line, thing->children);
}

static void qp_destroy(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_book_qp *qp = rules->book.qp;

	destroy(rules, event);
	if (qp && qp->thing.alive && qp->in_flight)
		FAIL(rules, LIFETIME_BUSY_QP, "%u request%s in flight", qp->in_flight,
		     SRD_S(qp->in_flight));
}

static void ah_destroy(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_book_ah *ah = (const void *)rules->book.thing;

	destroy(rules, event);
	if (!ah || !ah->thing.alive)
		return;
	if (ah->in_flight)
		srd_judge_fail(rules, SRD_R_LIFETIME_BUSY_AH, at(&ah->thing),
			       "address handle %u has %u request%s in flight", event->object,
			       ah->in_flight, SRD_S(ah->in_flight));
	for (const struct srd_thing *thing = rules->book.all; thing; thing = thing->next) {
		const struct srd_book_qp *qp = (const struct srd_book_qp *)thing;

		if (thing->kind == SRD_KIND_QP && thing->alive && qp->claimed &&
		    (qp->peer_ah == ah || ah->poster == qp))
			srd_judge_fail(
				rules, SRD_R_LIFETIME_AH_ORDER, at(thing),
				"address handle %u is destroyed before queue pair %u, which posts "
				"through it",
				event->object, thing->handle);
	}
}

static void finish(struct srd_rules *rules)
{
	const struct srd_thing *first[SRD_NUM_KINDS] = {NULL};

	/* The oldest of each kind: the list has the newest first. */
	for (const struct srd_thing *thing = rules->book.all; thing; thing = thing->next)
		if (thing->alive)
			first[thing->kind] = thing;
	for (int kind = 0; kind < SRD_NUM_KINDS; kind++) {
		struct srd_where where;

		if (!first[kind])
			continue;
		where = at(first[kind]);
		where.line = first[kind]->line;
		srd_judge_fail(rules, SRD_R_LIFETIME_LEAK, where,
			       "%s %u, made by line %u, was never destroyed; %u of its kind",
			       srd_kind_str(first[kind]->kind), first[kind]->handle,
			       first[kind]->line, rules->book.live[kind]);
	}
}

const struct srd_family srd_lifetime_family = {
	.name = "lifetime",
	.check =
		{
			[SRD_EV_PD_ALLOC] = pd_alloc,
			[SRD_EV_MR_REG] = mr_reg,
			[SRD_EV_CQ_CREATE] = cq_create,
			[SRD_EV_AH_CREATE] = ah_create,
			[SRD_EV_QP_CREATE] = qp_create,
			[SRD_EV_DEVICE_CLOSE] = destroy,
			[SRD_EV_PD_DEALLOC] = destroy,
			[SRD_EV_MR_DEREG] = destroy,
			[SRD_EV_CQ_DESTROY] = destroy,
			[SRD_EV_AH_DESTROY] = ah_destroy,
			[SRD_EV_QP_DESTROY] = qp_destroy,
			[SRD_EV_BUFFER_FREE] = destroy,
		},
	.dead = dead,
	.finish = finish,
};
