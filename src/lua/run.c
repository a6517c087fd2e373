/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <xxhash.h>

#include "marshal.h"
#include "orders.h"
#include "run.h"
#include "script.h"
#include "verbs/alloc.h"
#include "qp/scheduler.h"
#include "qp/transport.h"
#include "rules/rules.h"
#include "verbs/inject.h"
#include "verbs/limit_table.h"
#include "verbs/observe.h"
#include "verbs/profile.h"
#include "waits.h"

static uint64_t monotonic(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

const char *srd_run_text(struct srd_run *run, const char *text)
{
	size_t size = strlen(text) + 1;
	struct srd_text *t = srd_malloc(sizeof(*t) + size);

	if (!t) {
		run->failed_alloc = true;
		return NULL;
	}
	memcpy(t->text, text, size);
	t->next = run->texts;
	run->texts = t;
	return t->text;
}

void srd_run_fail(struct srd_run *run, int line, const char *rule, const char *format, ...)
{
	struct srd_scenario_result *result = run->result;
	struct srd_failure *list, *failure;
	char text[4096];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	result->verdict = SRD_FAILED;
	list = srd_reallocarray(result->failures, (size_t)result->num_failures + 1, sizeof(*list));
	if (!list) {
		run->failed_alloc = true;
		return;
	}
	result->failures = list;
	failure = &list[result->num_failures++];
	failure->line = line ? line : run->info->line;
	failure->rule = rule ? srd_strdup(rule) : NULL;
	failure->file = srd_strdup(run->script->path);
	failure->message = srd_strdup(text);
	run->failed_alloc |= !failure->file || !failure->message || (rule && !failure->rule);
}

/* ---- skipping ---- */

static const struct {
	const char *name;
	uint32_t can;
	const char *reason;
} abilities[] = {
	{"faults", SRD_VERBS_CAN_FAULTS, "cannot inject faults"},
	{"fabric", SRD_VERBS_CAN_FABRIC, "has no fabric that can be set"},
	{"virtual_time", SRD_VERBS_CAN_VIRTUAL_TIME, "has no virtual time"},
	{"origin", SRD_VERBS_CAN_ORIGIN, "has no memory of kinds ORIGIN and DEVICE"},
	{"hosts", SRD_VERBS_CAN_HOSTS, "has one device for all hosts"},
	{"model", SRD_VERBS_CAN_MODEL, "does not show what its device holds"},
	{"rdma_core_65", SRD_VERBS_CAN_RDMA_CORE_65,
	 "is over an older libefa, which does otherwise"},
};

static void skip(struct srd_run *run, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void skip(struct srd_run *run, const char *format, ...)
{
	char text[600];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	run->result->verdict = SRD_SKIPPED;
	run->result->skip_reason = srd_strdup(text);
	run->failed_alloc |= !run->result->skip_reason;
}

/*
 * More peers than one on a queue pair are for the queue pair and the scheduler to have; which
 * queue pair that is may depend on the device, which is open by now.
 */
static bool lacks_peers(struct srd_run *run)
{
	const char *const *need = run->info->needs;

	while (*need && strcmp(*need, "peers"))
		need++;
	if (!*need)
		return false;
	if (!srd_queue_pair_has_peers(run->queue_pair_ops))
		skip(run, "needs \"peers\": queue pair %s has no add_peer, it has one peer",
		     run->queue_pair_ops->name);
	else if (!srd_scheduler_has_peers(run->scheduler_ops))
		skip(run, "needs \"peers\": scheduler %s knows of one peer only",
		     run->scheduler_ops->name);
	else
		return false;
	return true;
}

/* Whether the backend lacks something that the scenario needs: then it is skipped. */
static bool lacks_ability(struct srd_run *run)
{
	const struct srd_backend *backend = run->config->backend;

	if (run->orders && !(backend->can & SRD_VERBS_CAN_FABRIC)) {
		skip(run, "asks for every order: the %s backend has its own", backend->name);
		return true;
	}
	if (run->has_profile && !(backend->can & SRD_VERBS_CAN_FABRIC)) {
		skip(run, "has a profile of its own: the %s backend takes none", backend->name);
		return true;
	}
	for (const char *const *need = run->info->needs; *need; need++)
		for (size_t i = 0; i < sizeof(abilities) / sizeof(abilities[0]); i++) {
			if (strcmp(*need, abilities[i].name) || backend->can & abilities[i].can)
				continue;
			skip(run, "needs \"%s\": the %s backend %s", *need, backend->name,
			     abilities[i].reason);
			return true;
		}
	return false;
}

/* ---- the tables ---- */

static int open_tables(struct srd_run *run, struct srd_error *error)
{
	struct srd_backend_options options = {
		.profile = &run->profile,
		.device = run->config->device,
		.seed = run->config->seed,
		.stream = &run->stream,
		.chooser = run->orders ? srd_orders_chooser(run->orders) : NULL,
	};
	struct srd_verbs *observed;
	int ret = run->config->backend->open(&options, &run->verbs, error);

	if (ret)
		return ret;
	if (run->options.num_limits) {
		ret = srd_limits_open(run->verbs, run->options.limits, run->options.num_limits,
				      &run->limits, error);
		if (ret)
			return ret;
		run->verbs = srd_limits_verbs(run->limits);
	}
	ret = srd_inject_open(run->verbs, &run->inject, error);
	if (ret)
		return ret;
	run->verbs = srd_inject_verbs(run->inject);
	ret = srd_observe_open(run->verbs, &run->stream, run->inject, &observed, error);
	if (!ret)
		run->verbs = observed;
	return ret;
}

/* ---- the stream ---- */

/* The bytes of every event, as a trace file has them. */
static void hash_event(void *hash, const struct srd_event *event)
{
	XXH64_update(hash, event, srd_event_infos[event->type].size);
}

static bool any_rule(const struct srd_rules *rules)
{
	for (int i = 0; i < srd_num_rules; i++)
		if (srd_rules_selected(rules, i))
			return true;
	return false;
}

/* The rule that the scenario says must fire is judged whatever else is selected. */
static int create_rules(struct srd_run *run, struct srd_error *error)
{
	const struct srd_run_config *config = run->config;
	const char *select = config->rules ? config->rules : "law,contract";
	char *more = NULL;
	int ret;

	if (run->info->violates) {
		more = srd_asprintf("%s,%s", select, run->info->violates);
		if (!more)
			return srd_error_set(error, -ENOMEM, "out of memory");
	}
	ret = srd_rules_create(more ? more : select, config->suppressions, &run->rules, error);
	srd_free(more);
	return ret;
}

static int open_stream(struct srd_run *run, struct srd_error *error)
{
	const struct srd_run_config *config = run->config;
	int ret = create_rules(run, error);

	if (ret)
		return ret;
	srd_rules_script(run->rules, run->script->path);
	if (config->hash) {
		run->hash = XXH64_createState();
		if (!run->hash)
			return srd_error_set(error, -ENOMEM, "out of memory");
		XXH64_reset(run->hash, 0);
	}
	ret = srd_stream_add(&run->stream, srd_run_event, run);
	if (!ret && run->orders)
		ret = srd_stream_add(&run->stream, srd_orders_event, run->orders);
	if (!ret && run->hash)
		ret = srd_stream_add(&run->stream, hash_event, run->hash);
	if (!ret && any_rule(run->rules))
		ret = srd_stream_add(&run->stream, srd_rules_event, run->rules);
	for (int i = 0; i < config->num_readers && !ret; i++)
		ret = srd_stream_add(&run->stream, config->readers[i].fn,
				     config->readers[i].reader);
	return ret ? srd_error_set(error, ret, "too many readers of the stream") : 0;
}

static void emit_begin(struct srd_run *run, int index)
{
	struct srd_ev_scenario_begin event = {
		.ev = {.type = SRD_EV_SCENARIO_BEGIN, .source = SRD_SOURCE_ENGINE},
		.index = (uint32_t)index,
		.seed = run->config->seed,
	};

	srd_stream_emit(&run->stream, &event.ev);
}

static void emit_end(struct srd_run *run, int index)
{
	struct srd_ev_scenario_end event = {
		.ev = {.type = SRD_EV_SCENARIO_END, .source = SRD_SOURCE_ENGINE},
		.index = (uint32_t)index,
		.verdict = run->result->verdict,
	};

	srd_stream_emit(&run->stream, &event.ev);
}

/* ---- the script's side ---- */

struct start {
	struct srd_run *run;
	int index;
};

static int open_script(lua_State *L)
{
	srd_script_open(L, lua_touserdata(L, 1));
	return 1;
}

/* The chunk has run: read the scenario's options and make the task of its body. */
static int prepare_body(lua_State *L)
{
	struct start *start = lua_touserdata(L, 1);
	struct srd_run *run = start->run;
	struct srd_error error;

	srd_script_push(L, start->index); /* 2 */
	if (lua_isnil(L, 2))
		return luaL_error(L, "the script makes other scenarios than when it was loaded");
	lua_rawgeti(L, 2, 2); /* 3: the options */
	srd_marshal_from(L, 3, &srd_struct_scenario_options, &run->options);
	srd_script_limits(L, 3, &run->options);
	run->has_profile = lua_getfield(L, 3, "profile") != LUA_TNIL;
	if (run->has_profile) {
		srd_script_profile(L, 4, &run->profile, &run->profile);
		if (srd_profile_check(&run->profile, &error))
			return luaL_error(L, "scenario_options: %s", error.message);
	}
	/* Orders are of messages: those of packets are beyond number. */
	if (run->orders)
		run->profile.level = SRD_PROFILE_LEVEL_MESSAGE;
	lua_settop(L, 2);
	lua_rawgeti(L, 2, 3);
	srd_task_new(L);
	return 0;
}

/* Everything up to the first line of the body. False: it failed, or there is no need. */
static bool prepare(struct srd_run *run, int index)
{
	struct start start = {.run = run, .index = index};
	lua_State *L = run->lua.L, *co = L;
	struct srd_place place;
	int status;

	lua_pushcfunction(L, open_script);
	lua_pushlightuserdata(L, (void *)run->script);
	status = lua_pcall(L, 1, 1, 0);
	if (status == LUA_OK)
		status = srd_script_call(L, 0, &co);
	if (status == LUA_OK) {
		co = L;
		lua_pushcfunction(L, prepare_body);
		lua_pushlightuserdata(L, &start);
		status = lua_pcall(L, 1, 0, 0);
	}
	if (status == LUA_OK)
		return true;
	srd_script_explain(co, status, run->script, &place);
	srd_run_fail(run, place.line, NULL, "%s", place.text);
	return false;
}

/* Ops that failed, and that nothing in the script has looked at. */
static void judge_ops(struct srd_run *run)
{
	char cause[700];

	/* What a run that was cut off would have looked at later nobody knows. */
	for (struct srd_op_object *op = run->lua.out_of_time ? NULL : run->ops; op; op = op->next) {
		if (!op->done || op->inspected)
			continue;
		srd_op_cause(op, cause, sizeof(cause));
		srd_run_fail(run, (int)op->object.line, NULL,
			     "this %s failed and nothing looked at it: %s", srd_op_name(op), cause);
	}
}

/*
 * What is outstanding at the end: part of the first failure, unless that has said so; a note
 * where the scenario passes.
 */
static void note_outstanding(struct srd_run *run)
{
	static const char title[] = "outstanding at the end:";
	struct srd_scenario_result *result = run->result;
	char report[SRD_REPORT_SIZE], *text;

	if (run->reported)
		return;
	srd_waits_explain(run, SRD_TROUBLE_END, report, sizeof(report));
	if (!report[0])
		return;
	if (result->verdict != SRD_FAILED || !result->failures) {
		text = srd_asprintf("%s%s", title, report);
		if (text && run->lua.log)
			run->lua.log(run->lua.log_arg, text);
		run->failed_alloc |= !text;
		srd_free(text);
		return;
	}
	text = srd_asprintf("%s\n  %s%s", result->failures[0].message, title, report);
	run->failed_alloc |= !text;
	if (!text)
		return;
	srd_free(result->failures[0].message);
	result->failures[0].message = text;
}

static void forget_failure(struct srd_scenario_result *result, int index)
{
	struct srd_failure *list = result->failures;

	srd_free(list[index].file);
	srd_free(list[index].rule);
	srd_free(list[index].message);
	memmove(&list[index], &list[index + 1],
		(size_t)(--result->num_failures - index) * sizeof(*list));
	if (!result->num_failures)
		result->verdict = SRD_PASSED;
}

/* Of all its orders it is enough that one shows what is expected. */
static bool is_one_of_many(const struct srd_run *run)
{
	return run->orders && !srd_orders_is_single(run->orders);
}

/*
 * Where the scenario says with which message it must fail, that failure does not count
 * against it, its absence does.
 */
static void judge_failures(struct srd_run *run)
{
	const char *expected = run->info->fails;
	bool failed = false;

	for (int i = 0; expected && i < run->result->num_failures; i++) {
		const char *message = run->result->failures[i].message;

		if (!message || !strstr(message, expected))
			continue;
		forget_failure(run->result, i--);
		failed = true;
	}
	run->shown |= failed;
	if (expected && !failed && !is_one_of_many(run))
		srd_run_fail(run, run->info->line, NULL,
			     "it was expected to fail with \"%s\" and did not", expected);
}

/* ---- the verdict ---- */

/* BEFORE is the violation reported before it: events that it showed are not shown again. */
static void report_violation(struct srd_run *run, const struct srd_violation *violation,
			     const struct srd_violation *before)
{
	const struct srd_rule_info *rule = &srd_rule_infos[violation->rule];
	const char *timeline = violation->timeline ? violation->timeline : "";
	char times[48] = "";

	if (violation->count > 1)
		snprintf(times, sizeof(times), " (%llu times)",
			 (unsigned long long)violation->count);
	if (before && before->timeline && !strcmp(timeline, before->timeline))
		timeline = "";
	srd_run_fail(run, (int)violation->line, rule->id,
		     "%s: %s%s\n  rule: %s\n  where it is broken: %s\n%s%s", rule->id,
		     violation->evidence, times, rule->statement, rule->why,
		     *timeline ? "  the last events:\n" : "", timeline);
}

/* Which rules could not say anything, and which suppressions were needed. */
static void note_judgement(struct srd_run *run)
{
	struct srd_scenario_result *result = run->result;
	const struct srd_suppression *list;
	int n = srd_rules_suppressions(run->rules, &list);

	for (int rule = 0; rule < srd_num_rules; rule++)
		if (srd_rules_selected(run->rules, rule) && !srd_rules_judged(run->rules, rule))
			result->not_judged[rule / 64] |= UINT64_C(1) << rule % 64;
	for (int i = 0; i < n && i < 64; i++)
		if (list[i].uses)
			result->suppressions |= UINT64_C(1) << i;
}

/*
 * What the rules found. Where the scenario says which rule must fire, that one does not
 * count against it, its absence does. Of a run that the limit of wall time has cut off only what
 * was found until then counts: what an end must leave behind is no question there.
 */
static int judge_rules(struct srd_run *run, struct srd_error *error)
{
	const struct srd_violation *list;
	const char *expected = run->info->violates;
	bool fired = false;
	bool cut = run->lua.out_of_time;
	int n, ret = cut ? 0 : srd_rules_finish(run->rules, error);

	if (ret)
		return ret;
	note_judgement(run);
	n = srd_rules_violations(run->rules, &list);
	if (cut)
		n = run->num_violations;
	for (int i = 0; i < n; i++) {
		if (expected && !strcmp(srd_rule_infos[list[i].rule].id, expected))
			fired = true;
		else
			report_violation(run, &list[i], i ? &list[i - 1] : NULL);
	}
	run->shown |= fired;
	if (expected && !fired && !cut && !is_one_of_many(run))
		srd_run_fail(run, run->info->line, expected,
			     "%s was expected to be violated and was not", expected);
	return 0;
}

/* The world of the scenario, from the opening of the tables to their close. */
static int run_in_world(struct srd_run *run, int index, struct srd_error *error)
{
	const struct srd_violation *until_now;
	int ret = open_stream(run, error);

	if (!ret)
		ret = open_tables(run, error);
	if (ret) {
		if (run->verbs)
			run->verbs->close(run->verbs);
		return ret;
	}
	if (!run->queue_pair_ops)
		run->queue_pair_ops = srd_queue_pair_ops_for(run->verbs);
	if (lacks_peers(run)) {
		run->verbs->close(run->verbs);
		return 0;
	}
	emit_begin(run, index);
	srd_run_tasks(run);
	srd_run_drain(run);
	run->num_violations = srd_rules_violations(run->rules, &until_now);
	note_outstanding(run);
	judge_ops(run);
	judge_failures(run);
	if (run->orders)
		srd_orders_stop(run->orders);
	srd_run_teardown(run);
	run->result->virtual_time = run->verbs->now(run->verbs);
	run->verbs->close(run->verbs);
	emit_end(run, index);
	return judge_rules(run, error);
}

static int execute(struct srd_run *run, int index, struct srd_error *error)
{
	int ret = srd_lua_open(&run->lua, &run->config->sandbox, run->config->seed);

	if (ret)
		return srd_error_set(error, ret, "out of memory");
	run->lua.run = run;
	run->lua.wanted = run->script->all_accepted ? (uint32_t)index + 1 : 0;
	run->lua.log = run->config->log;
	run->lua.log_arg = run->config->log_arg;
	ret = srd_watchdog_start(&run->lua, run->config->sandbox.time_limit);
	if (ret)
		return srd_error_set(error, ret, "no timer: %s", strerror(-ret));
	if (prepare(run, index) && !lacks_ability(run)) {
		ret = run_in_world(run, index, error);
		if (ret == -ENODEV) {
			skip(run, "%s", error->message);
			ret = 0;
		}
	}
	srd_watchdog_stop(&run->lua);
	return ret;
}

static void release(struct srd_run *run)
{
	srd_lua_close(&run->lua);
	srd_rules_destroy(run->rules);
	if (run->hash)
		run->result->trace_hash = XXH64_digest(run->hash);
	XXH64_freeState(run->hash);
	while (run->texts) {
		struct srd_text *text = run->texts;

		run->texts = text->next;
		srd_free(text);
	}
	srd_free(run->free_slots);
	srd_free(run->by_number);
	srd_free(run->traffic);
}

/* Once; ORDERS may be NULL. *SHOWN: what was expected came. */
static int run_once(const struct srd_script *script, int index, const struct srd_run_config *config,
		    struct srd_orders *orders, struct srd_scenario_result *result, bool *shown,
		    struct srd_error *error)
{
	struct srd_run run = {
		.script = script,
		.config = config,
		.info = srd_script_scenario(script, index),
		.result = result,
		.queue_pair_ops = config->queue_pair_ops,
		.scheduler_ops =
			config->scheduler_ops ? config->scheduler_ops : &srd_credit_scheduler_ops,
		.profile = config->profile ? *config->profile : *srd_profile_find("efa1"),
		.orders = orders,
	};
	int ret;

	memset(result, 0, sizeof(*result));
	ret = execute(&run, index, error);
	release(&run);
	*shown = run.shown;
	if (!ret && run.failed_alloc)
		ret = srd_error_set(error, -ENOMEM, "out of memory");
	return ret;
}

/* ---- every order ---- */

/* What all runs of a scenario have come to. */
struct tally {
	uint64_t orders; /* that differ in effect */
	uint64_t events;
	uint64_t virtual_time; /* of the longest */
	uint64_t hash;
};

static void add_run(struct tally *tally, const struct srd_scenario_result *one, bool is_new)
{
	tally->orders += is_new;
	tally->events += one->num_events;
	tally->hash = tally->hash * UINT64_C(0x9e3779b97f4a7c15) + one->trace_hash;
	if (one->virtual_time > tally->virtual_time)
		tally->virtual_time = one->virtual_time;
}

/* Which order it was, behind the message of the first failure. */
static int name_order(const struct srd_orders *orders, uint64_t number,
		      struct srd_scenario_result *result)
{
	struct srd_failure *first = &result->failures[0];
	char *how = srd_orders_explain(orders), *message = NULL;

	result->order = srd_orders_text(orders);
	if (how && result->order)
		message = srd_asprintf("%s\n  in order %llu of its messages%s%s%s", first->message,
				       (unsigned long long)number, *how ? ", " : ", their own",
				       result->order, how);
	srd_free(how);
	if (!message)
		return -ENOMEM;
	srd_free(first->message);
	first->message = message;
	return 0;
}

/* In no order came what is expected of one. */
static int fail_in_all(const struct srd_script *script, const struct srd_scenario_info *info,
		       const struct tally *tally, struct srd_scenario_result *result)
{
	struct srd_failure *failure = srd_calloc(1, sizeof(*failure));

	if (!failure)
		return -ENOMEM;
	result->verdict = SRD_FAILED;
	result->failures = failure;
	result->num_failures = 1;
	failure->line = info->line;
	failure->file = srd_strdup(script->path);
	failure->message = srd_asprintf("%s \"%s\" was expected in one of its orders, and came in "
					"none of %llu",
					info->violates ? "a violation of" : "a failure with",
					info->violates ? info->violates : info->fails,
					(unsigned long long)tally->orders);
	return failure->file && failure->message ? 0 : -ENOMEM;
}

/* The runs, until one decides. *DECIDED: RESULT is that one's; else all of them passed. */
static int run_all(const struct srd_script *script, int index, const struct srd_run_config *config,
		   struct srd_orders *orders, uint64_t max, struct tally *tally,
		   struct srd_scenario_result *result, bool *decided, struct srd_error *error)
{
	struct srd_scenario_result one;
	bool shown;
	int ret;

	for (;;) {
		bool known;

		srd_orders_begin(orders);
		ret = run_once(script, index, config, orders, &one, &shown, error);
		known = srd_orders_is_known(orders);
		if (!ret)
			add_run(tally, &one, srd_orders_is_new(orders));
		*decided = !known && (one.verdict != SRD_PASSED || shown);
		if (ret || !known) {
			srd_scenario_result_release(result);
			*result = one;
		} else {
			srd_scenario_result_release(&one);
		}
		if (ret || *decided || !srd_orders_next(orders))
			return ret;
		result->orders_left = tally->orders >= max;
		if (result->orders_left)
			return 0;
	}
}

static int run_orders(const struct srd_script *script, int index,
		      const struct srd_run_config *config, struct srd_scenario_result *result,
		      struct srd_error *error)
{
	const struct srd_scenario_info *info = srd_script_scenario(script, index);
	uint64_t max = config->orders_max ? config->orders_max
		       : info->orders_max ? info->orders_max
					  : SRD_ORDERS_MAX;
	struct tally tally = {0};
	struct srd_orders *orders;
	bool decided = false, single;
	int ret = srd_orders_open(config->order, &orders, error);

	if (ret)
		return ret;
	single = srd_orders_is_single(orders);
	ret = run_all(script, index, config, orders, max, &tally, result, &decided, error);
	if (ret || result->verdict == SRD_SKIPPED)
		goto close;
	result->num_orders = tally.orders;
	if (result->verdict == SRD_FAILED && !single)
		ret = name_order(orders, tally.orders, result);
	if (!decided && (info->violates || info->fails) && !single)
		ret = fail_in_all(script, info, &tally, result);
	if (result->verdict == SRD_PASSED && !single) {
		result->num_events = tally.events;
		result->virtual_time = tally.virtual_time;
		result->trace_hash = config->hash ? tally.hash : 0;
	}
	if (!ret && srd_orders_no_memory(orders))
		ret = -ENOMEM;
	if (ret)
		srd_error_set(error, ret, "out of memory");

close:
	srd_orders_close(orders);
	return ret;
}

int srd_scenario_run(const struct srd_script *script, int index,
		     const struct srd_run_config *config, struct srd_scenario_result *result,
		     struct srd_error *error)
{
	const struct srd_scenario_info *info = srd_script_scenario(script, index);
	uint64_t began = monotonic();
	struct srd_error local;
	bool shown;
	int ret;

	memset(result, 0, sizeof(*result));
	error = error ? error : &local;
	if (!info)
		return srd_error_set(error, -EINVAL, "%s has no scenario %d", script->path, index);
	ret = info->all_orders ? run_orders(script, index, config, result, error)
			       : run_once(script, index, config, NULL, result, &shown, error);
	result->wall_time = monotonic() - began;
	return ret;
}

void srd_scenario_result_release(struct srd_scenario_result *result)
{
	for (int i = 0; i < result->num_failures; i++) {
		srd_free(result->failures[i].file);
		srd_free(result->failures[i].rule);
		srd_free(result->failures[i].message);
	}
	srd_free(result->failures);
	srd_free(result->skip_reason);
	srd_free(result->order);
	memset(result, 0, sizeof(*result));
}
