/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "verbs/alloc.h"

#include "judge.h"
#include "steady.h"

static const struct srd_family *const all_families[SRD_NUM_FAMILIES] = {
	&srd_chunk_family,      &srd_session_family, &srd_id_family,     &srd_credit_family,
	&srd_completion_family, &srd_state_family,   &srd_memory_family, &srd_address_family,
	&srd_lifetime_family,   &srd_rail_family,
};

/*
 * What comes with every transfer and says little in a timeline is not recorded, or only
 * where it failed; requests are in a history of their own. The rest always is.
 */
static const uint64_t never_recorded =
	UINT64_C(1) << SRD_EV_OP_BEGIN | UINT64_C(1) << SRD_EV_OP_POST_BEGIN |
	UINT64_C(1) << SRD_EV_SESSION_START | UINT64_C(1) << SRD_EV_WR_POST |
	UINT64_C(1) << SRD_EV_CQ_POLL | UINT64_C(1) << SRD_EV_SCHEDULER_STATE |
	UINT64_C(1) << SRD_EV_DEV_REQUEST | UINT64_C(1) << SRD_EV_DEV_PACKET |
	UINT64_C(1) << SRD_EV_DEV_PLACE | UINT64_C(1) << SRD_EV_DEV_CQE;
static const uint64_t recorded_if_failed = UINT64_C(1) << SRD_EV_OP_POST_END |
					   UINT64_C(1) << SRD_EV_OP_END |
					   UINT64_C(1) << SRD_EV_SESSION_COMPLETE;

/* Events of all objects that are no queue pair are in one history. */
#define NUM_OTHERS 64

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

static void plan_event(struct srd_rules *rules, enum srd_event_type type)
{
	struct srd_plan *plan = &rules->plan[type];

	rules->take[type] = srd_rules_judge;
	plan->apply = srd_book_apply_fn(type);
	plan->need = srd_book_need(type);
	plan->structural = srd_book_is_structural(type);
	plan->record = never_recorded >> type & 1       ? SRD_RECORD_NEVER
		       : recorded_if_failed >> type & 1 ? SRD_RECORD_FAILED
							: SRD_RECORD_ALWAYS;
	for (int i = 0; rules->families[i]; i++)
		if (rules->families[i]->check[type])
			plan->check[plan->num_checks++] = rules->families[i]->check[type];
}

static void add_families(struct srd_rules *rules)
{
	int families = 0, requests = 0;

	for (int i = 0; i < SRD_NUM_FAMILIES; i++) {
		const struct srd_family *family = all_families[i];

		if (!family_selected(rules, family))
			continue;
		rules->families[families++] = family;
		if (family->request &&
		    (!family->request_rule || rules->selected[family->request_rule - 1]))
			rules->request[requests++] = family->request;
	}
	rules->advised = rules->selected[SRD_R_ID_AMBIGUOUS] ||
			 rules->selected[SRD_R_COMPLETION_ROOM] ||
			 rules->selected[SRD_R_CREDIT_REQUESTED];
	for (int type = 0; type < SRD_NUM_EVENT_TYPES; type++)
		plan_event(rules, (enum srd_event_type)type);
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

struct srd_book *srd_rules_book(struct srd_rules *rules)
{
	return rules->book.seen && !rules->book.nomem ? &rules->book : NULL;
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

	rules->recorded = true;
	for (uint32_t i = 0; i < srd_book_num_kept(qp); i++) {
		const struct srd_ev_wr_post *post = srd_book_staged(qp, i);

		rules->event = &post->ev;
		srd_book_resolve_post(book, post);
		for (int f = 0; rules->request[f]; f++)
			rules->request[f](rules, post);
		srd_steady_learn(rules, post);
		srd_book_apply_post(book, post);
	}
}

/* The types of recorded_if_failed have their result in front. */
_Static_assert(offsetof(struct srd_ev_op_post_end, result) == sizeof(struct srd_event) &&
		       offsetof(struct srd_ev_op_end, result) == sizeof(struct srd_event) &&
		       offsetof(struct srd_ev_session_complete, result) == sizeof(struct srd_event),
	       "result is the first field");

static bool failed(const struct srd_event *event)
{
	return ((const struct srd_ev_session_complete *)event)->result;
}

void srd_rules_record(struct srd_rules *rules, const struct srd_event *event)
{
	struct srd_book *book = &rules->book;
	struct srd_history *history = book->qp ? &book->qp->history : &book->others;
	struct srd_history_entry *entry;

	if (!history->size &&
	    srd_history_reserve(history, history == &book->others ? NUM_OTHERS : 0)) {
		book->nomem = true;
		return;
	}
	entry = srd_history_next(history);
	entry->number = ++book->num_recorded;
	/* The one that comes with every transfer by a constant size: a few moves. */
	if (event->type == SRD_EV_WC)
		memcpy(&entry->event, event, sizeof(struct srd_ev_wc));
	else
		memcpy(&entry->event, event, srd_event_infos[event->type].size);
}

/* The book knows what EVENT is about. */
static void judge_event(struct srd_rules *rules, const struct srd_event *event,
			const struct srd_plan *plan)
{
	struct srd_book *book = &rules->book;

	rules->event = event;
	rules->now = event->time;
	rules->recorded = plan->record == SRD_RECORD_ALWAYS ||
			  (plan->record == SRD_RECORD_FAILED && failed(event));
	if (rules->recorded)
		srd_rules_record(rules, event);
	for (int i = 0; i < plan->num_checks; i++)
		plan->check[i](rules, event);
	if (event->type == SRD_EV_SESSION_COMPLETE && book->qp && !failed(event))
		judge_requests(rules);
}

void srd_rules_judge(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_plan *plan = &rules->plan[event->type];
	struct srd_book *book = &rules->book;
	bool dead;

	if (book->nomem)
		return;
	book->seen |= UINT64_C(1) << event->type;
	/* Who sees a session misused sees sessions, though there may have been none. */
	if (event->type == SRD_EV_SETTER_MISUSE)
		book->seen |= UINT64_C(1) << SRD_EV_SESSION_START;
	rules->take[event->type] = srd_steady_fn((enum srd_event_type)event->type);
	srd_book_resolve(book, event);
	dead = book->thing && !book->thing->alive;
	judge_event(rules, event, plan);
	for (int f = 0; dead && plan->need == SRD_NEEDS_LIFE && rules->families[f]; f++)
		if (rules->families[f]->dead)
			rules->families[f]->dead(rules, event);
	if (plan->structural)
		book->generation++;
	if (plan->apply && (plan->need == SRD_NEEDS_NOTHING ||
			    (book->thing && (!dead || plan->need == SRD_NEEDS_OBJECT))))
		plan->apply(book, event);
}

void srd_rules_event(void *arg, const struct srd_event *event)
{
	struct srd_rules *rules = arg;

	/* A reader of traces may hand on a type that this version does not know. */
	if (event->type < SRD_NUM_EVENT_TYPES)
		rules->take[event->type](rules, event);
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
				     "out of memory: the rules lost the stream at %" PRIu64 " ns",
				     rules->now);
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

/* What a timeline is about. */
struct subject {
	const struct srd_book *book;
	const struct srd_book_qp *qp;  /* NULL: none */
	const struct srd_thing *thing; /* NULL: none */
};

static bool is(const void *thing, enum srd_kind kind, uint32_t handle)
{
	const struct srd_thing *t = thing;

	return t && t->kind == kind && t->handle == handle;
}

/* Of the events that are about no queue pair: those of the objects in question. */
static bool matters(const void *arg, const struct srd_event *event)
{
	const struct subject *s = arg;
	enum srd_kind kind = s->book->kind_of[event->type];
	uint32_t handle = event->object;

	if (kind == SRD_KIND_NONE)
		return event->type == SRD_EV_CALL_FAILED;
	if (is(s->thing, kind, handle))
		return true;
	return s->qp &&
	       (is(s->qp, kind, handle) || is(s->qp->send_cq, kind, handle) ||
		is(s->qp->route.mr, kind, handle) || is(s->qp->route.remote_mr, kind, handle) ||
		is(s->qp->route.ah, kind, handle));
}

/* The queue pair whose requests THING is in use by; NULL: none that is known. */
static const struct srd_book_qp *user_of(const struct srd_thing *thing)
{
	if (thing->kind == SRD_KIND_MR)
		return ((const struct srd_book_mr *)thing)->user;
	if (thing->kind == SRD_KIND_AH)
		return ((const struct srd_book_ah *)thing)->user;
	return NULL;
}

static char *timeline(const struct srd_rules *rules, struct srd_where where)
{
	const struct subject subject = {&rules->book, where.qp, where.thing};
	const struct srd_book_qp *qp = where.qp || !where.thing ? where.qp : user_of(where.thing);
	const struct srd_history_view list[] = {
		{&rules->book.others, matters, &subject},
		{qp ? &qp->history : NULL, NULL, NULL},
		{qp ? &qp->posts : NULL, NULL, NULL},
	};
	const struct srd_book_op *op = rules->book.op;

	return srd_history_text(op ? &op->begun.ev : NULL, list, 3,
				rules->recorded ? NULL : rules->event);
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
	rules->num_failures++;
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
	v.timeline = timeline(rules, where);
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

/* A queue pair whose creation is not in the stream is taken for SRD's. */
static bool judges_kinds(const struct srd_rules *rules, int rule)
{
	uint8_t kinds = rules->book.kinds ? rules->book.kinds : SRD_KINDS_SRD;

	return srd_rule_infos[rule].kinds & kinds;
}

int srd_rules_judged(const struct srd_rules *rules, int rule)
{
	uint64_t needs = srd_rule_infos[rule].needs;

	return rules->selected[rule] && !rules->book.nomem && (rules->book.seen & needs) == needs &&
	       judges_kinds(rules, rule);
}

int srd_rules_suppressions(const struct srd_rules *rules, const struct srd_suppression **list)
{
	*list = rules->suppressions;
	return rules->num_suppressions;
}
