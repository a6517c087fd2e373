/* SPDX-License-Identifier: MIT */
/* The scenario's own object, t: hosts, waiting, time, tasks; and what C offers to Lua. */
#include <errno.h>
#include <string.h>

#include "bindings.h"
#include "marshal.h"
#include "sandbox.h"
#include "verbs/nearest.h"
#include "waits.h"

/* ---- errnos ---- */

const char *srd_errno_name(int error)
{
	const char *name = error ? strerrorname_np(error) : "OK";

	return name ? name : "an unknown errno";
}

void srd_push_errno(lua_State *L, int error)
{
	lua_pushstring(L, srd_errno_name(error));
}

int srd_errno_parse(const char *name)
{
	for (int error = 1; error < 134; error++) {
		const char *known = strerrorname_np(error);

		if (known && !strcmp(known, name))
			return error;
	}
	return 0;
}

/* ---- t ---- */

void srd_scenario_push(lua_State *L)
{
	lua_rawgeti(L, LUA_REGISTRYINDEX, SRD_KEY_T);
}

static int t_host(lua_State *L)
{
	size_t length;
	const char *name = luaL_checklstring(L, 2, &length);

	if (!length || strlen(name) != length)
		srd_raise(L, "t:host: a name is at least one letter long, and none of them is the "
			     "byte 0");
	srd_run_at(L);
	srd_host_push(L, name);
	return 1;
}

static int t_now(lua_State *L)
{
	struct srd_verbs *verbs = srd_run_of(L)->verbs;

	lua_pushinteger(L, (lua_Integer)verbs->now(verbs));
	return 1;
}

static int t_seed(lua_State *L)
{
	lua_pushinteger(L, (lua_Integer)srd_run_of(L)->config->seed);
	return 1;
}

/* t:backend(): the name of the one that the scenario runs on. */
static int t_backend(lua_State *L)
{
	lua_pushstring(L, srd_run_of(L)->config->backend->name);
	return 1;
}

static int t_spawn(lua_State *L)
{
	lua_settop(L, 2);
	srd_task_new(L);
	return 1;
}

/* ---- waiting for ops and tasks ---- */

/* Whether the op or task at INDEX is done; notes it as what is waited for if not. */
static bool is_done(lua_State *L, int index)
{
	struct srd_op_object *op = srd_object_test(L, index, SRD_OBJECT_OP);
	struct srd_task *task;

	if (op) {
		if (!op->done)
			srd_task_waits_for(L, op, 0);
		return op->done;
	}
	task = srd_object_test(L, index, SRD_OBJECT_TASK);
	if (!task)
		srd_raise(L, "t:wait: an op or a task is expected, or a list of them, not %s",
			  luaL_typename(L, index));
	if (!task->done)
		srd_task_waits_for(L, task, 0);
	return task->done;
}

/* The number of the first one in the list at 2 that is not done, from FROM on; 0: none. */
static lua_Integer first_pending(lua_State *L, lua_Integer from)
{
	for (;; from++) {
		if (lua_rawgeti(L, 2, from) == LUA_TNIL)
			break;
		if (!is_done(L, -1)) {
			lua_pop(L, 1);
			return from;
		}
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
	return 0;
}

static void raise_failed(lua_State *L, struct srd_op_object *op)
{
	char cause[700];

	srd_op_cause(op, cause, sizeof(cause));
	srd_raise(L, "the %s of line %d failed: %s", srd_op_name(op), (int)op->object.line, cause);
}

static void inspect(lua_State *L, int index)
{
	struct srd_op_object *op = srd_object_test(L, index, SRD_OBJECT_OP);

	if (!op)
		return;
	srd_op_inspect(op);
	if (op->result)
		raise_failed(L, op);
}

static void inspect_all(lua_State *L)
{
	if (!lua_istable(L, 2)) {
		inspect(L, 2);
		return;
	}
	for (lua_Integer i = 1; lua_rawgeti(L, 2, i) != LUA_TNIL; i++) {
		inspect(L, -1);
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
}

/*
 * Wait for what is at 2, from entry FROM of a list on, until the deadline at 3 (nil: none);
 * then FINISH gives the binding's results. K is the binding's continuation.
 */
static int wait_for(lua_State *L, lua_Integer from, lua_KFunction k,
		    int (*finish)(lua_State *L, bool in_time))
{
	struct srd_run *run = srd_run_of(L);
	uint64_t deadline = lua_isnil(L, 3) ? UINT64_MAX : (uint64_t)lua_tointeger(L, 3);

	for (;;) {
		if (lua_istable(L, 2))
			from = first_pending(L, from);
		else if (is_done(L, 2))
			from = 0;
		if (!from)
			return finish(L, true);
		if (deadline != UINT64_MAX && run->verbs->now(run->verbs) >= deadline)
			return finish(L, false);
		if (!srd_task_alone(L))
			return srd_task_yield(L, deadline, from, k);
		srd_task_step(L, deadline);
	}
}

/* The line of the wait, and at 3 the deadline that a time there stands for. */
static void start_wait(lua_State *L, const char *what)
{
	struct srd_run *run = srd_run_of(L);

	srd_task_at(L);
	lua_settop(L, 3);
	if (lua_isnil(L, 3))
		return;
	lua_pushinteger(L, (lua_Integer)(run->verbs->now(run->verbs) + srd_check_time(L, 3, what)));
	lua_replace(L, 3);
}

static int finish_wait(lua_State *L, bool in_time)
{
	char report[SRD_REPORT_SIZE];

	if (!in_time) {
		srd_task_report(L, SRD_TROUBLE_TIME, report);
		srd_raise(L, "t:wait: not done in the time that was given%s", report);
	}
	inspect_all(L);
	return 0;
}

static int wait_k(lua_State *L, int status, lua_KContext from)
{
	return wait_for(L, from, wait_k, finish_wait);
}

/* t:wait(op, task or list[, time]) */
static int t_wait(lua_State *L)
{
	start_wait(L, "t:wait: time");
	return wait_k(L, LUA_OK, 1);
}

static int finish_result(lua_State *L, bool in_time)
{
	struct srd_op_object *op = srd_object_check(L, 2, SRD_OBJECT_OP);
	char cause[700];

	srd_op_inspect(op);
	lua_createtable(L, 0, 2);
	if (op->result && op->result != -EIO) {
		srd_push_errno(L, -op->result);
		lua_setfield(L, -2, "errno");
		srd_op_cause(op, cause, sizeof(cause));
		lua_pushstring(L, cause);
		lua_setfield(L, -2, "message");
		return 1;
	}
	lua_pushstring(L, srd_wc_status_str(op->status));
	lua_setfield(L, -2, "status");
	lua_pushinteger(L, op->vendor_err);
	lua_setfield(L, -2, "vendor_err");
	return 1;
}

static int result_k(lua_State *L, int status, lua_KContext from)
{
	return wait_for(L, from, result_k, finish_result);
}

/* t:result(op): waits, and does not raise where it failed. */
static int t_result(lua_State *L)
{
	srd_object_check(L, 2, SRD_OBJECT_OP);
	lua_settop(L, 2);
	start_wait(L, "t:result");
	return result_k(L, LUA_OK, 1);
}

/* 2: the time when it is over */
static int run_for_k(lua_State *L, int status, lua_KContext context)
{
	struct srd_run *run = srd_run_of(L);
	uint64_t deadline = (uint64_t)lua_tointeger(L, 2);

	while (run->verbs->now(run->verbs) < deadline) {
		srd_task_waits_for(L, NULL, 0);
		if (!srd_task_alone(L))
			return srd_task_yield(L, deadline, 0, run_for_k);
		srd_task_step(L, deadline);
	}
	srd_run_progress(run);
	return 0;
}

/* t:run_for(time) */
static int t_run_for(lua_State *L)
{
	struct srd_run *run = srd_run_of(L);
	uint64_t time = srd_check_time(L, 2, "t:run_for");

	srd_task_at(L);
	lua_settop(L, 1);
	lua_pushinteger(L, (lua_Integer)(run->verbs->now(run->verbs) + time));
	return run_for_k(L, LUA_OK, 0);
}

/* ---- the class, and core ---- */

static const luaL_Reg methods[] = {
	{"host", t_host}, {"connect", srd_connect}, {"rails", srd_rails},   {"spawn", t_spawn},
	{"wait", t_wait}, {"result", t_result},     {"run_for", t_run_for}, {"now", t_now},
	{"seed", t_seed}, {"backend", t_backend},   {NULL, NULL},
};

static void bind_scenario(lua_State *L)
{
	static const struct srd_class class = {SRD_OBJECT_SCENARIO, methods, NULL};

	srd_class_register(L, &class);
	srd_class_methods(L, SRD_OBJECT_SCENARIO);
	luaL_setfuncs(L, srd_fault_methods, 0);
	lua_pop(L, 1);
	srd_object_new(L, SRD_OBJECT_SCENARIO, sizeof(struct srd_object), 0);
	lua_rawseti(L, LUA_REGISTRYINDEX, SRD_KEY_T);
}

/* core.raise(text): an error at the line of the script, whatever of scripts/lib is between. */
static int core_raise(lua_State *L)
{
	srd_raise(L, "%s", luaL_checkstring(L, 1));
}

/* core.kind(value): "op", "memory", ...; nil for what is not ours. */
static int core_kind(lua_State *L)
{
	struct srd_object *object = lua_touserdata(L, 1);

	if (!object || !srd_object_test(L, 1, object->type))
		return 0;
	lua_pushstring(L, srd_object_name(object->type));
	return 1;
}

static int core_size(lua_State *L)
{
	lua_pushinteger(L, (lua_Integer)srd_check_size(L, 1, luaL_checkstring(L, 2)));
	return 1;
}

static int core_time(lua_State *L)
{
	lua_pushinteger(L, (lua_Integer)srd_check_time(L, 1, luaL_checkstring(L, 2)));
	return 1;
}

/* core.nearest(word, names): of the list the one that was meant, or nil. */
static int core_nearest(lua_State *L)
{
	const char *names[32], *word = luaL_checkstring(L, 1), *nearest;
	int count = 0;

	while (count < 32 && lua_rawgeti(L, 2, count + 1) == LUA_TSTRING)
		names[count++] = lua_tostring(L, -1); /* the list keeps it */
	nearest = srd_nearest(word, names, count);
	if (!nearest)
		return 0;
	lua_pushstring(L, nearest);
	return 1;
}

void srd_bind_core(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{"raise", core_raise}, {"kind", core_kind},       {"size", core_size},
		{"time", core_time},   {"nearest", core_nearest}, {NULL, NULL},
	};

	srd_bind_op(L);
	srd_bind_task(L);
	srd_bind_rails(L);
	srd_bind_queue_pair(L);
	srd_bind_verbs(L);
	srd_bind_memory(L);
	srd_bind_host(L);
	bind_scenario(L);
	luaL_setfuncs(L, functions, 0);
	lua_createtable(L, 0, SRD_NUM_OBJECT_TYPES);
	for (int type = 0; type < SRD_NUM_OBJECT_TYPES; type++) {
		srd_class_methods(L, (enum srd_object_type)type);
		lua_setfield(L, -2, srd_object_name((enum srd_object_type)type));
	}
	lua_setfield(L, -2, "classes");
	lua_pushinteger(L, SRD_MAX_RAILS);
	lua_setfield(L, -2, "max_rails");
}
