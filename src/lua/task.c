/* SPDX-License-Identifier: MIT */
/*
 * The tasks of a scenario: coroutines that take turns in the order of their making. A
 * wait in one hands the turn on; when all wait, the world moves: completions are polled,
 * then the table waits for the next thing to happen. A task that is alone need not yield
 * for that and stays where it is.
 */
#include <errno.h>
#include <string.h>

#include "run.h"
#include "script.h"
#include "verbs/units.h"
#include "waits.h"

struct srd_task *srd_task_new(lua_State *L)
{
	struct srd_run *run = srd_run_of(L);
	struct srd_task *task, **at = &run->tasks;

	if (!lua_isfunction(L, -1))
		srd_raise(L, "a task needs a function, not %s", luaL_typename(L, -1));
	task = srd_object_new(L, SRD_OBJECT_TASK, sizeof(*task), 1);
	task->co = lua_newthread(L);
	lua_pushvalue(L, -3);
	lua_xmove(L, task->co, 1);
	lua_setiuservalue(L, -2, 1);
	task->object.line = (uint32_t)srd_lua_line(L);
	task->deadline = UINT64_MAX;
	srd_object_keep(L, task);
	while (*at)
		at = &(*at)->next;
	*at = task;
	run->num_live_tasks++;
	lua_remove(L, -2);
	return task;
}

bool srd_task_alone(lua_State *L)
{
	return srd_run_of(L)->num_live_tasks == 1;
}

void srd_task_report(lua_State *L, enum srd_trouble trouble, char report[SRD_REPORT_SIZE])
{
	struct srd_run *run = srd_run_of(L);

	run->current->waiting = true; /* what it waits for is part of the report */
	srd_waits_explain(run, trouble, report, SRD_REPORT_SIZE);
	run->current->waiting = false;
	run->reported = true;
}

static void raise_trouble(lua_State *L, int trouble)
{
	struct srd_run *run = srd_run_of(L);
	char report[SRD_REPORT_SIZE], time[32];

	srd_units_format(SRD_UNIT_TIME,
			 trouble == -ETIME ? run->options.timeout : run->verbs->now(run->verbs),
			 time, sizeof(time));
	srd_task_report(L, trouble == -ETIME ? SRD_TROUBLE_TIME : SRD_TROUBLE_DEADLOCK, report);
	srd_raise(L,
		  trouble == -ETIME ? "timed out: the scenario's own limit of %s is over%s"
				    : "deadlock at %s: nothing can happen any more%s",
		  time, report);
}

static void raise_pending(lua_State *L)
{
	struct srd_run *run = srd_run_of(L);
	int trouble = run->trouble;

	if (srd_lua_of(L)->out_of_time)
		srd_watchdog_raise(L);
	if (!trouble)
		return;
	run->trouble = 0;
	if (trouble == -ECANCELED)
		srd_raise(L, "this order was run before");
	raise_trouble(L, trouble);
}

/* On hardware a wait is a busy loop of the backend: look at the wall clock in between. */
#define REAL_SLICE UINT64_C(10000000)

/*
 * Move the world: take what has completed, or else wait until DEADLINE at most. 0, or the
 * trouble: -EDEADLK; -ETIME: the scenario's own time is over; -ECANCELED: this order
 * is known. Virtual time stands still
 * between two waits, so that another poll without a call in between would find nothing.
 */
static int step(struct srd_run *run, uint64_t deadline)
{
	struct srd_verbs *verbs = run->verbs;
	bool virtual_time = verbs->can & SRD_VERBS_CAN_VIRTUAL_TIME;
	uint64_t limit = run->options.timeout;
	int ret;

	if (!run->polled) {
		run->polled = virtual_time;
		if (srd_run_progress(run))
			return 0;
	}
	if (limit && verbs->now(verbs) >= limit)
		return -ETIME;
	if (limit && limit < deadline)
		deadline = limit;
	if (!virtual_time) {
		uint64_t slice = verbs->now(verbs) + REAL_SLICE;

		deadline = slice < deadline ? slice : deadline;
	}
	ret = verbs->wait(verbs, deadline);
	if (ret == ECANCELED)
		return -ret;
	if (virtual_time && srd_run_progress(run))
		return 0;
	return ret == EDEADLK ? -EDEADLK : 0;
}

void srd_task_step(lua_State *L, uint64_t deadline)
{
	struct srd_run *run = srd_run_of(L);

	run->current->waiting = true;
	run->trouble = step(run, deadline);
	raise_pending(L);
	run->current->waiting = false;
}

void srd_task_waits_for(lua_State *L, void *on, uint32_t wanted)
{
	struct srd_task *task = srd_run_of(L)->current;

	task->on = on;
	task->wanted = wanted;
}

void srd_task_at(lua_State *L)
{
	srd_run_at(L);
	srd_run_of(L)->current->line = srd_run_of(L)->stream.line;
}

int srd_task_yield(lua_State *L, uint64_t deadline, lua_KContext context, lua_KFunction k)
{
	struct srd_run *run = srd_run_of(L);

	raise_pending(L);
	run->current->deadline = deadline;
	run->current->waiting = true;
	lua_pushlightuserdata(L, (void *)srd_lua_sentinel);
	return lua_yieldk(L, 1, context, k);
}

/* ---- the loop ---- */

static void fail_task(struct srd_run *run, struct srd_task *task, int status)
{
	struct srd_place place;

	srd_script_explain(task->co, status, run->script, &place);
	srd_run_fail(run, place.line, NULL, "%s", place.text);
}

/* Let TASK have its turn. False: it failed, and so the scenario ends. */
static bool take_turn(struct srd_run *run, struct srd_task *task)
{
	int n = 0, status;

	run->current = task;
	run->stream.line = task->line;
	task->waiting = false;
	task->deadline = UINT64_MAX;
	if (!task->started && task->object.serial == 1) { /* the body: it is given t */
		srd_scenario_push(task->co);
		n = 1;
	}
	task->started = true;
	status = srd_lua_resume(task->co, run->lua.L, n, &n);
	run->current = NULL;
	if (status == LUA_YIELD) {
		lua_pop(task->co, n);
		return true;
	}
	task->done = true;
	run->num_live_tasks--;
	run->changes++;
	if (status == LUA_OK)
		return true;
	fail_task(run, task, status);
	return false;
}

/* The first task that waits is the one to hear of it. */
static bool hand_out_trouble(struct srd_run *run, int trouble)
{
	struct srd_task *task = run->tasks;

	while (task->done || !task->waiting)
		task = task->next;
	run->trouble = trouble;
	return take_turn(run, task);
}

/* All have had their turn and some are left: go on with the world if all of them wait. */
static bool move_on(struct srd_run *run)
{
	uint64_t deadline = UINT64_MAX;
	bool idle = true;
	int trouble;

	for (struct srd_task *task = run->tasks; task; task = task->next) {
		if (task->done)
			continue;
		idle &= task->waiting;
		if (task->deadline < deadline)
			deadline = task->deadline;
	}
	if (!idle) {
		srd_run_progress(run);
		return true;
	}
	trouble = step(run, deadline);
	return !trouble || hand_out_trouble(run, trouble);
}

/* Let go of those that are done; a handle that the script has stays good. */
static void sweep(struct srd_run *run)
{
	struct srd_task **at = &run->tasks;

	while (*at) {
		struct srd_task *task = *at;

		if (!task->done) {
			at = &task->next;
			continue;
		}
		*at = task->next;
		srd_object_push(run->lua.L, task);
		lua_pushnil(run->lua.L); /* its coroutine: a script may keep the handle for long */
		lua_setiuservalue(run->lua.L, -2, 1);
		lua_pop(run->lua.L, 1);
		srd_object_drop(run->lua.L, task);
		task->object.gone = false;
	}
}

void srd_run_tasks(struct srd_run *run)
{
	while (run->num_live_tasks) {
		uint64_t changes = run->changes;

		for (struct srd_task *task = run->tasks; task; task = task->next)
			if (!task->done && !take_turn(run, task))
				return;
		sweep(run);
		if (run->num_live_tasks && run->changes == changes && !move_on(run))
			return;
	}
}

/* ns that the drain lasts at most: on hardware a lost completion must not hang the run. */
#define DRAIN_LIMIT UINT64_C(1000000000)

void srd_run_drain(struct srd_run *run)
{
	uint64_t deadline = run->verbs->now(run->verbs) + DRAIN_LIMIT;

	if (run->result->verdict == SRD_FAILED)
		return;
	while (srd_run_has_work(run) && run->verbs->now(run->verbs) < deadline)
		if (step(run, deadline))
			break;
}

/* ---- the class ---- */

static int task_done(lua_State *L)
{
	struct srd_task *task = srd_object_check(L, 1, SRD_OBJECT_TASK);

	lua_pushboolean(L, task->done);
	return 1;
}

static const luaL_Reg methods[] = {
	{"done", task_done},
	{NULL, NULL},
};

void srd_bind_task(lua_State *L)
{
	static const struct srd_class class = {SRD_OBJECT_TASK, methods, NULL};

	srd_class_register(L, &class);
}
