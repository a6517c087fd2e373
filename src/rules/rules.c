/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "verbs/alloc.h"

#include "judge.h"

static const struct srd_family *const all_families[SRD_NUM_FAMILIES] = {
	&srd_chunk_family,  &srd_session_family,    &srd_id_family,
	&srd_credit_family, &srd_completion_family, &srd_state_family,
	&srd_memory_family, &srd_address_family,    &srd_lifetime_family,
};

/* Events that say little in a timeline, and come often. */
static const uint64_t quiet_events =
	UINT64_C(1) << SRD_EV_SESSION_START | UINT64_C(1) << SRD_EV_CQ_POLL |
	UINT64_C(1) << SRD_EV_SCHEDULER_STATE | UINT64_C(1) << SRD_EV_OP_POST_BEGIN |
	UINT64_C(1) << SRD_EV_DEV_REQUEST | UINT64_C(1) << SRD_EV_DEV_PACKET |
	UINT64_C(1) << SRD_EV_DEV_PLACE | UINT64_C(1) << SRD_EV_DEV_CQE;

_Static_assert(SRD_NUM_EVENT_TYPES <= 64, "event types are bits of a u64");

int srd_rule_find(const char *id)
{
	for (int i = 0; i < srd_num_rules; i++)
		if (!strcmp(srd_rule_infos[i].id, id))
			return i;
	return -1;
}

static bool family_selected(const struct srd_rules *rules, const struct srd_family *family)
{
	for (int i = 0; i < SRD_NUM_RULES; i++)
		if (rules->selected[i] && !strcmp(srd_rule_infos[i].family, family->name))
			return true;
	return false;
}

static void add_families(struct srd_rules *rules)
{
	int families = 0, checks[SRD_NUM_EVENT_TYPES] = {0};

	for (int i = 0; i < SRD_NUM_FAMILIES; i++) {
		const struct srd_family *family = all_families[i];

		if (!family_selected(rules, family))
			continue;
		rules->families[families++] = family;
		for (int type = 0; type < SRD_NUM_EVENT_TYPES; type++)
			if (family->check[type])
				rules->check[type][checks[type]++] = family->check[type];
	}
}

int srd_rules_create(const char *select, const char *suppress, struct srd_rules **out,
		     struct srd_error *error)
{
	struct srd_rules *rules = srd_calloc(1, sizeof(*rules));
	int result;

	if (!rules)
		return srd_error_set(error, -ENOMEM, "out of memory for the rules");
	srd_book_init(&rules->book);
	result = srd_select_parse(select ? select : "law,contract", rules->selected, error);
	if (!result && suppress)
		result = srd_suppressions_load(suppress, &rules->suppressions,
					       &rules->num_suppressions, error);
	if (result) {
		srd_rules_destroy(rules);
		return result;
	}
	add_families(rules);
	*out = rules;
	return 0;
}

void srd_rules_destroy(struct srd_rules *rules)
{
	if (!rules)
		return;
	srd_book_release(&rules->book);
	srd_suppressions_free(rules->suppressions, rules->num_suppressions);
	for (int i = 0; i < rules->num_violations; i++)
		srd_free(rules->violations[i].timeline);
	srd_free(rules);
}

void srd_rules_script(struct srd_rules *rules, const char *path)
{
	rules->script = path;
}

/* --- the stream --- */

/* Each request of an accepted session, judged and then taken in. */
static void judge_requests(struct srd_rules *rules)
{
	struct srd_book *book = &rules->book;
	struct srd_book_qp *qp = book->qp;
	struct srd_book_op *op = book->op;

	for (uint32_t i = 0; i < qp->num_staged && i < qp->room_staged; i++) {
		const struct srd_ev_wr_post *post = &qp->staged[i];

		rules->event = &post->ev;
		srd_book_resolve_post(book, post);
		for (int f = 0; rules->families[f]; f++)
			if (rules->families[f]->request)
				rules->families[f]->request(rules, post);
		srd_book_apply_post(book, post);
	}
	book->op = op;
}

void srd_rules_event(void *arg, const struct srd_event *event)
{
	struct srd_rules *rules = arg;
	struct srd_book *book = &rules->book;

	/* A reader of traces may hand on a type that this version does not know. */
	if (event->type >= SRD_NUM_EVENT_TYPES || book->nomem)
		return;
	rules->event = event;
	rules->now = event->time;
	rules->num_events++;
	srd_book_resolve(book, event);
	if (!(quiet_events >> event->type & 1))
		srd_history_add(book->qp ? &book->qp->history : &book->others, rules->num_events,
				event);
	for (srd_check_fn **check = rules->check[event->type]; *check; check++)
		(*check)(rules, event);
	if (event->type == SRD_EV_SESSION_COMPLETE && book->qp &&
	    !((const struct srd_ev_session_complete *)event)->result) {
		judge_requests(rules);
		rules->event = event;
	}
	srd_book_apply(book, event);
}

/* A rule that lacks an event that it needs says nothing, whatever the others looked like. */
static void drop_unjudged(struct srd_rules *rules)
{
	int kept = 0;

	for (int i = 0; i < rules->num_violations; i++) {
		if (srd_rules_judged(rules, rules->violations[i].rule))
			rules->violations[kept++] = rules->violations[i];
		else
			srd_free(rules->violations[i].timeline);
	}
	rules->num_violations = kept;
}

int srd_rules_finish(struct srd_rules *rules, struct srd_error *error)
{
	if (!rules->finished && !rules->book.nomem) {
		rules->event = NULL;
		rules->book.qp = NULL;
		rules->book.op = NULL;
		for (int f = 0; rules->families[f]; f++)
			if (rules->families[f]->finish)
				rules->families[f]->finish(rules);
		drop_unjudged(rules);
	}
	rules->finished = true;
	if (rules->book.nomem)
		return srd_error_set(error, -ENOMEM,
				     "out of memory: the rules lost the stream after %llu events",
				     (unsigned long long)rules->num_events);
	return 0;
}

/* --- violations --- */

/* The same rule, broken by the same object before; NULL: never. */
static struct srd_violation *seen_before(struct srd_rules *rules, const struct srd_violation *v)
{
	for (int i = 0; i < rules->num_violations; i++) {
		struct srd_violation *other = &rules->violations[i];

		if (other->rule == v->rule && other->qp == v->qp && other->object == v->object &&
		    other->object_kind == v->object_kind)
			return other;
	}
	return NULL;
}

static void set_where(const struct srd_rules *rules, struct srd_violation *v,
		      struct srd_where where)
{
	const struct srd_event *event = rules->event;

	v->line = where.line;
	v->op = where.op;
	if (!v->line && event)
		v->line = event->line;
	if (!v->op && rules->book.op)
		v->op = rules->book.op->number;
	else if (!v->op && event)
		v->op = event->op;
	if (where.qp)
		v->qp = where.qp->thing.handle;
	if (where.thing) {
		v->object = where.thing->handle;
		v->object_kind = srd_kind_str(where.thing->kind);
	}
}

void srd_judge_fail(struct srd_rules *rules, enum srd_rule rule, struct srd_where where,
		    const char *evidence, ...)
{
	struct srd_violation *before, v = {.rule = (int)rule, .time = rules->now, .count = 1};
	va_list args;

	if (!rules->selected[rule])
		return;
	va_start(args, evidence);
	vsnprintf(v.evidence, sizeof(v.evidence), evidence, args);
	va_end(args);
	set_where(rules, &v, where);
	if (srd_suppressions_match(rules, &v))
		return;
	before = seen_before(rules, &v);
	if (before) {
		before->count++;
		return;
	}
	if (rules->num_violations == SRD_MAX_VIOLATIONS) {
		rules->left_out++;
		return;
	}
	v.timeline = srd_history_text(where.qp ? &where.qp->history : NULL, &rules->book.others);
	rules->violations[rules->num_violations++] = v;
}

int srd_rules_violations(const struct srd_rules *rules, const struct srd_violation **list)
{
	*list = rules->violations;
	return rules->num_violations;
}

uint64_t srd_rules_left_out(const struct srd_rules *rules)
{
	return rules->left_out;
}

int srd_rules_selected(const struct srd_rules *rules, int rule)
{
	return rules->selected[rule];
}

int srd_rules_judged(const struct srd_rules *rules, int rule)
{
	uint64_t needs = srd_rule_infos[rule].needs;

	return rules->selected[rule] && !rules->book.nomem && (rules->book.seen & needs) == needs;
}

int srd_rules_suppressions(const struct srd_rules *rules, const struct srd_suppression **list)
{
	*list = rules->suppressions;
	return rules->num_suppressions;
}
