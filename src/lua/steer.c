/* SPDX-License-Identifier: MIT */
#include "steer.h"

#include <errno.h>
#include <string.h>

#include "bindings.h"
#include "marshal.h"
#include "rules/rules.h"
#include "script.h"
#include "verbs/alloc.h"
#include "verbs/nearest.h"
#include "verbs/profile.h"

struct srd_steer {
	struct srd_lua lua;
	struct srd_script *script;
	struct srd_launch_script launch;
	struct srd_steer_options options;
	const struct srd_launch_device *device; /* NULL: no moment is now */
	uint64_t now;
	bool cancelled; /* whoever waited for this moment is dead */
	bool failed;
};

static const char moment_key[1], begin_key[1];

static struct srd_steer *steer_of(lua_State *L)
{
	return srd_lua_of(L)->steer;
}

/* Raise: there is no counter of that name. */
static __attribute__((noreturn)) void refuse_counter(lua_State *L, const char *what,
						     const char *name)
{
	const struct srd_launch_device *device = steer_of(L)->device;
	const char *names[64], *nearest;
	luaL_Buffer list;
	int count = 0;

	while (count < 64 && (names[count] = device->counter_name((uint32_t)count)))
		count++;
	nearest = srd_nearest(name, names, count);
	if (nearest)
		srd_raise(L, "%s: \"%s\": there is no such counter; did you mean \"%s\"?", what,
			  name, nearest);
	luaL_buffinit(L, &list);
	for (int i = 0; i < count; i++) {
		luaL_addstring(&list, i ? ", " : "");
		luaL_addstring(&list, names[i]);
	}
	luaL_pushresult(&list);
	srd_raise(L, "%s: \"%s\": there is no such counter; there are %s", what, name,
		  lua_tostring(L, -1));
}

/* Why COMMAND cannot be done, where that is for what has become of its object; NULL. */
static const char *why_not(const struct srd_launch_command *command, int err)
{
	switch (err) {
	case ESTALE:
		return "this queue pair is destroyed";
	case ENOENT:
		if (command->kind == SRD_LAB_KILL || command->kind == SRD_LAB_RESTART)
			return "there is no such device";
		return "this request is completed or lost";
	case EINVAL:
		if (command->kind == SRD_LAB_RELEASE)
			return "this request is not held";
		if (command->kind == SRD_LAB_QP_ERR)
			return "this queue pair is in RESET or ERR";
		return NULL;
	default:
		return NULL;
	}
}

/*
 * Give COMMAND to the device, on behalf of WHAT. When it comes is the program's doing, so that
 * what has become of a request or a queue pair is no error of the script: then why it was not
 * done, else NULL. Raises where it never could be.
 */
static const char *perform(lua_State *L, const char *what, struct srd_launch_command *command)
{
	struct srd_steer *steer = steer_of(L);
	const char *why;
	int err;

	if (!steer->device)
		srd_raise(L, "%s: only in a function that is called while the program runs", what);
	err = steer->device->command(steer->device->context, command);
	if (err == ECANCELED) {
		steer->cancelled = true;
		srd_raise(L, "%s: the program has ended", what);
	}
	if (err == ENOENT && command->kind == SRD_LAB_COUNTER)
		refuse_counter(L, what, command->name);
	if (err == ENOMEM)
		srd_raise(L, "%s: there are too many faults for requests that are not posted yet",
			  what);
	why = err ? why_not(command, err) : NULL;
	if (err && !why)
		srd_raise(L, "%s: %s", what, srd_errno_name(err));
	return why;
}

static const struct {
	const char *name;
	enum srd_lab_kind kind;
} kinds[] = {
	{"hold", SRD_LAB_HOLD},
	{"release", SRD_LAB_RELEASE},
	{"drop", SRD_LAB_DROP},
	{"duplicate", SRD_LAB_DUPLICATE},
	{"fail", SRD_LAB_FAIL},
	{"delay", SRD_LAB_DELAY},
	{"not_ready", SRD_LAB_NOT_READY},
	{"locate", SRD_LAB_LOCATE},
	{"release_all", SRD_LAB_COMPLETE_ALL},
	{"device_error", SRD_LAB_QP_ERR},
	{"stale_completion", SRD_LAB_STALE_CQE},
	{"fail_receive", SRD_LAB_FAIL_RECEIVE},
	{"kill", SRD_LAB_KILL},
	{"restart", SRD_LAB_RESTART},
	{"counter", SRD_LAB_COUNTER},
};

static enum srd_lab_kind kind_of(const char *name)
{
	size_t i = 0;

	while (strcmp(kinds[i].name, name))
		i++;
	return kinds[i].kind;
}

/* The operands at 6 and 7, as the kind of COMMAND wants them. */
static void operands(lua_State *L, const char *what, struct srd_launch_command *command)
{
	switch (command->kind) {
	case SRD_LAB_FAIL_RECEIVE:
		if (!lua_isnil(L, 7))
			command->ordinal = srd_check_uint(
				L, 7, lua_pushfstring(L, "%s: after", what), UINT32_MAX);
		/* fall through */
	case SRD_LAB_FAIL:
		what = lua_pushfstring(L, "%s: status", what);
		command->status = srd_check_failure(L, 6, what);
		break;
	case SRD_LAB_DELAY:
		command->time = srd_check_time(L, 6, what);
		break;
	case SRD_LAB_NOT_READY:
		command->value = lua_isnil(L, 6) ? 1 : srd_check_uint(L, 6, what, UINT8_MAX);
		break;
	case SRD_LAB_COUNTER:
		snprintf(command->name, sizeof(command->name), "%s", luaL_checkstring(L, 6));
		break;
	}
}

/*
 * steer.command(what, kind, host, qp, ordinal, operand, operand): true, or what it asked for;
 * false and why it cannot be done any more.
 */
static int steer_command(lua_State *L)
{
	const char *what = luaL_checkstring(L, 1), *why;
	struct srd_launch_command command = {
		.kind = kind_of(luaL_checkstring(L, 2)),
		.host = (uint32_t)luaL_checkinteger(L, 3),
		.qp = (uint64_t)luaL_checkinteger(L, 4),
		.ordinal = (uint64_t)luaL_checkinteger(L, 5),
	};

	lua_settop(L, 7);
	operands(L, what, &command);
	why = perform(L, what, &command);
	if (why) {
		lua_pushboolean(L, false);
		lua_pushstring(L, why);
		return 2;
	}
	if (command.kind == SRD_LAB_LOCATE)
		lua_pushstring(L, srd_place_name(command.place));
	else if (command.kind == SRD_LAB_COUNTER)
		lua_pushinteger(L, (lua_Integer)command.value);
	else
		lua_pushboolean(L, true);
	return 1;
}

/* steer.object(metatable, fields): a value that has them, and that a script cannot write to. */
static int steer_object(lua_State *L)
{
	lua_newuserdatauv(L, 0, 1);
	lua_pushvalue(L, 2);
	lua_setiuservalue(L, -2, 1);
	lua_pushvalue(L, 1);
	lua_setmetatable(L, -2);
	return 1;
}

/* steer.fields(value, metatable): those of an object of that class; nil: it is none. */
static int steer_fields(lua_State *L)
{
	if (lua_type(L, 1) != LUA_TUSERDATA || !lua_getmetatable(L, 1) || !lua_rawequal(L, -1, 2))
		return 0;
	lua_getiuservalue(L, 1, 1);
	return 1;
}

/* steer.fabric(fields): before there is a device it only looks at them. */
static int steer_fabric(lua_State *L)
{
	struct srd_profile *profile = lua_newuserdatauv(L, sizeof(*profile), 0);
	struct srd_launch_command command = {.kind = SRD_LAB_SET};

	memset(profile, 0, sizeof(*profile));
	if (!lua_istable(L, 1))
		srd_raise(L, "srd.fabric: a table of fields is expected, not %s",
			  luaL_typename(L, 1));
	srd_marshal_from(L, 1, &srd_struct_profile, profile);
	for (int i = 0; i < SRD_NUM_PROFILE_FIELDS; i++) {
		const struct srd_profile_field *field = &srd_profile_fields[i];

		if (lua_getfield(L, 1, field->name) != LUA_TNIL) {
			if (!field->live)
				srd_refuse_fixed(L, "srd.fabric", field->name, "with --define");
			snprintf(command.name, sizeof(command.name), "%s", field->name);
			command.value = srd_profile_get(profile, field);
			if (steer_of(L)->device)
				perform(L, "srd.fabric", &command);
		}
		lua_pop(L, 1);
	}
	return 0;
}

static int steer_now(lua_State *L)
{
	lua_pushinteger(L, (lua_Integer)steer_of(L)->now);
	return 1;
}

static int steer_seed(lua_State *L)
{
	lua_pushinteger(L, (lua_Integer)steer_of(L)->options.seed);
	return 1;
}

void srd_steer_bind(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{"command", steer_command},
		{"object", steer_object},
		{"fields", steer_fields},
		{"fabric", steer_fabric},
		{"now", steer_now},
		{"seed", steer_seed},
		{NULL, NULL},
	};

	luaL_newlib(L, functions);
	lua_setfield(L, -2, "steer");
}

void srd_steer_keep(lua_State *L)
{
	lua_rawsetp(L, LUA_REGISTRYINDEX, begin_key);
	lua_rawsetp(L, LUA_REGISTRYINDEX, moment_key);
}

static int open_script(lua_State *L)
{
	srd_script_open(L, lua_touserdata(L, 1));
	return 1;
}

/* The error of CO as "FILE:LINE: text". */
static int explain(const struct srd_steer *steer, lua_State *co, int status,
		   struct srd_error *error)
{
	struct srd_place place;

	srd_script_explain(co, status, steer->script, &place);
	return srd_error_set(error, status == LUA_ERRMEM ? -ENOMEM : -EINVAL, "%s:%d: %s",
			     steer->options.path, place.line, place.text);
}

/* Call begin of steer.lua: what the script wants. */
static int begin(struct srd_steer *steer, struct srd_error *error)
{
	lua_State *L = steer->lua.L, *co;
	bool requests;
	int status;

	lua_rawgetp(L, LUA_REGISTRYINDEX, begin_key);
	status = srd_script_call(L, 0, &co);
	if (status != LUA_OK)
		return explain(steer, co, status, error);
	if (!lua_toboolean(co, -1))
		return srd_error_set(error, -EINVAL,
				     "%s:1: the script asks for nothing: srd.on_device, "
				     "srd.on_queue_pair, srd.on_request, srd.at or srd.fabric say "
				     "what it wants",
				     steer->options.path);
	requests = lua_toboolean(co, -3);
	/* Those that come first give names to what a request is of. */
	steer->launch.wanted = 1u << SRD_LAUNCH_DEVICE | 1u << SRD_LAUNCH_QUEUE_PAIR |
			       (uint32_t)requests << SRD_LAUNCH_REQUEST;
	steer->launch.alarm = (uint64_t)lua_tointeger(co, -2);
	lua_settop(L, 0);
	return 0;
}

static int run_chunk(struct srd_steer *steer, struct srd_error *error)
{
	lua_State *L = steer->lua.L, *co = L;
	int status;

	lua_pushcfunction(L, open_script);
	lua_pushlightuserdata(L, steer->script);
	status = lua_pcall(L, 1, 1, 0);
	if (status == LUA_OK)
		status = srd_script_call(L, 0, &co);
	if (status != LUA_OK)
		return explain(steer, co, status, error);
	lua_settop(L, 0);
	return begin(steer, error);
}

static int start(struct srd_steer *steer, struct srd_error *error)
{
	int err =
		srd_watchdog_start(&steer->lua, srd_load_limit(steer->options.sandbox.time_limit));

	if (err)
		return srd_error_set(error, err, "%s: no timer: %s", steer->options.path,
				     strerror(-err));
	err = run_chunk(steer, error);
	srd_watchdog_stop(&steer->lua);
	return err;
}

static void number(lua_State *L, const char *name, uint64_t value)
{
	lua_pushinteger(L, (lua_Integer)value);
	lua_setfield(L, -2, name);
}

/* What a function of steer.lua sees of a moment. */
static void push_moment(lua_State *L, const struct srd_launch_moment *m)
{
	static const char *const names[] = {"device", "queue_pair", "request", "time"};

	lua_createtable(L, 0, 12);
	lua_pushstring(L, names[m->what]);
	lua_setfield(L, -2, "what");
	if (m->what == SRD_LAUNCH_TIME)
		return;
	number(L, "pid", (uint32_t)m->pid);
	number(L, "host", m->host);
	if (m->what == SRD_LAUNCH_DEVICE)
		return;
	number(L, "qp", m->qp);
	number(L, "qp_num", m->qp_num);
	if (m->what == SRD_LAUNCH_QUEUE_PAIR)
		return;
	number(L, "number", m->ordinal + 1);
	number(L, "length", m->length);
	number(L, "local_addr", m->local_addr);
	number(L, "remote_addr", m->remote_addr);
	number(L, "remote_qpn", m->remote_qpn);
	if (m->opcode == SRD_WR_RDMA_WRITE_WITH_IMM || m->opcode == SRD_WR_SEND_WITH_IMM)
		number(L, "imm_data", m->imm_data);
	srd_push_enum(L, &srd_names_wr_opcode, m->opcode);
	lua_setfield(L, -2, "opcode");
}

/* Protected: with the table of the moment over the function. */
static int prepare(lua_State *L)
{
	lua_rawgetp(L, LUA_REGISTRYINDEX, moment_key);
	push_moment(L, lua_touserdata(L, 1));
	return 2;
}

static int call(struct srd_steer *steer, const struct srd_launch_moment *moment, uint64_t *alarm,
		struct srd_error *error)
{
	lua_State *L = steer->lua.L, *co = L;
	int status;

	lua_settop(L, 0);
	lua_pushcfunction(L, prepare);
	lua_pushlightuserdata(L, (void *)moment);
	status = lua_pcall(L, 1, 2, 0);
	if (status == LUA_OK)
		status = srd_script_call(L, 1, &co);
	if (status != LUA_OK)
		return explain(steer, co, status, error);
	*alarm = (uint64_t)lua_tointeger(co, -1);
	return 0;
}

static int moment(void *context, const struct srd_launch_moment *moment,
		  const struct srd_launch_device *device, uint64_t *alarm)
{
	struct srd_steer *steer = context;
	struct srd_error error = {0};
	int err;

	if (moment->what >= SRD_NUM_LAUNCH_WHATS)
		return 0;
	steer->device = device;
	steer->now = moment->now;
	steer->cancelled = false;
	steer->lua.out_of_time = 0;
	err = srd_watchdog_start(&steer->lua, steer->options.sandbox.time_limit);
	if (!err)
		err = call(steer, moment, alarm, &error);
	srd_watchdog_stop(&steer->lua);
	steer->device = NULL;
	if (!err || steer->cancelled)
		return 0;
	steer->failed = true;
	steer->options.failed(steer->options.path, error.message);
	return err;
}

int srd_steer_open(const struct srd_steer_options *options, struct srd_steer **out,
		   struct srd_error *error)
{
	struct srd_steer *steer = srd_calloc(1, sizeof(*steer));
	int err;

	*out = NULL;
	if (!steer)
		return srd_error_set(error, -ENOMEM, "%s: out of memory", options->path);
	steer->options = *options;
	steer->launch = (struct srd_launch_script){.context = steer, .moment = moment};
	steer->lua.steer = steer;
	steer->lua.log = options->log;
	err = srd_lua_open(&steer->lua, &options->sandbox, options->seed);
	if (err)
		srd_error_set(error, err, "%s: out of memory", options->path);
	else
		err = srd_script_compile(steer->lua.L, options, &steer->script, error);
	if (!err)
		err = start(steer, error);
	if (err) {
		srd_steer_close(steer);
		return err;
	}
	*out = steer;
	return 0;
}

const struct srd_launch_script *srd_steer_script(const struct srd_steer *steer)
{
	return &steer->launch;
}

bool srd_steer_has_failed(const struct srd_steer *steer)
{
	return steer->failed;
}

void srd_steer_close(struct srd_steer *steer)
{
	if (!steer)
		return;
	srd_lua_close(&steer->lua);
	srd_script_free(steer->script);
	srd_free(steer);
}
